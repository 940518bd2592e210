// Where a line of work began.

package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// bases are the revisions of which the first that exists is the base when none is named.
var bases = []string{"@{upstream}", "refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master", "refs/heads/main", "refs/heads/master"}

// Base returns the commit in which HEAD left base, a revision as git reads it, and its name. An empty base is the
// upstream of the branch, else the default branch of origin, else main or master. The text of an error says what to do.
func (r *Repo) Base(ctx context.Context, base string) (commit, name string, err error) {
	head, _, err := r.head(ctx)
	if err != nil {
		return "", "", err
	}
	if head == "" {
		return "", "", errors.New("there is no commit yet")
	}
	names := bases
	if base != "" {
		names = []string{base}
	}
	for _, name := range names {
		out, err := r.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
		if exitCode(err) > 0 {
			continue // there is none
		}
		if err != nil {
			return "", "", err
		}
		at := strings.TrimSuffix(string(out), "\n")
		name = strings.TrimPrefix(strings.TrimPrefix(name, "refs/remotes/"), "refs/heads/")
		out, err = r.run(ctx, "merge-base", at, head)
		if exitCode(err) > 0 {
			return "", "", r.noBase(ctx, "HEAD and "+name+" have no commit in common")
		}
		return strings.TrimSuffix(string(out), "\n"), name, err
	}
	if base != "" {
		return "", "", r.noBase(ctx, fmt.Sprintf("git does not have the commit %q", base))
	}
	return "", "", errors.New("the branch has no upstream, and there is no origin, main or master: name a commit or a branch")
}

// noBase returns why there is no base. In a shallow clone what is missing may only not be here.
func (r *Repo) noBase(ctx context.Context, why string) error {
	out, err := r.run(ctx, "rev-parse", "--is-shallow-repository")
	if err == nil && strings.TrimSpace(string(out)) == "true" {
		why += ": this clone is shallow, git fetch --unshallow gets the rest"
	}
	return errors.New(why)
}
