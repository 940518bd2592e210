// Package leftovers finds what killed runners left of the hooks of a root, and ends it.
package leftovers

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

// Found is what Find found: what Settle would end.
type Found struct {
	Fixes   []fix.Abandoned
	Copies  []scratch.Leftover
	Rescued []string // copies whose difference could not be stored; only a person removes them
}

// Find changes nothing. cache is the person's cache folder of this program; it need not exist. With an error it
// returns what it could find, too.
func Find(ctx context.Context, store *record.Store, cache string) (Found, error) {
	var l Found
	drafts, errs := (&fix.Store{Root: store.Root, Dir: store.Dir}).Abandoned()
	l.Fixes = drafts
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
