package native

// Refusing a write before its content is there: a model that is told after ten thousand tokens has spent them.

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/model"
)

// refuseEarly looks at the arguments of a write as far as they have come. It says true, with what the model is to be told, when
// the guard will refuse the write whatever its content (that it could be what is there already aside). before are the calls of
// the same answer in front of it, which will run first: where one of them may change what the guard sees, nothing is said.
func (w *work) refuseEarly(name, partialArgs string, before ...model.Call) (outcome, bool) {
	if name != toolWrite.name {
		return outcome{}, false
	}
	if _, ok := w.tool(name); !ok {
		return outcome{}, false
	}
	p, ok := firstPath(partialArgs)
	if !ok {
		return outcome{}, false
	}
	at, err := w.findToWrite(p, true)
	if err != nil {
		return failed("%v", err), true
	}
	if slices.ContainsFunc(before, func(c model.Call) bool { return w.mayChange(c, at) }) {
		return outcome{}, false
	}
	old, info, err := w.existing(at)
	if err == nil && info != nil {
		err = w.guard(at, old)
	}
	if err != nil {
		o := failed("%v", err)
		o.path = at
		o.text = valid(w.clean(o.text))
		return o, true
	}
	return outcome{}, false
}

// mayChange says whether the guard may see something else at a place once c has run.
func (w *work) mayChange(c model.Call, at string) bool {
	switch c.Name {
	case toolRun.name, toolCheck.name:
		return true
	case toolRead.name, toolWrite.name, toolEdit.name, toolDelete.name:
		var a struct{ Path string }
		if json.Unmarshal(c.Args, &a) != nil {
			return false // it will fail
		}
		there, err := w.find(a.Path)
		return err == nil && there == at
	}
	return false
}

// firstPath gives the path of arguments that begin with a whole one.
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
