package fix

import (
	"errors"
	"os"
	"path/filepath"
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
			d, begin := Begin(s.runDir(runID), runID, s.verdict(t, runID), "test", nil)
			check(t, begin)
			defer func() { check(t, d.Close()) }()
			if sealed := d.Seal(&c.f); (sealed == nil) != (c.says == "") {
				t.Errorf("Seal: %v", sealed)
			}
		})
	}
}

// A record that was changed so that it contradicts itself, or whose run is another one, hides no other and is not applied.
func TestForgedRecords(t *testing.T) {
	t.Parallel()
	run := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, "run.json")
			switch name {
			case "gone":
				check(t, os.Remove(path))
			case "link":
				relink(t, path)
			case "changed":
				replaceIn(t, path, "failed", "passed")
			}
		}
	}
	cases := map[string]struct {
		forge func(t *testing.T, dir string)
		says  string
		all   bool // the whole run is refused
	}{
		"run.json is gone":    {run("gone"), "run.json", true},
		"run.json is a link":  {run("link"), "symbolic link", true},
		"run.json is another": {run("changed"), "one of them was changed", true},
		"made for another run": {func(t *testing.T, dir string) {
			replaceIn(t, dir+"/fixes/bad.json", `"run_digest":"sha256:`, `"run_digest":"sha256:0`)
		}, "bad.json was made for a run.json with digest sha256:0", false},
		"an original check fails": {func(t *testing.T, dir string) {
			replaceIn(t, dir+"/fixes/bad.json", `"original_checks":[{"task":"test","passed":true`, `"original_checks":[{"task":"test","passed":false`)
		}, "did not pass", false},
		"nothing was checked": {func(t *testing.T, dir string) {
			replaceIn(t, dir+"/fixes/bad.json", `"verification":{"proposed":`, `"verification":{"p":`)
		}, "nothing was checked", false},
	}
	verified := func(_ *Draft, f *Fix) { f.Verdict = ptr("verified") }
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, one)
			sealed(t, s, "good", one, two, verified)
			p := sealed(t, s, "bad", one, two, verified)
			other := "20261122T000000Z-bbbb"
			sealedIn(t, s, other, "good", change(one, two), verified)
			c.forge(t, s.runDir(runID))

			items, errs := s.List()
			if want := map[bool]int{true: 1, false: 2}[c.all]; len(items) != want {
				t.Errorf("listed: %+v", items)
			}
			if len(errs) == 0 || !errors.Is(errs[0], ErrDamaged) || !strings.Contains(errors.Join(errs...).Error(), c.says) {
				t.Errorf("errors: %v", errs)
			}
			if _, err := s.Find(runID, "bad"); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Find: %v", err)
			}
			if strings.HasPrefix(name, "run.json") { // the proposal was found before
				if _, err := apply(t, s, p, Options{}); !errors.Is(err, ErrDamaged) || !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("Apply: %v", err)
				}
			}
			same(t, "tree", snapshot(t, s.Root), one)
		})
	}
	t.Run("changed in memory", func(t *testing.T) {
		t.Parallel()
		s := newStore(t, one)
		p := sealed(t, s, "test", one, two, nil)
		p.Verdict = ptr("verified")
		if _, err := apply(t, s, p, Options{}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "nothing was checked") {
			t.Errorf("%v", err)
		}
	})
}

// Records that git tracks came with the repository: they are shown, and never applied.
func TestForeignRecords(t *testing.T) {
	t.Parallel()
	for _, sub := range []string{".", "pkg"} {
		t.Run(sub, func(t *testing.T) {
			t.Parallel()
			top := tempDir(t)
			root := filepath.Join(top, sub)
			check(t, os.MkdirAll(root, 0o755))
			s := storeAt(t, root, one)
			check(t, os.WriteFile(filepath.Join(s.Dir, ".gitignore"), []byte("*\n"), 0o600))
			commitAll(t, top)
			path := filepath.ToSlash(filepath.Join(sub, "a.txt"))
			p := sealed(t, s, "test", files{path: "f:one\n"}, files{path: "f:two\n"}, nil)
			if came, err := s.Foreign(t.Context()); came || err != nil {
				t.Errorf("our own: %v %v", came, err)
			}
			if _, err := apply(t, s, p, Options{DryRun: true}); err != nil {
				t.Errorf("our own: %v", err)
			}
			gitRun(t, root, "add", "-f", ".async/runs/"+runID+"/fixes/test.json")
			gitRun(t, root, "commit", "-q", "-m", "records")
			if came, err := s.Foreign(t.Context()); !came || err != nil {
				t.Errorf("tracked: %v %v", came, err)
			}
			for _, dry := range []bool{true, false} {
				_, err := apply(t, s, p, Options{DryRun: dry, AllowDirty: true})
				if !errors.Is(err, ErrForeign) || !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "came with the repository") || !strings.Contains(err.Error(), "git rm -r --cached .async") {
					t.Errorf("%v", err)
				}
			}
			if b, _ := os.ReadFile(filepath.Join(root, "a.txt")); string(b) != "one\n" {
				t.Errorf("a.txt is %q", b)
			}
			gitRun(t, root, "rm", "-q", "-r", "--cached", ".async")
			if _, err := apply(t, s, p, Options{}); err != nil {
				t.Errorf("no longer tracked: %v", err)
			}
		})
	}
	t.Run("without git", func(t *testing.T) {
		t.Parallel()
		s := newStore(t, one)
		if came, err := s.Foreign(t.Context()); came || err != nil {
			t.Errorf("%v %v", came, err)
		}
	})
}
