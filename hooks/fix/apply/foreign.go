// Records that came with the repository.

package apply

import (
	"context"
	"errors"
	"path"

	"github.com/async-pipeline/async-pipeline/internal/git"
)

// ErrForeign means that git tracks records: they came with the repository, whoever wrote them.
var ErrForeign = errors.New("the records in .async came with the repository: nothing in them was seen to happen here; " +
	"git rm -r --cached .async, remove .async/runs, then run again")

// Foreign says whether git tracks anything in .async. Such records are shown, and never applied: ErrForeign.
func (t Tree) Foreign(ctx context.Context) (bool, error) {
	repo, err := git.Of(ctx, t.Fixes.Root)
	if errors.Is(err, git.ErrNone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	sub, err := t.under(repo.Top)
	if err != nil {
		return false, err
	}
	return tracked(ctx, repo, sub)
}

func tracked(ctx context.Context, repo *git.Repo, sub string) (bool, error) {
	return repo.Tracks(ctx, path.Join(sub, ".async"))
}
