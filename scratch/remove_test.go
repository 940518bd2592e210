package scratch

import (
	"os"
	"path/filepath"
	"testing"
)

// A link in a copy, which an agent can make, leads no removal out of it.
func TestRemoveFollowsNoLinkOutOfTheCopy(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	c := &Copy{Dir: filepath.Join(top, "copy")}
	theirs := filepath.Join(top, "theirs")
	for _, dir := range []string{c.Dir, theirs} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(theirs, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(theirs, filepath.Join(c.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := c.Remove([]string{"link/file"}); err == nil {
		t.Error("no error")
	}
	if err := c.Remove([]string{"link"}); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(file); err != nil {
		t.Error(err)
	}
}
