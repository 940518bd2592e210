package reproduce

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// Which of the files that git ignores make a check fail that passes without them.

// The time limit of a search is that of longestSearch runs of the check, but at least leastSearch, and at most what
// one run may take.
const (
	longestSearch = 10
	leastSearch   = 20 * time.Second
)

// mostIncluded is how many paths are listed in an include that can be copied whole.
const mostIncluded = 8

// A search looks for the paths that make the check fail. The check is known to pass without any of paths, and to fail
// as in the run with all of them.
type search struct {
	*reproduction
	base  *scratch.Base    // has all of paths
	core  *failedtask.Core // with all of paths
	paths []string         // topmost ignored files and folders
	runs  int
	stop  func() // ends the search; nil: it did not begin
	fault error  // no copy could be made; nil: each could
}

// A cause is what a search found.
type cause struct {
	paths []string // with only these the check failed
	only  bool     // without only these it passed
	cut   bool     // the time ended before that was certain
	mixed bool     // the check failed in one copy and did not in another that was made the same way
}

// explain searches for the cause and adds it to clean, the result without ignored files. took is how long the check
// and its copy took with them.
func (s *search) explain(ctx context.Context, clean Result, took time.Duration) Result {
	limit := max(leastSearch, longestSearch*took)
	limit = min(limit, s.Failure.Patience(s.Failure.Task))
	s.Progress.Step("searching %s for the cause (at most %s)",
		english.Count(len(s.paths), "ignored path"), english.Duration(limit))
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s.stop = cancel
	found := s.find(bounded)
	slices.Sort(found.paths)
	names := s.names(found.paths)
	switch {
	case ctx.Err() != nil:
		return clean.interrupted()
	case s.fault != nil:
		return s.unexplained(clean)
	case found.mixed:
		clean.State, clean.Reproduction.Result = fix.Flaky, "flaky"
		clean.Reason = "mixed: with " + english.List(names, mostLacks) +
			", which git ignores, the task fails in one copy and passes in the next; nothing was spent"
		return clean
	}
	clean.Reproduction.Ignored = found.paths
	what := "the task passes without " + english.List(names, mostLacks) + ", which git ignores"
	if !found.only {
		what = "the task passes without the files that git ignores, and fails with " + english.List(names, mostLacks)
		if found.cut && len(names) > 1 {
			what += " (the search ended after " + english.Duration(limit) + ")"
		}
	}
	it := "it"
	if len(names) > 1 {
		it = "them"
	}
	clean.Reason = fmt.Sprintf("passed: %s: stale? remove %s and run again; %s", what, it,
		s.toInclude(found.paths, "to repair with "+it+", "))
	return clean
}

// find looks for paths until the check passes without them, or the context ends.
func (s *search) find(ctx context.Context) (found cause) {
	left := s.paths
	for {
		among := left
		for _, likely := range s.likely(left) {
			if len(likely) > 0 && len(likely) < len(left) && s.fails(ctx, likely) {
				among = likely
				break
			}
		}
		few := smallest(ctx, among, s.fails)
		if few == nil {
			return cause{paths: among, mixed: true}
		}
		found.paths = append(found.paths, few...)
		if found.cut = ctx.Err() != nil; found.cut {
			return found
		}
		left = without(s.paths, found.paths)
		if found.only = len(left) == 0; found.only {
			break
		}
		got := s.run(ctx, left)
		if found.cut = ctx.Err() != nil; found.cut {
			return found
		}
		if found.only = got.passed; found.only || !s.same(got) {
			break
		}
	}
	again := s.fails(ctx, found.paths)
	found.mixed = !again && ctx.Err() == nil
	return found
}

// likely returns those of paths that are worth a run of their own before all are halved: what an earlier search for the
// same failure found, and what the failed task printed. Neither is believed without a run.
func (s *search) likely(paths []string) (sets [][]string) {
	if s.Before != nil {
		before := s.Before()
		sets = append(sets, slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !slices.Contains(before, p) }))
	}
	text := failedtask.CleanTail(string(s.Failure.Log), s.base.Top, 64<<10)
	if printed := named(text, paths, s.base.Sub); len(sets) == 0 || !slices.Equal(printed, sets[0]) {
		sets = append(sets, printed)
	}
	return sets
}

// smallest returns paths of which none can be left out: the check, for which fails stands, fails with them. It is
// known to fail with all of paths, and to pass with none. If the context ends, the paths that were not ruled out yet
// are returned. Nothing is returned if the check fails with some paths and later passes with the same.
func smallest(
	ctx context.Context, paths []string, fails func(context.Context, []string) bool,
) (needed []string) {
	for {
		// It fails with needed and the first high of paths, and not with needed and the first low.
		low, high := 0, len(paths)
		for high-low > 1 {
			half := (low + high) / 2
			bad := fails(ctx, slices.Concat(needed, paths[:half]))
			switch {
			case ctx.Err() != nil:
				return slices.Concat(needed, paths[:high])
			case bad:
				high = half
			default:
				low = half
			}
		}
		if high == len(paths) && high > 1 && !fails(ctx, slices.Concat(needed, paths)) && ctx.Err() == nil {
			return nil // it passed in every copy so far, and now in this one
		}
		needed, paths = append(needed, paths[low]), paths[:low]
		if len(paths) == 0 {
			return needed
		}
		alone := fails(ctx, needed)
		switch {
		case ctx.Err() != nil:
			return slices.Concat(needed, paths)
		case alone:
			return needed
		}
	}
}

// fails reports whether the check fails as it did in the run, in a copy that has only some of the paths.
func (s *search) fails(ctx context.Context, with []string) bool {
	got := s.run(ctx, with)
	return ctx.Err() == nil && s.same(got)
}

func (s *search) same(got one) bool {
	return got.err == "" && !got.passed && (s.Failure.Signature.Same(got.signature) || s.core.Fails(got.signature))
}

func (s *search) run(ctx context.Context, with []string) one {
	s.runs++
	got := s.once(ctx, fmt.Sprintf("gate-ignored-%d", s.runs), s.base, without(s.paths, with))
	if got.fault != nil && ctx.Err() == nil {
		if s.fault = got.fault; s.stop != nil {
			s.stop()
		}
	}
	return got
}

// unexplained adds to clean, the result without ignored files, why no cause was found.
func (s *search) unexplained(clean Result) Result {
	clean.Reason = "passed: the task passes without the files that git ignores, and fails with them; which of them are " +
		"the cause was not found out: " + s.fault.Error()
	return clean
}

// without returns the paths that are not in those that are left out.
func without(paths, out []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return slices.Contains(out, p) })
}

// names returns paths as a person types them in the folder of PIPELINE.hcl, folders with a slash at the end.
func (s *search) names(paths []string) []string {
	var names []string
	for _, p := range paths {
		name := p
		if s.base.Sub != "." {
			below, ok := strings.CutPrefix(p, s.base.Sub+"/")
			if name = below; !ok {
				name = strings.Repeat("../", 1+strings.Count(s.base.Sub, "/")) + p
			}
		}
		if e, ok := s.base.Manifest.Find(p); ok && e.Mode.IsDir() {
			name += "/"
		}
		names = append(names, shelltext.Quote(name))
	}
	return names
}

// toInclude returns the attribute that gives paths to a copy, after the words so, or why there is none.
func (s *search) toInclude(paths []string, so string) string {
	outside := func(p string) bool { return s.base.Sub != "." && !strings.HasPrefix(p, s.base.Sub+"/") }
	switch {
	case slices.ContainsFunc(paths, outside):
		return include(nil, s.base.Sub)
	case len(paths) > mostIncluded:
		return so + "name them in scratch { include }"
	}
	return so + include(paths, s.base.Sub)
}

// uncopied names what is left out of a copy that has the other files that git ignores.
func uncopied(all *scratch.Base) string {
	var secrets, large []string
	for _, o := range all.Omitted {
		switch o.Why {
		case "secret":
			secrets = append(secrets, o.Path)
		case "oversize":
			large = append(large, o.Path)
		}
	}
	text := ""
	if len(secrets) > 0 {
		text += "; not copied, because of secrets: " + english.List(secrets,
			mostLacks) + ": " + include(secrets, all.Sub)
	}
	if len(large) > 0 {
		text += "; not copied, because of their size: " + english.List(large,
			mostLacks) + ": " + include(large, all.Sub)
	}
	return text
}

// editedSince reports whether files that git does not ignore differ between a manifest and a newer base: then the
// check may no longer pass without what git ignores.
func editedSince(before *tree.Manifest, now *scratch.Base) bool {
	return slices.ContainsFunc(tree.Compare(before, now.Manifest), func(c tree.Change) bool {
		return !now.Ignored(c.Path)
	})
}

// newFolders returns the topmost folders and files that more has and few has not.
func newFolders(few, more *tree.Manifest) []string {
	have := map[string]bool{".": true}
	for _, e := range few.Entries {
		for p := e.Path; !have[p]; p = path.Dir(p) {
			have[p] = true
		}
	}
	var found []string
	for _, e := range more.Entries {
		p := e.Path
		if have[p] {
			continue
		}
		for !have[path.Dir(p)] {
			p = path.Dir(p)
		}
		found = append(found, p)
	}
	slices.Sort(found)
	return slices.Compact(found)
}
