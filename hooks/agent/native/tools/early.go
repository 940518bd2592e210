package tools

// Refusing a write before all of its content has arrived: a model that is told after ten thousand tokens has spent them.

import (
	"encoding/json"
	"io/fs"
	"path"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/model"
)

// Early returns a function that decides, for the calls of one answer, whether one whose arguments still arrive can be
// right. It returns why the call will be refused, or an empty string, and whether more of the arguments cannot change
// that. before are the whole calls of the answer so far; it never has fewer than the last time.
func (w *Toolset) Early() func(before []model.Call, name, partialArgs string) (why string, sure bool) {
	e := &early{w: w, places: map[string]bool{}}
	return e.refuse
}

// An early checks the calls of one answer while they arrive. It reads each call once: an answer may have
// thousands.
type early struct {
	w      *Toolset
	seen   int             // calls that were checked
	all    bool            // one of them may change anything
	places map[string]bool // those that one of them may change, or shows to the model
	last   *target         // of the call that was checked last
}

// A target is the file that a write names, before the write runs.
type target struct {
	path   string
	before int    // calls of the answer before it
	why    string // why it will be refused; empty: it may be right
	unread bool   // why is only that the model does not know old
	old    string // what the file holds
}

// refuse checks the arguments of a write as far as they have arrived. The calls of before run first: if one of them may
// change what the guard sees, the write is not refused. Nor is it as long as it may turn out to write what the file
// holds already.
func (e *early) refuse(before []model.Call, name, partialArgs string) (why string, sure bool) {
	p, rest, ok := firstPath(partialArgs)
	switch {
	case !ok:
		return "", false
	case name != toolWrite.name || !e.w.Has(name):
		return "", true
	case e.last == nil || e.last.path != p || e.last.before != len(before):
		e.last = e.target(before, p)
	}
	if e.last.unread && sameSoFar(e.last.old, contentSoFar(rest)) {
		return "", false
	}
	return e.last.why, true
}

func (e *early) target(before []model.Call, p string) *target {
	t := &target{path: p, before: len(before)}
	real, err := e.w.findToWrite(p, true)
	if at, wrong := e.w.mayName(p); wrong == nil && e.mayChange(before, at, real) {
		return t
	}
	if err == nil {
		var old []byte
		var info fs.FileInfo
		if old, info, err = e.w.existing(real); err == nil && info != nil {
			err = e.w.guard(real, old)
			t.unread, t.old = err != nil, string(old)
		}
	}
	if err != nil {
		t.why = valid(e.w.clean(err.Error()))
	}
	return t
}

// mayChange reports whether the guard may see a file differently once the calls of before have run. at is the file as
// it is named, real where that leads now; empty: nowhere.
func (e *early) mayChange(before []model.Call, at, real string) bool {
	for _, c := range before[e.seen:] {
		e.note(c)
	}
	e.seen = len(before)
	for ; at != "."; at = path.Dir(at) { // what is a file or a symlink now may be a folder then
		if e.places[at] {
			return true
		}
	}
	return e.all || e.places[real]
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
		if at, err := e.w.locate(a.Path); err == nil {
			e.places[at] = true
		}
		if real, err := e.w.find(a.Path); err == nil {
			e.places[real] = true
		}
	}
}

// Begun returns arguments that begin with a complete path as an object of the path alone, or an empty string.
func Begun(partialArgs string) string {
	p, _, ok := firstPath(partialArgs)
	if !ok {
		return ""
	}
	return string(must(json.Marshal(map[string]string{"path": p})))
}

// firstPath returns the path of arguments that begin with a complete one, and what follows it.
func firstPath(partial string) (p, rest string, ok bool) {
	rest, ok = behind(partial, "{", `"path"`, ":", `"`)
	text, rest, whole := cutString(rest)
	if !ok || !whole {
		return "", "", false
	}
	p, ok = str([]byte(`"` + text + `"`))
	return p, rest, ok
}

// contentSoFar returns as much of the content behind the path as has arrived.
func contentSoFar(rest string) string {
	rest, ok := behind(rest, ",", `"content"`, ":", `"`)
	if !ok {
		return ""
	}
	text, _, whole := cutString(rest)
	for n := 0; n < len(`\u1234`) && n <= len(text); n++ { // an escape may have come in part
		if s, ok := str([]byte(`"` + text[:len(text)-n] + `"`)); ok {
			if !whole {
				s = strings.TrimRight(s, "\uFFFD") // half a rune, or half of a pair
			}
			return s
		}
	}
	return ""
}

// sameSoFar reports whether content that begins so may become what a file holds. Its line ends and its byte order mark
// are made those of the file (see likeBefore).
func sameSoFar(old, begun string) bool {
	plain := func(s string) string { return strings.ReplaceAll(strings.TrimPrefix(s, bom), "\r", "") }
	return strings.HasPrefix(plain(old[:min(len(old), len(bom)+2*len(begun))]), plain(begun))
}

// behind returns what follows some marks at the beginning of JSON, with or without space between them.
func behind(text string, marks ...string) (string, bool) {
	for _, mark := range marks {
		var ok bool
		if text, ok = strings.CutPrefix(strings.TrimLeft(text, " \t\r\n"), mark); !ok {
			return "", false
		}
	}
	return text, true
}

// cutString splits what follows the opening quote of a JSON string at the closing one, and reports whether there is one.
func cutString(text string) (inside, rest string, whole bool) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}
