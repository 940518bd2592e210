package hooks

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// Leftovers are what killed runners left of the healings of one root: what Settle would end.
type Leftovers struct {
	Healings []fix.Abandoned
	Copies   []scratch.Leftover
	Rescued  []string // copies whose difference could not be stored; only a person removes them
}

// Left looks for leftovers and changes nothing. cache is the folder for scratch copies; it need not be there. With an error
// what could be seen is given too.
func Left(ctx context.Context, store *record.Store, cache string) (Leftovers, error) {
	var l Leftovers
	drafts, errs := (&fix.Store{Root: store.Root, Dir: store.Dir}).Abandoned()
	l.Healings = drafts
	at, ok, err := homes.Look(ctx, store, cache)
	if err != nil || !ok {
		return l, errors.Join(append(errs, err)...)
	}
	l.Copies, err = scratch.Leftovers(at.Work)
	errs = append(errs, err)
	if entries, err := os.ReadDir(at.Rescued); err == nil {
		for _, e := range entries {
			l.Rescued = append(l.Rescued, filepath.Join(at.Rescued, e.Name()))
		}
	}
	return l, errors.Join(errs...)
}
