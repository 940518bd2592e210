package fix

import (
	"strings"
	"testing"
)

// What contradicts itself is neither written nor believed.
func TestConsistent(t *testing.T) {
	t.Parallel()
	patch := func() *PatchRef { return &PatchRef{Path: "fixes/test.patch", Files: []PatchFile{{Path: "a"}}} }
	pass, fail := []Check{{Task: "test", Passed: true, ExitCode: ptr(0)}}, []Check{{Task: "dep", Passed: true}, {Task: "test", ExitCode: ptr(1)}}
	cases := map[string]struct {
		f    Fix
		says string // empty: consistent
	}{
		"verified":            {Fix{State: Proposed, Patch: patch(), Verdict: ptr("verified"), Verification: &Verification{Proposed: pass, OriginalChecks: pass}}, ""},
		"suspect":             {Fix{State: Proposed, Patch: patch(), Verdict: ptr("suspect"), Verification: &Verification{Proposed: pass, OriginalChecks: fail}}, ""},
		"unverified":          {Fix{State: Proposed, Patch: patch(), Verdict: ptr("unverified"), Verification: &Verification{Proposed: fail}}, ""},
		"unverified, no time": {Fix{State: Proposed, Patch: patch(), Verdict: ptr("unverified")}, ""},
		"no fix":              {Fix{State: NoFix}, ""},

		"no state":                      {Fix{}, `"" is no state`},
		"unknown state":                 {Fix{State: "great"}, "no state"},
		"proposed, no patch":            {Fix{State: Proposed, Verdict: ptr("unverified")}, "without a patch"},
		"proposed, no verdict":          {Fix{State: Proposed, Patch: patch()}, "without a verdict"},
		"a patch, not proposed":         {Fix{State: NoFix, Patch: patch()}, "does not go with a patch"},
		"a verdict, not proposed":       {Fix{State: Failed, Verdict: ptr("verified")}, "does not go with verdict"},
		"an empty patch":                {Fix{State: Proposed, Patch: &PatchRef{}, Verdict: ptr("unverified")}, "names no file"},
		"unknown verdict":               {Fix{State: Proposed, Patch: patch(), Verdict: ptr("perfect")}, "no verdict"},
		"verified, nothing checked":     {Fix{State: Proposed, Patch: patch(), Verdict: ptr("verified")}, "nothing was checked with the patch as proposed"},
		"verified, no original checks":  {Fix{State: Proposed, Patch: patch(), Verdict: ptr("verified"), Verification: &Verification{Proposed: pass}}, "nothing was checked with the original checks"},
		"verified, the patch fails":     {Fix{State: Proposed, Patch: patch(), Verdict: ptr("verified"), Verification: &Verification{Proposed: fail, OriginalChecks: pass}}, `check "test" did not pass`},
		"verified, the original fails":  {Fix{State: Proposed, Patch: patch(), Verdict: ptr("verified"), Verification: &Verification{Proposed: pass, OriginalChecks: fail}}, `original checks the check "test" did not pass`},
		"verified, passed with exit 1":  {Fix{State: Proposed, Patch: patch(), Verdict: ptr("verified"), Verification: &Verification{Proposed: []Check{{Passed: true, ExitCode: ptr(1)}}, OriginalChecks: pass}}, "did not pass"},
		"verified, with a capping flag": {Fix{State: Proposed, Patch: patch(), Verdict: ptr("verified"), Verification: &Verification{Proposed: pass, OriginalChecks: pass}, Flags: []Flag{{ID: "F1", Caps: true}}}, "flag F1"},
		"suspect, the patch fails":      {Fix{State: Proposed, Patch: patch(), Verdict: ptr("suspect"), Verification: &Verification{Proposed: fail, OriginalChecks: pass}}, "did not pass"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := consistent(&c.f)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("consistent: %v", err)
			}
			s := newStore(t, one)
			d, begin := Begin(runDir(s, runID), runID, verdictOf(t, s, runID), "test", nil)
			check(t, begin)
			defer func() { check(t, d.Close()) }()
			if sealed := d.Seal(&c.f); (sealed == nil) != (c.says == "") {
				t.Errorf("Seal: %v", sealed)
			}
		})
	}
}
