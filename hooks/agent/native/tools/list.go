package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/async-pipeline/async-pipeline/internal/english"
)

const (
	maxEntries = 1000    // that are shown
	maxRead    = 200_000 // that are read
)

var toolList = declared{
	name: "list", effect: Reads, verb: "lists", noun: "folder",
	says: "Lists a folder: one name a line, sorted, folders with a / behind them. Folders of git and of " +
		"async-pipeline are not shown.",
	fields: []field{{name: "path", says: "the folder; the working directory where it is left out"}},
	do: func(ctx context.Context, w *Toolset, a args) Outcome {
		at, err := w.find(cmp.Or(a.texts["path"], "."))
		return onFile(at, err, func() Outcome { return w.list(ctx, at) })
	},
}

func (w *Toolset) list(ctx context.Context, at string) Outcome {
	entries, more, err := w.entries(ctx, at)
	if err != nil {
		return failed("%v", err)
	}
	var b strings.Builder
	shown := 0
	for _, e := range entries {
		line := PlainName(e.Name())
		switch {
		case e.IsDir():
			line += "/"
		case e.Type()&fs.ModeSymlink != 0:
			if to, err := w.root.Readlink(path.Join(at, e.Name())); err == nil {
				line += " -> " + PlainName(to)
			}
		case !e.Type().IsRegular():
			line += " (not a file)"
		}
		if shown == maxEntries || b.Len()+len(line) >= maxBytes {
			break
		}
		shown++
		b.WriteString(line + "\n")
	}
	head := fmt.Sprintf("%s: %s", w.shown(at), english.Count(len(entries), "entry"))
	switch {
	case more:
		head = fmt.Sprintf("%s: more than %d entries, the first %d of those", w.shown(at), len(entries), shown)
	case shown < len(entries):
		head += fmt.Sprintf(", the first %d", shown)
	}
	o := Outcome{Text: head + "\n" + b.String()}
	if len(entries) == 0 {
		o.Code = Empty
	}
	return o
}

// entries returns the entries of a folder, sorted, without hidden ones. more means that there were too many to read.
func (w *Toolset) entries(ctx context.Context, at string) (all []fs.DirEntry, more bool, err error) {
	info, err := w.root.Lstat(at)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %s", w.shown(at), why(err))
	}
	if !info.IsDir() {
		return nil, false, fmt.Errorf("%s is not a folder: read shows a file", w.shown(at))
	}
	// It may have become a pipe meanwhile.
	f, err := w.root.OpenFile(at, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %s", w.shown(at), why(err))
	}
	defer f.Close()
	for len(all) < maxRead {
		if ctx.Err() != nil {
			return nil, false, errors.New("it was ended: the turn is ending")
		}
		part, err := f.ReadDir(4096)
		for _, e := range part {
			if !hidden(e.Name()) {
				all = append(all, e)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, false, fmt.Errorf("%s: %s", w.shown(at), why(err))
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return all, len(all) >= maxRead, nil
}

// PlainName returns a name on one line.
func PlainName(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
