package tree

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A stored walk saves reading what did not change (seen by a false digest that is planted), and only that.
func TestRecall(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"same", "changed", ".env"} {
		must(t, os.WriteFile(filepath.Join(root, name), []byte(name), 0o600))
		must(t, os.Chtimes(filepath.Join(root, name), old, old))
	}
	time.Sleep(2 * time.Duration(tick))
	walked := mustWalk(t, root, Options{})
	for i := range walked.Entries {
		walked.Entries[i].Digest = "planted"
	}
	var stored bytes.Buffer
	must(t, walked.Save(&stored, root, "boot", func(p string) bool { return strings.HasPrefix(p, ".env") }))
	text := stored.Bytes()
	for _, c := range []struct{ root, boot string }{{"other", "boot"}, {root, "other"}} {
		if m, err := Recall(text, c.root, c.boot); m != nil || err == nil {
			t.Errorf("%s, %s: recalled", c.root, c.boot)
		}
	}
	if m, err := Recall(text[:len(text)/2], root, "boot"); m != nil || err == nil {
		t.Error("half of it was recalled")
	}
	known, err := Recall(text, root, "boot")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(root, "changed"), []byte("chanGed"), 0o600))
	must(t, os.Chtimes(filepath.Join(root, "changed"), old, old)) // its ctime shows it
	m := mustWalk(t, root, Options{Known: known})
	for name, planted := range map[string]bool{"same": true, "changed": false, ".env": false} {
		if e, _ := m.Find(name); (e.Digest == "planted") != planted {
			t.Errorf("%s: %s", name, e.Digest)
		}
	}
}
