package reproduce

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// committed runs the check once more in a copy in which everything is committed, if it asks git what differs and
// something does. If it passes there, no change of a file can repair the failure, as that of `./generate && git diff
// --exit-code`, and the result says what to commit. Else the result is r.
func (q *reproduction) committed(ctx context.Context, r Result) Result {
	text := failedtask.CleanTail(string(r.output), r.Base.Top, 64<<10)
	if !asksWhatDiffers(q.Failure.Task.Run) && !printedDifference().MatchString(text) {
		return r
	}
	if _, err := git.Of(ctx, q.Failure.Config.Root); err != nil {
		return r
	}
	differ, err := r.Base.Loose(ctx)
	if err != nil || len(differ) == 0 {
		return r
	}
	q.Progress.Step("it asks git what differs; trying again with everything committed")
	first := append([]*pipeline.Task{commit(q.Failure.Task)}, q.ahead...)
	got := q.after(ctx, "gate-committed", first, r.Base, nil)
	if got.passed && ctx.Err() == nil { // by chance?
		if again := q.once(ctx, "gate-uncommitted", r.Base, nil); again.passed || again.err != "" {
			got = again
			got.passed = false
		}
	}
	switch {
	case ctx.Err() != nil:
		return r.interrupted()
	case got.fault != nil:
		return r.noCopy(got.fault)
	case !got.passed:
		return r
	}
	it := "it"
	if len(differ) > 1 {
		it = "them"
	}
	r.State, r.Reproduction.Result, r.Reproduction.Signature.Copy = fix.NotReproduced, "passed", nil
	r.Reason = "passed: the task asks git what differs, and passes once everything is committed: " +
		english.List(differ, mostLacks) + ". Look at " + it + ", commit or stage " + it + ", and run it again"
	return r
}

// commit returns a task that commits everything in the copy in which a check is about to run.
func commit(check *pipeline.Task) *pipeline.Task {
	return &pipeline.Task{
		Name: check.Name, Base: check.Base, Dir: ".", Env: check.Env, PassEnv: check.PassEnv,
		Run: pipeline.Command{Shell: pipeline.Text{Value: "git add --all && git -c user.name=async-pipeline -c user.email=async-pipeline " +
			"-c commit.gpgSign=false -c core.hooksPath=/dev/null commit --quiet --no-verify --message='everything in this copy'"}},
	}
}

// printedDifference finds what git prints of a file that differs.
var printedDifference = lazily.Regexp(`(?m)^diff --git |^(?: M|M |MM|A |AM| D|D |R |\?\?) \S`)

// asksWhatDiffers reports whether a command asks git which files differ from what is staged or committed.
func asksWhatDiffers(c pipeline.Command) bool {
	commands := []shelltext.Command{{Words: c.Words()}}
	if c.Argv == nil {
		commands = shelltext.Commands(c.Shell.Show())
	}
	return slices.ContainsFunc(commands, func(c shelltext.Command) bool {
		words := shelltext.Unwrap(c.Words)
		if len(words) == 0 || path.Base(words[0]) != "git" {
			return false
		}
		for words = words[1:]; len(words) > 1 && strings.HasPrefix(words[0], "-"); words = words[1:] {
			if words[0] == "-C" || words[0] == "-c" {
				words = words[1:]
			}
		}
		return len(words) > 0 && slices.Contains([]string{"diff", "status", "diff-index", "diff-files"}, words[0])
	})
}
