package native

// The half-turn that a broken answer leaves, made into history: what was whole is kept, every call gets its one result, and
// nothing is sent that a provider would refuse.

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// What the model is told of a call that has no result of its own.
const (
	saidBroken    = "Interrupted before it ran: the answer broke off while this call was being written. Nothing was done. Make the call again if it is still needed."
	saidUnstarted = "Not run: the answer broke off after this call was written and before it ran. Nothing was done. Make the call again if it is still needed."
	saidBehind    = "Not run: a call of the same answer was refused while it was being written, and that ended the answer. Nothing was done. Make the call again if it is still needed."
	saidDead      = "Interrupted while it ran: it may have started, and may even have completed. Do not repeat it before you have verified what state it left."
	saidAborted   = "Aborted."
	saidLeft      = "Not run: the turn had ended before this call."
	saidOrphan    = "Interrupted: what came of this call is not known. Do not repeat it before you have verified what state it left."
)

// goOnNote is what follows a half-turn.
const goOnNote = "The connection was interrupted. Continue exactly where your last answer stopped; do not restate what you have already said."

// An ended call is one of a round, with what came of it.
type ended struct {
	call    model.Call
	result  model.Result
	started bool // false: it never ran
	dead    bool // it was started, and its end was not waited for
	broken  bool // its arguments are not whole
	refused bool // before it ran, by us
	out     tools.Outcome
	aside   string // what was added to the result, of which the call itself knows nothing
}

// turnOf is an answer and the results of its calls as two messages. The calls are in the order of the answer, and so are their
// results. cut says that the answer is not whole: then thinking that is not whole either goes.
func turnOf(blocks []model.Block, calls []ended, cut bool, note string) []model.Message {
	said := model.Message{Role: model.Assistant}
	byID := make(map[string]*ended, len(calls)) // the first of each
	for i := range calls {
		if id := calls[i].call.ID; byID[id] == nil {
			byID[id] = &calls[i]
		}
	}
	stands := map[string]bool{}
	for _, b := range blocks {
		switch {
		case b.Call != nil:
			if byID[b.Call.ID] != nil && !stands[b.Call.ID] {
				stands[b.Call.ID] = true
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
		if !stands[e.call.ID] { // broken ones have no block
			stands[e.call.ID] = true
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

// join is a text and its continuation, without what the continuation repeats of the end of the text.
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
