package homes

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// Where an overlay is seen in boxes only, an agent of this program gets a plain copy, and the record tells why.
func TestPlainCopyWhereNoOverlayOpens(t *testing.T) {
	t.Parallel()
	tree := t.TempDir()
	fixtest.Put(t, tree, "a", "f:a")
	base, err := scratch.Make(t.Context(), t.TempDir(), scratch.Source{Root: tree})
	fixtest.Check(t, err)
	h := &Homes{Places: Places{Work: t.TempDir()}, Bin: &scratch.Bin{}}
	h.open = func(b sandbox.Box) (*os.Root, error) {
		if b.Base != base.Dir || filepath.Dir(b.Copy) != filepath.Dir(b.Work) {
			t.Errorf("%+v", b)
		}
		return nil, errors.New("no mount is left")
	}
	for _, c := range []struct {
		name, made, why string
		here, plain     bool
	}{
		{"check", "overlay", "", false, false},
		{"agent", "both", "cannot open an overlay: no mount is left", true, true},
	} {
		copied, err := h.Copy(t.Context(), base, c.name, c.here)
		fixtest.Check(t, err)
		_, err = os.Stat(filepath.Join(copied.Dir, "a"))
		if (err == nil) != c.plain || (copied.Work == "") != c.plain {
			t.Errorf("%s: %+v, %v", c.name, copied, err)
		}
		made, why := h.Copies()
		if made != c.made || (why == nil) != (c.why == "") || why != nil && !strings.Contains(why.Error(), c.why) {
			t.Errorf("%s: copies are %q: %v", c.name, made, why)
		}
		fixtest.Check(t, copied.Close())
	}
	fixtest.Check(t, errors.Join(base.Close(), h.Bin.Empty()))
}
