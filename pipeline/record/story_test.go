package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/process"
)

// tell begins a run with a journal: one task passed, one failed, one was skipped.
func tell(t *testing.T, s *Store, at time.Time) *Draft {
	t.Helper()
	d := must[*Draft](t)(s.Begin(at, nil, nil))
	for _, e := range []Event{
		{Type: "run_started", Data: map[string]any{"job": "all", "ci": true, "tasks": []string{"a", "b", "c", "d"}, "healing": Healing{Mode: "ci"}}},
		{Type: "task_started", Task: "a"},
		{Type: "task_finished", Task: "a", Data: map[string]any{"status": Passed, "exit_code": 0}},
		{Type: "task_started", Task: "b"},
		{Type: "task_finished", Task: "b", Data: map[string]any{"status": Failed, "exit_code": 3}},
		{Type: "task_skipped", Task: "c", Data: map[string]any{"reason": "dependency", "blocked_by": "b"}},
		{Type: "task_started", Task: "d"},
	} {
		check(t, d.Event(e))
	}
	return d
}

func TestEntries(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	if ids, err := s.IDs(); err != nil || len(ids) != 0 {
		t.Fatalf("of nothing: %v, %v", ids, err)
	}
	sealed := seal(t, s, noon)
	live := tell(t, s, noon.Add(time.Minute))
	dead := tell(t, s, noon.Add(2*time.Minute))
	stamp := `{"pid": 2147483646, "start": 1, "boot": "another"}`
	check(t, os.WriteFile(filepath.Join(dead.Dir, "maker.json"), []byte(stamp), 0o600))
	damaged := seal(t, s, noon.Add(3*time.Minute))
	check(t, os.WriteFile(filepath.Join(damaged.Dir, "run.json"), []byte("{"), 0o600))
	ids := must[[]string](t)(s.IDs())
	if want := []string{damaged.ID, dead.ID, live.ID, sealed.ID}; !slices.Equal(ids, want) {
		t.Fatalf("ids %v, want %v", ids, want)
	}
	if e := s.Entry(sealed.ID); e.Sealed == nil || e.Live || e.Err != nil || e.Dir != sealed.Dir {
		t.Errorf("sealed: %+v", e)
	}
	if e := s.Entry(live.ID); e.Sealed != nil || !e.Live || e.Err != nil {
		t.Errorf("live: %+v", e)
	}
	if e := s.Entry(dead.ID); e.Sealed != nil || e.Live || e.Err != nil {
		t.Errorf("dead: %+v", e)
	}
	if e := s.Entry(damaged.ID); e.Sealed != nil || e.Live || e.Err == nil {
		t.Errorf("damaged: %+v", e)
	}
	if e, ok := s.Going(); !ok || e.ID != live.ID {
		t.Errorf("going: %+v, %v", e, ok)
	}
	if e := must[Entry](t)(s.Look("latest")); e.ID != sealed.ID {
		t.Errorf("latest is %s", e.ID)
	}
	if e := must[Entry](t)(s.Look(dead.ID[:13])); e.ID != dead.ID {
		t.Errorf("a prefix found %s", e.ID)
	}
	if _, err := s.Look("2026"); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("an ambiguous prefix: %v", err)
	}
	for _, none := range []string{"", "1999", "build"} {
		if _, err := s.Look(none); !errors.Is(err, ErrNoRun) {
			t.Errorf("%q: %v", none, err)
		}
	}
	if !s.HasVerdict(damaged.ID) || s.HasVerdict(live.ID) {
		t.Error("which has a verdict is not known")
	}
	if at := Began(sealed.ID); !at.Equal(noon.Truncate(time.Second)) || !Began("nonsense").IsZero() {
		t.Errorf("began %v", at)
	}
}

func TestStory(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	d := tell(t, s, noon)
	story := must[*Story](t)(s.Story(d.ID))
	if *story.Job != "all" || !story.CI || story.Healing.Mode != "ci" || !slices.Equal(story.Names, []string{"a", "b", "c", "d"}) {
		t.Errorf("%+v", story)
	}
	if a, b, c := story.Ended["a"], story.Ended["b"], story.Ended["c"]; a.Status != Passed || a.StartedAt == nil || b.Status != Failed || *b.ExitCode != 3 ||
		c.Status != Skipped || *c.BlockedBy != "b" || len(story.Ended) != 3 {
		t.Errorf("%+v", story.Ended)
	}
	if _, running := story.Started["d"]; !running {
		t.Error("d runs, and is not told of")
	}
	check(t, d.Event(Event{Type: "task_finished", Task: "d", Data: map[string]any{"status": Passed}}))
	if err := story.More(); err != nil || story.Ended["d"].Status != Passed {
		t.Errorf("what came later: %+v, %v", story.Ended["d"], err)
	}
	begun := must[*Story](t)(s.Beginning(d.ID))
	if len(begun.Names) != 4 || len(begun.Ended) != 0 {
		t.Errorf("the beginning: %+v", begun)
	}
	// A torn line is not there yet, a damaged one is an error.
	path := filepath.Join(d.Dir, "events.jsonl")
	text := must[[]byte](t)(os.ReadFile(path))
	for _, more := range []string{`{"seq":`, "garbage\n"} {
		check(t, os.WriteFile(path, append(bytes.Clone(text), more...), 0o600))
		story, err := s.Story(d.ID)
		if damaged := strings.HasSuffix(more, "\n"); (err != nil) != damaged || len(story.Ended) != 4 {
			t.Errorf("%q: %d ended, %v", more, len(story.Ended), err)
		}
	}
}

// Whatever byte of the journal is changed, Check says so; and so it does where the verdict is not what was seen.
func TestCheck(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	d := tell(t, s, noon)
	check(t, d.Event(Event{Type: "run_finished", Data: map[string]any{"status": Failed, "exit_code": 1}}))
	one, three := 1, 3
	sealed := must[*Sealed](t)(d.Seal(Run{Status: Failed, ExitCode: one, Tasks: []Task{
		{Name: "a", Status: Passed}, {Name: "b", Status: Failed, ExitCode: &three}, {Name: "c", Status: Skipped}, {Name: "d", Status: Cancelled},
	}}))
	check(t, sealed.Check())
	path := filepath.Join(d.Dir, "events.jsonl")
	text := must[[]byte](t)(os.ReadFile(path))
	put := func(b []byte) {
		t.Helper()
		check(t, os.WriteFile(path, b, 0o600))
	}
	for i := range text {
		changed := bytes.Clone(text)
		changed[i] ^= 1
		put(changed)
		if err := sealed.Check(); err == nil || !strings.Contains(err.Error(), path) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	for _, b := range [][]byte{nil, bytes.Join(lines[:len(lines)-2], nil), append(bytes.Clone(text), "{"...), text[:len(text)-1]} {
		put(b)
		if sealed.Check() == nil {
			t.Errorf("a journal of %d bytes instead of %d", len(b), len(text))
		}
	}
	put(text)
	for name, change := range map[string]func(*Sealed){
		"status":    func(s *Sealed) { s.Status = Passed },
		"exit code": func(s *Sealed) { s.ExitCode = 0 },
		"task":      func(s *Sealed) { s.Tasks[1].Status = Passed },
		"name":      func(s *Sealed) { s.Tasks[1].Name = "x" },
		"anchor":    func(s *Sealed) { s.Journal = nil },
		"head":      func(s *Sealed) { s.Journal = &Anchor{Lines: s.Journal.Lines} },
	} {
		other := *sealed
		other.Tasks = slices.Clone(sealed.Tasks)
		change(&other)
		if other.Check() == nil {
			t.Errorf("%s changed, and nobody says so", name)
		}
	}
	check(t, os.Remove(path))
	if err := sealed.Check(); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("without a journal: %v", err)
	}
}

// What version 1 wrote is whole for the check too.
func TestCheckVersion1(t *testing.T) {
	t.Parallel()
	s := &Store{Root: "testdata/v1", Dir: "testdata/v1/async"}
	if err := must[*Sealed](t)(s.Find("latest")).Check(); err != nil {
		t.Error(err)
	}
}

// Who looks whether a lock is held never keeps a run from starting.
func TestHeldRefusesNobody(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	check(t, must[*Lock](t)(s.RunLock()).Unlock())
	stop := make(chan struct{})
	var looking sync.WaitGroup
	defer looking.Wait()
	defer close(stop)
	looking.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				s.Held()
			}
		}
	})
	for range 400 {
		lock, err := s.RunLock()
		check(t, err)
		if held := s.Held(); len(held) != 1 || held[0].PID != os.Getpid() {
			t.Fatalf("held: %+v", held)
		}
		check(t, lock.Unlock())
	}
}

// A holder that is alive is not waited for; one that nobody can name for a moment only, and is refused all the same.
func TestLockPatience(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	lock := must[*Lock](t)(s.RunLock())
	defer func() { _ = lock.Unlock() }()
	quickest := time.Hour
	for try := 0; try < 50 && quickest >= lockPatience; try++ { // the machine may be busy in one of them
		start := time.Now()
		if _, err := s.RunLock(); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "kill ") {
			t.Errorf("held: %v", err)
		}
		quickest = min(quickest, time.Since(start))
	}
	if quickest >= lockPatience {
		t.Errorf("a holder that is alive was waited for: %v", quickest)
	}
	path := filepath.Join(s.Dir, "run.lock")
	check(t, os.Truncate(path, 0))
	start := time.Now()
	if _, err := s.RunLock(); !errors.Is(err, ErrLocked) || time.Since(start) < lockPatience {
		t.Errorf("held by nobody we know: %v after %v", err, time.Since(start))
	}
	check(t, lock.Unlock())
	next := must[*Lock](t)(s.RunLock())
	if err := lock.Unlock(); err != nil { // once more: the name in the file is another's now
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), fmt.Sprint(os.Getpid())) {
		t.Errorf("the lock file of who holds it: %q, %v", b, err)
	}
	check(t, next.Unlock())
	if b, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(b)) != "{}" {
		t.Errorf("the lock file of nobody: %q, %v", b, err)
	}
}

func TestHeld(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	if held := s.Held(); len(held) != 0 {
		t.Fatalf("of nothing: %+v", held)
	}
	lock := must[*Lock](t)(s.RunLock())
	held := s.Held()
	if len(held) != 1 || held[0].Lock != "run.lock" || held[0].PID != os.Getpid() || time.Since(held[0].Since) > time.Minute {
		t.Errorf("held: %+v", held)
	}
	check(t, lock.Unlock())
	if held := s.Held(); len(held) != 0 {
		t.Errorf("given up: %+v", held)
	}
	again := must[*Lock](t)(s.RunLock()) // looking has not kept it
	check(t, again.Unlock())
}

// Who takes a lock learns that its holder was killed, until somebody has settled what it left.
func TestKilled(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	take := func(lock func() (*Lock, error), want bool) *Lock {
		t.Helper()
		l := must[*Lock](t)(lock())
		if l.Killed() != want {
			t.Errorf("killed: %v", l.Killed())
		}
		return l
	}
	check(t, take(s.RunLock, true).Unlock()) // nobody knows what was before the first one
	check(t, take(s.RunLock, false).Unlock())
	check(t, take(s.HealLock, true).Unlock())
	check(t, take(s.HealLock, false).Unlock())
	for _, name := range []string{"run.lock", "heal.lock"} {
		for _, text := range []string{"", "{\"pid\":", strings.Repeat("x", 1000)} { // damaged: nobody knows
			check(t, os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o600))
			check(t, take(s.HealLock, true).Unlock())
			l := take(s.RunLock, true)
			l.Settled()
			check(t, l.Unlock())
			l = take(s.HealLock, name == "heal.lock")
			l.Settled()
			check(t, l.Unlock())
			check(t, take(s.RunLock, false).Unlock())
		}
	}

	kill := func(name string) {
		t.Helper()
		dead := process.Self()
		dead.Start++
		text := must[[]byte](t)(json.Marshal(dead))
		check(t, os.WriteFile(filepath.Join(s.Dir, name), text, 0o600))
	}
	kill("run.lock")
	check(t, take(s.HealLock, true).Unlock()) // of the other lock
	check(t, take(s.RunLock, true).Unlock())
	l := take(s.RunLock, true) // nothing was settled
	if s.HooksKilled() {
		t.Error("the holder of run.lock was killed, not that of heal.lock")
	}
	l.Settled()
	check(t, l.Unlock())
	check(t, take(s.RunLock, false).Unlock())

	kill("heal.lock")
	if !s.HooksKilled() {
		t.Error("the holder of heal.lock was killed")
	}
	check(t, take(s.RunLock, true).Unlock())
	l = take(s.HealLock, true)
	if s.HooksKilled() {
		t.Error("this process holds heal.lock, and lives")
	}
	l.Settled()
	check(t, l.Unlock())
	check(t, take(s.RunLock, false).Unlock())
}
