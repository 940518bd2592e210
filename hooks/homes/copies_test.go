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

// While a hook has its folders open, nobody takes that of the copies for an empty one; afterwards it is removed. Where
// somebody removes it all the same, the error says so.
func TestWorkIsHeld(t *testing.T) {
	t.Parallel()
	tree := t.TempDir()
	fixtest.Put(t, tree, "a", "f:a")
	for _, removed := range []bool{false, true} {
		at := t.TempDir()
		h := &Homes{Places: Places{Work: filepath.Join(at, "work"), Kept: filepath.Join(at, "kept")}, Box: sandbox.Box{Tier: sandbox.Fence}}
		fixtest.Check(t, h.Open("root"))
		if err := os.Remove(h.Work); err == nil {
			t.Fatal("the folder could be removed")
		}
		base, err := scratch.Make(t.Context(), h.Work, scratch.Source{Root: tree})
		fixtest.Check(t, err)
		if removed {
			fixtest.Check(t, os.RemoveAll(h.Work))
		}
		_, err = h.Copy(t.Context(), base, "check", false)
		if said := err != nil && strings.Contains(err.Error(), h.Work+", was removed meanwhile"); said != removed {
			t.Errorf("removed is %v: %v", removed, err)
		}
		_ = errors.Join(base.Close(), h.Close()) // after a removal there is nothing to close
		if _, err := os.Lstat(h.Work); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("removed is %v: the folder is left: %v", removed, err)
		}
	}
}
