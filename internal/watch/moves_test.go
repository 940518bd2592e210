package watch

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMoves moves, copies, removes and makes folders that have folders. Afterwards the change of any file is told by its
// present path, and that of a file which was moved out is not told.
func TestMoves(t *testing.T) {
	t.Parallel()
	for name, open := range opens {
		for range 3 {
			seed := rand.Uint64()
			t.Run(fmt.Sprintf("%s %d", name, seed), func(t *testing.T) {
				t.Parallel()
				moves(t, open, rand.New(rand.NewPCG(seed, 0))) //nolint:gosec // for a test
			})
		}
	}
}

func moves(t *testing.T, open opening, random *rand.Rand) {
	top := t.TempDir()
	in, out := filepath.Join(top, "in"), filepath.Join(top, "out")
	for _, dir := range []string{in, out} {
		must(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "a", "b", "f"), nil, 0o644))
	}
	w, err := open(in, func(dir string) bool { return filepath.Base(dir) == "skipped" })
	must(t, err)
	defer func() { must(t, w.Close()) }()
	var steps []string
	for range 12 {
		for range 1 + random.IntN(6) {
			steps = append(steps, move(random, in, out))
		}
		w.settle(t)
		want := map[string]bool{}
		for _, file := range []string{pick(random, out, false), pick(random, in, false)} {
			if file == "" {
				continue
			}
			must(t, os.WriteFile(file, []byte(time.Now().String()), 0o644))
			if rel, inside := strings.CutPrefix(file, in+"/"); inside && !strings.Contains(rel, "skipped") {
				want[rel] = true
			}
		}
		told := w.settle(t)
		if runtime.GOOS != "linux" { // others may tell of moves later
			maps.DeleteFunc(told, func(p string, _ bool) bool { return !want[p] })
		}
		if !maps.Equal(told, want) {
			t.Fatalf("told: %.1000v, want: %v\n%s", told, want, strings.ReplaceAll(strings.Join(steps, "\n"), top+"/", ""))
		}
	}
}

// settle returns what is told of the changes until now. It makes files, and waits until they are told: twice, because the
// poller may look at them after it looked at the rest.
func (w *Watcher) settle(t *testing.T) map[string]bool {
	t.Helper()
	told := map[string]bool{}
	for _, mark := range []string{"mark1", "mark2"} {
		must(t, os.WriteFile(filepath.Join(w.root, mark), []byte(time.Now().String()), 0o644))
		for end := time.After(10 * time.Second); !told[mark]; {
			select {
			case c := <-w.C:
				for _, p := range c.Paths {
					told[p] = true
				}
			case <-end:
				t.Fatalf("%s was not told", mark)
			}
		}
	}
	delete(told, "mark1")
	delete(told, "mark2")
	return told
}

// move changes folders in one of the ways that people and tools do, and says how.
func move(random *rand.Rand, in, out string) string {
	somewhere := func() string {
		dir := in
		if random.IntN(4) == 0 {
			dir = out
		}
		if below := pick(random, dir, true); below != "" && random.IntN(3) > 0 {
			dir = below
		}
		return filepath.Join(dir, []string{"a", "b", "c", "skipped"}[random.IntN(4)])
	}
	from, to := pick(random, in, true), somewhere()
	if random.IntN(3) == 0 {
		from = pick(random, out, true)
	}
	if from == "" {
		from = to
	}
	switch random.IntN(8) {
	case 0:
		_ = os.RemoveAll(to)
		return "remove " + to
	case 1, 2:
		dir := filepath.Join(to, "d", "e")
		_ = os.MkdirAll(dir, 0o755)
		_ = os.WriteFile(filepath.Join(dir, "f"), nil, 0o644)
		_ = os.WriteFile(filepath.Join(to, "f"), nil, 0o644)
		return "make " + to
	case 3: // a copy takes the place of what was copied
		made := filepath.Join(filepath.Dir(in), "copy")
		_ = os.CopyFS(made, os.DirFS(from))
		_ = os.RemoveAll(from)
		_ = os.Rename(made, from)
		return "copy " + from
	case 4: // to and fro
		_ = os.Rename(from, to)
		_ = os.Rename(to, from)
		return "to and fro " + from + " " + to
	case 5: // another takes the place
		_ = os.Rename(to, to+".old")
		_ = os.Rename(from, to)
		_ = os.RemoveAll(to + ".old")
		return "replace " + to + " by " + from
	default:
		_ = os.Rename(from, to)
		return "move " + from + " " + to
	}
}

// pick returns a folder or a file somewhere below dir, or "" if there is none.
func pick(random *rand.Rand, dir string, folder bool) string {
	var all []string
	_ = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err == nil && at != dir && d.IsDir() == folder && !strings.HasPrefix(d.Name(), "mark") {
			all = append(all, at)
		}
		return nil
	})
	if len(all) == 0 {
		return ""
	}
	return all[random.IntN(len(all))]
}
