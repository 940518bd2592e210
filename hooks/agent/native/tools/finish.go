package tools

import (
	"context"
	"io/fs"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/english"
)

// mostWords is how much of each part of the model's report is kept, in bytes: people read it.
const mostWords = 8 << 10

var toolFinish = declared{
	name: Finish, effect: Ends, verb: "finishes",
	says: "Ends the work. Call it alone, when the check has passed or when nothing more can be done.",
	fields: []field{
		{name: "outcome", must: true, says: "fixed: the check should pass now; no_fix: there is nothing to fix; " +
			"needs_human: a person must decide", choices: []string{agent.Fixed, agent.NoFix, agent.NeedsHuman}},
		{name: "summary", must: true, says: "what was changed and why, in two sentences"},
		{name: "root_cause", says: "why the task failed"},
	},
	// What was touched, and what passed since, is known better than any model knows it.
	do: func(_ context.Context, w *Toolset, a args) Outcome {
		w.mu.Lock()
		defer w.mu.Unlock()
		return Outcome{Text: "finished: " + a.texts["outcome"], Finished: &agent.Control{
			Outcome: a.texts["outcome"], Summary: atMost(a.texts["summary"], mostWords),
			RootCause:        atMost(a.texts["root_cause"], mostWords),
			VerifiedCommands: append([]string{}, slices.Compact(slices.Sorted(slices.Values(w.passed)))...),
			Touched:          append([]string{}, w.paths...),
		}}
	},
}

var toolDelete = declared{
	name: "delete", effect: Writes, verb: "deletes", noun: "file",
	says:   "Deletes a file, a symlink, or a folder that is empty.",
	fields: []field{{name: "path", must: true, says: "the file or empty folder"}},
	do: func(ctx context.Context, w *Toolset, a args) Outcome {
		at, err := w.findToWrite(a.texts["path"], false) // a symlink itself, not what it leads to
		return onFile(at, err, func() Outcome { return w.remove(ctx, at) })
	},
}

func (w *Toolset) remove(ctx context.Context, at string) Outcome {
	info, err := w.root.Lstat(at)
	if err != nil {
		return failed("%s: %s", w.shown(at), why(err))
	}
	switch {
	case info.IsDir() && at == w.sub:
		return failed("%s is the working directory: it stays", w.shown(at))
	case info.IsDir():
		entries, more, err := w.entries(ctx, at)
		if err == nil && (more || len(entries) > 0) {
			return failed("%s is a folder with %s in it: only an empty one can be deleted", w.shown(at),
				english.Count(len(entries), "entry"))
		}
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0:
		return failed("%s is not a file but a pipe, a socket or a device", w.shown(at))
	}
	if err := w.root.Remove(at); err != nil {
		return failed("%s could not be deleted: %s", w.shown(at), why(err))
	}
	w.forget(at)
	w.changed(at)
	return Outcome{Text: w.shown(at) + ": deleted"}
}
