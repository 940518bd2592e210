package verify

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
)

const (
	maxAskTime = 20 * time.Second
	maxAskSize = 2 << 20 // bytes of an answer; a longer one is not used
)

// askedChecks is checkFiles with what make says of the check's commands, in a copy of the base without the patch. It
// is asked only where it matters: when the patch changes compiled sources that do not look like the check's. Without
// an answer the Makefile is read as text.
func (q *verification) askedChecks(ctx context.Context) *checkfile.Checks {
	scope := q.scope()
	checks := q.checkFiles(scope)
	open := func(c patch.Change) bool { return lang.ByPath(c.Path) == "c" && checks.Class(c.Path) == 0 }
	asked := checkfile.AskMake(scope.Runs[:1])
	if len(asked) == 0 || !slices.ContainsFunc(q.Changes, open) {
		return checks
	}
	scope.Made = q.askMake(ctx, asked)
	return q.checkFiles(scope)
}

func (q *verification) askMake(ctx context.Context, asked []checkfile.MakeDatabase) (said []checkfile.MakeDatabase) {
	ctx, cancel := context.WithTimeout(ctx, maxAskTime)
	defer cancel()
	kept, _, err := q.Homes.CheckCaches(ctx)
	if err != nil {
		return nil
	}
	caches, err := q.Homes.ThrowAwayCaches(ctx, kept, q.Since)
	if err != nil {
		return nil
	}
	defer q.tidy(func() error { return q.Homes.RemoveCaches(caches) })
	c, err := q.Homes.Copy(ctx, q.Base, "check", false)
	if err != nil {
		return nil
	}
	defer q.tidy(c.Close)
	box, err := q.Homes.CheckBox(q.Base, c, caches)
	if err != nil {
		return nil
	}
	for _, d := range asked {
		asks := *q.Failure.Task
		asks.Run = pipeline.Command{}
		for _, word := range d.Ask() {
			asks.Run.Argv = append(asks.Run.Argv, pipeline.Text{Value: word})
		}
		printed := &failedtask.Tail{}
		if _, err := q.Failure.Check(ctx, &asks, box, printed, maxAskTime); err != nil {
			continue
		}
		if text := printed.Bytes(); len(text) <= maxAskSize {
			d.Text = string(text)
			said = append(said, d)
		}
	}
	return said
}

// scope is what is checked. What a flaky test is of is not at fault: only tests of the core count as failing.
func (q *Request) scope() checkfile.Scope {
	scope := q.scopeWithout()
	scope.Makers = q.makers()
	return scope
}

// scopeWithout is scope without Makers.
func (q *Request) scopeWithout() checkfile.Scope {
	scope := checkfile.Scope{Sub: q.Base.Sub, Include: q.Failure.Config.Included, Protect: q.Protect, Runs: q.commands(), Failing: q.Failure.Signature.Tests}
	if q.Core != nil {
		scope.Failing = q.Core.Tests
	}
	for _, t := range q.checked() {
		scope.Dotenv, scope.Sets = append(scope.Dotenv, t.Dotenv...), append(scope.Sets, t.Filesets...)
		sets := files.AskedFor(t.Filesets, nil)
		for _, word := range words(commandOf(q.Base.Sub, t)) {
			if files.Matches(sets, word) {
				scope.Found = append(scope.Found, path.Join(q.Base.Sub, word))
			}
		}
	}
	return scope
}
