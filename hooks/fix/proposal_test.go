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
	patch := &fix.PatchRef{Path: "fixes/test.patch", Files: []fix.PatchFile{{Path: "a"}}}
	pass := []fix.Check{{Task: "test", Passed: true, ExitCode: new(0)}}
	fail := []fix.Check{{Task: "dep", Passed: true}, {Task: "test", ExitCode: new(1)}}
	odd := []fix.Check{{Passed: true, ExitCode: new(1)}}
	proposed := func(verdict string, asProposed, originalChecks []fix.Check, flags ...fix.Flag) fix.Fix {
		return fix.Fix{
			State: fix.Proposed, Patch: patch, Verdict: &verdict, Flags: flags,
			Verification: &fix.Verification{Proposed: asProposed, OriginalChecks: originalChecks},
		}
	}
	cases := map[string]struct {
		f    fix.Fix
		says string // empty: consistent
	}{
		"verified":            {proposed("verified", pass, pass), ""},
		"suspect":             {proposed("suspect", pass, fail), ""},
		"unverified":          {proposed("unverified", fail, nil), ""},
		"unverified, no time": {fix.Fix{State: fix.Proposed, Patch: patch, Verdict: new("unverified")}, ""},
		"no fix":              {fix.Fix{State: fix.NoFix}, ""},

		"no state":                {fix.Fix{}, `"" is no state`},
		"unknown state":           {fix.Fix{State: "great"}, "no state"},
		"proposed, no patch":      {fix.Fix{State: fix.Proposed, Verdict: new("unverified")}, "without a patch"},
		"proposed, no verdict":    {fix.Fix{State: fix.Proposed, Patch: patch}, "without a verdict"},
		"a patch, not proposed":   {fix.Fix{State: fix.NoFix, Patch: patch}, "does not go with a patch"},
		"a verdict, not proposed": {fix.Fix{State: fix.Failed, Verdict: new("verified")}, "does not go with verdict"},
		"an empty patch": {
			fix.Fix{State: fix.Proposed, Patch: &fix.PatchRef{}, Verdict: new("unverified")},
			"names no file",
		},
		"unknown verdict": {proposed("perfect", nil, nil), "no verdict"},
		"verified, nothing checked": {
			fix.Fix{State: fix.Proposed, Patch: patch, Verdict: new("verified")},
			"nothing was checked with the patch as proposed",
		},
		"verified, no original checks":  {proposed("verified", pass, nil), "nothing was checked with the original"},
		"verified, the patch fails":     {proposed("verified", fail, pass), `check "test" did not pass`},
		"verified, the original fails":  {proposed("verified", pass, fail), `original checks the check "test" did`},
		"verified, passed with exit 1":  {proposed("verified", odd, pass), "did not pass"},
		"verified, with a capping flag": {proposed("verified", pass, pass, fix.Flag{ID: "F1", Caps: true}), "flag F1"},
		"suspect, the patch fails":      {proposed("suspect", fail, pass), "did not pass"},
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
