package fix_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

func TestFindLatest(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.One)
	older, newer, newest := "20261120T000000Z-aaaa", fixtest.RunID, "20261122T000000Z-cccc"
	if _, err := s.Find("", ""); !errors.Is(err, fix.ErrNone) {
		t.Errorf("an empty store: %v", err)
	}
	fixtest.SealedIn(t, s, older, "lint", fixtest.Change(fixtest.One, fixtest.Two), nil)
	fixtest.SealedIn(t, s, newer, "test", fixtest.Change(fixtest.One, fixtest.Two), nil)
	fixtest.SealedIn(t, s, newer, "vet", nil, nil)
	fixtest.SealedIn(t, s, newest, "test", nil, nil) // a later run without a proposal
	fixtest.Check(t, os.MkdirAll(fixtest.RunDir(s, "20261123T000000Z-dddd"), 0o700))
	cases := []struct {
		run, task   string
		want, state string
		err         error
		says        string
	}{
		{"", "", newer, fix.Proposed, nil, ""},
		{"latest", "", newer, fix.Proposed, nil, ""},
		{"latest", "vet", newer, fix.NoFix, nil, ""},
		{"latest", "lint", "", "", fix.ErrNone, "it has: test, vet"},
		{older, "", older, fix.Proposed, nil, ""},
		{"20261120", "lint", older, fix.Proposed, nil, ""},
		{newest, "", newest, fix.NoFix, nil, ""},
		{"2026112", "", "", "", fix.ErrAmbiguous, older},
		{"1999", "", "", "", fix.ErrNone, "1999"},
		{"20261123", "", "", "", fix.ErrNone, "no fixes"},
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
	fixtest.SealedIn(t, s, newer, "build", fixtest.Change(fixtest.One, fixtest.Two), nil)
	if _, err := s.Find("", ""); !errors.Is(err, fix.ErrAmbiguous) || !strings.Contains(err.Error(), "build, test, vet") {
		t.Errorf("two proposals: %v", err)
	}
}

func TestListCountsTheNewestProposal(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.One)
	rescue := func(d *draft.Draft, _ *fix.Fix) {
		fixtest.OK(t)(d.Rescue(1, fixtest.Change(fixtest.One, fixtest.Two)))
	}
	fixtest.SealedIn(t, s, fixtest.RunID, `test["linux"]`, fixtest.Change(fixtest.One, fixtest.Two),
		func(d *draft.Draft, f *fix.Fix) {
			rescue(d, f)
			f.AgentSaid = &fix.Said{Summary: "first"}
			f.CreatedAt = "2026-11-21T03:00:00.000Z"
		})
	p := fixtest.SealedIn(t, s, fixtest.RunID, `test["linux"]`, fixtest.Change(fixtest.One,
		fixtest.Files{"a.txt": "f:three\n"}), func(d *draft.Draft, f *fix.Fix) {
		rescue(d, f)
		f.AgentSaid = &fix.Said{Summary: "second"}
		f.Flags = []fix.Flag{{ID: "F1", Rule: "check_file"}}
		f.Verdict = new("suspect")
		f.CreatedAt = "2026-11-21T04:00:00.000Z"
	})
	if p.AgentSaid.Summary != "second" || !strings.Contains(string(p.Diff), "three") {
		t.Errorf("Find gives %+v", p)
	}
	// A third one finds nothing.
	fixtest.SealedIn(t, s, fixtest.RunID, `test["linux"]`, nil, func(_ *draft.Draft, f *fix.Fix) {
		f.CreatedAt = "2026-11-21T04:30:00.000Z"
	})
	fixtest.SealedIn(t, s, fixtest.RunID, "lint", nil, func(_ *draft.Draft, f *fix.Fix) {
		f.CreatedAt = "2026-11-21T05:00:00.000Z"
	})
	items, errs := s.List()
	if len(errs) > 0 || len(items) != 3 {
		t.Fatalf("%+v %v", items, errs)
	}
	if old := items[2]; old.Name != `test["linux"]@1` || old.Task != `test["linux"]` ||
		old.Disposition != fix.Superseded || *old.Summary != "first" || len(old.Rescue) != 1 {
		t.Errorf("the older proposal: %+v", old)
	}
	items = items[:2]
	got, err := json.Marshal(items)
	fixtest.Check(t, err)
	want := `[{"run":"` + fixtest.RunID + `","task":"lint","name":"lint","state":"no_fix","disposition":"none","verdict":null,"flags":[],"summary":null,"files":[],"applied":[],"partly":[],"edited":false,"rescue":[],"created_at":"2026-11-21T05:00:00.000Z","fingerprint":null,"passed_in":null,"recurred_in":[],` +
		`"reason":null,"kind":null,"later":null,"fits":null,"passed_without":null,"verified_older":null},` +
		`{"run":"` + fixtest.RunID + `","task":"test[\"linux\"]","name":"test[\"linux\"]","state":"proposed","disposition":"open","verdict":"suspect","flags":[{"id":"F1","rule":"check_file","caps":false,"path":null,"line":null,"detail":""}],` +
		`"summary":"second","files":["a.txt"],"applied":[],"partly":[],"edited":false,"rescue":["fixes/test%5B%22linux%22%5D/attempt-1.patch","fixes/test%5B%22linux%22%5D@2/attempt-1.patch"],"created_at":"2026-11-21T04:00:00.000Z","fingerprint":null,"passed_in":null,"recurred_in":[],` +
		`"reason":null,"kind":null,"later":{"name":"test%5B%22linux%22%5D@3","state":"no_fix","reason":null,"kind":null,"created_at":"2026-11-21T04:30:00.000Z"},"fits":null,"passed_without":null,"verified_older":null}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestInterruptedHealing(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.One)
	d := fixtest.Begin(t, s, "te/st", nil)
	fixtest.OK(t)(d.Rescue(1, fixtest.Change(fixtest.One, fixtest.Two)))
	fixtest.OK(t)(d.Rescue(10, fixtest.Change(fixtest.One, fixtest.Two)))
	fixtest.OK(t)(d.Rescue(2, fixtest.Change(fixtest.One, fixtest.Two)))
	if items, errs := s.List(); len(items)+len(errs) != 0 {
		t.Errorf("a fix that is being made is listed: %+v %v", items, errs)
	}
	fixtest.Check(t, d.Close()) // its runner died
	for n := 0; n < 100 && recordfile.Locked(filepath.Join(fixtest.Dir(s), "fixes", d.Name, "draft.json")); n++ {
		time.Sleep(20 * time.Millisecond) // see settled
	}
	items, errs := s.List()
	if len(errs) > 0 || len(items) != 1 || items[0].State != fix.Interrupted || items[0].Task != "te/st" ||
		items[0].CreatedAt == "" || strings.Join(items[0].Rescue,
		" ") != "fixes/te%2Fst/attempt-1.patch fixes/te%2Fst/attempt-2.patch fixes/te%2Fst/attempt-10.patch" {
		t.Errorf("G74 interrupted: %+v %v", items, errs)
	}
	p, err := s.Find(fixtest.RunID, "")
	if err != nil || p.State != fix.Interrupted || len(p.Rescue) != 3 || p.Disposition != "none" {
		t.Errorf("Find: %+v %v", p, err)
	}
	fixtest.SealedIn(t, s, fixtest.RunID, "te/st", fixtest.Change(fixtest.One, fixtest.Two), nil)
	items, errs = s.List()
	if len(errs) > 0 || len(items) != 1 || items[0].State != fix.Proposed || len(items[0].Rescue) != 3 {
		t.Errorf("after a second fix: %+v %v", items, errs)
	}
}

func TestNoFixKeepsItsDifference(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.One)
	p := fixtest.SealedIn(t, s, fixtest.RunID, "test", nil, func(d *draft.Draft, f *fix.Fix) {
		r, err := d.Rescue(1, fixtest.Change(fixtest.One, fixtest.Two))
		fixtest.Check(t, err)
		f.Attempts = []fix.Attempt{{Number: 1, Rescue: &r.Path}}
	})
	if p.State != fix.NoFix || p.Patch != nil || len(p.Rescue) != 1 || p.Rescue[0] != *p.Attempts[0].Rescue {
		t.Errorf("H20 no_fix with a difference: %+v", p)
	}
}

// Records that came from elsewhere, or were changed: each is an error that names the file, and hides no other.
func TestDamagedRecords(t *testing.T) {
	t.Parallel()
	replace := func(old, with string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { fixtest.ReplaceIn(t, dir+"/bad.json", old, with) }
	}
	cut := func(at int64) func(*testing.T, string) {
		return func(t *testing.T, dir string) { fixtest.Check(t, os.Truncate(dir+"/bad.json", at)) }
	}
	cases := map[string]struct {
		damage func(t *testing.T, dir string)
		says   string
		newer  bool // an error, but not damage
		listed bool // the fix itself is still listed
	}{
		"cut short":        {cut(40), "bad.json", false, false},
		"empty":            {cut(0), "bad.json", false, false},
		"newer":            {replace(`"schema_version":1`, `"schema_version":2`), "upgrade", true, false},
		"no version":       {replace(`"schema_version"`, `"x"`), "schema_version", false, false},
		"of another run":   {replace(fixtest.RunID, "20200101T000000Z-0000"), "20200101T000000Z-0000", false, false},
		"patch outside":    {replace(`fixes/bad.patch`, `../../x`), "../../x", false, false},
		"patch of another": {replace(`fixes/bad.patch`, `fixes/good.patch`), "good.patch", false, false},
		"no patch":         {replace(`"patch":`, `"p":`), "without a patch", false, false},
		"a link for the fix": {
			func(t *testing.T, dir string) { fixtest.Relink(t, dir+"/bad.json") },
			"symbolic link", false, false,
		},
		"a link for the state": {func(t *testing.T, dir string) {
			fixtest.Check(t, os.WriteFile(dir+"/bad.state.jsonl", nil, 0o600))
			fixtest.Relink(t, dir+"/bad.state.jsonl")
		}, "symbolic link", true, true},
		"a folder for the fix": {func(t *testing.T, dir string) {
			fixtest.Check(t, os.Remove(dir+"/bad.json"))
			fixtest.Check(t, os.Mkdir(dir+"/bad.json", 0o700))
		}, "bad.json", false, false},
		"decisions forged": {func(t *testing.T, dir string) {
			fixtest.Check(t, os.WriteFile(dir+"/bad.state.jsonl",
				[]byte(`{"seq":1,"at":"","by":"","to":"rejected","files":[],"accepted":[],"prev":null}`+"\n"), 0o600))
		}, "bad.state.jsonl", false, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fixtest.NewStore(t, fixtest.One)
			fixtest.SealedIn(t, s, fixtest.RunID, "good", fixtest.Change(fixtest.One, fixtest.Two), nil)
			fixtest.SealedIn(t, s, fixtest.RunID, "bad", fixtest.Change(fixtest.One, fixtest.Two), nil)
			c.damage(t, filepath.Join(fixtest.Dir(s), "fixes"))
			items, errs := s.List()
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), c.says) || errors.Is(errs[0], fix.ErrDamaged) == c.newer {
				t.Errorf("errors: %v", errs)
			}
			if want := map[bool]int{false: 1, true: 2}[c.listed]; len(items) != want {
				t.Errorf("listed: %+v", items)
			}
			if _, err := s.Find(fixtest.RunID, "good"); err != nil {
				t.Errorf("the other is hidden: %v", err)
			}
			if _, err := s.Find(fixtest.RunID, "bad"); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Find: %v", err)
			}
		})
	}
}

func TestDamagedPatch(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, path string){
		"changed": func(t *testing.T, path string) { fixtest.ReplaceIn(t, path, "two", "tow") },
		"gone":    func(t *testing.T, path string) { fixtest.Check(t, os.Remove(path)) },
		"a link":  fixtest.Relink,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fixtest.NewStore(t, fixtest.One)
			p := fixtest.Sealed(t, s, "test", fixtest.One, fixtest.Two, nil)
			damage(t, filepath.Join(fixtest.Dir(s), p.Patch.Path))
			if _, err := s.Find(fixtest.RunID, "test"); !errors.Is(err, fix.ErrDamaged) ||
				!strings.Contains(err.Error(), "test.patch") {
				t.Errorf("Find: %v", err)
			}
		})
	}
}

// A folder of another name is not ours: the list of runs does not have it either.
func TestOtherFoldersAreNoRuns(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.One)
	fixtest.Sealed(t, s, "test", fixtest.One, fixtest.Two, nil)
	fixtest.Check(t, os.CopyFS(filepath.Join(s.Dir, "runs", "backup"), os.DirFS(fixtest.Dir(s))))
	if items, errs := s.List(); len(items) != 1 || len(errs) != 0 {
		t.Errorf("%+v %v", items, errs)
	}
}

func TestLinkedFoldersAreNoRuns(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.One)
	fixtest.Sealed(t, s, "test", fixtest.One, fixtest.Two, nil)
	fixtest.Check(t, os.Symlink(fixtest.RunID, filepath.Join(s.Dir, "runs", "20261122T000000Z-0001")))
	items, errs := s.List()
	if len(items) != 1 || len(errs) != 1 || !strings.Contains(errs[0].Error(), "20261122T000000Z-0001 is a link") {
		t.Errorf("%+v %v", items, errs)
	}
	if _, err := s.Find("20261122", "test"); !errors.Is(err, fix.ErrDamaged) ||
		!strings.Contains(err.Error(), "is a link") {
		t.Errorf("Find: %v", err)
	}
	fixtest.Check(t, os.Remove(filepath.Join(s.Dir, "runs", "20261122T000000Z-0001")))
	fixtest.Check(t, os.Rename(filepath.Join(fixtest.Dir(s), "fixes"), filepath.Join(s.Dir, "elsewhere")))
	fixtest.Check(t, os.Symlink(filepath.Join(s.Dir, "elsewhere"), filepath.Join(fixtest.Dir(s), "fixes")))
	if items, errs = s.List(); len(items) != 0 || len(errs) != 1 || !errors.Is(errs[0], fix.ErrDamaged) {
		t.Errorf("%+v %v", items, errs)
	}
}

// From the files: what is applied, passes and comes back.
func TestListFollows(t *testing.T) {
	t.Parallel()
	before, after := fixtest.Files{"a": "f:1"}, fixtest.Files{"a": "f:2"}
	s := fixtest.NewStore(t, before)
	p := fixtest.Sealed(t, s, "test", before, after, func(_ *draft.Draft, f *fix.Fix) { f.Fingerprint = new("fp:1") })
	fixtest.Check(t, fix.AddState(p.StatePath(), p.Digest, fix.StateChange{To: fix.Applied}))
	items, errs := s.List()
	if len(errs) > 0 || len(items) != 1 || *items[0].Fingerprint != "fp:1" || items[0].PassedIn != nil ||
		items[0].RecurredIn == nil {
		t.Fatalf("%+v %v", items, errs)
	}
	later := time.Now().Add(time.Hour)
	fix.Follow(items, []fix.End{
		{Run: "x", Task: "test", At: later, Passed: true},
		{Run: "y", Task: "test", At: later, Fingerprint: func() string { return "fp:1" }},
	})
	if items[0].PassedIn == nil || *items[0].PassedIn != "x" || !slices.Equal(items[0].RecurredIn, []string{"y"}) {
		t.Errorf("%+v", items[0])
	}
	s.Follow(p, []fix.End{{Run: "x", Task: "test", At: later, Passed: true}})
	if p.PassedIn == nil || *p.PassedIn != "x" {
		t.Errorf("%v", p.PassedIn)
	}
}

func TestKeeps(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.One)
	keeps := func(what, want string) { // want "": it is not kept
		t.Helper()
		if why := s.Keeps(fixtest.RunID); !strings.Contains(why, want) || want == "" && why != "" {
			t.Errorf("%s: %q", what, why)
		}
	}
	abandoned := func(what, want string) {
		t.Helper()
		if drafts, errs := s.Abandoned(); len(errs) > 0 || fmt.Sprint(drafts) != want {
			t.Errorf("%s: abandoned %v, %v", what, drafts, errs)
		}
	}
	keeps("no run", "")
	fixtest.VerdictOf(t, s, fixtest.RunID)
	keeps("no fix", "")
	p := fixtest.Sealed(t, s, "test", fixtest.One, fixtest.Files{"a.txt": "f:two\n"}, nil)
	keeps("an open proposal", "open proposal")
	fixtest.OK(t)(apply.Tree{Fixes: s}.Apply(t.Context(), p, apply.Options{}))
	keeps("applied", "")
	abandoned("applied", "[]")

	// A fix that is being made keeps it; so does one whose maker was killed, which is abandoned too.
	d := fixtest.Begin(t, s, "lint", nil)
	keeps("a fix is being made", "is not finished")
	abandoned("a fix is being made", "[]")
	fixtest.Check(t, d.Close())
	keeps("its maker was killed", "is not finished")
	abandoned("its maker was killed", "[{"+fixtest.RunID+" lint false}]")
	drafts, err := draft.Resume(s, nil)
	fixtest.Check(t, err)
	for _, d := range drafts {
		fixtest.Check(t, d.Seal(&fix.Fix{State: fix.Interrupted}))
		fixtest.Check(t, d.Close())
	}
	keeps("settled", "")

	// What cannot be read is kept.
	fixtest.Check(t, os.WriteFile(filepath.Join(fixtest.Dir(s), "fixes", "test.json"), []byte("{"), 0o600))
	keeps("damaged", "cannot be read")
	fixtest.Check(t, os.RemoveAll(filepath.Join(fixtest.Dir(s), "fixes")))
	fixtest.Check(t, os.Symlink(t.TempDir(), filepath.Join(fixtest.Dir(s), "fixes")))
	keeps("a link", "cannot be read")
}

func TestHookRuns(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.One)
	if runs, err := s.HookRuns(fixtest.RunID); len(runs) > 0 || err != nil {
		t.Errorf("of nothing: %v, %v", runs, err)
	}
	j, err := fix.OpenJournal(fixtest.Dir(s), fixtest.VerdictOf(t, s, fixtest.RunID), nil)
	fixtest.Check(t, err)
	fixtest.Check(t, j.Event("hook_run_finished", map[string]any{
		"task": "test", "exit_code": 7, "error": "failed", "duration_ms": 12, "log": "fixes/test.log",
	}))
	fixtest.Check(t, j.Event("healing_began", map[string]any{"task": "test"}))
	fixtest.Check(t, j.Event("hook_run_finished", map[string]any{
		"task": "lint", "exit_code": nil, "error": "no such program", "duration_ms": 1, "log": nil,
	}))
	fixtest.Check(t, j.Close())
	runs, err := s.HookRuns(fixtest.RunID)
	fixtest.Check(t, err)
	if len(runs) != 2 || runs[0].Task != "test" || *runs[0].ExitCode != 7 || runs[0].DurationMS != 12 ||
		runs[1].ExitCode != nil || runs[1].Error != "no such program" {
		t.Errorf("%+v", runs)
	}
}
