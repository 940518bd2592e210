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

// maxFaults is how many faults of one file are told; a file of rubbish has a million.
const maxFaults = 500

// A reading is one file while it becomes a Config, and the faults found so far.
type reading struct {
	path  string // as the caller gave it
	abs   string
	src   []byte
	lines []string // of src, without line ends, once a fault has quoted one
	texts []text   // of a JSON file, in file order
	o     Options

	faults []pipeline.Error
	seen   map[pipeline.Error]bool
	more   int // faults beyond maxFaults
	wrong  int // faults that are no warnings, so far

	covered []int // bytes where a fault of the syntax was covered up, so that what is behind it could be read

	scope
	secrets
}

func newReading(path, abs string, src []byte, o Options) *reading {
	r := &reading{path: path, abs: abs, src: src, o: o, seen: make(map[pipeline.Error]bool)}
	r.scope = newScope(r)
	r.secrets = newSecrets()
	return r
}

// whole adds a fault of the whole file.
func (r *reading) whole(summary, detail string) {
	r.put(pipeline.Error{Pos: pipeline.Pos{File: r.path}, Summary: summary, Detail: detail})
}

// passes adds the fault for which the guard refuses something, if there is one.
func (r *reading) passes(f *guard.Fault) bool {
	if f != nil {
		r.add(f.At, f.Summary, f.Detail)
	}
	return f == nil
}

// add adds a fault at a place.
func (r *reading) add(at hcl.Range, summary, detail string) {
	if r.isCovered(at) {
		return // it would be a consequence
	}
	if w := r.inst.where; r.inst.of != nil && at.Start.Byte >= w.Start.Byte && at.End.Byte <= w.End.Byte {
		detail = strings.TrimSpace(detail + " It is so in " + r.inst.name + ".") // the value is another in the next one
	}
	r.put(r.at(at, summary, detail))
}

// addf is add for a summary that is made here.
func (r *reading) addf(at hcl.Range, detail, format string, args ...any) {
	r.add(at, fmt.Sprintf(format, args...), detail)
}

// wrongWord adds a fault for a word that is not known, with the one that was probably meant.
func (r *reading) wrongWord(at hcl.Range, summary, word string, known []string, otherwise string) {
	e := r.at(at, summary, otherwise)
	if len(r.faults) < maxFaults/5 { // looking through all names for each of many faults takes minutes
		e.Suggestion = pipeline.Nearest(word, known)
	}
	if e.Suggestion != "" {
		e.Detail = fmt.Sprintf("Did you mean %s?", e.Suggestion)
	}
	r.put(e)
}

func (r *reading) warn(at hcl.Range, summary, detail string) {
	e := r.at(at, summary, detail)
	e.Warning = true
	r.put(e)
}

func (r *reading) at(at hcl.Range, summary, detail string) pipeline.Error {
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

// quotable are the lines of the file. They share one text, however many faults quote them.
func (r *reading) quotable() []string {
	if r.lines == nil && len(r.src) <= guard.MaxSize {
		r.lines = strings.Split(string(r.src), "\n")
	}
	return r.lines
}

func (r *reading) pos(at hcl.Range) pipeline.Pos {
	return pipeline.Pos{File: r.path, Line: at.Start.Line, Column: at.Start.Column}
}

func (r *reading) put(e pipeline.Error) {
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

// errors gives every fault in file order, or nil when there are only warnings.
func (r *reading) errors() error {
	all := r.told(false)
	if len(all) == 0 {
		return nil
	}
	if r.more > 0 {
		all = append(all, pipeline.Error{
			Pos:     pipeline.Pos{File: r.path},
			Summary: fmt.Sprintf("there are %d more faults", r.more),
			Detail:  "Mend these first.",
		})
	}
	return pipeline.Errors(all)
}

func (r *reading) warnings() []pipeline.Error { return r.told(true) }

// told sorts the faults of one kind into file order and takes out every secret value: marks do not stop every leak.
func (r *reading) told(warnings bool) []pipeline.Error {
	var all []pipeline.Error
	for _, e := range r.faults {
		if e.Warning == warnings {
			e.Summary, e.Detail, e.Suggestion = r.hide(e.Summary), r.hide(e.Detail), r.hide(e.Suggestion)
			e.Source = r.blank(e.Source)
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b pipeline.Error) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return all
}
