package tools

// Writing files, and the guard before it: only a model that was shown a file as it is now may write over it.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

const (
	largeLines  = 200
	largeBytes  = 20 << 10
	shrinkLines = 50
	bom         = "\uFEFF"
)

var toolWrite = declared{
	name: "write", effect: Writes, verb: "writes", noun: "file",
	says: "Makes a file, its folders too, or writes over one that was read and has not changed since. To change a part " +
		"of a file use edit.",
	fields: []field{
		{name: "path", must: true, says: "the file; give it before content"},
		{name: "content", must: true, says: "the whole content of the file, to the last line, without a fence around it"},
	},
	// models describe what they write; but none of these is a wish for another kind of write
	spare: func(name string) bool { return !slices.Contains([]string{"force", "append", "mode"}, name) },
	do: func(_ context.Context, w *Toolset, a args) Outcome {
		at, err := w.findToWrite(a.texts["path"], true)
		return onFile(at, err, func() Outcome { return w.write(at, a.texts["content"]) })
	},
}

func (w *Toolset) write(at, content string) Outcome {
	if len(content) > maxWhole {
		return tooLarge(w.shown(at), len(content))
	}
	content, stripped := stripWrapping(at, content)
	old, info, err := w.existing(at)
	if err != nil {
		return failed("%v", err)
	}
	var said []string
	if stripped != "" {
		said = append(said, stripped)
	}
	before := string(old)
	if info != nil {
		if content == "" && stripped != "" && before != "" {
			return failed("content is an empty fence, and %s is not empty: nothing was written. Write the whole content of "+
				"the file without a fence, or delete the file.", w.shown(at))
		}
		if bytes.Equal(old, []byte(content)) {
			return w.same(at, old, said)
		}
		var kept string
		if content, kept = likeBefore(before, content); kept != "" {
			said = append(said, kept)
		}
		if before == content {
			return w.same(at, old, said)
		}
		if err := w.guard(at, old); err != nil {
			return failed("%v", err)
		}
		if hides := w.clean(before); strings.Contains(content, redact.Mark) && strings.Contains(hides, redact.Mark) &&
			!strings.Contains(before, redact.Mark) {
			return failed("%s holds a secret that was shown as %s: writing that would lose it. Use edit for the lines around "+
				"it.", w.shown(at), redact.Mark)
		}
	}
	if err := w.save(at, []byte(content), info); err != nil {
		return failed("%v", err)
	}
	w.know(at, sha256.Sum256([]byte(content)))
	did := "created"
	if info != nil {
		did = "written over"
	}
	lines := lineCount(content)
	o := Outcome{Text: fmt.Sprintf("%s: %s, %s, %s. It is complete: do not write it again, use edit to change it.",
		w.shown(at), did, english.Count(lines, "line"), english.Size(int64(len(content))))}
	for _, s := range said {
		o.warn("%s", s)
	}
	if lines > largeLines || len(content) > largeBytes {
		o.warn("this is a large file to write at once (%s, %s): change it with edit from now on",
			english.Count(lines, "line"), english.Size(int64(len(content))))
	}
	had := lineCount(before)
	shrank := had-lines > shrinkLines && 2*lines < had
	if shrank {
		o.warn("it had %s and has %s now: if something was left out, put it back", english.Count(had, "line"),
			english.Count(lines, "line"))
	}
	warnPlaceholders(&o, at, before, content, had > lines)
	return o
}

// tooLarge refuses a change after which the file could not be changed any more.
func tooLarge(name string, n int) Outcome {
	return failed("%s would have %s, more than %s: nothing was written. Write less at once, or let a command that is "+
		"allowed make the file.", name, english.Size(int64(n)), english.Size(maxWhole))
}

// existing reads the file at a place; info is nil if there is none.
func (w *Toolset) existing(at string) ([]byte, fs.FileInfo, error) {
	if _, err := w.root.Lstat(at); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	return w.whole(at)
}

// same is the outcome of a write that would change nothing.
func (w *Toolset) same(at string, content []byte, said []string) Outcome {
	w.know(at, sha256.Sum256(content))
	o := Outcome{Text: w.shown(at) + " has exactly this content already: nothing was written. It is done; do not write " +
		"it again."}
	for _, s := range said {
		o.warn("%s", s)
	}
	return o
}

// guard refuses to write over content that the model does not know.
func (w *Toolset) guard(at string, content []byte) error {
	known, ok := w.known(at)
	switch {
	case !ok:
		return fmt.Errorf("%s exists and was not read: nothing was written. Read it first, or use edit, or delete and "+
			"then write", w.shown(at))
	case known != sha256.Sum256(content):
		return fmt.Errorf("%s has changed since it was read: nothing was written. Read it again, then use edit, or delete "+
			"and then write", w.shown(at))
	}
	return nil
}

// likeBefore returns new content with the line ends and the byte order mark of the old, where the model left them
// out.
func likeBefore(before, content string) (string, string) {
	var kept []string
	if strings.HasPrefix(before, bom) && !strings.HasPrefix(content, bom) {
		content = bom + content
		kept = append(kept, "the byte order mark of the file was kept")
	}
	if n := strings.Count(before, "\n"); n > 0 && strings.Count(before, "\r\n") == n &&
		!strings.Contains(content, "\r") && strings.Contains(content, "\n") {
		content = strings.ReplaceAll(content, "\n", "\r\n")
		kept = append(kept, "the line ends of the file (CRLF) were kept; for others delete it and then write")
	}
	return content, strings.Join(kept, "; ")
}
