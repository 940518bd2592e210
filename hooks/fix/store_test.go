package fix

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFindLatest(t *testing.T) {
	t.Parallel()
	s := newStore(t, one)
	older, newer, newest := "20261120T000000Z-aaaa", runID, "20261122T000000Z-cccc"
	if _, err := s.Find("", ""); !errors.Is(err, ErrNone) {
		t.Errorf("an empty store: %v", err)
	}
	sealedIn(t, s, older, "lint", change(one, two), nil)
	sealedIn(t, s, newer, "test", change(one, two), nil)
	sealedIn(t, s, newer, "vet", nil, nil)
	sealedIn(t, s, newest, "test", nil, nil) // a later run without a proposal
	check(t, os.MkdirAll(runDir(s, "20261123T000000Z-dddd"), 0o700))
	cases := []struct {
		run, task   string
		want, state string
		err         error
		says        string
	}{
		{"", "", newer, Proposed, nil, ""},
		{"latest", "", newer, Proposed, nil, ""},
		{"latest", "vet", newer, NoFix, nil, ""},
		{"latest", "lint", "", "", ErrNone, "it has: test, vet"},
		{older, "", older, Proposed, nil, ""},
		{"20261120", "lint", older, Proposed, nil, ""},
		{newest, "", newest, NoFix, nil, ""},
		{"2026112", "", "", "", ErrAmbiguous, older},
		{"1999", "", "", "", ErrNone, "1999"},
		{"20261123", "", "", "", ErrNone, "no fixes"},
	}
	for _, c := range cases {
		p, err := s.Find(c.run, c.task)
		if c.err != nil {
			if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Find(%q, %q): %v", c.run, c.task, err)
			}
			continue
		}
		if err != nil || p.Run != c.want || p.State != c.state {
			t.Errorf("Find(%q, %q): %+v, %v", c.run, c.task, p, err)
		}
	}
	sealedIn(t, s, newer, "build", change(one, two), nil)
	if _, err := s.Find("", ""); !errors.Is(err, ErrAmbiguous) || !strings.Contains(err.Error(), "build, test, vet") {
		t.Errorf("two proposals: %v", err)
	}
}

func TestListCountsTheNewestProposal(t *testing.T) {
	t.Parallel()
	s := newStore(t, one)
	rescue := func(d *Draft, _ *Fix) {
		_, err := d.Rescue(1, change(one, two))
		check(t, err)
	}
	sealedIn(t, s, runID, `test["linux"]`, change(one, two), func(d *Draft, f *Fix) {
		rescue(d, f)
		f.AgentSaid = &Said{Summary: "first"}
		f.CreatedAt = "2026-11-21T03:00:00.000Z"
	})
	p := sealedIn(t, s, runID, `test["linux"]`, change(one, files{"a.txt": "f:three\n"}), func(d *Draft, f *Fix) {
		rescue(d, f)
		f.AgentSaid = &Said{Summary: "second"}
		f.Flags = []Flag{{ID: "F1", Rule: "check_file"}}
		f.Verdict = ptr("suspect")
		f.CreatedAt = "2026-11-21T04:00:00.000Z"
	})
	if p.AgentSaid.Summary != "second" || !strings.Contains(string(p.Diff), "three") {
		t.Errorf("Find gives %+v", p)
	}
	sealedIn(t, s, runID, `test["linux"]`, nil, func(_ *Draft, f *Fix) { // a third healing finds nothing
		f.CreatedAt = "2026-11-21T04:30:00.000Z"
	})
	sealedIn(t, s, runID, "lint", nil, func(_ *Draft, f *Fix) { f.CreatedAt = "2026-11-21T05:00:00.000Z" })
	items, errs := s.List()
	if len(errs) > 0 || len(items) != 3 {
		t.Fatalf("%+v %v", items, errs)
	}
	if old := items[2]; old.Name != `test["linux"]@1` || old.Task != `test["linux"]` || old.Disposition != superseded || *old.Summary != "first" || len(old.Rescue) != 1 {
		t.Errorf("the older proposal: %+v", old)
	}
	items = items[:2]
	got, err := json.Marshal(items)
	check(t, err)
	want := `[{"run":"` + runID + `","task":"lint","name":"lint","state":"no_fix","disposition":"none","verdict":null,"flags":[],"summary":null,"files":[],"applied":[],"partly":[],"rescue":[],"created_at":"2026-11-21T05:00:00.000Z","fingerprint":null,"passed_in":null,"recurred_in":[],` +
		`"reason":null,"kind":null,"later":null,"fits":null,"passed_without":null,"verified_older":null},` +
		`{"run":"` + runID + `","task":"test[\"linux\"]","name":"test[\"linux\"]","state":"proposed","disposition":"open","verdict":"suspect","flags":[{"id":"F1","rule":"check_file","caps":false,"path":null,"line":null,"detail":""}],` +
		`"summary":"second","files":["a.txt"],"applied":[],"partly":[],"rescue":["fixes/test%5B%22linux%22%5D/attempt-1.patch","fixes/test%5B%22linux%22%5D@2/attempt-1.patch"],"created_at":"2026-11-21T04:00:00.000Z","fingerprint":null,"passed_in":null,"recurred_in":[],` +
		`"reason":null,"kind":null,"later":{"name":"test%5B%22linux%22%5D@3","state":"no_fix","reason":null,"kind":null,"created_at":"2026-11-21T04:30:00.000Z"},"fits":null,"passed_without":null,"verified_older":null}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestInterruptedHealing(t *testing.T) {
	t.Parallel()
	s := newStore(t, one)
	d, err := Begin(runDir(s, runID), runID, verdictOf(t, s, runID), "te/st", nil)
	check(t, err)
	_, err = d.Rescue(1, change(one, two))
	check(t, err)
	_, err = d.Rescue(10, change(one, two))
	check(t, err)
	_, err = d.Rescue(2, change(one, two))
	check(t, err)
	if items, errs := s.List(); len(items)+len(errs) != 0 {
		t.Errorf("a healing at work is listed: %+v %v", items, errs)
	}
	check(t, d.Close()) // its runner died
	for n := 0; n < 100 && locked(d.path("/draft.json")); n++ {
		time.Sleep(20 * time.Millisecond) // see settled
	}
	items, errs := s.List()
	if len(errs) > 0 || len(items) != 1 || items[0].State != Interrupted || items[0].Task != "te/st" || items[0].CreatedAt == "" ||
		strings.Join(items[0].Rescue, " ") != "fixes/te%2Fst/attempt-1.patch fixes/te%2Fst/attempt-2.patch fixes/te%2Fst/attempt-10.patch" {
		t.Errorf("G74 interrupted: %+v %v", items, errs)
	}
	p, err := s.Find(runID, "")
	if err != nil || p.State != Interrupted || len(p.Rescue) != 3 || p.Disposition != "none" {
		t.Errorf("Find: %+v %v", p, err)
	}
	sealedIn(t, s, runID, "te/st", change(one, two), nil)
	items, errs = s.List()
	if len(errs) > 0 || len(items) != 1 || items[0].State != Proposed || len(items[0].Rescue) != 3 {
		t.Errorf("after a second healing: %+v %v", items, errs)
	}
}

func TestNoFixKeepsItsDifference(t *testing.T) {
	t.Parallel()
	s := newStore(t, one)
	p := sealedIn(t, s, runID, "test", nil, func(d *Draft, f *Fix) {
		r, err := d.Rescue(1, change(one, two))
		check(t, err)
		f.Attempts = []Attempt{{Number: 1, Rescue: &r.Path}}
	})
	if p.State != NoFix || p.Patch != nil || len(p.Rescue) != 1 || p.Rescue[0] != *p.Attempts[0].Rescue {
		t.Errorf("H20 no_fix with a difference: %+v", p)
	}
}

// Records that came from elsewhere, or were changed: each is an error that names the file, and hides no other.
func TestDamagedRecords(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		damage func(t *testing.T, dir string)
		says   string
		newer  bool // an error, but not damage
		listed bool // the fix itself is still listed
	}{
		"cut short": {func(t *testing.T, dir string) { check(t, os.Truncate(dir+"/bad.json", 40)) }, "bad.json", false, false},
		"empty":     {func(t *testing.T, dir string) { check(t, os.Truncate(dir+"/bad.json", 0)) }, "bad.json", false, false},
		"newer": {func(t *testing.T, dir string) {
			replaceIn(t, dir+"/bad.json", `"schema_version":1`, `"schema_version":2`)
		}, "upgrade", true, false},
		"no version":         {func(t *testing.T, dir string) { replaceIn(t, dir+"/bad.json", `"schema_version"`, `"x"`) }, "schema_version", false, false},
		"of another run":     {func(t *testing.T, dir string) { replaceIn(t, dir+"/bad.json", runID, "20200101T000000Z-0000") }, "20200101T000000Z-0000", false, false},
		"patch outside":      {func(t *testing.T, dir string) { replaceIn(t, dir+"/bad.json", `fixes/bad.patch`, `../../x`) }, "../../x", false, false},
		"patch of another":   {func(t *testing.T, dir string) { replaceIn(t, dir+"/bad.json", `fixes/bad.patch`, `fixes/good.patch`) }, "good.patch", false, false},
		"no patch":           {func(t *testing.T, dir string) { replaceIn(t, dir+"/bad.json", `"patch":`, `"p":`) }, "without a patch", false, false},
		"a link for the fix": {func(t *testing.T, dir string) { relink(t, dir+"/bad.json") }, "symbolic link", false, false},
		"a link for the state": {func(t *testing.T, dir string) {
			check(t, os.WriteFile(dir+"/bad.state.jsonl", nil, 0o600))
			relink(t, dir+"/bad.state.jsonl")
		}, "symbolic link", true, true},
		"a folder for the fix": {func(t *testing.T, dir string) {
			check(t, os.Remove(dir+"/bad.json"))
			check(t, os.Mkdir(dir+"/bad.json", 0o700))
		}, "bad.json", false, false},
		"decisions forged": {func(t *testing.T, dir string) {
			check(t, os.WriteFile(dir+"/bad.state.jsonl", []byte(`{"seq":1,"at":"","by":"","to":"rejected","files":[],"accepted":[],"prev":null}`+"\n"), 0o600))
		}, "bad.state.jsonl", false, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, one)
			sealedIn(t, s, runID, "good", change(one, two), nil)
			sealedIn(t, s, runID, "bad", change(one, two), nil)
			c.damage(t, filepath.Join(runDir(s, runID), "fixes"))
			items, errs := s.List()
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), c.says) || errors.Is(errs[0], ErrDamaged) == c.newer {
				t.Errorf("errors: %v", errs)
			}
			if want := map[bool]int{false: 1, true: 2}[c.listed]; len(items) != want {
				t.Errorf("listed: %+v", items)
			}
			if _, err := s.Find(runID, "good"); err != nil {
				t.Errorf("the other is hidden: %v", err)
			}
			if _, err := s.Find(runID, "bad"); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Find: %v", err)
			}
		})
	}
}

func TestDamagedPatch(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, path string){
		"changed": func(t *testing.T, path string) { replaceIn(t, path, "two", "tow") },
		"gone":    func(t *testing.T, path string) { check(t, os.Remove(path)) },
		"a link":  relink,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, one)
			p := sealed(t, s, "test", one, two, nil)
			damage(t, filepath.Join(runDir(s, runID), p.Patch.Path))
			if _, err := s.Find(runID, "test"); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "test.patch") {
				t.Errorf("Find: %v", err)
			}
		})
	}
}

func TestLinkedFoldersAreNoRuns(t *testing.T) {
	t.Parallel()
	s := newStore(t, one)
	sealed(t, s, "test", one, two, nil)
	check(t, os.Symlink(runID, filepath.Join(s.Dir, "runs", "20261122T000000Z-link")))
	items, errs := s.List()
	if len(items) != 1 || len(errs) != 1 || !strings.Contains(errs[0].Error(), "20261122T000000Z-link is a link") {
		t.Errorf("%+v %v", items, errs)
	}
	if _, err := s.Find("20261122", "test"); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("Find: %v", err)
	}
	check(t, os.Remove(filepath.Join(s.Dir, "runs", "20261122T000000Z-link")))
	check(t, os.Rename(filepath.Join(runDir(s, runID), "fixes"), filepath.Join(s.Dir, "elsewhere")))
	check(t, os.Symlink(filepath.Join(s.Dir, "elsewhere"), filepath.Join(runDir(s, runID), "fixes")))
	if items, errs = s.List(); len(items) != 0 || len(errs) != 1 || !errors.Is(errs[0], ErrDamaged) {
		t.Errorf("%+v %v", items, errs)
	}
}

// testdata/v1 was written by the first version and is never written again.
func TestFrozenV1(t *testing.T) {
	t.Parallel()
	s := &Store{Root: t.TempDir(), Dir: filepath.Join("testdata", "v1")}
	items, errs := s.List()
	if len(errs) > 0 || len(items) != 3 {
		t.Fatalf("%+v %v", items, errs)
	}
	p, err := s.Find("latest", "test")
	check(t, err)
	if p.Disposition != applied || *p.Verdict != "suspect" || len(p.Patch.Files) != 2 || p.Flags[0].Rule != "check_file" ||
		*p.Flags[0].Line != 3 || p.Attempts[0].Number != 1 || *p.Budget.Used.Attempts != 1 || p.Base.Commit == nil ||
		p.Verification.Proposed[0].Task != "test" || p.Reproduction.Result != "same" || len(p.Rescue) != 1 || !strings.HasPrefix(string(p.Diff), "diff --git ") {
		t.Errorf("%+v", p)
	}
	parsed, recorded, err := p.readDiff()
	if err != nil || len(parsed.Files) != 2 || len(recorded) != 2 {
		t.Errorf("patch: %+v %v", parsed, err)
	}
	if p, err = s.Find("latest", `unit["linux"]`); err != nil || p.State != Interrupted || len(p.Rescue) != 1 {
		t.Errorf("%+v %v", p, err)
	}
	if p, err = s.Find("latest", "lint"); err != nil || p.State != Skipped || *p.Reason != "heal_locked" {
		t.Errorf("%+v %v", p, err)
	}
	if lines := readChain(t, filepath.Join(s.Dir, "runs", "20261121T024000Z-7f3a", "fixes", "events.jsonl"), nil); len(lines) < 2 {
		t.Errorf("%d events", len(lines))
	}
}
