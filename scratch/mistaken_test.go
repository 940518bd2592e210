package scratch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// second returns the whole second in which a file was written last.
func second(t testing.TB, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	must(t, err)
	return info.ModTime().Unix()
}

// early waits until a second has begun: what follows is done in one.
func early(t testing.TB) {
	t.Helper()
	for time.Now().Nanosecond() > 3e8 {
		time.Sleep(10 * time.Millisecond)
	}
}

// A source that is put in the place of one of this second and its size gets another second; nobody waits for any
// other.
func TestPutInTheSameSecond(t *testing.T) {
	t.Parallel()
	top := temp(t)
	write(t, top, map[string]string{"same.py": "a-b\n", "longer.py": "a-b\n", "same.txt": "a-b\n", "old.py": "a-b\n"})
	b, err := Make(t.Context(), temp(t), Source{Root: top})
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	c := makeCopy(t, b)
	put := func(p, text string) time.Duration {
		early(t)
		now := time.Now()
		if p != "old.py" {
			must(t, os.Chtimes(filepath.Join(c.Dir, p), now, now))
		} else {
			aged(t, c.Dir, p)
		}
		was := second(t, filepath.Join(c.Dir, p))
		must(t, c.Put([]patch.Change{{Path: p, After: &patch.File{Mode: 0o644, Data: []byte(text)}}}))
		took := time.Since(now)
		if got, err := os.ReadFile(filepath.Join(c.Dir, p)); err != nil || string(got) != text {
			t.Errorf("%s holds %q, %v", p, got, err)
		}
		if is := second(t, filepath.Join(c.Dir, p)); p == "same.py" && is != was+1 {
			t.Errorf("%s: of second %d, and before of %d", p, is, was)
		}
		return took
	}
	put("same.py", "a+b\n")
	for p, text := range map[string]string{"longer.py": "a + b\n", "same.txt": "a+b\n", "old.py": "a+b\n"} {
		took := put(p, text)
		for try := 1; took > 250*time.Millisecond && try < 9; try++ { // a busy machine is not slowness of ours
			took = put(p, text)
		}
		if took > 250*time.Millisecond {
			t.Errorf("%s took %s", p, took)
		}
	}
}

// A copy that holds bytecode is handed out in a later second than its sources were written in; another one at once.
func TestCopyIsPastTheSecondOfSources(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files []string
		past  bool
	}{
		"beside":       {[]string{"calc.py", "calc.pyc"}, true},
		"below":        {[]string{"lib/calc.py", "lib/__pycache__/calc.cpython-311.pyc"}, true},
		"somewhere":    {[]string{"calc.py", ".cache/py/project/calc.cpython-311.pyc"}, true},
		"no bytecode":  {[]string{"calc.py", "__pycache__/notes"}, false},
		"no source":    {[]string{"calc.txt", "__pycache__/calc.cpython-311.pyc"}, false},
		"nothing like": {[]string{"calc.go"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := temp(t)
			early(t)
			files, now := map[string][]fileState{}, time.Now()
			for _, p := range tt.files {
				in := filepath.Dir(p)
				files[in] = append(files[in], fileState{name: filepath.Base(p), facts: facts{Mtime: now.UnixNano(), Ctime: now.UnixNano()}})
			}
			must(t, waitForTick(dir, files))
			var at unix.Stat_t
			must(t, unix.Stat(dir, &at))
			if at.Ctim.Sec > now.Unix() != tt.past && (tt.past || time.Since(now) < 500*time.Millisecond) {
				t.Errorf("written at %s, handed out at second %d", now, at.Ctim.Sec)
			}
		})
	}
}

// Python runs what was put into a copy, and what is written there, though a run of this second left its bytecode.
func TestPythonRunsWhatWasPut(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	result := func(dir string) string {
		cmd := exec.CommandContext(t.Context(), python, "-c", "import calc; print(calc.add(5, 3))")
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	const before, after = "def add(a, b): return a-b\n", "def add(a, b): return a+b\n"
	for name, restore := range map[string]func(c *Copy){
		"put": func(c *Copy) {
			must(t, c.Put([]patch.Change{{Path: "calc.py", After: &patch.File{Mode: 0o644, Data: []byte(after)}}}))
		},
		"written": func(c *Copy) { write(t, c.Dir, map[string]string{"calc.py": after}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := temp(t)
			early(t)
			write(t, top, map[string]string{"calc.py": before})
			if got := result(top); got != "2" {
				t.Fatalf("before: %s", got)
			}
			b, err := Make(t.Context(), temp(t), Source{Root: top})
			must(t, err)
			t.Cleanup(func() { must(t, b.Close()) })
			c := makeCopy(t, b)
			restore(c)
			if got := result(c.Dir); got != "8" {
				t.Errorf("after: %s", got)
			}
			changes, _, err := c.Changes(t.Context())
			if err != nil || len(changes) == 0 || changes[len(changes)-1].Path != "calc.py" {
				t.Errorf("the difference: %v, %v", changes, err)
			}
		})
	}
}
