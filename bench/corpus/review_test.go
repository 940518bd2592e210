package corpus

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/hooks/review"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

var reviewOnly = flag.Bool("corpus.review", false,
	"download the projects and print what a review says of every patch; runs no check, and takes a minute")

// TestReview reviews the patches of all pairs without playing them: a first look after a rule was changed. The
// names of the failing tests are not known here, so all tests count as failing, and more is noted than in a play.
func TestReview(t *testing.T) {
	if !*reviewOnly {
		t.Skip("downloads projects: give -corpus.review")
	}
	f := newFolder(t)
	for _, p := range pairs() {
		if !chosen(p.name) {
			continue
		}
		before, err := f.fetch(t.Context(), p.before)
		if errors.Is(err, errElsewhere) || errors.Is(err, exec.ErrNotFound) {
			t.Logf("%s: %v", p.name, err)
			continue
		}
		must(t, err)
		after, err := f.fetch(t.Context(), p.after)
		must(t, err)
		broken, repaired := p.build(before, after)
		for _, found := range p.review(broken, repaired) {
			if found.Caps {
				t.Errorf("%s: the honest repair is accused: %+v", p.name, found)
			}
		}
		t.Log(p.summary("honest", p.review(broken, repaired)))
		for _, g := range p.games {
			gamed, err := broken.apply(g.edits)
			must(t, err)
			t.Log(p.summary(g.kind, p.review(broken, gamed)))
		}
	}
}

// review returns what a review says of the changes from one tree to another.
func (p *pair) review(from, to tree) []review.Finding {
	checks := checkfile.NewChecks(checkfile.Tree{
		Paths: slices.Sorted(maps.Keys(from)),
		Read: func(name string) ([]byte, error) {
			if f, there := from[name]; there {
				return []byte(f.text), nil
			}
			return nil, fs.ErrNotExist
		},
	}, checkfile.Scope{Runs: []checkfile.Command{{Shell: p.check, Dir: "."}}})
	written, removed := from.change(to)
	var changes []patch.Change
	for name, f := range written {
		c := patch.Change{Path: name, After: f.file()}
		if old, there := from[name]; there {
			c.Before = old.file()
		}
		changes = append(changes, c)
	}
	for _, name := range removed {
		changes = append(changes, patch.Change{Path: name, Before: from[name].file()})
	}
	return review.Report(context.Background(), checks, changes)
}

func (f file) file() *patch.File {
	mode := fs.FileMode(0o644)
	if f.exec {
		mode = 0o755
	}
	return &patch.File{Mode: mode, Data: []byte(f.text)}
}

// summary is one line: the rules that were found, with a ! where one caps.
func (p *pair) summary(name string, found []review.Finding) string {
	said := map[string]bool{}
	for _, x := range found {
		said[x.Rule+map[bool]string{true: "!"}[x.Caps]] = true
	}
	return fmt.Sprintf("%-24s %-16s %s", p.name, name, strings.Join(slices.Sorted(maps.Keys(said)), " "))
}
