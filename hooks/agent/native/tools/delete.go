package tools

import (
	"context"
	"io/fs"

	"github.com/async-pipeline/async-pipeline/internal/english"
)

var toolDelete = declared{
	name: "delete", effect: Writes, verb: "deletes", noun: "file",
	says:   "Deletes a file, a symlink, or a folder that is empty.",
	fields: []field{{name: "path", must: true, says: "the file or empty folder"}},
	do: func(ctx context.Context, w *Toolset, a args) Outcome {
		at, err := w.findToWrite(a.texts["path"], false) // a symlink itself, not what it leads to
		if err != nil {
			return failed("%v", err)
		}
		o := w.remove(ctx, at)
		o.Path = at
		return o
	},
}

func (w *Toolset) remove(ctx context.Context, at string) Outcome {
	info, err := w.root.Lstat(at)
	if err != nil {
		return failed("%s: %s", w.shown(at), why(err))
	}
	switch {
	case info.IsDir() && at == w.sub:
		return failed("%s is the working directory: it stays", w.shown(at))
	case info.IsDir():
		entries, more, err := w.entries(ctx, at)
		if err == nil && (more || len(entries) > 0) {
			return failed("%s is a folder with %s in it: only an empty one can be deleted", w.shown(at),
				english.Count(len(entries), "entry"))
		}
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0:
		return failed("%s is not a file but a pipe, a socket or a device", w.shown(at))
	}
	if err := w.root.Remove(at); err != nil {
		return failed("%s could not be deleted: %s", w.shown(at), why(err))
	}
	w.forget(at)
	w.changed(at)
	return Outcome{Text: w.shown(at) + ": deleted"}
}
