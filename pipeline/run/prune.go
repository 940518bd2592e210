package run

import (
	"maps"
	"slices"

	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A Pruning is a choice of old runs to remove, for record.Store.Prune.
type Pruning struct {
	store *record.Store
	needs func(id string) string
	old   map[string]bool   // by id: the runs older than those that stay
	why   map[string]string // by id: why one of these stays
}

// Prune chooses the runs to remove: all that are older than the newest keep sealed runs (below 1: none). needs
// returns why somebody still needs a run, or "". sealed is the run that just ended, or "": it stays even when the
// clock was set back. Damaged runs and runs ahead of the clock are neither counted nor chosen: doctor names them
// for a person.
func Prune(store *record.Store, keep int, sealed string, needs func(id string) string) *Pruning {
	p := &Pruning{store: store, needs: needs, old: map[string]bool{}, why: map[string]string{}}
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

// None reports whether no run is old.
func (p *Pruning) None() bool { return len(p.old) == 0 }

// Keeps reports whether a run stays.
func (p *Pruning) Keeps(id string) bool {
	if !p.old[id] {
		return true
	}
	if !p.store.HasVerdict(id) && p.store.Entry(id).Live {
		return true
	}
	if why := p.needs(id); why != "" {
		p.why[id] = why
		return true
	}
	return false
}

// Needed returns a sentence for each old run that Keeps kept because somebody needs it, oldest first.
func (p *Pruning) Needed() []string {
	var said []string
	for _, id := range slices.Sorted(maps.Keys(p.why)) {
		said = append(said, "Run "+id+" is kept: "+p.why[id]+".")
	}
	return said
}
