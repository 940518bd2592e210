package native

// A broken answer as a part of the conversation: what is whole is kept, every call gets one result, and nothing is
// sent that a provider would refuse.

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// Results of calls that have none of their own.
const (
	saidBroken = "Interrupted before it ran: the answer broke off while this call was being written. Nothing was " +
		"done. Make the call again if it is still needed."
	saidUnstarted = "Not run: the answer broke off after this call was written and before it ran. Nothing was done. " +
		"Make the call again if it is still needed."
	saidBehind = "Not run: a call of the same answer was refused while it was being written, and that ended the " +
		"answer. Nothing was done. Make the call again if it is still needed."
	saidDead = "Interrupted while it ran: it may have started, and may even have completed. Do not repeat it " +
		"before you have verified what state it left."
	saidAborted = "Aborted."
	saidLeft    = "Not run: the turn had ended before this call."
	saidOrphan  = "Interrupted: what came of this call is not known. Do not repeat it before you have verified what " +
		"state it left."
)

// goOnNote follows a broken answer.
const goOnNote = "The connection was interrupted. Continue exactly where your last answer stopped; do not restate " +
	"what you have already said."

// An ended call is one of a round, with its result.
type ended struct {
	call    model.Call
	result  model.Result
	started bool // false: it never ran
	dead    bool // it was started, and nobody waited for its end
	broken  bool // its arguments are not whole
	refused bool // by us, before it ran
	out     tools.Outcome
	aside   string // what we added to the result
}

// turnOf returns an answer and the results of its calls as two messages. Calls and results are in the order of the
// answer. If cut, the answer is not whole, and thinking without the provider's own bytes is dropped.
func turnOf(blocks []model.Block, calls []ended, cut bool, note string) []model.Message {
	said := model.Message{Role: model.Assistant}
	byID := make(map[string]*ended, len(calls)) // the first of each
	for i := range calls {
		if id := calls[i].call.ID; byID[id] == nil {
			byID[id] = &calls[i]
		}
	}
	placed := map[string]bool{}
	for _, b := range blocks {
		switch {
		case b.Call != nil:
			if byID[b.Call.ID] != nil && !placed[b.Call.ID] {
				placed[b.Call.ID] = true
				said.Blocks = append(said.Blocks, b)
			}
		case b.Result != nil:
		case b.Thinking != "" && cut && len(b.Raw) == 0:
		default:
			said.Blocks = append(said.Blocks, b)
		}
	}
	heard := model.Message{Role: model.User}
	for _, e := range calls {
		if !placed[e.call.ID] { // broken ones have no block
			placed[e.call.ID] = true
			said.Blocks = append(said.Blocks, model.Block{Call: &e.call})
		}
	}
	for _, b := range said.Blocks {
		if b.Call != nil {
			heard.Blocks = append(heard.Blocks, model.Block{Result: new(byID[b.Call.ID].result)})
		}
	}
	if note != "" {
		heard.Blocks = append(heard.Blocks, model.Block{Text: note})
	}
	return []model.Message{said, heard}
}

// overlap bounds what a continued answer may repeat of what came before it, in bytes.
const (
	mostOverlap  = 400
	leastOverlap = 8 // fewer bytes may well be meant twice
)

// join returns a text and its continuation, without what the continuation repeats of the end of the text.
func join(before, after string) string {
	if before == "" || after == "" {
		return before + after
	}
	for n := min(mostOverlap, len(before), len(after)); n >= min(leastOverlap, max(2, len(before))); n-- {
		if strings.HasSuffix(before, after[:n]) {
			return before + after[n:]
		}
	}
	return before + after
}
