package hooks

// What a person is told while agents work: whose turn it is, and what went wrong, in few words.

import (
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
)

// A turnOf is whose turn it is, as a person counts: attempts of the budget, and tries of one. What follows a failure inside of an
// attempt (once more, after a wait, by the next agent) is another try of it. The rows of the record, and the files that are named
// after them, count tries from the first to the last.
type turnOf struct {
	attempt, of int // from 1, of the budget's
	try         int // of the attempt, from 1; 0: it has not begun
}

// String is "attempt 1", or "attempt 1, try 2".
func (t turnOf) String() string { return fmt.Sprintf("attempt %d", t.attempt) + t.again() }

// long also says how many attempts there can be: "attempt 1 of 2, try 2".
func (t turnOf) long() string { return fmt.Sprintf("attempt %d of %d", t.attempt, t.of) + t.again() }

func (t turnOf) again() string {
	if t.try < 2 {
		return ""
	}
	return fmt.Sprintf(", try %d", t.try)
}

// firstSentence is what is wrong, without what may be done about it; the whole stands in the record.
func firstSentence(text string) string {
	first, quoted := -1, false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case strings.HasPrefix(text[i:], "; "):
			if !quoted {
				return text[:i]
			}
			if first < 0 {
				first = i
			}
		}
	}
	if quoted && first >= 0 { // what it quotes was cut in the middle, and has no end
		return text[:first]
	}
	return text
}

// noList leaves out the list of all kinds, which is for the record.
func noList(text string) string {
	text = strings.ReplaceAll(text, "; "+agent.KnownKinds(), "")
	return strings.ReplaceAll(text, ": "+agent.KnownKinds(), "")
}
