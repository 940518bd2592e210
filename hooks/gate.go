package hooks

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/testreport"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// The gate: the failed task's own command runs in a copy first, and the same failure must come back. It spends nothing of
// the agent's budget, and no agent starts without it.

// gateRuns is how often a check that does not reproduce is tried before it is called flaky or gone.
const gateRuns = 3

// A gateResult is what the gate measured.
type gateResult struct {
	name    string // of its logs
	started time.Time
	took    time.Duration // of the check that reproduced
	output  []byte        // the end of what the first check that did not reproduce printed
}

// A gateTry is one run of the check in a copy.
type gateTry struct {
	passed bool
	error  string // could not be carried out, in words
	output []byte // the end of it
	sign   testreport.Signature
}

// reproduce runs the gate and says whether the agent may start.
func (h *healing) reproduce(ctx context.Context) bool {
	want := h.f.Signature
	h.fix.Reproduction = &fix.Reproduction{Result: "different"}
	h.fix.Reproduction.Signature.Run = want.With(testreport.Message(h.f.Log))

	if h.pointsBack() {
		return false
	}
	caches, note, err := h.homes.CheckCaches(ctx)
	if err != nil {
		h.giveUp(ctx, "scratch_failed", err)
		return false
	}
	if note != "" {
		h.step("%s", note)
	}
	most := ""
	if limit := h.f.Limit(h.task, h.f.Patience(h.task)); limit > 0 {
		most = "at most " + inWords(limit) + " a try, "
	}
	h.step("does it fail in a copy too? (sandbox %s; %sno part of the budget)", h.tier, most)
	h.gate.name, h.gate.started = "gate", time.Now()
	if h.gateOnce(ctx, want, caches) {
		return true
	}
	defer func() {
		if h.fix.State == fix.NotReproduced || h.fix.State == fix.Flaky {
			h.step("that took %s", inWords(time.Since(h.gate.started)))
		}
	}()
	if h.fix.State != fix.NotReproduced {
		return false
	}
	// Perhaps it needs what git ignores. If so, the person is told which folders to name.
	few, sealed := h.base.Manifest, *h.fix
	repro := *h.fix.Reproduction
	sealed.Reproduction = &repro
	h.step("not reproduced; once more with everything that git ignores")
	if !h.makeBase(ctx, true) {
		if ctx.Err() == nil {
			more := h.fix.Reason
			*h.fix = sealed
			h.note("with everything that git ignores it could not be tried: " + *more)
		}
		return false
	}
	h.gate.name = "gate-all"
	more := newFolders(few, h.base.Manifest)
	if h.pointsBack() {
		return false
	}
	if len(more) > 0 && h.gateOnce(ctx, want, caches) {
		if few := h.named(failedtask.CleanTail(string(h.gate.output), h.base.Top, 64<<10), more); len(few) > 0 {
			more = few // not everything that is ignored was needed
		}
		h.note("the failure needs ignored files; name them: " + h.include(more))
		return true
	}
	if h.fix.State == fix.NotReproduced {
		*h.fix = sealed
	}
	return false
}

// pointsBack ends the healing when a copy at another path would run the tree's own code.
func (h *healing) pointsBack() bool {
	if h.tier == sandbox.View {
		return false
	}
	if failedtask.RootPath(h.base.Top).MatchString(failedtask.CommandLine(h.task) + "\n") {
		h.end(fix.NotReproduced, "points_back: the task's command names the tree by its absolute path, and this tier ("+
			string(h.tier)+") cannot show the copy there; write the path relative to the root")
		return true
	}
	if len(h.base.PointsBack) == 0 {
		return false
	}
	h.end(fix.NotReproduced, "points_back: "+english.List(h.base.PointsBack, 3)+" name the tree by its absolute path, and this tier ("+
		string(h.tier)+") cannot show the copy there; a check in the copy would run the tree's own code")
	return true
}

// gateOnce tries the check until the failure is the same, or until it is clear that it is not; it fills in reproduction.
// What passes is tried again, and so is what fails with other tests: either may be chance. Only the first try that is the
// same counts as reproduced; what differs from try to try is flaky.
func (h *healing) gateOnce(ctx context.Context, want testreport.Signature, caches string) bool {
	var passes int
	var last, before gateTry
	r := h.fix.Reproduction
tries:
	for r.Runs = 1; r.Runs <= gateRuns; r.Runs++ {
		started := time.Now()
		before, last = last, h.gateTry(ctx, want, caches)
		if ctx.Err() != nil {
			if r.Runs--; r.Runs == 0 {
				h.fix.Reproduction = nil // nothing came of it
			}
			h.end(fix.Cancelled, "interrupted")
			return false
		}
		if last.error != "" {
			break
		}
		if last.passed {
			passes++
		}
		copied := last.sign.With(testreport.Message(last.output))
		r.Signature.Copy = &copied
		same := !last.passed && want.Same(last.sign)
		switch {
		case same && r.Runs == 1:
			r.Result = "same"
			h.gate.took = time.Since(started)
			h.fix.State, h.fix.Reason = "", nil
			h.step("reproduced in %s: %s", inWords(time.Since(h.gate.started)), want)
			h.hinted()
			return true
		case same, passes > 0 && passes < r.Runs:
			h.mixed(passes)
			return false
		case last.passed:
		case len(want.Tests) == 0 || len(last.sign.Tests) == 0:
			break tries // another failure, and no reason to think that it would change
		case r.Runs > 1 && !last.sign.Same(before.sign):
			h.mixed(passes)
			return false
		case r.Runs > 1:
			break tries // the same tests twice: no chance
		}
	}
	r.Runs = min(r.Runs, gateRuns)
	if h.gate.output == nil {
		h.gate.output = last.output
	}
	switch {
	case last.error != "":
		r.Result = "different"
		h.end(fix.NotReproduced, "not_run: "+last.error)
	case passes > 0:
		r.Result = "passed"
		h.end(fix.NotReproduced, "passed: the check passes in a copy of the tree; it may depend on something outside of it"+h.historyMissing())
	default:
		r.Result = "different"
		h.end(fix.NotReproduced, fmt.Sprintf("different: the run had %s, the copy has %s%s%s", want, last.sign, h.lastSaid(last), h.lacks(last.output)+h.historyMissing()))
	}
	return false
}

// mixed ends the healing of a failure that is not the same from try to try.
func (h *healing) mixed(passes int) {
	h.fix.Reproduction.Result = "flaky"
	runs := h.fix.Reproduction.Runs
	if passes > 0 {
		h.end(fix.Flaky, fmt.Sprintf("mixed: the check passed in %d of %d runs in a copy; nothing was spent", passes, runs))
		return
	}
	h.end(fix.Flaky, fmt.Sprintf("mixed: other tests failed in each of %d runs in a copy; nothing was spent", runs))
}

// lastSaid is the last line that the copy's check printed: often it names what a copy lacks.
func (h *healing) lastSaid(t gateTry) string {
	last := lastLine(failedtask.CleanTail(string(t.output), h.base.Top, 400))
	if last == "" {
		return ""
	}
	return fmt.Sprintf("; its last line there: %q", last)
}

// gateTry is one run in a fresh copy.
func (h *healing) gateTry(ctx context.Context, want testreport.Signature, caches string) gateTry {
	c, err := h.base.Copy(ctx, filepath.Join(h.homes.Work, "check"))
	if err != nil {
		return gateTry{error: err.Error()}
	}
	defer h.tidy(c.Close)
	box, err := h.homes.CheckBox(h.base, c.Dir, caches)
	if err != nil {
		return gateTry{error: err.Error()}
	}
	log, _, err := h.draft.Log(fmt.Sprintf("%s-%d", h.gate.name, h.fix.Reproduction.Runs))
	if err != nil {
		return gateTry{error: err.Error()}
	}
	defer log.Close()
	tail := &failedtask.Tail{}
	started := time.Now()
	got, err := h.f.Check(ctx, h.task, box, io.MultiWriter(log, tail), h.f.Patience(h.task))
	switch {
	case err != nil:
		return gateTry{error: err.Error()}
	case got.Error != nil:
		return gateTry{error: *got.Error}
	case got.Status == record.TimedOut && !want.TimedOut:
		return gateTry{error: fmt.Sprintf("the check did not end within %s in a copy", h.f.Patience(h.task))}
	}
	try := gateTry{passed: got.Status == record.Passed, output: tail.Bytes()}
	try.sign.TimedOut = got.Status == record.TimedOut
	if got.ExitCode != nil {
		try.sign.ExitCode = *got.ExitCode
	}
	if got.Signal != nil {
		try.sign.Signal = *got.Signal
	}
	if h.ended.Log != nil && h.ended.Log.LeftOutBytes == 0 {
		try.sign.Tests = testreport.Tests(tail.Bytes())
	}
	if h.f.Reports != nil {
		try.sign.Tests = append(try.sign.Tests, h.f.ReportsIn(filepath.Join(c.Dir, filepath.FromSlash(h.base.Sub)), started).Failing...)
	}
	return try
}

// inWords is a time for a person: tenths of a second only where it is short.
func inWords(d time.Duration) string {
	switch {
	case d < time.Minute-50*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}

// historyMissing says so when the copy's git has one commit only, as a likely reason of another failure.
func (h *healing) historyMissing() string {
	if !h.base.HistoryMissing {
		return ""
	}
	return "; history_missing: the copy's git has a single commit (a partial clone, or more than 2 GiB of history)"
}

// lastLine is the last line of text.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// newFolders are the top folders and files that more has and few has not.
func newFolders(few, more *tree.Manifest) []string {
	have := map[string]bool{}
	for _, e := range few.Entries {
		for p := e.Path; p != "" && !have[p]; p = parent(p) {
			have[p] = true
		}
	}
	var found []string
	seen := map[string]bool{}
	for _, e := range more.Entries {
		p := e.Path
		if have[p] {
			continue
		}
		for parent(p) != "" && !have[parent(p)] {
			p = parent(p)
		}
		if !seen[p] {
			seen[p] = true
			found = append(found, p)
		}
	}
	return found
}

// parent is the folder of a slash-separated path, "" at the top.
func parent(p string) string {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return ""
	}
	return p[:i]
}
