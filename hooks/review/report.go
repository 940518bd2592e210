// Package review reports what a person should look at in a patch. It reads changes in memory, runs nothing and accuses nobody.
package review

// The gaming report: what a reviewer should look at in a patch. It reports; it accuses nobody.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

const (
	maxFindings = 5   // of one rule in one file; the last one says how many more there are
	maxDetail   = 100 // characters
)

// A Finding is one line of the report.
type Finding struct {
	Rule   string
	Path   string // after the change; before it for a deletion
	Line   int    // from 1, in that file; 0 where none applies
	Detail string // for a person, one line of at most 100 characters, without control characters
	Caps   bool   // this one alone keeps a verdict from being verified: its rule caps, and nothing puts back what it found
}

// Report says what to look at in changes, which start from the tree that c was made of: by path, then line, then rule. The
// same changes always give the same report, in any order.
//
// It reads lines that were added or removed, with comments and strings told apart, and runs nothing. What it cannot see: a
// special case for a test's own input, an __eq__ that only works out to be always true, a name that is put together at run time, and what is
// only wrong together with a file that did not change.
func Report(c *checkfile.Checks, changes []patch.Change) []Finding {
	r := newReport(c, changes)
	for _, e := range r.edits {
		r.touched(e)
		r.links(e)
		r.builtWith(e)
		r.runsItself(e)
		r.programs(e)
		r.libraries(e)
		r.hidden(e)
		if e.opaque {
			continue
		}
		r.skips(e)
		r.asserts(e)
		r.expects(e)
		r.limits(e)
		r.exits(e)
		r.natives(e)
		r.swaps(e)
		r.equals(e)
		r.quiets(e)
		r.detects(e)
		r.reaches(e)
		r.placeholders(e)
		r.secrets(e)
	}
	r.nativeEnds()
	r.testsGone()
	r.onlyQuiet()
	return r.sorted()
}

// A report collects findings.
type report struct {
	checks *checkfile.Checks
	edits  []*edit // by path
	found  map[finding]Finding
}

type finding struct {
	rule, path string
	line       int
}

func newReport(c *checkfile.Checks, changes []patch.Change) *report {
	r := &report{checks: c, found: map[finding]Finding{}}
	changes = slices.Clone(changes)
	slices.SortStableFunc(changes, func(a, b patch.Change) int { return strings.Compare(a.Path, b.Path) })
	for _, change := range changes {
		if e := newEdit(c, change); e != nil {
			r.edits = append(r.edits, e)
		}
	}
	markMoved(r.edits)
	return r
}

// add notes a finding at a line of e's file, counted from 0; -1 for the file as a whole. What is put back does not cap.
func (r *report) add(e *edit, rule string, line int, caps bool, format string, args ...any) {
	r.put(e, rule, line, caps && !e.putBack, format, args...)
}

func (r *report) put(e *edit, rule string, line int, caps bool, format string, args ...any) {
	key := finding{rule, e.path, line + 1}
	if old, ok := r.found[key]; ok && (old.Caps || !caps) {
		return // one line of the report for one rule and place is enough, the one that caps if there is one
	}
	detail := fmt.Sprintf(format, args...)
	if secretIn(detail) {
		detail, _, _ = strings.Cut(detail, ":")
	}
	r.found[key] = Finding{Rule: rule, Path: e.path, Line: line + 1, Detail: oneLine(detail, maxDetail), Caps: caps}
}

// sorted is what was found, bounded for each rule and file. What caps is never left out for what does not.
func (r *report) sorted() []Finding {
	groups := map[finding][]Finding{}
	for key, f := range r.found {
		key.line = 0
		groups[key] = append(groups[key], f)
	}
	var all []Finding
	for _, g := range groups {
		slices.SortFunc(g, func(a, b Finding) int {
			if a.Caps != b.Caps {
				if a.Caps {
					return -1
				}
				return 1
			}
			return cmp.Compare(a.Line, b.Line)
		})
		if n := len(g) - maxFindings; n > 0 {
			g = g[:maxFindings]
			slices.SortFunc(g, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
			more := fmt.Sprintf(" (and %d more in this file)", n)
			last := &g[len(g)-1]
			last.Detail = oneLine(last.Detail, maxDetail-len(more)) + more
		}
		all = append(all, g...)
	}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), strings.Compare(a.Rule, b.Rule))
	})
	return all
}

// oneLine is s on one line of at most limit characters, with what cannot be seen written as an escape.
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
			return cut(b.String(), limit-1) + "…"
		}
		b.WriteString(text)
	}
	return b.String()
}

// cut is the first n characters of s.
func cut(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
