package hooks

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/git"
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
	at, ok, err := seePlaces(ctx, store, cache)
	if err != nil || !ok {
		return l, errors.Join(append(errs, err)...)
	}
	l.Copies, err = scratch.Leftovers(at.work)
	errs = append(errs, err)
	if entries, err := os.ReadDir(at.rescued); err == nil {
		for _, e := range entries {
			l.Rescued = append(l.Rescued, filepath.Join(at.rescued, e.Name()))
		}
	}
	return l, errors.Join(errs...)
}

// seePlaces is newPlaces for who only looks; ok is false where there is no folder that could hold anything.
func seePlaces(ctx context.Context, store *record.Store, cache string) (at places, ok bool, err error) {
	// newPlaces makes its folder among everybody's where the tree holds the cache.
	if temp := filepath.Join(os.TempDir(), "async-pipeline-"+strconv.Itoa(os.Getuid())); !exists(temp) {
		top := store.Root
		if repo, err := git.Of(ctx, top); err == nil {
			top = repo.Top
		} else if real, err := filepath.EvalSymlinks(top); err == nil {
			top = real
		}
		real, err := filepath.EvalSymlinks(cache)
		if err != nil || inside(real, top) {
			return places{}, false, nil //nolint:nilerr // a folder that is not there holds nothing
		}
	}
	at, err = newPlaces(ctx, store, cache)
	return at, err == nil, err
}
