package record

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/process"
)

func none(string) bool { return false }

// names is what stands in a folder.
func names(t testing.TB, dir string) string {
	t.Helper()
	var s []string
	for _, e := range must[[]fs.DirEntry](t)(os.ReadDir(dir)) {
		s = append(s, e.Name())
	}
	return strings.Join(s, " ")
}

// interrupted is a run without a verdict whose maker is gone.
func interrupted(t testing.TB, s *Store, at time.Time) *Draft {
	t.Helper()
	d := must[*Draft](t)(s.Begin(at, nil, nil))
	maker := process.Self()
	maker.Boot = "another boot"
	check(t, WriteFile(filepath.Join(d.Dir, "maker.json"), must[[]byte](t)(json.Marshal(maker)), false))
	return d
}

func TestPrune(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	if ids, err := s.Prune(none); ids != nil || err != nil {
		t.Errorf("of nothing: %v, %v", ids, err)
	}
	if _, err := os.Lstat(s.Dir); err == nil {
		t.Error("a Prune of nothing wrote something")
	}
	at := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }
	first, kept := seal(t, s, at(0)), seal(t, s, at(1))
	dead := interrupted(t, s, at(2))
	_ = must[Log](t)(dead.Log("a").Finish())
	live := must[*Draft](t)(s.Begin(at(3), nil, nil))
	last := seal(t, s, at(4))

	outside := t.TempDir()
	precious := filepath.Join(outside, "precious")
	linked := "20200101T000000Z-0000"
	check(t,
		os.WriteFile(precious, nil, 0o600),
		os.WriteFile(filepath.Join(outside, "run.json"), []byte("{}"), 0o600),
		os.Symlink(outside, filepath.Join(s.runs(), linked)),
		os.Symlink(outside, filepath.Join(first.Dir, "away")),
		os.Mkdir(filepath.Join(s.runs(), "mine"), 0o700),
		os.MkdirAll(filepath.Join(s.runs(), ".gone-20200101T000000Z-0001", "logs"), 0o700), // a Prune was killed here
		os.Mkdir(filepath.Join(s.runs(), ".gone-mine"), 0o700),
	)
	var asked []string
	ids, err := s.Prune(func(id string) bool { asked = append(asked, id); return id == kept.ID })
	if want := strings.Join([]string{first.ID, dead.ID, last.ID}, " "); err != nil || strings.Join(ids, " ") != want {
		t.Errorf("removed %v, %v; want %s", ids, err, want)
	}
	if want := strings.Join([]string{first.ID, kept.ID, dead.ID, last.ID}, " "); strings.Join(asked, " ") != want {
		t.Errorf("asked about %v, want %s", asked, want)
	}
	if got, want := names(t, s.runs()), strings.Join([]string{".gone-mine", linked, kept.ID, live.ID, "mine"}, " "); got != want {
		t.Errorf("left is %s, want %s", got, want)
	}
	if _, err := os.Lstat(precious); err != nil {
		t.Error("what a link leads to was removed")
	}
	if _, err := live.Seal(Run{Status: Passed}); err != nil {
		t.Errorf("the run that went on: %v", err)
	}
}

// While hooks work, no sealed run goes: it may be theirs. Afterwards it does.
func TestPruneLeavesWhatIsHealed(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	healed, dead := seal(t, s, noon), interrupted(t, s, noon)
	lock := must[*Lock](t)(s.HealLock())
	if ids, err := s.Prune(none); err != nil || strings.Join(ids, " ") != dead.ID {
		t.Errorf("while hooks work: %v, %v", ids, err)
	}
	check(t, lock.Unlock())
	if ids, err := s.Prune(none); err != nil || strings.Join(ids, " ") != healed.ID {
		t.Errorf("afterwards: %v, %v", ids, err)
	}
	lock = must[*Lock](t)(s.HealLock()) // it was given back
	_ = lock.Unlock()
}

// A run that cannot be removed is named; the others go, and it does as soon as it can.
func TestPruneGoesOn(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	stuck, other := seal(t, s, noon), seal(t, s, noon)
	// A folder that is not empty stands where the run is to be moved: nobody can rename over it, root neither.
	ids, err := s.Prune(func(id string) bool {
		if err := os.MkdirAll(filepath.Join(s.runs(), gone+stuck.ID, "x"), 0o700); err != nil {
			t.Error(err)
		}
		return false
	})
	if err == nil || !strings.Contains(err.Error(), stuck.ID) || strings.Contains(err.Error(), other.ID) || strings.Join(ids, " ") != other.ID {
		t.Errorf("removed %v, %v", ids, err)
	}
	if ids, err := s.Prune(none); err != nil || strings.Join(ids, " ") != stuck.ID || names(t, s.runs()) != "" {
		t.Errorf("then removed %v, %v; %q is left", ids, err, names(t, s.runs()))
	}
}

// A Prune that was killed in the middle leaves nothing that is read as a run, and the next one ends the work.
func TestPruneThatWasKilled(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	run := seal(t, s, noon)
	check(t, os.Rename(run.Dir, filepath.Join(s.runs(), gone+run.ID)))
	if runs, errs := s.List(); len(runs) != 0 || len(errs) != 0 {
		t.Errorf("runs %v, %v", runs, errs)
	}
	if dead := must[[]string](t)(s.Interrupted()); len(dead) != 0 {
		t.Errorf("interrupted %v", dead)
	}
	if ids, err := s.Prune(none); err != nil || ids != nil || names(t, s.runs()) != "" {
		t.Errorf("removed %v, %v; %q is left", ids, err, names(t, s.runs()))
	}
}

func TestPruneRefusesALink(t *testing.T) {
	t.Parallel()
	s, other := At(t.TempDir()), At(t.TempDir())
	theirs := seal(t, other, noon)
	check(t, os.Mkdir(s.Dir, 0o700), os.Symlink(other.runs(), s.runs()))
	if _, err := s.Prune(none); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Lstat(theirs.Dir); err != nil {
		t.Error("another store's run was removed")
	}
}
