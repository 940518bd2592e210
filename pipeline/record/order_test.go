package record

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A run that was made while the clock was wrong hides none that is made later.
func TestRunsAheadOfTheClock(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	now := time.Now()
	ahead, before := seal(t, s, now.Add(100*time.Hour)), seal(t, s, now.Add(-time.Hour))
	last := seal(t, s, now)
	if got := must[*Sealed](t)(s.Find("latest")); got.ID != last.ID {
		t.Errorf("latest is %s, want %s", got.ID, last.ID)
	}
	if got := must[[]string](t)(s.IDs()); !slices.Equal(got, []string{last.ID, before.ID, ahead.ID}) {
		t.Errorf("ids %v", got)
	}
	if runs, errs := s.List(); len(errs) != 0 || runs[0].ID != ahead.ID || runs[2].ID != last.ID {
		t.Errorf("listed %v, %v", runs, errs)
	}
	if !Ahead(ahead.ID) || Ahead(last.ID) {
		t.Error("who is ahead of the clock?")
	}
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{last.ID, before.ID, true},
		{before.ID, last.ID, false},
		{last.ID, ahead.ID, true},
		{ahead.ID, last.ID, false},
		{ahead.ID, "", true},
		{last.ID, last.ID, false},
	} {
		if After(tt.a, tt.b) != tt.want {
			t.Errorf("%s after %q is not %v", tt.a, tt.b, tt.want)
		}
	}
}

// What a kill leaves between the folder of a run and its first line is a run that was ended, and not one that goes on.
func TestEmptyRunFolder(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	_ = seal(t, s, noon)
	id := "20261121T020000Z-0000"
	dir := filepath.Join(s.runs(), id)
	check(t, os.Mkdir(dir, 0o700))
	if e := s.Entry(id); e.Live || e.Sealed != nil || e.Err != nil {
		t.Errorf("with run.lock free: %+v", e)
	}
	if got := must[[]string](t)(s.Interrupted()); !slices.Equal(got, []string{id}) {
		t.Errorf("interrupted %v", got)
	}
	if begun, err := s.Beginning(id); err != nil || begun.Names != nil {
		t.Errorf("its beginning: %+v, %v", begun, err)
	}
	lock := must[*Lock](t)(s.RunLock())
	if e := s.Entry(id); !e.Live {
		t.Error("with run.lock held it may be about to begin")
	}
	for _, at := range []time.Time{time.Now().Add(-time.Hour), time.Now().Add(time.Hour)} {
		check(t, os.Chtimes(dir, at, at))
		if e := s.Entry(id); e.Live {
			t.Errorf("a folder of %v is about to begin", at)
		}
	}
	if err := lock.Unlock(); err != nil {
		t.Error(err)
	}
}
