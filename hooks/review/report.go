// Package review reports what a person should read twice in a patch. It reads changes in memory, runs nothing and
// accuses nobody.
//
// What it finds is data, in the package rules: a file a language. What patterns of single lines cannot find is
// code here, a file a concept.
package review

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

const (
	maxFindings = 5   // of one kind in one file; the last one says how many more there are
	maxDetail   = 100 // characters
)

// A Finding is one line of the report.
type Finding struct {
	Rule   string // the name of one of rules.Kinds
	Path   string // after the change; before it for a deletion
	Line   int    // from 1, in that file; 0 where none applies
	Detail string // for a person, one line of at most 100 characters, without control characters
	Caps   bool   // this one alone keeps a verdict from being verified: the second check had what it found

	header bool // see generatedHeaders
}

// The reviews of all files together, of each file, and of each file that has text.
var (
	perProposal = []func(*proposal) findings{cExitHandlers, cLabels, testsGone, fromTests, specialCases, hiddenCases, dataCases, unbuilt, readsWanted}
	perFile     = []func(*edit) findings{
		checkFile, modes, links, lockFile, buildFile, modules, headers, dependencies, replaced, startsItself, programs,
		hidden,
	}
	perText = []func(*edit) findings{
		patterns, assertions, expectations, limits, narrowedPackages, exitsOnLoad, goSystemExits, cLibraryExits, libraryEnds, cReplacements,
		replacements, pyEquals, pyTolerant, pyBuiltins, braceEquals, weaker, jvmStreams, perlEdited, rustExits, rustEqual, detections, surroundings, buildTags, catchAlls, deadCode, ownSuppressions, generatedHeaders,
	}
)

// Report returns what to read twice in changes, which start from the tree that c was made of: by path, then line,
// then rule. The same changes always give the same report, in any order.
//
// It reads lines that were added or removed, and tells comments and strings apart. What it cannot see: a special
// case for a test's own input that is a word, a small number or something else that much code compares with; an __eq__
// that only works out to be always true; a name that only running the code tells; and what is only wrong together with
// a file that did not change. When ctx ends it returns what it found by then.
func Report(ctx context.Context, c *checkfile.Checks, changes []patch.Change) []Finding {
	p := newProposal(c, changes)
	var found findings
	for _, review := range perProposal {
		if ctx.Err() != nil {
			break
		}
		found = append(found, review(p)...)
	}
	for _, e := range p.edits {
		for _, review := range perFile {
			found = append(found, review(e)...)
		}
		for _, review := range perText {
			if !e.opaque && ctx.Err() == nil {
				found = append(found, review(e)...)
			}
		}
	}
	found = append(found, p.unsearched()...).unique()
	capSuppressions(p, found)
	return found.bounded()
}

// findings are what was found so far.
type findings []Finding

// add notes a finding at a line of e's file, counted from 0; -1 for the file as a whole. It does not cap where the
// second check has the file as it was.
func (f *findings) add(e *edit, kind string, line int, caps bool, format string, args ...any) {
	f.put(e, kind, line, caps && !e.restored, format, args...)
}

// put is add for what caps in a check file too.
func (f *findings) put(e *edit, kind string, line int, caps bool, format string, args ...any) {
	detail := fmt.Sprintf(format, args...)
	*f = append(*f, Finding{Rule: kind, Path: e.path, Line: line + 1, Detail: detail, Caps: caps})
}

func (f Finding) compare(o Finding) int {
	return cmp.Or(strings.Compare(f.Path, o.Path), cmp.Compare(f.Line, o.Line), strings.Compare(f.Rule, o.Rule))
}

// unique keeps one finding for a kind and a line: the first that caps, else the first. It makes the details fit
// for people.
func (f findings) unique() (kept findings) {
	type place struct {
		rule, path string
		line       int
	}
	at := map[place]int{}
	for _, x := range f {
		key := place{x.Rule, x.Path, x.Line}
		k, ok := at[key]
		switch {
		case !ok:
			at[key] = len(kept)
			kept = append(kept, x)
		case x.Caps && !kept[k].Caps:
			kept[k] = x
		}
	}
	for k := range kept {
		if hasSecret(kept[k].Detail) {
			kept[k].Detail, _, _ = strings.Cut(kept[k].Detail, ":")
		}
		kept[k].Detail = oneLine(kept[k].Detail, maxDetail)
	}
	return kept
}

// bounded sorts findings, and keeps at most maxFindings of a kind and a file. What caps is never left out for what
// does not.
func (f findings) bounded() (all findings) {
	groups := map[[2]string]findings{}
	for _, x := range f {
		key := [2]string{x.Rule, x.Path}
		groups[key] = append(groups[key], x)
	}
	for _, g := range groups {
		slices.SortFunc(g, Finding.compare)
		if n := len(g) - maxFindings; n > 0 {
			rank := map[bool]int{true: 0, false: 1} // by Caps
			slices.SortStableFunc(g, func(a, b Finding) int { return rank[a.Caps] - rank[b.Caps] })
			g = g[:maxFindings]
			slices.SortFunc(g, Finding.compare)
			more := fmt.Sprintf(" (and %d more in this file)", n)
			last := &g[len(g)-1]
			last.Detail = oneLine(last.Detail, maxDetail-len(more)) + more
		}
		all = append(all, g...)
	}
	slices.SortFunc(all, Finding.compare)
	return all
}

// oneLine returns s on one line of at most limit characters, with what cannot be seen written as an escape.
func oneLine(s string, limit int) string {
	var b strings.Builder
	n := 0
	for _, c := range s {
		text := string(c)
		if !unicode.IsPrint(c) || c == utf8.RuneError || invisible(c) {
			switch {
			case c == '\t' || c == '\n' || c == '\r':
				text = " "
			case c > 0xffff:
				text = fmt.Sprintf(`\U%08x`, c)
			default:
				text = fmt.Sprintf(`\u%04x`, c)
			}
		}
		if n += utf8.RuneCountInString(text); n > limit {
			short := []rune(b.String())
			return string(short[:min(len(short), limit-1)]) + "…"
		}
		b.WriteString(text)
	}
	return b.String()
}

// proseExts are extensions of files that are only read.
var proseExts = []string{".md", ".rst", ".txt", ".adoc"}

// acts reports whether anything but comments, blanks and what silences a checker changed.
func (e *edit) acts() bool {
	if slices.Contains(proseExts, strings.ToLower(path.Ext(e.path))) {
		return false
	}
	if e.opaque || e.isNew() || !e.exists() || e.language == "" ||
		executable(e.change.Before) != executable(e.change.After) {
		return true
	}
	return e.before.effect() != e.after.effect()
}

// effect returns a text without comments, blanks and what silences a checker.
func (s *side) effect() string {
	var b strings.Builder
	quiet := compile(rules.For(s.language).Quiet)
	for i := range s.lines {
		line := s.plain(i)
		if quiet != nil {
			line = quiet.ReplaceAllString(line, "")
		}
		b.WriteString(unspaced(line))
	}
	return b.String()
}
