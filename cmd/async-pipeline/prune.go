// Which old runs are removed: by gc, and after a run where PIPELINE.hcl has keep_runs.
package main

import (
	"maps"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A pruning decides which runs stay.
type pruning struct {
	h     *hall
	store *record.Store
	old   map[string]bool   // by id: the runs older than those that stay
	why   map[string]string // by id: what keeps one of these
}

// pruning keeps the newest sealed runs that can be read, keep of them (below 1: all), and what is newer than the oldest of these.
// sealed is the run that just ended, if one did: it stays, also where the clock was set back and older ones seem newer. What a
// person must look at is neither counted nor removed, doctor names it: a damaged verdict, and a run that is ahead of the clock,
// of which nobody knows how old it is.
func (h *hall) pruning(store *record.Store, keep int, sealed string) *pruning {
	p := &pruning{h: h, store: store, old: map[string]bool{}, why: map[string]string{}}
	ids, err := store.IDs()
	if err != nil || keep < 1 || len(ids) <= keep {
		return p
	}
	for _, id := range ids {
		if record.Ahead(id) {
			continue
		}
		verdict := store.HasVerdict(id)
		if verdict && store.Entry(id).Sealed == nil { // damaged, or of a newer version
			continue
		}
		if keep <= 0 && id != sealed {
			p.old[id] = true
		}
		if verdict {
			keep--
		}
	}
	return p
}

func (p *pruning) keeps(id string) bool {
	if !p.old[id] {
		return true
	}
	if !p.store.HasVerdict(id) && p.store.Entry(id).Live {
		return true
	}
	if why := p.h.fixes(p.store.Root).Keeps(id); why != "" {
		p.why[id] = why
		return true
	}
	return false
}

// kept says of each run that is older why it stays, oldest first.
func (p *pruning) kept() []string {
	var said []string
	for _, id := range slices.Sorted(maps.Keys(p.why)) {
		said = append(said, "Run "+id+" is kept: "+p.why[id]+".")
	}
	return said
}

// pruneAfter removes the runs that keep_runs makes too many, after the one of this id was sealed. Its own trouble stops nothing. While
// another run or a healing is at work it leaves all to the next one.
func (h *hall) pruneAfter(c *pipeline.Config, store *record.Store, sealed string) {
	if c.KeepRuns < 1 || h.env(hooks.Mark) != "" || len(store.Held()) > 0 {
		return
	}
	p := h.pruning(store, c.KeepRuns, sealed)
	if len(p.old) == 0 {
		return
	}
	if _, err := store.Prune(p.keeps); err != nil {
		h.said().Warning("removing old runs (keep_runs): " + err.Error())
	}
}
