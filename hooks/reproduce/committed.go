package reproduce

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// committed tells whether a failure that came back does not come back where everything is committed, as that of
// `./generate && git diff --exit-code` does not: then no change of a file can repair it, and r has the reason. It costs
// a run of the check, only where git is asked what differs, and something does.
func (q *Request) committed(ctx context.Context, r Result, caches homes.Caches) Result {
	text := failedtask.CleanTail(string(r.output), r.Base.Top, 64<<10)
	if !asksWhatDiffers(q.Failure.Task.Run) && !printedDifference().MatchString(text) {
		return r
	}
	repo, err := git.Of(ctx, q.Failure.Config.Root)
	if err != nil {
		return r
	}
	differ, err := repo.Dirty(ctx)
	if err != nil || len(differ) == 0 {
		return r
	}
	q.Progress.Step("it asks git what differs; trying again with everything committed")
	got := q.after(ctx, "gate-committed", append([]*pipeline.Task{commit(q.Failure.Task)}, q.ahead...), r.Base, nil, caches)
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
			"-c commit.gpgSign=false commit --quiet --no-verify --message='everything in this copy'"}},
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
		return len(c.Words) > 1 && path.Base(c.Words[0]) == "git" &&
			slices.ContainsFunc(c.Words[1:], func(w string) bool {
				return slices.Contains([]string{"diff", "status", "diff-index", "diff-files"}, strings.ToLower(w))
			})
	})
}
