package scratch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// Changes are put into a layered copy also below folders whose names are no UTF-8, and a folder that they empty goes.
func TestPutLayered(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	files := map[string]string{"b\xff/one": "1", "b\xff/two": "2", "keep/in": "x", "deep/er/one": "1"}
	for i := range 300 {
		files[fmt.Sprintf("many/f%d", i)] = "x"
	}
	write(t, top, files)
	base, err := Make(t.Context(), t.TempDir(), Source{Root: top})
	must(t, err)
	t.Cleanup(func() { must(t, base.Close()) })
	c, err := base.Layer(filepath.Join(t.TempDir(), "copy"))
	must(t, err)
	var changes []patch.Change
	for p := range files {
		if !strings.HasPrefix(p, "keep") && p != "b\xff/two" {
			changes = append(changes, patch.Change{Path: p})
		}
	}
	changes = append(changes, patch.Change{Path: "many", After: &patch.File{Mode: 0o644, Data: []byte("a file now\n")}})
	must(t, c.Put(changes))
	got, omitted, err := c.Changes(t.Context())
	must(t, err)
	if len(got) != len(changes) || len(omitted) > 0 {
		t.Errorf("%d changes, want %d; omitted: %v", len(got), len(changes), omitted)
	}
	for _, ch := range got {
		if (ch.After != nil) != (ch.Path == "many") {
			t.Errorf("%q: %v", ch.Path, ch.After)
		}
	}
	root, err := os.OpenRoot(c.Dir)
	must(t, err)
	defer func() { must(t, root.Close()) }()
	under, err := os.OpenRoot(base.Dir)
	must(t, err)
	defer func() { must(t, under.Close()) }()
	u := &upper{root: root, base: under}
	for p, want := range map[string]bool{"b\xff": true, "b\xff/two": true, "b\xff/one": false, "deep": false, "deep/er": false, "keep/in": true, "many/f1": false} {
		if info, _, err := u.stat(p); err != nil || (info != nil) != want {
			t.Errorf("%q is seen: %v, %v", p, info != nil, err)
		}
	}
}
