package hooks

import (
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/hooks/review"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/testreport"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// Verdicts.
const (
	verified   = "verified"
	suspect    = "suspect"
	unverified = "unverified"
)

// verify decides a candidate, of a healing or of a replay, in fresh copies, never in the agent's: (a) with the patch as proposed; (b) with every check file put
// back to what it was. Both have the agent's confinement, caches that are thrown away, and nothing of the agent's environment.
func (h *healing) verify(ctx context.Context, n int, c *candidate) {
	c.verdict, c.flags = unverified, h.flags(c.changes)
	c.verification = &fix.Verification{Proposed: []fix.Check{}, OriginalChecks: []fix.Check{}}
	v := c.verification

	ok, reason, feedback := h.verifyOnce(ctx, fmt.Sprintf("verify-%d-proposed", n), c.changes, h.toVerify(c.changes, true), &v.Proposed)
	if !ok {
		v.Reason, c.feedback = orNull(reason), feedback
		return
	}
	back := h.check.PutBack(c.changes)
	ok, reason, _ = h.verifyOnce(ctx, fmt.Sprintf("verify-%d-original", n), back, h.toVerify(c.changes, false), &v.OriginalChecks)
	switch {
	case ok && slices.ContainsFunc(c.flags, func(f fix.Flag) bool { return f.Caps }):
		c.verdict = suspect
		v.Reason = new("flagged")
	case ok:
		c.verdict = verified
		why := testreport.Unproven(h.f.Signature, h.f.Log, h.printed)
		if why == "" && h.f.Reports != nil {
			why = h.f.Reports.Unproven(h.reports)
		}
		if why == "" {
			if why, reason = h.ask(ctx, n, c, back); reason != "" {
				c.verdict, v.Reason = unverified, new(reason)
				return
			}
		}
		if why != "" {
			c.verdict = suspect
			v.Reason = new(h.e.Redact.String(why))
		}
	case reason == "check_failed":
		c.verdict = suspect
		v.Reason = new("check_changed")
	default:
		v.Reason = orNull(reason)
	}
}

// ask lets go test say by name that what failed passes, with the original checks, in a copy of its own: a plain `go test` says
// ok of a package whose tests ended early. reason says why it could not be asked.
func (h *healing) ask(ctx context.Context, n int, c *candidate, back []patch.Change) (why, reason string) {
	argv, tests := h.askGo()
	if argv == nil || len(h.task.Run.Shell.Secrets) > 0 {
		return "", ""
	}
	asks := *h.task
	asks.Run = pipeline.Command{}
	for _, arg := range argv {
		asks.Run.Argv = append(asks.Run.Argv, pipeline.Text{Value: arg})
	}
	if own := h.task.Run.Argv; own != nil { // they know their secrets
		asks.Run.Argv = append(asks.Run.Argv[:len(argv)-len(own)+2], own[2:]...)
	}
	tasks := h.toVerify(c.changes, false)
	tasks[len(tasks)-1] = &asks
	h.printed = nil
	had := len(c.verification.OriginalChecks)
	ok, reason, _ := h.verifyOnce(ctx, fmt.Sprintf("verify-%d-by-name", n), back, tasks, &c.verification.OriginalChecks)
	for i := range c.verification.OriginalChecks[had:] {
		c.verification.OriginalChecks[had+i].ByName = true
	}
	if !ok && reason != "check_failed" {
		return "", reason
	}
	return testreport.UnprovenGo(tests, h.printed), ""
}

// checkFiles knows the check files of the base, as the hook protects them.
func (h *healing) checkFiles() *checkfile.Checks {
	return checkfile.NewChecks(checkfile.Tree{Paths: h.base.Paths(), Read: func(path string) ([]byte, error) {
		f, err := h.base.Read(path)
		if err != nil || f == nil {
			return nil, err
		}
		return f.Data, nil
	}}, checkfile.Scope{Sub: h.base.Sub, Protect: h.hook.Protect, Runs: h.checked(), Dotenv: h.dotenvs()})
}

// dotenvs are the files of variables of the tasks that checked knows.
func (h *healing) dotenvs() []string {
	files := slices.Clone(h.task.Dotenv)
	for _, name := range h.hook.Verify {
		if t := h.e.Config.Task(name); t != nil {
			files = append(files, t.Dotenv...)
		}
	}
	return files
}

// checkLog is the log of a check. A replay keeps none: what is sealed is not added to.
func (h *healing) checkLog(name string) (io.WriteCloser, *string, error) {
	if h.draft == nil {
		return discard{}, nil, nil
	}
	w, rel, err := h.draft.Log(name)
	return w, &rel, err
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

// verifyOnce runs tasks, in order, in one fresh copy of base + changes. It stops at the first that does not pass.
func (h *healing) verifyOnce(ctx context.Context, name string, changes []patch.Change, tasks []*pipeline.Task, checks *[]fix.Check) (ok bool, reason, feedback string) {
	if ctx.Err() != nil {
		return false, "no_time", ""
	}
	fault := func(err error) (bool, string, string) {
		if ctx.Err() != nil {
			return false, "no_time", ""
		}
		return false, "not_run: " + h.e.Redact.String(err.Error()), ""
	}
	kept, _, err := h.homes.CheckCaches(ctx)
	if err != nil {
		return fault(err)
	}
	caches, err := h.homes.ThrowAwayCaches(ctx, kept, h.gate.started)
	if err != nil {
		return fault(err)
	}
	defer h.tidy(func() error { return homes.Remove(caches) })
	copied, err := h.base.Copy(ctx, filepath.Join(h.homes.Work, "check"))
	if err != nil {
		return fault(err)
	}
	defer h.tidy(copied.Close)
	if err := copied.Put(changes); err != nil {
		return fault(err)
	}
	box, err := h.homes.CheckBox(h.base, copied.Dir, caches)
	if err != nil {
		return fault(err)
	}
	for _, t := range tasks {
		log, rel, err := h.checkLog(name + "-" + t.Name)
		if err != nil {
			return fault(err)
		}
		tail := &failedtask.Tail{}
		started := time.Now()
		got, err := h.f.Check(ctx, t, box, io.MultiWriter(log, tail), 0) // the wall clock bounds it
		if e := log.Close(); err == nil {
			err = e
		}
		if err != nil {
			return fault(err)
		}
		passed := got.Status == record.Passed
		*checks = append(*checks, fix.Check{
			Task: t.Name, Passed: passed, ExitCode: got.ExitCode, DurationMS: got.DurationMS, Log: rel,
		})
		if passed {
			if t.Name == h.task.Name {
				h.printed, h.reports = tail.Bytes(), h.f.ReportsIn(filepath.Join(copied.Dir, filepath.FromSlash(h.base.Sub)), started)
			}
			continue
		}
		if ctx.Err() != nil {
			return false, "no_time", ""
		}
		return false, "check_failed", fmt.Sprintf("task %q failed with the patch applied:\n%s", t.Name, failedtask.CleanTail(string(tail.Bytes()), h.base.Top, agent.TailOfVerification))
	}
	return true, "", ""
}

// toVerify are the tasks to run, in order: dependencies that the changes can have changed, the failed task, and, with also,
// what verify names together with what that waits for and no run has made. Never what depends on the failed task.
func (h *healing) toVerify(changes []patch.Change, also bool) []*pipeline.Task {
	var tasks []*pipeline.Task
	seen := map[string]bool{}
	add := func(t *pipeline.Task) {
		if t != nil && !seen[t.Name] {
			seen[t.Name] = true
			tasks = append(tasks, t)
		}
	}
	for _, t := range h.before(h.task.Name) {
		if h.changedBy(t, changes) {
			add(t)
		}
	}
	add(h.task)
	if !also {
		return tasks
	}
	for _, name := range h.hook.Verify {
		for _, t := range h.before(name) {
			r := h.run.Task(t.Name)
			made := r != nil && (r.Status == record.Passed || r.Status == record.Cached)
			if !made || h.changedBy(t, changes) {
				add(t)
			}
		}
		add(h.e.Config.Task(name))
	}
	return tasks
}

// before lists what a task waits for, dependencies first.
func (h *healing) before(name string) []*pipeline.Task {
	g, err := pipeline.Select(h.e.Config, []string{name}, false)
	if err != nil {
		return nil
	}
	return g.Ancestors(name)
}

// changedBy says whether changes can have changed what t makes: they touch its declared inputs, or it declares none.
func (h *healing) changedBy(t *pipeline.Task, changes []patch.Change) bool {
	if len(t.Inputs) == 0 {
		return true
	}
	for _, c := range changes {
		rel := c.Path
		if h.base.Sub != "." {
			var below bool
			if rel, below = strings.CutPrefix(c.Path, h.base.Sub+"/"); !below {
				continue
			}
		}
		if matches(t.Inputs, rel) {
			return true
		}
	}
	return false
}

// matches says whether path is among globs: in order, the last that matches wins, "!" takes away.
func matches(globs []string, p string) bool {
	in := false
	for _, g := range globs {
		g, not := strings.CutPrefix(g, "!")
		g = path.Clean(g)
		if ok, err := doublestar.Match(g, p); err == nil && ok {
			in = !not
		}
	}
	return in
}

// verificationNeeds is what verification will take, as far as it was measured: what comes before the check, as the run
// measured it, and the check twice, as the gate did. Before it, an agent that does not stop by itself is ended.
func (h *healing) verificationNeeds() time.Duration {
	need := sandbox.Grace + 2*h.gate.took
	if argv, _ := h.askGo(); argv != nil {
		need += h.gate.took
	}
	for _, t := range h.before(h.task.Name) {
		if r := h.run.Task(t.Name); r != nil && r.DurationMS != nil {
			need += time.Duration(*r.DurationMS) * time.Millisecond
		}
	}
	return need
}

// flags is the gaming report of a patch. It reports; it accuses nobody.
func (h *healing) flags(changes []patch.Change) []fix.Flag {
	var flags []fix.Flag
	for _, f := range review.Report(h.check, changes) {
		flag := fix.Flag{
			ID: fmt.Sprintf("f%d", len(flags)+1), Rule: f.Rule, Caps: f.Caps, Path: orNull(f.Path), Detail: h.e.Redact.String(f.Detail),
		}
		if f.Line > 0 {
			flag.Line = new(f.Line)
		}
		flags = append(flags, flag)
	}
	return flags
}

// askGo returns the command that asks go test by name for the tests that failed, and their names; nil where the check is no plain go test.
func (h *healing) askGo() (argv, tests []string) {
	check := h.checked()[0]
	return testreport.AskGo(check.Argv, check.Shell, h.f.Signature.Tests)
}
