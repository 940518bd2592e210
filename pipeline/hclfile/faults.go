package hclfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile/guard"
)

// maxFaults is how many faults are reported; a file of garbage has a million.
const maxFaults = 500

// A report collects the faults of one file.
type report struct {
	path  string // as the caller gave it
	src   []byte
	lines []string // of src, without line ends, once a fault has quoted one
	texts []text   // of a JSON file, in file order

	faults []pipeline.Error
	seen   map[pipeline.Error]bool
	more   int // faults beyond maxFaults
	wrong  int // faults that are no warnings, so far

	covered  []int     // bytes where a fault of the syntax was covered up, so that what is behind it could be read
	instance string    // the instance of a task that is read just now, or ""
	varies   hcl.Range // the expression evaluated last, if its value differs between instances
}

func newReport(path string, src []byte) *report {
	return &report{path: path, src: src, seen: make(map[pipeline.Error]bool)}
}

// whole adds a fault of the whole file.
func (r *report) whole(summary, detail string) {
	r.put(pipeline.Error{Pos: pipeline.Pos{File: r.path}, Summary: summary, Detail: detail})
}

// passes adds the fault for which the guard refuses something, if any, and reports whether there is none.
func (r *report) passes(f *guard.Fault) bool {
	if f != nil {
		r.add(f.At, f.Summary, f.Detail)
	}
	return f == nil
}

// add adds a fault at a place.
func (r *report) add(at hcl.Range, summary, detail string) {
	if r.isCovered(at) {
		return // it would be a consequence
	}
	if r.instance != "" && at.Start.Byte >= r.varies.Start.Byte && at.End.Byte <= r.varies.End.Byte {
		detail = strings.TrimSpace(detail + " It is so in " + r.instance + ".") // the value is another in the next one
	}
	r.put(r.at(at, summary, detail))
}

// addf is add for a summary that is made here.
func (r *report) addf(at hcl.Range, detail, format string, args ...any) {
	r.add(at, fmt.Sprintf(format, args...), detail)
}

// wrongWord adds a fault for a word that is not known, with the one that was probably meant.
func (r *report) wrongWord(at hcl.Range, summary, word string, known []string, otherwise string) {
	e := r.at(at, summary, otherwise)
	if len(r.faults) < maxFaults/5 { // looking through all names for each of many faults takes minutes
		e.Suggestion = pipeline.Nearest(word, known)
	}
	if e.Suggestion != "" {
		e.Detail = fmt.Sprintf("Did you mean %s?", e.Suggestion)
	}
	r.put(e)
}

func (r *report) warn(at hcl.Range, summary, detail string) {
	e := r.at(at, summary, detail)
	e.Warning = true
	r.put(e)
}

func (r *report) at(at hcl.Range, summary, detail string) pipeline.Error {
	at = r.real(at)
	e := pipeline.Error{Pos: r.pos(at), Summary: summary, Detail: detail}
	if line := at.Start.Line; line > 0 && line <= len(r.quotable()) {
		e.Source = strings.TrimSuffix(r.lines[line-1], "\r")
		e.Width = at.End.Column - at.Start.Column
		if at.End.Line != line {
			e.Width = utf8.RuneCountInString(e.Source) - at.Start.Column + 1
		}
		e.Width = max(e.Width, 1)
	}
	return e
}

// quotable returns the lines of the file. They share one string, however many faults quote them.
func (r *report) quotable() []string {
	if r.lines == nil && len(r.src) <= guard.MaxSize {
		r.lines = strings.Split(string(r.src), "\n")
	}
	return r.lines
}

func (r *report) pos(at hcl.Range) pipeline.Pos {
	return pipeline.Pos{File: r.path, Line: at.Start.Line, Column: at.Start.Column}
}

func (r *report) put(e pipeline.Error) {
	key := pipeline.Error{Pos: e.Pos, Summary: e.Summary}
	if r.seen[key] {
		return
	}
	if !e.Warning {
		r.wrong++
	}
	if len(r.faults) >= maxFaults {
		if !e.Warning {
			r.more++
		}
		return
	}
	r.seen[key] = true
	r.faults = append(r.faults, e)
}

// errors returns every fault in file order, or nil when there are only warnings.
func (r *report) errors() error { return errorsOf([]*report{r}, nil) }

// errorsOf returns the faults of several files, one file after the other.
func errorsOf(files []*report, s *secrets) error {
	var all pipeline.Errors
	more := 0
	for _, r := range files {
		all = append(all, r.list(s, false)...)
		more += r.more
	}
	if len(all) == 0 {
		return nil
	}
	if tooMany := len(all) - maxFaults; tooMany > 0 {
		all, more = all[:maxFaults], more+tooMany
	}
	if more > 0 {
		all = append(all, pipeline.Error{
			Pos:     pipeline.Pos{File: files[0].path},
			Summary: fmt.Sprintf("there are %d more faults", more),
			Detail:  "Correct these first.",
		})
	}
	return all
}

// list returns the faults of one kind in file order, without any secret value: marks do not stop every leak. There are
// no secrets where s is nil.
func (r *report) list(s *secrets, warnings bool) []pipeline.Error {
	var all []pipeline.Error
	for _, e := range r.faults {
		if e.Warning == warnings {
			if s != nil {
				e.Summary, e.Detail, e.Suggestion = s.hide(e.Summary), s.hide(e.Detail), s.hide(e.Suggestion)
				e.Source = s.blank(e.Source)
			}
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b pipeline.Error) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return all
}
