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
	h      *hall
	store  *record.Store
	oldest string            // the oldest of the newest sealed runs; empty keeps all
	why    map[string]string // by id: what keeps a run that is older
}

// pruning keeps the newest sealed runs, keep of them, and what is newer than the oldest of these.
func (h *hall) pruning(store *record.Store, keep int) *pruning {
	p := &pruning{h: h, store: store, why: map[string]string{}}
	ids, err := store.IDs()
	if err != nil {
		return p
	}
	for _, id := range ids {
		if !store.HasVerdict(id) {
			continue
		}
		if keep--; keep == 0 {
			p.oldest = id
			break
		}
	}
	return p
}

func (p *pruning) keeps(id string) bool {
	if p.oldest == "" || id >= p.oldest { // ids sort by time
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

// pruneAfter removes the runs that keep_runs makes too many, after one was sealed. Its own trouble stops nothing. While
// another run or a healing is at work it leaves all to the next one.
func (h *hall) pruneAfter(c *pipeline.Config, store *record.Store) {
	if c.KeepRuns < 1 || h.env(hooks.Mark) != "" || len(store.Held()) > 0 {
		return
	}
	p := h.pruning(store, c.KeepRuns)
	if p.oldest == "" {
		return
	}
	if _, err := store.Prune(p.keeps); err != nil {
		h.said().Warning("removing old runs (keep_runs): " + err.Error())
	}
}
