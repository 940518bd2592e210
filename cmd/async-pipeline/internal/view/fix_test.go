package view

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

const patchText = `diff --git a/sum.go b/sum.go
index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
--- a/sum.go
+++ b/sum.go
@@ -3,5 +3,5 @@ package sum
 func Sum(numbers []int) int {
 	total := 0
-	for i := 0; i < len(numbers)-1; i++ {
+	for i := 0; i < len(numbers); i++ { // every number counts, the last one too, as the test TestSum says
 		total += numbers[i]
--- this line is removed although it looks like a header
\ No newline at end of file
diff --git a/logo.png b/logo.png
new file mode 100644
index 0000000000000000000000000000000000000000..3333333333333333333333333333333333333333
GIT binary patch
literal 12
Tcmb=J<XXVV00000

literal 0
HcmV?d00001

`

// sample is a verified proposal; the variants change it.
func sample() *fix.Proposal {
	r := &fix.Reproduction{Result: "same", Runs: 1}
	r.Signature.Run = "exit 1; TestSum"
	r.Signature.Copy = ptr("exit 1; TestSum")
	return &fix.Proposal{
		Disposition: "open",
		Dir:         "/home/me/shop/.async/runs/20261121T024000Z-7f3a",
		Diff:        []byte(patchText),
		Fix: fix.Fix{
			Run: "20261121T024000Z-7f3a", Task: "test", State: "proposed", Verdict: ptr("verified"), Control: ptr("ok"),
			AgentSaid: &fix.Said{
				Outcome: "fixed", Summary: "Let the loop run to the last number.",
				RootCause: ptr("Sum stops one element before the end of the slice, so the last number is never added. Every caller with more than one number gets too little."),
			},
			Base:         &fix.Base{Tree: "sha256:" + strings.Repeat("ab", 32), Commit: ptr("4b825dc642cb6eb9a060e54bf8d69288fbee4904"), Complete: true},
			Tree:         &fix.Tree{},
			Patch:        &fix.PatchRef{Path: "fixes/test.patch", Digest: "sha256:" + strings.Repeat("cd", 32), Bytes: 500, Files: []fix.PatchFile{{Path: "sum.go", Change: "modified", Added: 1, Removed: 2}, {Path: "logo.png", Change: "added"}}},
			Reproduction: r,
			Verification: &fix.Verification{
				Proposed:       []fix.Check{{Task: "build", Passed: true, ExitCode: ptr(0), DurationMS: ptr(int64(812))}, {Task: "test", Passed: true, ExitCode: ptr(0), DurationMS: ptr(int64(1204))}},
				OriginalChecks: []fix.Check{{Task: "test", Passed: true, ExitCode: ptr(0), DurationMS: ptr(int64(1190))}},
			},
			Attempts: []fix.Attempt{{Number: 1, Agent: "fixer", ExitCode: ptr(0), DurationMS: 12300, Sandbox: "view", Rescue: ptr("fixes/test/attempt-1.patch")}},
			Budget: &fix.Budget{
				Limit: fix.Amounts{Attempts: ptr(2), WallClockMS: ptr(int64(300000))},
				Used:  fix.Amounts{Attempts: ptr(1), WallClockMS: ptr(int64(16400))},
			},
		},
	}
}

func commandsOf(p *fix.Proposal) Commands {
	return Commands{
		Apply: "async-pipeline fix apply " + p.Run + " " + p.Task, Show: "async-pipeline fix show " + p.Run + " " + p.Task,
		Heal: "async-pipeline heal " + p.Run + " " + p.Task, Dir: "/home/me/shop/.async/runs/" + p.Run,
	}
}

// variants of the sample by the name of their golden file.
var variants = map[string]func(p *fix.Proposal){
	"verified": func(*fix.Proposal) {},
	"suspect": func(p *fix.Proposal) {
		p.Verdict, p.Control = ptr("suspect"), ptr("missing")
		p.AgentSaid = nil
		p.Verification.OriginalChecks[0].Passed, p.Verification.OriginalChecks[0].ExitCode = false, ptr(1)
		p.Verification.Reason = ptr("check_changed")
		p.Flags = []fix.Flag{
			{ID: "F1", Rule: "check_file", Path: ptr("sum_test.go"), Line: ptr(12), Detail: "the failed task reads this file"},
			{ID: "F2", Rule: "exit_swallowed", Caps: true, Path: ptr("Makefile"), Detail: "|| true was added"},
		}
	},
	"unverified": func(p *fix.Proposal) {
		p.Verdict = ptr("unverified")
		p.Verification.Proposed[1].Passed, p.Verification.Proposed[1].ExitCode = false, ptr(1)
		p.Verification.OriginalChecks = nil
		p.Verification.Reason = ptr("with the patch test still fails")
		p.Attempts[0].Kind, p.Attempts[0].Evidence, p.Attempts[0].Sandbox = ptr("wall_timeout"), ptr("ended after 5m0s"), "none"
		p.Tree.Changed = []string{"notes.txt"}
		p.Attempts[0].Tokens = fix.Tokens{Input: ptr(int64(1200)), Output: ptr(int64(340))}
		p.Attempts[0].CostUSD = ptr(0.0215)
	},
	"no_fix": func(p *fix.Proposal) {
		p.State, p.Verdict, p.Disposition, p.Patch, p.Diff, p.Verification = "no_fix", nil, "none", nil, nil, nil
		p.AgentSaid = &fix.Said{Outcome: "no_fix", Summary: "The test needs a database\nthat is not here. \u202eevil\x1b[2J"}
	},
	"not_reproduced": func(p *fix.Proposal) {
		p.State, p.Verdict, p.Disposition, p.Patch, p.Diff, p.Verification, p.AgentSaid, p.Control = "not_reproduced", nil, "none", nil, nil, nil, nil, nil
		p.Attempts, p.Base = nil, nil
		p.Reason = ptr("different: exit 1 in the run, exit 127 in the copy; failed only in the run: TestSum")
		p.Reproduction.Result = "different"
		p.Reproduction.Signature.Copy = ptr("exit 127")
		p.Budget.Used = fix.Amounts{Attempts: ptr(0), WallClockMS: ptr(int64(0))}
	},
	"skipped": func(p *fix.Proposal) {
		p.State, p.Verdict, p.Disposition, p.Patch, p.Diff, p.Verification, p.AgentSaid, p.Control = "skipped", nil, "none", nil, nil, nil, nil, nil
		p.Attempts, p.Base, p.Reproduction, p.Budget = nil, nil, nil, nil
		p.Reason = ptr("open_proposal: run 20261121T023000Z-22bb has a proposal for this failure, which is still open")
		p.Rescue = []string{"fixes/test@1/attempt-1.patch", "fixes/test@1/attempt-2.patch"} // of an earlier fix
	},
	"applied": func(p *fix.Proposal) { p.Disposition, p.Applied = "applied", []string{"logo.png", "sum.go"} },
	"partly":  func(p *fix.Proposal) { p.Applied = []string{"logo.png"} },
	"unfit": func(p *fix.Proposal) {
		p.Without = ptr("20261122T024000Z-aaaa")
		p.Later = &fix.Later{Name: "test@2", State: "not_reproduced", Reason: ptr("passed: the task passes in a copy of the tree as it is now")}
	},
	"no_merge": func(*fix.Proposal) {},
	"refused":  func(*fix.Proposal) {},
	"nothing":  func(*fix.Proposal) {},
	"second_old": func(p *fix.Proposal) { // of a version that did not say what each attempt came to
		first := p.Attempts[0]
		second := first
		second.Number = 2
		p.Attempts = []fix.Attempt{first, second}
	},
	"second": func(p *fix.Proposal) {
		first := p.Attempts[0]
		second := first
		first.Verdict = ptr("unverified")
		second.Number, second.Rescue, second.Verdict = 2, ptr("fixes/test/attempt-2.patch"), ptr("verified")
		p.Attempts = []fix.Attempt{first, second}
		p.Provenance = &fix.Provenance{Files: []fix.Evidence{{Path: "fixes/test/verify-1-proposed-build.log"}, {Path: "fixes/test/verify-1-proposed-test.log"}}}
		p.Note = ptr("the same failure as before")
		p.Attempts[1].Finalizer = &fix.Finalizer{Result: "recovered", DurationMS: 900}
		p.Attempts[0].VerificationMS, p.Attempts[1].VerificationMS = ptr(int64(1000)), ptr(int64(3200))
		p.Reproduction.DurationMS, p.Base.DurationMS = ptr(int64(1100)), ptr(int64(1600))
		p.Provenance.Sandbox = &fix.Confined{Tier: ptr("view")}
		p.Copies = &fix.Copies{Made: "plain", Why: ptr("fsconfig: operation not permitted"), DurationMS: 800}
		for i := range 30 {
			p.Omitted = append(p.Omitted, tree.Omitted{Path: fmt.Sprintf("native/build/obj/%d.o", i), Why: "ignored"})
		}
		p.Omitted = append(p.Omitted, tree.Omitted{Path: "native/build/log.txt", Why: "ignored"}, tree.Omitted{Path: "native/big.bin", Why: "oversize"}, tree.Omitted{Path: "key.pem", Why: "ignored"})
	},
	"core": func(p *fix.Proposal) { // the task still fails, by tests that failed before
		p.Reproduction.Runs, p.Reproduction.Core = 2, []string{"TestMax", "TestSum"}
		p.Reproduction.Others = []fix.OtherTest{
			{Test: "TestPager", Why: fix.OfChance, Run: true, Copies: 1},
			{Test: "TestOwner", Why: fix.OfEnvironment, Run: true},
			{Test: "TestNetwork", Why: fix.OfEnvironment, Copies: 2},
			{Test: "TestSlow", Why: fix.OfChance, Copies: 1},
		}
		p.Verification.Tests = &fix.TestResults{Fixed: p.Reproduction.Core, Unchanged: []string{"TestNetwork"}, Flaky: []string{"TestPort"}}
		p.Verification.Note = ptr("other_failures_unchanged: 2 of 3 fixed, the other failed before: TestNetwork; flaky_tests: failed in one try of two: TestPort")
		for _, c := range []*fix.Check{&p.Verification.Proposed[1], &p.Verification.OriginalChecks[0]} {
			c.Passed, c.CorePassed, c.ExitCode = false, true, ptr(1)
		}
	},
	"by_name": func(p *fix.Proposal) {
		p.Verdict = ptr("suspect")
		p.Verification.Reason = ptr("tests_not_run: asked for by name, go test does not say that TestSum passed")
		p.Verification.OriginalChecks = append(p.Verification.OriginalChecks,
			fix.Check{Task: "build", Passed: true, ByName: true, ExitCode: ptr(0), DurationMS: ptr(int64(800))},
			fix.Check{Task: "test", ByName: true, ExitCode: ptr(1), DurationMS: ptr(int64(900)), Log: ptr("fixes/test/verify-1-by-name-test.log")})
	},
	"native": func(p *fix.Proposal) { // everything that can happen on the way
		p.Control = ptr("recovered")
		tokens := func(in, out int64) fix.Tokens {
			return fix.Tokens{Input: &in, Output: &out, Cached: ptr(in / 2)}
		}
		p.Attempts = []fix.Attempt{
			{
				Number: 1, Agent: "sonnet", Model: ptr("claude-sonnet"), Kind: ptr("stream_failure"), Evidence: ptr("the answer ended in the middle"), Sandbox: "view", DurationMS: 4200,
				Turns: ptr(3), Requests: ptr(8), Tokens: fix.Tokens{Input: ptr(int64(12000)), AtLeast: ptr(int64(12300))},
				Decision: &fix.Decision{Next: "retry", DelayMS: 1000, Why: "another try may succeed", Outcome: "other_kind"},
			},
			{
				Number: 2, Agent: "sonnet", RetryOf: ptr(1), Kind: ptr("quota_exhausted"), Evidence: ptr("You exceeded your current quota"), Sandbox: "view", DurationMS: 20, Turns: ptr(0), Requests: ptr(1),
				Tokens: tokens(0, 0), CostUSD: ptr(0.0),
				Decision: &fix.Decision{Next: "fallback", Why: "the agent can continue in 2h0m0s, and a try needs 20s: the wall clock has less left; the next agent is asked", Outcome: "recovered", ResumeAt: ptr("2026-11-22T06:03:13.401Z")},
			},
			{
				Number: 3, Agent: "opus", Model: ptr("claude-opus"), Sandbox: "view", DurationMS: 61_000, Turns: ptr(9), Requests: ptr(9), Rescue: ptr("fixes/test/attempt-3.patch"), Verdict: ptr("unverified"),
				Tokens: tokens(1_234_567, 890), CostUSD: ptr(1.5), Commands: fix.Commands{Allowed: ptr(4), Refused: ptr(1)},
			},
			{
				Number: 4, Agent: "opus", Model: ptr("claude-opus"), Kind: ptr("loop_detected"), Evidence: ptr("it was told, and went on: You have made the same call 3 times in a row."), Sandbox: "view", DurationMS: 30_000,
				Turns: ptr(14), Requests: ptr(14), Rescue: ptr("fixes/test/attempt-4.patch"), Verdict: ptr("verified"), Tokens: tokens(14_000, 1400), CostUSD: ptr(0.0045),
				Finalizer: &fix.Finalizer{Result: "recovered", Edited: true, DurationMS: 900, Tokens: tokens(140, 10), CostUSD: ptr(0.00057)},
			},
		}
		p.Provenance = &fix.Provenance{Files: []fix.Evidence{{Path: "fixes/test/verify-3-proposed-test.log"}}}
		p.Budget = &fix.Budget{
			Limit: fix.Amounts{Attempts: ptr(2), WallClockMS: ptr(int64(300000)), Tokens: ptr(int64(2_000_000)), CostUSD: ptr(5.0)},
			Used:  fix.Amounts{Attempts: ptr(2), WallClockMS: ptr(int64(98_000))},
		}
	},
	"stopped": func(p *fix.Proposal) { // what is said above is not said twice
		p.State, p.Verdict, p.Disposition, p.Patch, p.Diff, p.Verification, p.AgentSaid, p.Control = "failed", nil, "none", nil, nil, nil, nil, ptr("missing")
		p.Kind, p.Advice = ptr("output_invalid"), nil
		p.Reason = ptr("output_invalid: the agent changed nothing, and its report cannot be read: error object: field \"kind\" is missing")
		p.Attempts[0].Rescue = nil
		p.Attempts[0].Kind, p.Attempts[0].Evidence = p.Kind, ptr(strings.TrimPrefix(*p.Reason, "output_invalid: "))
		p.Attempts[0].Finalizer = &fix.Finalizer{Result: "invalid", Reason: ptr("no parseable JSON object in output"), DurationMS: 800}
		p.Attempts[0].Decision = &fix.Decision{Next: "stop", Why: "another try does not help against output_invalid", Outcome: "not_tried"}
	},
	"failing": func(p *fix.Proposal) {
		p.Verdict = ptr("unverified")
		p.Verification.Proposed[1] = fix.Check{Task: "test", ExitCode: ptr(1), DurationMS: ptr(int64(5)), Log: ptr("fixes/test/verify-1-proposed-test.log")}
		p.Verification.OriginalChecks, p.Verification.Reason = nil, ptr("check_failed")
	},
}

// shownWith is what fix show knows about the tree.
var shownWith = map[string]func(*Commands){
	"partly": func(c *Commands) { c.Partly = []fix.Part{{Path: "sum.go", Hunks: []int{1, 3}, Of: 3}} },
	"unfit": func(c *Commands) {
		c.Unfit, c.Changed, c.Dirty = true, []string{"sum.go"}, []string{"sum.go"}
		c.Apply += " --3way --allow-dirty"
	},
	"no_merge": func(c *Commands) {
		c.Unfit, c.Changed, c.Apply = true, []string{"sum.go"}, ""
	},
	"refused": func(c *Commands) { c.Refused = "not applied: records that git tracks are never applied" },
	"nothing": func(c *Commands) { c.Nothing = true },
	"second":  func(c *Commands) { c.Dirty = []string{"sum.go"} },
	"failing": func(c *Commands) {
		c.Failed, c.Failing = []string{"TestSum", "TestMean"}, []string{"TestSum", "TestSum/empty"}
	},
	"skipped": func(c *Commands) { c.Open = "async-pipeline fix show 20261121T023000Z-22bb test" },
}

func TestShowFix(t *testing.T) {
	t.Parallel()
	for name, change := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := sample()
			change(p)
			c := commandsOf(p)
			if more := shownWith[name]; more != nil {
				more(&c)
			}
			text := golden(t, "show_"+name, func(s *Screen) { s.ShowFix(p, c) })
			if command := "\nasync-pipeline fix apply 20261121T024000Z-7f3a test\n"; strings.Contains(text, command) != (p.State == "proposed" && p.Disposition == "open" && !c.Unfit && c.Refused == "") {
				t.Errorf("the apply command alone on its line: got\n%s", text)
			}
		})
	}
}

// Colour changes nothing but colour.
func TestShowFixColour(t *testing.T) {
	t.Parallel()
	p := sample()
	var plain, colour strings.Builder
	(&Screen{W: &plain, Base: "/home/me/shop"}).ShowFix(p, commandsOf(p))
	(&Screen{W: &colour, Base: "/home/me/shop", Colour: true}).ShowFix(p, commandsOf(p))
	var bare strings.Builder
	for line := range strings.SplitAfterSeq(colour.String(), "\n") {
		bare.WriteString(clean(strings.TrimSuffix(line, "\n"), true))
		if strings.HasSuffix(line, "\n") {
			bare.WriteByte('\n')
		}
	}
	if bare.String() != plain.String() {
		t.Errorf("coloured without colours:\n%s\nplain:\n%s", bare.String(), plain.String())
	}
	if !strings.Contains(colour.String(), "\x1b[32m+    for i := 0") {
		t.Error("an added line is not green")
	}
	// Inside a hunk a removed line that looks like a header is a removed line.
	if !strings.Contains(colour.String(), "\x1b[31m--- this line is removed") {
		t.Error("a removed line that begins with -- is not red")
	}
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	for name, change := range variants {
		if shownWith[name] != nil && name != "skipped" || name == "applied" || name == "second_old" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := sample()
			change(p)
			c := commandsOf(p)
			if name == "skipped" {
				shownWith[name](&c)
			}
			golden(t, "outcome_"+name, func(s *Screen) { s.Outcome(&p.Fix, c) })
		})
	}
}

func TestHealing(t *testing.T) {
	t.Parallel()
	golden(t, "healing", func(s *Screen) {
		s.HookStarted("test", "fixer", "view", 2, 5*time.Minute)
		s.HookStep("test", "reproducing in a copy", 0)
		s.HookStep("test", "reproduced: exit 1; TestSum", 291*time.Second)
		s.HookStep("test", "attempt 1 changed cart/cart.go, cart/price.go, cart/testdata/basket.json and 11 more", 200*time.Second)
		s.RunHookStarted("test")
		s.RunHookDone("test", 0, "", 300*time.Millisecond, "")
		s.RunHookDone("test", 3, "", 300*time.Millisecond, "/home/me/shop/.async/runs/x/fixes/test.run.log")
		s.RunHookDone("test", 124, "timed out after 10s", 10*time.Second, "")
	})
}

func TestFixes(t *testing.T) {
	t.Parallel()
	golden(t, "list", func(s *Screen) {
		dir := func(i fix.Item) string { return "/home/me/shop/.async/runs/" + i.Run }
		better := func(i fix.Item) string { return "async-pipeline fix apply " + i.Run + " " + *i.Verified }
		s.Fixes([]fix.Item{
			{
				Run: "20261121T024500Z-11aa", Task: "test", State: "proposed", Disposition: "open", Verdict: ptr("verified"),
				Summary: ptr("Let the loop run to the last number, which it did not do before, so that all of them count."), Files: []string{"sum.go"},
			},
			{
				Run: "20261121T024000Z-7f3a", Task: "lint", State: "proposed", Disposition: "applied", Verdict: ptr("suspect"), Files: []string{"a.go", "b.go"},
				Flags: []fix.Flag{{ID: "F1", Rule: "check_file"}},
			},
			{
				Run: "20261121T023000Z-22bb", Task: "vet", State: "proposed", Disposition: "open", Verdict: ptr("verified"),
				Files: []string{"a.go", "b.go", "c.go", "d.go", "e.go", "f.go", "g.go"}, Applied: []string{"b.go"},
			},
			{
				Run: "20261121T022000Z-33cc", Task: "vet", State: "proposed", Disposition: "open", Verdict: ptr("verified"),
				Files: []string{"a.go"}, Partly: []fix.Part{{Path: "a.go", Hunks: []int{1, 3}, Of: 4}},
			},
			{Run: "20261120T024000Z-0001", Task: "a-very-long-name-of-a-task", State: "no_fix", Disposition: "none", Rescue: []string{"fixes/x/attempt-1.patch"}},
			{Run: "20261120T023000Z-0002", Task: "test", State: "skipped", Disposition: "none", Reason: ptr("open_proposal: run 20261120T022000Z-0001 has a proposal for this failure, which is still open")},
			{Run: "20261120T022500Z-0003", Task: "vet", State: "failed", Disposition: "none", Kind: ptr("idle_timeout")},
			{
				Run: "20261120T022000Z-0001", Task: "test", State: "proposed", Disposition: "open", Verdict: ptr("verified"), Files: []string{"a.go"}, Fits: ptr(false),
				Without: ptr("20261121T024500Z-11aa"), Later: &fix.Later{Name: "test@3", State: "not_reproduced", Reason: ptr("passed: the task passes in a copy")},
			},
			{
				Run: "20261120T021000Z-0001", Task: "test", State: "proposed", Disposition: "open", Verdict: ptr("unverified"), Files: []string{"a.go"},
				Verified: ptr("test@1"),
			},
		}, dir, better)
	})
}

func TestApplied(t *testing.T) {
	t.Parallel()
	p := sample()
	golden(t, "applied", func(s *Screen) {
		a := apply.Applied{Files: []string{"sum.go", "logo.png"}}
		s.Applied(p, a, false, "async-pipeline run test", "")
		s.Applied(p, a, true, "async-pipeline run test", "")
		s.Applied(p, apply.Applied{Already: true}, false, "async-pipeline run test", "")
		s.Applied(p, apply.Applied{Files: []string{"sum.go"}}, false, "async-pipeline run test", "")
		s.Applied(p, apply.Applied{Files: []string{"sum.go"}, Already: true}, false, "async-pipeline run test", "")
	})
}

// What is known of a cost is told where a part of it is unknown, of an attempt and of all of them; commands are,
// where there were any.
func TestAttemptsCost(t *testing.T) {
	t.Parallel()
	some := fix.Tokens{Input: ptr(int64(10)), Output: ptr(int64(5))}
	for name, c := range map[string]struct {
		attempts []fix.Attempt
		used     fix.Amounts
		want     []string
		never    string
	}{
		"all": {
			[]fix.Attempt{{Number: 1, Tokens: some, CostUSD: ptr(0.5)}},
			fix.Amounts{Tokens: ptr(int64(15)), CostUSD: ptr(0.5)},
			[]string{"tokens 10 in, 5 out; cost $0.50\n", "· tokens 15 · cost $0.50\n"},
			"at least",
		},
		"a part of one": {
			[]fix.Attempt{{Number: 1, Tokens: some, CostAtLeast: ptr(0.25)}, {Number: 2, Tokens: some, CostUSD: ptr(0.5)}},
			fix.Amounts{Tokens: ptr(int64(30))},
			[]string{"tokens 10 in, 5 out; cost at least $0.25\n", "tokens 10 in, 5 out; cost $0.50\n", "· cost at least $0.75\n"},
			"cost unknown",
		},
		"a part, and no tokens": {
			[]fix.Attempt{{Number: 1, CostAtLeast: ptr(0.25)}},
			fix.Amounts{},
			[]string{"tokens unknown; cost at least $0.25\n", "cost at least $0.25\n"},
			"cost unknown",
		},
		"of the question": {
			[]fix.Attempt{{Number: 1, Tokens: some, CostUSD: ptr(0.5), Finalizer: &fix.Finalizer{Result: "recovered", Tokens: some, CostAtLeast: ptr(0.25)}}},
			fix.Amounts{},
			[]string{"cost $0.50\n", "cost at least\n     $0.25\n", "cost at least $0.75\n"},
			"cost unknown",
		},
		"nothing": {[]fix.Attempt{{Number: 1}}, fix.Amounts{}, []string{"tokens and cost unknown\n", "· cost unknown\n"}, "at least"},
		"commands": {
			[]fix.Attempt{{Number: 1, Commands: fix.Commands{Allowed: ptr(1), Refused: ptr(0)}}, {Number: 2, Commands: fix.Commands{Allowed: ptr(0), Refused: ptr(0)}}},
			fix.Amounts{},
			[]string{"     1 command run, 0 refused\n"},
			"0 commands",
		},
	} {
		f := &fix.Fix{State: fix.Proposed, Attempts: c.attempts, Budget: &fix.Budget{Used: c.used}}
		var b strings.Builder
		got := (&Screen{W: &b}).attempts(f, "")
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, got)
			}
		}
		if strings.Contains(got, c.never) {
			t.Errorf("%s: %q is in\n%s", name, c.never, got)
		}
	}
}

func TestReplayed(t *testing.T) {
	t.Parallel()
	passed := &fix.Verification{
		Proposed:       []fix.Check{{Task: "test", Passed: true, DurationMS: new(int64(2100))}},
		OriginalChecks: []fix.Check{{Task: "test", Passed: true, DurationMS: new(int64(1900))}},
	}
	golden(t, "replayed", func(s *Screen) {
		for _, r := range []*Rebuilt{
			nil,
			{Calls: 1},
			{Calls: 7, FromCommands: []string{"go.sum", "internal/clock/zz_generated.go"}},
			{FromCommands: []string{"go.sum"}},
			{
				Calls: 2, FromCommands: []string{"a/very/long/folder/with/a/generated_file.go", "another/long/folder/with/a/generated_file.go"},
				Unknown: []string{"big.json: the transcript holds only the beginning of a call that changed it"},
			},
			{Calls: 3, Contradictions: []string{
				"clock.go: the calls leave it otherwise than the patch does",
				"line 12 of the transcript says that edit of clock.go ended well, and it cannot have: old does not stand in clock.go: nothing was changed.",
			}, FromCommands: []string{"go.sum"}},
			{Why: "its hook asked for a diff in the answer: that is the patch, not what the calls changed"},
		} {
			s.Replayed(Replayed{
				Run: "20261121T024000Z-7f3a", Task: "test", Same: true, Then: "verified", Now: "verified", Rebuilt: r, Verification: passed,
			})
			s.put("\n")
		}
		s.Replayed(Replayed{
			Run: "20261121T024000Z-7f3a", Task: "test", Then: "verified", Now: "unverified (check_failed)", Rebuilt: &Rebuilt{Calls: 1},
			Verification: &fix.Verification{Proposed: []fix.Check{{Task: "test", DurationMS: new(int64(2100))}}},
			Notes:        []string{`task "test" is written differently in PIPELINE.hcl than it was in the run`}, Output: "--- FAIL: TestClock\n",
		})
	})
}

// What the record of an agent says moves no cursor.
func TestReplayedIsHarmless(t *testing.T) {
	t.Parallel()
	const bad = "a\x1b[2J.go"
	var b strings.Builder
	s := &Screen{W: &b}
	s.Replayed(Replayed{Run: "r", Task: "t", Same: true, Then: "verified", Now: "verified", Rebuilt: &Rebuilt{
		Why: "", FromCommands: []string{bad}, Unknown: []string{bad},
	}})
	s.Replayed(Replayed{Run: "r", Task: "t", Same: true, Then: "verified", Now: "verified", Rebuilt: &Rebuilt{Contradictions: []string{bad}}})
	if strings.Contains(b.String(), "\x1b") || strings.Count(b.String(), ".go") != 3 {
		t.Errorf("it shows %q", b.String())
	}
}

// However narrow the screen and however long the names: a line of ours is wider than the screen only where it is
// one word, such as a path, or a command to type, or a line of the patch's own.
func TestFixScreensStayWithin(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("name-of-sixty-", 4) + "bytes"
	wide := strings.Repeat("検査", 15)
	deep := strings.Repeat("folder/", 12) + "datei.go"
	dir := func(fix.Item) string { return "/home/me/shop/.async/runs/20261121T024000Z-7f3a" }
	better := func(i fix.Item) string { return "async-pipeline fix apply " + i.Run + " " + *i.Verified }
	for _, columnsOf := range []int{80, 40} {
		for _, task := range []string{"test", long, wide} {
			for name, change := range variants {
				t.Run(fmt.Sprint(columnsOf, " ", name, " ", task), func(t *testing.T) {
					t.Parallel()
					p := sample()
					change(p)
					p.Task = task
					p.Flags = append(p.Flags, fix.Flag{ID: "f9", Rule: "mode_changed", Path: &deep, Detail: "it can be executed now"})
					if p.Patch != nil {
						p.Patch.Files = append(p.Patch.Files, fix.PatchFile{Path: deep, Change: "modified", Added: 1, Removed: 1})
					}
					if p.Verification != nil {
						for i := range p.Verification.Proposed {
							p.Verification.Proposed[i].Task = task
						}
					}
					c := commandsOf(p)
					c.Refused, c.Partly, c.Changed = "not applied: a link or file is on the way", []fix.Part{{Path: deep, Hunks: []int{1, 2}, Of: 3}}, []string{deep}
					if more := shownWith[name]; more != nil {
						more(&c)
					}
					item := fix.Item{
						Run: p.Run, Task: task, State: p.State, Disposition: p.Disposition, Verdict: p.Verdict, Flags: p.Flags, Files: []string{deep, "a"}, Applied: []string{deep},
						Partly: c.Partly, Rescue: []string{"fixes/" + task + "/attempt-1.patch"}, Fits: ptr(false), Without: ptr(p.Run), PassedIn: ptr(p.Run), RecurredIn: []string{p.Run, p.Run},
						Later: &fix.Later{Name: task, State: "not_reproduced", Reason: ptr("passed: the task passes in a copy of the tree")}, Verified: ptr(task + "@1"), Reason: p.Reason,
					}
					a := apply.Applied{Files: []string{deep, "sum.go"}, Rest: true, Parts: c.Partly, Dirty: []string{deep}, Merged: []string{deep}, Note: "a note that is long enough for a second line at forty columns"}
					for what, show := range map[string]func(*Screen){
						"show":    func(s *Screen) { s.ShowFix(p, c) },
						"outcome": func(s *Screen) { s.Outcome(&p.Fix, c) },
						"list":    func(s *Screen) { s.Fixes([]fix.Item{item}, dir, better) },
						"apply":   func(s *Screen) { s.Applied(p, a, false, c.Show, "") },
						"revert":  func(s *Screen) { s.Reverted(p, a, true, c.Show) },
						"reject":  func(s *Screen) { s.Rejected(p, apply.Rejected{Applied: []string{deep, "a"}}, true) },
						"audit": func(s *Screen) {
							s.Audit([]Audited{{Run: p.Run, Fixes: []string{task}, Files: 12, Faults: []journal.Fault{{File: deep, Where: "line 3 of " + deep, Expected: "this and that", Found: "what nobody expected"}}, Notes: []journal.Note{{File: deep, Text: "no record says anything about it"}}}})
						},
						"refusal": func(s *Screen) {
							s.Refused("not applied: the files are no longer as the fix found them: " + deep + " (changed), sum.go (gone); merge it in with --3way, or have a new fix proposed: async-pipeline heal " + p.Run + " test")
						},
						"stats": func(s *Screen) {
							s.Stats(fix.Stats{Runs: fix.RunStats{Total: 3, Passed: 3}, Total: fix.AgentStats{Attempts: 1}, Agents: []fix.AgentStats{{Agent: &task, Attempts: 1234, Retries: 12, WallClockMS: 5_000_000, Tokens: fix.Tokens{AtLeast: ptr(int64(12_345_678))}, TokensUnknown: 1, CostUSD: ptr(12.5)}}, Kinds: []fix.KindStats{{Kind: "transport_disconnect", Attempts: 12}}}, "async-pipeline fix list --recurring")
						},
					} {
						var b strings.Builder
						show(&Screen{W: &b, Base: "/home/me/shop", Columns: columnsOf})
						for line := range strings.SplitSeq(strings.TrimSuffix(b.String(), "\n"), "\n") {
							text := strings.TrimSpace(strings.NewReplacer("│", "", "- ", "", "(", "", "kept: ", "", "x ", "").Replace(line))
							if columns(line) > columnsOf && strings.Contains(text, " ") && !strings.HasPrefix(text, "async-pipeline ") {
								t.Errorf("%s: %d columns: %q", what, columns(line), line)
							}
						}
					}
				})
			}
		}
	}
}

// decided shows what the verbs print that a person decides with.
func decided(evil string) map[string]func(*Screen) {
	p := sample()
	p.Task += evil
	some := apply.Applied{
		Files: []string{"logo.png" + evil, "sum.go"}, Rest: true, Edited: true, Note: "this fix is unverified" + evil,
		Parts: []fix.Part{{Path: "sum.go", Hunks: []int{1, 3}, Of: 4}}, Merged: []string{"sum.go"}, Dirty: []string{"logo.png" + evil},
	}
	const again = "async-pipeline fix apply 20261121T024000Z-7f3a test"
	return map[string]func(*Screen){
		"applied_partly": func(s *Screen) {
			s.Applied(p, some, false, "async-pipeline run test", "")
			s.Applied(p, some, true, "async-pipeline run test", "")
			s.Applied(p, apply.Applied{Files: []string{"sum.go"}, Parts: []fix.Part{{Path: "sum.go", Hunks: []int{2}, Of: 2}}}, false, "async-pipeline run test", "")
		},
		"applied_worse": func(s *Screen) {
			worse := *p
			worse.Verdict, worse.Verified = new(fix.Unverified), new("test@1"+evil)
			s.Applied(&worse, apply.Applied{Files: []string{"logo.png", "sum.go"}}, false, "async-pipeline run test", again+"@1")
			s.Applied(&worse, apply.Applied{Files: []string{"logo.png", "sum.go"}}, true, "async-pipeline run test", again+"@1")
		},
		"applied_before": func(s *Screen) {
			older := *p
			older.Called = p.Task + "@1"
			s.Applied(&older, apply.Applied{Files: []string{"logo.png", "sum.go"}, Already: true, Since: []string{"sum.go"}, At: "2026-11-21T02:41:00.000Z" + evil}, false, "async-pipeline run test", "")
		},
		"reverted": func(s *Screen) {
			s.Reverted(p, apply.Applied{Files: []string{"logo.png" + evil, "sum.go"}, Merged: []string{"sum.go"}}, false, again)
			s.Reverted(p, apply.Applied{Files: []string{"sum.go"}}, true, again)
			s.Reverted(p, apply.Applied{Files: []string{"logo.png", "sum.go"}, Already: true}, false, again)
			s.Reverted(p, apply.Applied{Files: []string{"logo.png", "sum.go"}, Already: true}, true, again)
		},
		"rejected": func(s *Screen) {
			s.Rejected(p, apply.Rejected{}, false)
			s.Rejected(p, apply.Rejected{Applied: []string{"logo.png" + evil}}, false)
			s.Rejected(p, apply.Rejected{}, true)
			s.Rejected(p, apply.Rejected{Already: true}, false)
		},
		"conflicts": func(s *Screen) {
			s.Conflicts(&apply.Conflicts{Files: []apply.Conflict{
				{Path: "sum.go" + evil, Why: "conflict", Clashes: []patch.Clash{
					{Line: 12, Text: "<<<<<<< ours\n\ttotal += 1" + evil + "\n||||||| base\n=======\n\ttotal += numbers[i] // " + strings.Repeat("every number counts ", 5) + "\n>>>>>>> theirs\n"},
					{Line: 40, Text: "<<<<<<< ours\nmine\r\n=======\n>>>>>>> theirs"},
				}},
				{Path: "logo.png" + evil, Why: "binary, and changed on both sides" + evil},
			}})
		},
	}
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	for name, show := range decided("") {
		golden(t, name, show)
	}
}

// What is in a patch or a tree cannot act on the terminal.
func TestDecisionsAreHarmless(t *testing.T) {
	t.Parallel()
	const evil = "\x1b[2J\x1b]0;x\x07\u202e\u200b\r✓ fake\n✓ fake\n"
	for name, show := range decided(evil) {
		for _, colour := range []bool{false, true} {
			var b bytes.Buffer
			show(&Screen{W: &b, Colour: colour})
			got := b.String()
			for _, bad := range []string{"\x1b[2J", "\x1b]", "\x07", "\u202e", "\u200b", "\r", "\n✓ fake"} {
				if strings.Contains(got, bad) {
					t.Errorf("%s shows %q:\n%q", name, bad, got)
				}
			}
		}
	}
}

// An agent that a person interrupted has not failed.
func TestFollowedByAnInterruption(t *testing.T) {
	t.Parallel()
	d := &fix.Decision{Next: "fallback", Outcome: "other_kind"}
	for kind, want := range map[string]string{"cancelled": "; it was interrupted", "cli_error": "; it failed in another way"} {
		f := &fix.Fix{Attempts: []fix.Attempt{{Agent: "a", Decision: d}, {Agent: "b", Kind: ptr(kind)}}}
		if got := followed(f, 0); got != "then: agent b was asked"+want {
			t.Errorf("%s: %s", kind, got)
		}
	}
}
