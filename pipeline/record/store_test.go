package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/process"
)

// asked makes the test program take a lock and hold it until its standard input ends.
const asked = "RECORD_TEST_LOCK"

func TestMain(m *testing.M) {
	if root := os.Getenv(asked); root != "" {
		s := At(root)
		_, err := s.RunLock()
		_, begun := s.Begin(time.Now(), nil, nil)
		if err = errors.Join(err, begun); err != nil {
			_, _ = os.Stdout.WriteString("error: " + err.Error() + "\n")
		} else {
			_, _ = os.Stdout.WriteString("held\n")
		}
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// check ends the test where there is an error.
func check(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// must returns v, or ends the test.
func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		check(t, err)
		return v
	}
}

// begin begins a run at noon in a store of its own.
func begin(t testing.TB) (*Store, *Draft) {
	t.Helper()
	s := At(t.TempDir())
	return s, must[*Draft](t)(s.Begin(noon, nil, nil))
}

// seal records a run that passed and has no tasks.
func seal(t testing.TB, s *Store, at time.Time) *Sealed {
	t.Helper()
	d := must[*Draft](t)(s.Begin(at, nil, nil))
	return must[*Sealed](t)(d.Seal(Run{Status: Passed, Root: s.Root, FinishedAt: Time{at}}))
}

var noon = time.Date(2026, 11, 21, 2, 40, 0, 500_000_000, time.FixedZone("", 3600))

func TestBeginMakesTheFolder(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	if _, err := os.Lstat(s.Dir); err == nil {
		t.Fatal("At wrote something")
	}
	d := must[*Draft](t)(s.Begin(noon, nil, nil))
	if d.ID != "20261121T014000Z-8000" || d.Dir != filepath.Join(s.Dir, "runs", d.ID) {
		t.Errorf("id %s, folder %s", d.ID, d.Dir)
	}
	if got := string(must[[]byte](t)(os.ReadFile(filepath.Join(s.Dir, ".gitignore")))); got != "*\n" {
		t.Errorf(".gitignore is %q", got)
	}
	_ = must[Log](t)(d.Log("a").Finish())
	check(t, d.Graph([]Node{{Name: "a"}}))
	_ = must[*Sealed](t)(d.Seal(Run{Status: Passed}))
	check(t, filepath.WalkDir(s.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info := must[fs.FileInfo](t)(e.Info())
		if want := fs.FileMode(0o600); !e.IsDir() && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if want := fs.FileMode(0o700); e.IsDir() && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if strings.Contains(e.Name(), "tmp") {
			t.Errorf("%s was left behind", path)
		}
		return nil
	}))
}

// A clock that is set back while a run goes on: nothing ends before it began.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	now := time.Now()
	d := must[*Draft](t)(s.Begin(now.Add(time.Hour), nil, nil)) // an hour later the clock shows an hour less
	took := int64(-5)
	given := Time{now}
	r := Run{Status: Passed, FinishedAt: Time{now}, DurationMS: took, Tasks: []Task{{Name: "a", StartedAt: &given}, {Name: "b"}}}
	_ = must[*Sealed](t)(d.Seal(r))
	got := must[*Sealed](t)(s.Find("latest"))
	if got.FinishedAt.Before(got.StartedAt.Time) || got.DurationMS < 0 || got.Task("a").StartedAt.Before(got.StartedAt.Time) || got.Task("b").StartedAt != nil {
		t.Errorf("from %v to %v in %d ms; a from %v", got.StartedAt, got.FinishedAt, got.DurationMS, got.Task("a").StartedAt)
	}
	if !given.Equal(now) {
		t.Error("the caller's task was changed")
	}
	// A clock that goes right is left alone, and what is not known stays so.
	d = must[*Draft](t)(s.Begin(now, nil, nil))
	r.StartedAt, r.FinishedAt, r.DurationMS = Time{now}, Time{now.Add(2 * time.Second)}, 2000
	sealed := must[*Sealed](t)(d.Seal(r))
	if !sealed.FinishedAt.Equal(now.Add(2*time.Second)) || !sealed.Task("a").StartedAt.Equal(now) {
		t.Errorf("finished %v, begun %v", sealed.FinishedAt, now)
	}
	d = must[*Draft](t)(s.Begin(now, nil, nil))
	if sealed := must[*Sealed](t)(d.Seal(Run{Status: Passed})); !sealed.FinishedAt.IsZero() {
		t.Errorf("finished %v, although nobody said so", sealed.FinishedAt)
	}
}

func TestIdsAreUniqueAndSort(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				if _, err := s.Begin(noon, nil, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	ids := must[[]string](t)(s.ids())
	if len(ids) != 20 || ids[0] != "20261121T014000Z-8000" || ids[19] != "20261121T014000Z-8013" {
		t.Errorf("ids %v", ids)
	}
	// The last unit of a second is followed by the next second.
	last := noon.Truncate(time.Second).Add(time.Second - 1)
	a, b := must[*Draft](t)(s.Begin(last, nil, nil)), must[*Draft](t)(s.Begin(last, nil, nil))
	if a.ID != "20261121T014000Z-ffff" || b.ID != "20261121T014001Z-0000" {
		t.Errorf("ids %s, %s", a.ID, b.ID)
	}
}

func TestHostileFolders(t *testing.T) {
	t.Parallel()
	begin := func(s *Store) error { _, err := s.Begin(noon, nil, nil); return err }
	lock := func(s *Store) error { _, err := s.RunLock(); return err }
	tests := []struct {
		name string
		set  func(t *testing.T, s *Store, elsewhere string) error
		do   func(s *Store) error
		says string
	}{
		{"link .async", func(_ *testing.T, s *Store, to string) error { return os.Symlink(to, s.Dir) }, begin, ".async is a link"},
		{"link .async, lock", func(_ *testing.T, s *Store, to string) error { return os.Symlink(to, s.Dir) }, lock, ".async is a link"},
		{
			"link .async, read", func(_ *testing.T, s *Store, to string) error { return os.Symlink(to, s.Dir) },
			func(s *Store) error { _, err := s.Find("latest"); return err }, ".async is a link",
		},
		{"link .async to nothing", func(_ *testing.T, s *Store, to string) error { return os.Symlink(to+"/none", s.Dir) }, begin, ".async is a link"},
		{"file .async", func(_ *testing.T, s *Store, _ string) error { return os.WriteFile(s.Dir, nil, 0o600) }, begin, "is not a folder"},
		{"link runs", func(t *testing.T, s *Store, to string) error {
			return errors.Join(os.Mkdir(s.Dir, 0o700), os.Symlink(to, s.runs()))
		}, begin, "runs is a link"},
		{"link lock", func(t *testing.T, s *Store, to string) error {
			return errors.Join(os.Mkdir(s.Dir, 0o700), os.Symlink(filepath.Join(to, "file"), filepath.Join(s.Dir, "run.lock")))
		}, lock, "run.lock is not a regular file"},
		{"no root", func(_ *testing.T, s *Store, _ string) error { return os.Remove(s.Root) }, begin, "there is no folder"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			elsewhere := t.TempDir()
			check(t, os.WriteFile(filepath.Join(elsewhere, "file"), []byte("mine"), 0o600))
			s := At(filepath.Join(t.TempDir(), "root"))
			check(t, os.Mkdir(s.Root, 0o700), tt.set(t, s, elsewhere))
			err := tt.do(s)
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), s.Root) {
				t.Errorf("error %v, want one with %q and the path", err, tt.says)
			}
			if entries := must[[]fs.DirEntry](t)(os.ReadDir(elsewhere)); len(entries) != 1 {
				t.Errorf("something was written through the link: %v", entries)
			}
			if got := string(must[[]byte](t)(os.ReadFile(filepath.Join(elsewhere, "file")))); got != "mine" {
				t.Errorf("a file behind the link was changed to %q", got)
			}
		})
	}
}

func TestAdvice(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		syscall.ENOSPC: "no space left", syscall.EDQUOT: "no space left", syscall.EROFS: "read-only",
		syscall.EACCES: "permission denied", syscall.EMFILE: "ulimit -n",
	} {
		got := advice.Writing(&os.PathError{Op: "open", Path: "/x/y", Err: err}, "/x/y")
		if !strings.Contains(got.Error(), want) || !strings.Contains(got.Error(), "/x/y") || !errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
	}
	if advice.Writing(nil, "/x") != nil {
		t.Error("advice without an error")
	}
	s := At(t.TempDir())
	check(t, os.Chmod(s.Root, 0o500))
	if os.Getuid() != 0 { // root may write anywhere
		if _, err := s.Begin(noon, nil, nil); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("a root that is read-only: %v", err)
		}
	}
}

func TestLocks(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	lock := must[*Lock](t)(s.RunLock())
	_, err := s.RunLock()
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "pid") || !strings.Contains(err.Error(), "since 20") {
		t.Errorf("a second lock: %v", err)
	}
	heal := must[*Lock](t)(s.HealLock()) // the other lock is free
	if _, err := s.HealLock(); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "hooks") {
		t.Errorf("a second heal lock: %v", err)
	}
	check(t, lock.Unlock(), lock.Unlock(), heal.Unlock())
	if _, err := os.Lstat(filepath.Join(s.Dir, "run.lock")); err != nil {
		t.Error("the lock file was removed")
	}
	lock = must[*Lock](t)(s.RunLock())
	check(t, lock.Unlock())
}

// A process that is killed leaves no lock, and its run is interrupted; while it lives the run is not.
func TestKilledHolder(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	cmd := exec.CommandContext(t.Context(), must[string](t)(os.Executable()))
	cmd.Env = append(os.Environ(), asked+"="+s.Root)
	in := must[interface{ Close() error }](t)(cmd.StdinPipe())
	defer func() { _ = in.Close() }()
	out := bufio.NewReader(must[interface{ Read([]byte) (int, error) }](t)(cmd.StdoutPipe()))
	check(t, cmd.Start())
	if line, err := out.ReadString('\n'); line != "held\n" {
		t.Fatal(line, err)
	}
	_, err := s.RunLock()
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "kill") {
		t.Errorf("while it is held: %v", err)
	}
	if got := must[[]string](t)(s.Interrupted()); len(got) != 0 {
		t.Errorf("a live run is called interrupted: %v", got)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if got := must[[]string](t)(s.Interrupted()); len(got) != 1 {
		t.Errorf("interrupted: %v", got)
	}
	lock := must[*Lock](t)(s.RunLock())
	_ = lock.Unlock()
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	if got := must[[]string](t)(s.Interrupted()); got != nil {
		t.Errorf("of nothing: %v", got)
	}
	_ = seal(t, s, noon)
	_ = must[*Draft](t)(s.Begin(noon, nil, nil)) // this process lives
	stamped := func(st process.Stamp) string {
		d := must[*Draft](t)(s.Begin(noon, nil, nil))
		b := must[[]byte](t)(json.Marshal(st))
		check(t, WriteFile(filepath.Join(d.Dir, "maker.json"), b, false))
		return d.ID
	}
	me := process.Self()
	reused, rebooted := me, me
	reused.Start++
	rebooted.Boot = "another boot"
	want := []string{stamped(reused), stamped(rebooted)}
	bare := must[*Draft](t)(s.Begin(noon, nil, nil)) // no stamp, long ago
	want = append(want, bare.ID)
	check(t, os.Remove(filepath.Join(bare.Dir, "maker.json")), os.Chtimes(bare.Dir, noon, noon.Add(-time.Hour*9999)))
	got := must[[]string](t)(s.Interrupted())
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("interrupted %v, want %v", got, want)
	}
	since := func(want ...string) {
		t.Helper()
		if got := must[[]string](t)(s.Unfinished()); !slices.Equal(got, want) {
			t.Errorf("unfinished %v, want %v", got, want)
		}
	}
	_ = seal(t, s, noon.Add(time.Minute))
	since()
	later := must[*Draft](t)(s.Begin(noon.Add(time.Hour), nil, nil))
	since() // this process lives
	check(t, WriteFile(filepath.Join(later.Dir, "maker.json"), must[[]byte](t)(json.Marshal(reused)), false))
	since(later.ID)
}

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
