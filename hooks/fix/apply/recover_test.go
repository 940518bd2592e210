package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

var (
	// someKinds and someKindsAfter differ in one path of each kind: for what is done once more at every step.
	someKinds = fixtest.Files{
		"mod": "f:1\n", "del/in": "f:x\n", "to-dir": "f:x\n", "to-file/in": "f:x\n", "link": "l:mod", "keep": "f:k",
	}
	someKindsAfter = fixtest.Files{
		"mod": "x:2\n", "to-dir/in": "f:x\n", "to-file": "f:y\n", "link": "l:keep", "new/deep": "f:n\n", "keep": "f:k",
	}

	// twoAndB is fixtest.Two with a new file.
	twoAndB = fixtest.Files{"a.txt": "f:two\n", "b.txt": "f:b\n"}
)

// A crash is what a killed process looks like from the inside: nothing more happens.
type crash struct{ step string }

// crashing runs do and gives the step at which it was to crash; empty when it ended by itself.
func crashing(do func()) (step string) {
	defer func() {
		if c, ok := recover().(crash); ok {
			step = c.step
		}
	}()
	do()
	return ""
}

// after gives a step function that does what at the n-th step, counted from 0.
func after(n int, do func(step string) error) func(string) error {
	return func(step string) error {
		n--
		if n == -1 {
			return do(step)
		}
		return nil
	}
}

func die(step string) error { panic(crash{step}) }

// whole checks that the tree is before or after, entirely, and that the record agrees.
func whole(t *testing.T, what string, s *testTree, before, after fixtest.Files) (completed bool) {
	t.Helper()
	p := fixtest.Find(t, s.Store, fixtest.RunID, "test")
	completed = p.Disposition == fix.Applied
	want := before
	if completed {
		want = after
	}
	s.holds(t, what, want)
	settled(t, s)
	if got, err := s.Recover(context.Background()); got != nil || err != nil {
		t.Errorf("%s: a second Recover: %+v %v", what, got, err)
	}
	return completed
}

// At every step of an apply an error takes everything back.
func TestErrorAtEveryStep(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: little of it runs at once, so the race detector finds little")
	}
	broken := errors.New("disk full")
	for n := 0; ; n++ {
		s, p := proposed(t, everyKind, everyKindAfter)
		step := ""
		s.step = after(n, func(at string) error { step = at; return broken })
		got, err := apply(t, s, p, Options{})
		if step == "" {
			fixtest.Check(t, err)
			if n < 50 {
				t.Errorf("only %d steps", n)
			}
			return
		}
		if !errors.Is(err, broken) {
			t.Errorf("step %d %s: %v", n, step, err)
		}
		s.step = nil
		if step == "record" || step == "clear" { // every file is in its place: the next command records it
			if len(got.Files) == 0 || !strings.Contains(err.Error(), "the files are written") {
				t.Errorf("%+v %v", got, err)
			}
			r, err := s.Recover(context.Background())
			if err != nil || r == nil || r.To != "completed" {
				t.Errorf("%s: %+v %v", step, r, err)
			}
			if !whole(t, step, s, everyKind, everyKindAfter) {
				t.Errorf("%s: not completed", step)
			}
			continue
		}
		if len(got.Files) > 0 || whole(t, fmt.Sprintf("step %d %s", n, step), s, everyKind, everyKindAfter) {
			t.Errorf("step %d %s: %+v", n, step, got)
		}
		if _, err := apply(t, s, p, Options{}); err != nil {
			t.Errorf("step %d %s: applied later: %v", n, step, err)
		}
	}
}

// At every step of an apply a crash, and then at every step of the recovery another one, leaves a tree that is whole
// after the next recovery.
func TestCrashAtEveryStep(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: little of it runs at once, so the race detector finds little")
	}
	ends := map[bool]int{}
	for n := 0; ; n++ {
		for m := 0; ; m++ {
			s, p := proposed(t, someKinds, someKindsAfter)
			s.step = after(n, die)
			first := crashing(func() { _, _ = apply(t, s, p, Options{}) })
			if first == "" {
				if ends[true] == 0 || ends[false] == 0 || n < 20 {
					t.Errorf("%d steps, completed and undone: %v", n, ends)
				}
				return
			}
			s.step = after(m, die)
			second := crashing(func() { fixtest.OK(t)(s.Recover(context.Background())) })
			s.step = nil
			fixtest.OK(t)(s.Recover(context.Background()))
			ends[whole(t, fmt.Sprintf("crash at %q, then at %q", first, second), s, someKinds, someKindsAfter)]++
			if second == "" {
				break
			}
		}
	}
}

// at gives a step function that does what at one step.
func at(step string, do func()) func(string) error {
	return func(is string) error {
		if is == step {
			do()
		}
		return nil
	}
}

// crashed is a store whose apply of after died at a step.
func crashed(t *testing.T, before, after fixtest.Files, step string) (*testTree, *fix.Proposal) {
	t.Helper()
	s, p := proposed(t, before, after)
	s.step = at(step, func() { panic(crash{step}) })
	if got := crashing(func() { _, _ = apply(t, s, p, Options{}) }); got != step {
		t.Fatalf("crashed at %q", got)
	}
	s.step = nil
	return s, p
}

// Unsettled tells what Recover is going to do, and does nothing; Recover does that.
func TestRecoverTellsWhatItDid(t *testing.T) {
	t.Parallel()
	for at, to := range map[string]string{
		"original a.txt": "", "journal": "", "stage a.txt": "undone",
		"write b.txt": "undone", "written": "completed", "record": "completed", "clear": "completed",
	} {
		s, _ := crashed(t, fixtest.One, twoAndB, at)
		before := fixtest.All(t, s.Root)
		tells, err := s.Unsettled(context.Background())
		fixtest.Check(t, err)
		if now := fixtest.All(t, s.Root); now != before {
			t.Errorf("%s: Unsettled changed\n%s\nto\n%s", at, before, now)
		}
		r, err := s.Recover(context.Background())
		fixtest.Check(t, err)
		if !reflect.DeepEqual(tells, r) {
			t.Errorf("%s: tells %+v, does %+v", at, tells, r)
		}
		if to == "" {
			if r != nil {
				t.Errorf("%s: %+v", at, r)
			}
		} else if r == nil || r.To != to || r.Run != fixtest.RunID || r.Task != "test" ||
			fmt.Sprint(r.Files) != "[a.txt b.txt]" || r.At.IsZero() || len(r.Left) > 0 || r.Kept != "" {
			t.Errorf("%s: %+v", at, r)
		}
		if whole(t, at, s, fixtest.One, twoAndB) != (to == "completed") {
			t.Errorf("%s: not %s", at, to)
		}
		if tells, err = s.Unsettled(context.Background()); tells != nil || err != nil {
			t.Errorf("%s: settled, and it tells %+v, %v", at, tells, err)
		}
	}
}

// Apply settles what an earlier one left before it does anything.
func TestApplyRecoversFirst(t *testing.T) {
	t.Parallel()
	s, p := crashed(t, fixtest.One, twoAndB, "write b.txt")
	got := done(t)(apply(t, s, p, Options{}))
	if got.Already || !whole(t, "applied", s, fixtest.One, twoAndB) {
		t.Errorf("%+v", got)
	}
}

// What somebody edited after a crash stays as it is, and what it held before the apply is kept elsewhere.
func TestEditsAfterACrashAreKept(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a": "f:1\n", "b": "f:1\n", "c/in": "f:1\n", "d": "f:1\n"}
	later := fixtest.Files{"a": "f:2\n", "b": "f:2\n", "d": "f:2\n", "new/x": "f:n\n"} // c/in is deleted
	for name, c := range map[string]struct {
		at   string
		edit fixtest.Files
		left string
	}{
		"a written file":              {"write d", fixtest.Files{"a": "f:mine\n"}, "a"},
		"a file not yet written":      {"write d", fixtest.Files{"d": "f:mine\n"}, "d"},
		"a new file":                  {"written", fixtest.Files{"new/x": "f:mine\n"}, "new/x"},
		"a deleted one made again":    {"write a", fixtest.Files{"c/in": "f:mine\n"}, "c/in"},
		"a file where its folder was": {"write a", fixtest.Files{"c": "f:mine\n"}, "c/in"},
		"a link in its place":         {"write d", fixtest.Files{"a": "l:b"}, "a"},
		"a new file beside":           {"written", fixtest.Files{"new/y": "f:mine\n", "a": "f:mine\n"}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := crashed(t, before, later, c.at)
			want, kept := maps.Clone(before), fixtest.Files{}
			take(kept, c.left, before)
			for path, v := range c.edit {
				fixtest.Put(t, s.Root, path, v)
				want[path] = v
			}
			sane(want)
			r, err := s.Recover(context.Background())
			fixtest.Check(t, err)
			if r.To != "undone" || !slices.Equal(r.Left, []string{c.left}) {
				t.Errorf("%+v", r)
			}
			s.holds(t, "tree", want)
			if (r.Kept != "") != (len(kept) > 0) {
				t.Errorf("kept in %q", r.Kept)
			} else if len(kept) > 0 {
				fixtest.Same(t, "kept", fixtest.Snapshot(t, r.Kept), kept.With())
			}
			settled(t, s)
			if again, err := s.Recover(context.Background()); again != nil || err != nil {
				t.Errorf("a second Recover: %+v %v", again, err)
			}
		})
	}
	t.Run("once all was written", func(t *testing.T) {
		t.Parallel()
		s, _ := crashed(t, before, later, "record")
		fixtest.Put(t, s.Root, "a", "f:mine\n")
		r, err := s.Recover(context.Background())
		fixtest.Check(t, err)
		if r.To != "completed" {
			t.Errorf("%+v", r)
		}
		want := maps.Clone(later)
		want["a"] = "f:mine\n"
		s.holds(t, "tree", want)
		settled(t, s)
	})
}

// A person who edits while an apply is at work keeps the edit.
func TestEditDuringApply(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a": "f:1\n", "b": "f:1\n"}
	s, p := proposed(t, before, fixtest.Files{"a": "f:2\n", "b": "f:2\n"})
	s.step = at("write b", func() { fixtest.Put(t, s.Root, "b", "f:mine\n") })
	_, err := apply(t, s, p, Options{})
	if !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "b (changed this moment)") ||
		!strings.Contains(err.Error(), filepath.Join(s.Dir, "kept")) {
		t.Errorf("%v", err)
	}
	s.holds(t, "tree", fixtest.Files{"a": "f:1\n", "b": "f:mine\n"})
	settled(t, s)
}

func TestFolderMovedDuringApply(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a": "f:1\n", "b/in": "f:1\n"}
	s, p := proposed(t, before, fixtest.Files{"a": "f:2\n", "b/in": "f:2\n"})
	s.step = at("write b/in", func() { // its staged content goes away with the folder
		fixtest.Check(t, os.Rename(filepath.Join(s.Root, "b"), filepath.Join(s.Root, "moved")))
	})
	if _, err := apply(t, s, p, Options{}); !errors.Is(err, ErrConflict) {
		t.Errorf("%v", err)
	}
	if got := fixtest.Snapshot(t, s.Root)["a"]; got != "f:1\n" {
		t.Errorf("a is %q", got)
	}
}

// A journal that came with a repository must not make us write.
func TestForeignJournals(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(j *journal)
		raw    string
		says   string
	}{
		"of another place":  {func(j *journal) { j.Lock++ }, "", "not written in this place"},
		"outside":           {func(j *journal) { j.Entries[0].Path = "../x" }, "", "inside the tree"},
		"absolute":          {func(j *journal) { j.Entries[0].Path = "/tmp/x" }, "", "inside the tree"},
		"in .git":           {func(j *journal) { j.Entries[0].Path = ".GIT/hooks/x" }, "", "git's own"},
		"folder outside":    {func(j *journal) { j.Made = []folder{{Path: "../x"}} }, "", "inside the tree"},
		"folder in .async":  {func(j *journal) { j.Folders = []folder{{Path: ".async/x"}} }, "", "async-pipeline's own"},
		"run with a path":   {func(j *journal) { j.Run = "../../x" }, "", "no name of a run"},
		"fix with a path":   {func(j *journal) { j.Fix = "../x" }, "", "no name of a run"},
		"id with a path":    {func(j *journal) { j.ID = "../x" }, "", "no name of a run"},
		"newer":             {func(j *journal) { j.SchemaVersion = 2 }, "", "upgrade"},
		"moved":             {func(j *journal) { j.Sub = "pkg" }, "", `was at "pkg"`},
		"not JSON":          {nil, "{", "unexpected end"},
		"original replaced": {func(j *journal) { j.Entries[0].Before.Digest = recordfile.Digest([]byte("evil")) }, "", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := crashed(t, fixtest.One, twoAndB, "write b.txt")
			text := fixtest.Read(t, s.transaction(nil).file())
			if c.change != nil {
				j := &journal{}
				fixtest.Check(t, json.Unmarshal(text, j))
				c.change(j)
				var err error
				text, err = recordfile.JSON(j)
				fixtest.Check(t, err)
			} else {
				text = []byte(c.raw)
			}
			fixtest.Check(t, os.WriteFile(s.transaction(nil).file(), text, 0o600))
			was := fixtest.Snapshot(t, s.Root)
			_, looked := s.Unsettled(context.Background())
			_, err := s.Recover(context.Background())
			if c.says != "" && (looked == nil || err == nil || looked.Error() != err.Error()) {
				t.Errorf("Unsettled says %v, Recover %v", looked, err)
			}
			if err == nil || !strings.Contains(err.Error(), c.says) ||
				!strings.Contains(err.Error(), s.transaction(nil).file()) ||
				!strings.Contains(err.Error(), s.transaction(nil).originals()) {
				t.Errorf("%v", err)
			}
			if c.says != "" {
				s.holds(t, "untouched", was)
			}
		})
	}
}

func TestRecoverOfNothing(t *testing.T) {
	t.Parallel()
	s := newTree(t, fixtest.One)
	if r, err := s.Recover(context.Background()); r != nil || err != nil || recordfile.Exists(s.dir()) {
		t.Errorf("%+v %v", r, err)
	}
	lock, err := s.lock(t.Context())
	fixtest.Check(t, err)
	defer func() { fixtest.Check(t, lock.Close()) }()
	if r, err := s.Recover(context.Background()); r != nil || err != nil { // it does not even ask for the lock
		t.Errorf("%+v %v", r, err)
	}
}

// The run may be pruned between the crash and the recovery.
func TestRecoverWithoutItsRun(t *testing.T) {
	t.Parallel()
	s, _ := crashed(t, fixtest.One, fixtest.Two, "record")
	fixtest.Check(t, os.RemoveAll(fixtest.Dir(s.Store)))
	r, err := s.Recover(context.Background())
	if err != nil || r.To != "completed" {
		t.Errorf("%+v %v", r, err)
	}
	settled(t, s)
}

// An apply that goes on is not an interrupted one, and a journal that cannot be believed is an error.
func TestUnsettledOfOthers(t *testing.T) {
	t.Parallel()
	s, _ := crashed(t, fixtest.One, fixtest.Two, "write a.txt")
	lock, err := s.lock(context.Background())
	fixtest.Check(t, err)
	if r, err := s.Unsettled(context.Background()); r != nil || err != nil {
		t.Errorf("while somebody applies: %+v, %v", r, err)
	}
	fixtest.Check(t, lock.Close())
	fixtest.Check(t, os.WriteFile(s.transaction(nil).file(), []byte("{"), 0o600))
	if r, err := s.Unsettled(context.Background()); err == nil {
		t.Errorf("a damaged journal: %+v", r)
	}
	none := treeOf(t.TempDir())
	for range 2 {
		if r, err := none.Unsettled(context.Background()); r != nil || err != nil {
			t.Errorf("of nothing: %+v, %v", r, err)
		}
		fixtest.Check(t, os.WriteFile(none.Dir, nil, 0o600)) // something else has our name
	}
}

// A source that an apply or a revert puts in the place of one of this second and its size gets another second;
// nobody waits for any other.
func TestApplyInTheSameSecond(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file, before, after string
		old                 time.Duration
		other               bool // another second
	}{
		"same size":     {"calc.py", "f:a-b\n", "f:a+b\n", 0, true},
		"another size":  {"calc.py", "f:a-b\n", "f:a + b\n", 0, false},
		"no source":     {"calc.txt", "f:a-b\n", "f:a+b\n", 0, false},
		"an old one":    {"calc.py", "f:a-b\n", "f:a+b\n", time.Hour, false},
		"only its mode": {"calc.py", "f:a-b\n", "x:a-b\n", 0, false},
		"a link before": {"calc.py", "l:abcd", "f:a+b\n", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTree(t, fixtest.Files{tt.file: tt.before, "other.py": "f:1\n"})
			p := fixtest.Sealed(t, s.Store, "test", fixtest.Files{tt.file: tt.before}, fixtest.Files{tt.file: tt.after}, nil)
			at := filepath.Join(s.Root, tt.file)
			second := func() int64 {
				info, err := os.Lstat(at)
				fixtest.Check(t, err)
				return info.ModTime().Unix()
			}
			there := func() error { _, err := apply(t, s, p, Options{}); return err }
			back := func() error { _, err := revert(t, s, Options{}); return err }
			took := time.Hour
			for try := 0; try < 9 && took > 650*time.Millisecond; try++ { // a busy machine is not slowness of ours
				took = 0
				for _, do := range []func() error{there, back} {
					// What follows is done in one second, also by the clock of the file system, which is some ticks late.
					for ns := time.Now().Nanosecond(); ns < 5e7 || ns > 3e8; ns = time.Now().Nanosecond() {
						time.Sleep(10 * time.Millisecond)
					}
					started := time.Now()
					if tt.before[0] != 'l' {
						fixtest.Check(t, os.Chtimes(at, started, started.Add(-tt.old)))
					}
					was := second()
					fixtest.Check(t, do())
					if is := second(); tt.other && is != was+1 {
						t.Errorf("of second %d, and before of %d", is, was)
					}
					if !tt.other {
						took = max(took, time.Since(started))
					}
				}
			}
			if took > 650*time.Millisecond {
				t.Errorf("took %s", took)
			}
			settled(t, s)
		})
	}
}
