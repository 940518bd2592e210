package tools

// Refusing a write before its content has arrived: a model that is told after ten thousand tokens has spent them.

import (
	"bytes"
	"encoding/json"

	"github.com/async-pipeline/async-pipeline/internal/model"
)

// Early returns a function that decides, for the calls of one answer, whether one whose arguments still arrive can be
// right. It returns why the call will be refused, or an empty string, and whether more of the arguments cannot change
// that. before are the whole calls of the answer so far; it never has fewer than the last time.
func (w *Toolset) Early() func(before []model.Call, name, partialArgs string) (why string, sure bool) {
	e := &early{w: w}
	return func(before []model.Call, name, partialArgs string) (string, bool) {
		if _, ok := firstPath(partialArgs); !ok {
			return "", false
		}
		o, _ := e.refuse(before, name, partialArgs)
		return o.Text, true
	}
}

// An early checks the calls of one answer while they arrive. It looks at each call once: an answer may hold
// thousands.
type early struct {
	w      *Toolset
	seen   int             // calls that were checked
	all    bool            // one of them may change anything
	places map[string]bool // those that one of them may change, or shows to the model
}

// refuse is refuseEarly for the calls of one answer. before are the calls before this one; it never has fewer than
// the last time.
func (e *early) refuse(before []model.Call, name, partialArgs string) (Outcome, bool) {
	return e.w.guardEarly(name, partialArgs, func(at string) bool {
		for _, c := range before[e.seen:] {
			e.note(c)
		}
		e.seen = len(before)
		return e.all || e.places[at]
	})
}

// note records which files the guard may see differently once c has run.
func (e *early) note(c model.Call) {
	switch c.Name {
	case toolRun.name, toolCheck.name:
		e.all = true
	case toolRead.name, toolWrite.name, toolEdit.name, toolDelete.name:
		var a struct{ Path string }
		if json.Unmarshal(c.Args, &a) != nil {
			return // it will fail
		}
		if at, err := e.w.find(a.Path); err == nil {
			if e.places == nil {
				e.places = map[string]bool{}
			}
			e.places[at] = true
		}
	}
}

// refuseEarly checks the arguments of a write as far as they have arrived. It returns the outcome and true if the
// guard will refuse the write whatever its content (unless the file has that content already). before are the calls
// before it in the same answer, which run first: if one of them may change what the guard sees, the write is not
// refused.
func (w *Toolset) refuseEarly(name, partialArgs string, before ...model.Call) (Outcome, bool) {
	return (&early{w: w}).refuse(before, name, partialArgs)
}

// guardEarly is refuseEarly; mayChange reports whether the guard may see a file differently when the write runs.
func (w *Toolset) guardEarly(name, partialArgs string, mayChange func(at string) bool) (Outcome, bool) {
	if name != toolWrite.name {
		return Outcome{}, false
	}
	if _, ok := w.tool(name); !ok {
		return Outcome{}, false
	}
	p, ok := firstPath(partialArgs)
	if !ok {
		return Outcome{}, false
	}
	at, err := w.findToWrite(p, true)
	if err != nil {
		return failed("%v", err), true
	}
	if mayChange(at) {
		return Outcome{}, false
	}
	old, info, err := w.existing(at)
	if err == nil && info != nil {
		err = w.guard(at, old)
	}
	if err != nil {
		o := failed("%v", err)
		o.Path = at
		o.Text = valid(w.clean(o.Text))
		return o, true
	}
	return Outcome{}, false
}

// firstPath returns the path of arguments that begin with a complete one.
func firstPath(partial string) (string, bool) {
	rest := []byte(partial)
	for _, want := range []string{"{", `"path"`, ":"} {
		var ok bool
		if rest, ok = bytes.CutPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(want)); !ok {
			return "", false
		}
	}
	rest = bytes.TrimLeft(rest, " \t\r\n")
	if len(rest) == 0 || rest[0] != '"' {
		return "", false
	}
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '"':
			return str(rest[:i+1])
		}
	}
	return "", false
}
