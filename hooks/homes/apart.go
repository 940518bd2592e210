package homes

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// An agent task of a run needs no lock: hooks, and other agent tasks of the run, may work at the same time. Its folders
// are in one of its own, with a stamp, and nothing in it is kept.

// Apart returns the folders of an agent task.
func (at Places) Apart(task string) Places {
	at.Work, at.Kept = filepath.Join(at.Work, "task-"+filename.Of(task)), ""
	return at
}

// apart reports whether the folders are those of an agent task.
func (h *Homes) apart() bool { return h.Kept == "" }

// openApart makes the folder of an agent task.
func (h *Homes) openApart() error {
	for n := 1; ; n++ {
		err := os.MkdirAll(filepath.Dir(h.Work), 0o700)
		if err == nil {
			err = scratch.Folder(h.Work)
		}
		if err == nil {
			h.held = h.Work
			return h.layer()
		}
		if !os.IsNotExist(err) || n == holds { // see hold
			return fmt.Errorf("folder for scratch copies: %w", err)
		}
	}
}

// closeApart removes it.
func (h *Homes) closeApart() error {
	h.held = ""
	if h.Stay {
		return nil
	}
	err := h.Bin.Remove(h.Work)
	h.Bin.RemoveEmpty(filepath.Dir(h.Work))
	return err
}

// FreshCaches makes build caches for the agent of a task: over the person's where overlays can be had, else empty
// ones.
func (h *Homes) FreshCaches() (c Caches, err error) {
	defer h.copying.start()()
	defer func() { err = h.explain(err) }()
	if h.noLayers == nil {
		return h.over()
	}
	if c.Dir, err = h.ThrowAway("caches"); err != nil {
		return c, err
	}
	return c, makeCaches(c.Dir)
}
