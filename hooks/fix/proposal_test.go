package fix_test

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
)

// What contradicts itself is neither written nor believed.
func TestConsistent(t *testing.T) {
	t.Parallel()
	patch := func() *fix.PatchRef {
		return &fix.PatchRef{Path: "fixes/test.patch", Files: []fix.PatchFile{{Path: "a"}}}
	}
	pass, fail := []fix.Check{{Task: "test", Passed: true, ExitCode: new(0)}}, []fix.Check{
		{Task: "dep", Passed: true},
		{Task: "test", ExitCode: new(1)},
	}
	cases := map[string]struct {
		f    fix.Fix
		says string // empty: consistent
	}{
		"verified": {fix.Fix{
			State: fix.Proposed, Patch: patch(), Verdict: new("verified"),
			Verification: &fix.Verification{Proposed: pass, OriginalChecks: pass},
		}, ""},
		"suspect": {fix.Fix{
			State: fix.Proposed, Patch: patch(), Verdict: new("suspect"),
			Verification: &fix.Verification{Proposed: pass, OriginalChecks: fail},
		}, ""},
		"unverified": {fix.Fix{
			State: fix.Proposed, Patch: patch(), Verdict: new("unverified"),
			Verification: &fix.Verification{Proposed: fail},
		}, ""},
		"unverified, no time": {fix.Fix{State: fix.Proposed, Patch: patch(), Verdict: new("unverified")}, ""},
		"no fix":              {fix.Fix{State: fix.NoFix}, ""},

		"no state":                {fix.Fix{}, `"" is no state`},
		"unknown state":           {fix.Fix{State: "great"}, "no state"},
		"proposed, no patch":      {fix.Fix{State: fix.Proposed, Verdict: new("unverified")}, "without a patch"},
		"proposed, no verdict":    {fix.Fix{State: fix.Proposed, Patch: patch()}, "without a verdict"},
		"a patch, not proposed":   {fix.Fix{State: fix.NoFix, Patch: patch()}, "does not go with a patch"},
		"a verdict, not proposed": {fix.Fix{State: fix.Failed, Verdict: new("verified")}, "does not go with verdict"},
		"an empty patch": {
			fix.Fix{State: fix.Proposed, Patch: &fix.PatchRef{}, Verdict: new("unverified")},
			"names no file",
		},
		"unknown verdict": {fix.Fix{State: fix.Proposed, Patch: patch(), Verdict: new("perfect")}, "no verdict"},
		"verified, nothing checked": {
			fix.Fix{State: fix.Proposed, Patch: patch(), Verdict: new("verified")},
			"nothing was checked with the patch as proposed",
		},
		"verified, no original checks": {fix.Fix{
			State: fix.Proposed, Patch: patch(), Verdict: new("verified"),
			Verification: &fix.Verification{Proposed: pass},
		}, "nothing was checked with the original checks"},
		"verified, the patch fails": {fix.Fix{
			State: fix.Proposed, Patch: patch(), Verdict: new("verified"),
			Verification: &fix.Verification{Proposed: fail, OriginalChecks: pass},
		}, `check "test" did not pass`},
		"verified, the original fails": {fix.Fix{
			State: fix.Proposed, Patch: patch(), Verdict: new("verified"),
			Verification: &fix.Verification{Proposed: pass, OriginalChecks: fail},
		}, `original checks the check "test" did not pass`},
		"verified, passed with exit 1": {fix.Fix{
			State: fix.Proposed, Patch: patch(), Verdict: new("verified"),
			Verification: &fix.Verification{
				Proposed:       []fix.Check{{Passed: true, ExitCode: new(1)}},
				OriginalChecks: pass,
			},
		}, "did not pass"},
		"verified, with a capping flag": {fix.Fix{
			State: fix.Proposed, Patch: patch(), Verdict: new("verified"),
			Verification: &fix.Verification{Proposed: pass, OriginalChecks: pass}, Flags: []fix.Flag{{
				ID:   "F1",
				Caps: true,
			}},
		}, "flag F1"},
		"suspect, the patch fails": {fix.Fix{
			State: fix.Proposed, Patch: patch(), Verdict: new("suspect"),
			Verification: &fix.Verification{Proposed: fail, OriginalChecks: pass},
		}, "did not pass"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := fix.Consistent(&c.f)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("consistent: %v", err)
			}
			s := fixtest.NewStore(t, fixtest.One)
			d := fixtest.Begin(t, s, "test", nil)
			if sealed := d.Seal(&c.f); (sealed == nil) != (c.says == "") {
				t.Errorf("Seal: %v", sealed)
			}
		})
	}
}
