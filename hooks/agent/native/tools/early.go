package tools

// Refusing a write before its content has arrived: a model that is told after ten thousand tokens has spent them.

import (
	"bytes"
	"encoding/json"
	"io/fs"

	"github.com/async-pipeline/async-pipeline/internal/model"
)

// Early returns a function that decides, for the calls of one answer, whether one whose arguments still arrive can be
// right. It returns why the call will be refused, or an empty string, and whether more of the arguments cannot change
// that. before are the whole calls of the answer so far; it never has fewer than the last time.
func (w *Toolset) Early() func(before []model.Call, name, partialArgs string) (why string, sure bool) {
	e := &early{w: w, places: map[string]bool{}}
	return func(before []model.Call, name, partialArgs string) (string, bool) {
		_, sure := firstPath(partialArgs)
		return e.refuse(before, name, partialArgs), sure
	}
}

// An early checks the calls of one answer while they arrive. It reads each call once: an answer may have
// thousands.
type early struct {
	w      *Toolset
	seen   int             // calls that were checked
	all    bool            // one of them may change anything
	places map[string]bool // those that one of them may change, or shows to the model
}

// refuse checks the arguments of a write as far as they have arrived. It returns why the guard will refuse the write
// whatever its content (unless the file has that content already), or an empty string. The calls of before run first:
// if one of them may change what the guard sees, the write is not refused.
func (e *early) refuse(before []model.Call, name, partialArgs string) string {
	p, ok := firstPath(partialArgs)
	if !ok || name != toolWrite.name || !e.w.Has(name) {
		return ""
	}
	at, err := e.w.findToWrite(p, true)
	if err == nil && e.mayChange(before, at) {
		return ""
	}
	if err == nil {
		var old []byte
		var info fs.FileInfo
		if old, info, err = e.w.existing(at); err == nil && info != nil {
			err = e.w.guard(at, old)
		}
	}
	if err != nil {
		return valid(e.w.clean(err.Error()))
	}
	return ""
}

// mayChange reports whether the guard may see the file at differently once the calls of before have run.
func (e *early) mayChange(before []model.Call, at string) bool {
	for _, c := range before[e.seen:] {
		e.note(c)
	}
	e.seen = len(before)
	return e.all || e.places[at]
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
			e.places[at] = true
		}
	}
}

// Begun returns arguments that begin with a complete path as an object of the path alone, or an empty string.
func Begun(partialArgs string) string {
	p, ok := firstPath(partialArgs)
	if !ok {
		return ""
	}
	return string(must(json.Marshal(map[string]string{"path": p})))
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
