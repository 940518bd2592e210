package scratch

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A copy has the permission bits of its file, also those that the umask would take from a new one, and none above
// them.
func TestCopyKeepsModes(t *testing.T) {
	t.Parallel()
	from, to := temp(t), temp(t)
	p := &plan{files: map[string][]leaf{}}
	want := map[string]fs.FileMode{}
	for _, mode := range []fs.FileMode{0o400, 0o600, 0o622, 0o644, 0o666, 0o777, 0o755 | fs.ModeSetuid, 0o755 | fs.ModeSetgid | fs.ModeSticky} {
		name := fmt.Sprintf("%o", mode)
		must(t, os.WriteFile(filepath.Join(from, name), []byte(name), 0o600), os.Chmod(filepath.Join(from, name), mode))
		p.add(".", leaf{name: name})
		want[name] = mode.Perm()
	}
	done, err := copyTree(context.Background(), from, to, p)
	must(t, err)
	for _, c := range done.got["."] {
		info, err := os.Lstat(filepath.Join(to, c.Name))
		must(t, err)
		if info.Mode() != want[c.Name] || c.Mode != want[c.Name] {
			t.Errorf("%s: %v, and said to be %v; want %v", c.Name, info.Mode(), c.Mode, want[c.Name])
		}
		if f := factsAt(t, filepath.Join(to, c.Name)); f != c.To {
			t.Errorf("%s stands as %v, said to stand as %v", c.Name, f, c.To)
		}
	}
	if len(done.got["."]) != len(want) {
		t.Errorf("%d copied", len(done.got["."]))
	}
}
