package watch

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Where the kernel kept too few events, this is told, and folders that are not known are watched from then on.
func TestOverflow(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	must(t, os.Mkdir(filepath.Join(root, "src"), 0o755))
	w, err := Open(root, func(string) bool { return false })
	must(t, err)
	defer func() { must(t, w.Close()) }()
	write := func() map[string]bool {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(root, "src", "f"), nil, 0o644))
		return w.settle(t)
	}
	w.kernel.events <- event{wd: 2, mask: unix.IN_IGNORED} // src is the second one
	if told := write(); told["src/f"] {
		t.Error("src is still watched")
	}
	w.kernel.events <- event{wd: -1, mask: unix.IN_Q_OVERFLOW}
	if c := <-w.C; !c.Lost {
		t.Errorf("%v", c)
	}
	if told := write(); !told["src/f"] {
		t.Errorf("told: %v", told)
	}
}

// A folder that was moved may be found in a new folder before its move is told.
func TestMovedAhead(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, "old", "deep"), 0o755))
	var once sync.Once
	w, err := Open(root, func(dir string) bool {
		if dir == "new" {
			once.Do(func() { _ = os.Rename(filepath.Join(root, "old"), filepath.Join(root, "new", "place")) })
		}
		return false
	})
	must(t, err)
	defer func() { must(t, w.Close()) }()
	must(t, os.Mkdir(filepath.Join(root, "new"), 0o755))
	w.settle(t)
	for _, name := range []string{"new/place/f", "new/place/deep/f"} {
		must(t, os.WriteFile(filepath.Join(root, name), nil, 0o644))
		if told := w.settle(t); !told[name] {
			t.Errorf("%s was not told", name)
		}
	}
}
