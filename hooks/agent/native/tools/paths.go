package tools

// Paths: from what the model writes to a place in the copy. Symlinks are followed here, so that a file is refused
// under every name. os.Root ensures that nothing leaves the copy, also if something changes meanwhile.

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/patch"
)

const maxLinks = 40

// locate returns the place that p names, below the top. Symlinks on the way are not followed yet.
func (w *Toolset) locate(p string) (string, error) {
	switch {
	case strings.TrimSpace(p) == "":
		return "", errors.New("the path is empty")
	case strings.ContainsRune(p, 0):
		return "", errors.New("the path holds a NUL byte")
	case len(p) >= 4096:
		return "", errors.New("the path is longer than a path can be")
	case filepath.IsAbs(p):
		if at, ok := w.inCopy(p); ok {
			return at, nil
		}
	default:
		if at := path.Join(w.sub, p); filepath.IsLocal(at) {
			return at, nil
		}
	}
	return "", fmt.Errorf("%s lies outside of the copy; paths are relative to the working directory", quoted(p))
}

// inCopy returns the place of an absolute path, as this process or as the agent's commands see it.
func (w *Toolset) inCopy(p string) (string, bool) {
	for _, top := range []string{w.top, w.seenAs} {
		if rel, err := filepath.Rel(top, p); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}

// follow returns the real place of at: no part of it is a symlink, and if last, the last part is not either. Parts
// that do not exist are kept as written.
func (w *Toolset) follow(at string, last bool) (string, error) {
	var done []string
	todo := strings.Split(at, "/")
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				to := filepath.Join(append([]string{w.seenAs, name}, todo...)...)
				return "", &leadsOut{w.shown(at), to}
			}
			done = done[:len(done)-1]
			continue
		}
		here := path.Join(append(slices.Clone(done), name)...)
		info, err := w.root.Lstat(here)
		if errors.Is(err, fs.ErrNotExist) {
			done = append(done, name)
			continue
		}
		if err != nil {
			return "", fmt.Errorf("%s: %s", w.shown(at), why(err))
		}
		if info.Mode()&fs.ModeSymlink == 0 || len(todo) == 0 && !last {
			done = append(done, name)
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s: too many symlinks", w.shown(at))
		}
		to, err := w.root.Readlink(here)
		if err != nil {
			return "", fmt.Errorf("%s: %s", w.shown(at), why(err))
		}
		if filepath.IsAbs(to) {
			inside, ok := w.inCopy(to)
			if !ok {
				return "", &leadsOut{w.shown(at), filepath.Join(append([]string{to}, todo...)...)}
			}
			to, done = inside, nil
		}
		todo = append(strings.Split(filepath.ToSlash(to), "/"), todo...)
	}
	if len(done) == 0 {
		return ".", nil
	}
	return path.Join(done...), nil
}

// A leadsOut is the error of a path that leads out of the copy by a symlink.
type leadsOut struct {
	shown string
	to    string // where it leads, as the agent's commands see it
}

func (e *leadsOut) Error() string { return e.shown + " leads out of the copy by a symlink" }

// find returns the place of a file to read.
func (w *Toolset) find(p string) (string, error) {
	at, err := w.locate(p)
	if err != nil {
		return "", err
	}
	return w.follow(at, true)
}

// findToWrite returns the place of a file to change, and refuses paths that no patch may name. A symlink at the end
// is followed if last.
func (w *Toolset) findToWrite(p string, last bool) (string, error) {
	at, err := w.mayName(p)
	if err != nil {
		return "", err
	}
	real, err := w.follow(at, last)
	if err == nil {
		err = w.mayChange(p, real) // a symlink may have a harmless name
	}
	if err != nil {
		return "", err
	}
	return real, nil
}

// mayName returns the place that the path of a file to change names, wherever symlinks on the way may lead.
func (w *Toolset) mayName(p string) (string, error) {
	at, err := w.locate(p)
	if err == nil {
		err = w.mayChange(p, at) // a symlink of that name may lead to a harmless one
	}
	return at, err
}

// mayChange refuses places that no patch may name. p is how the model names it.
func (w *Toolset) mayChange(p, place string) error {
	if place == "." {
		return fmt.Errorf("%s is the copy itself", quoted(p))
	}
	if err := patch.CheckPath(place); err != nil {
		return fmt.Errorf("%s cannot be changed: %s", w.shown(place), reason(err))
	}
	return nil
}

// reason returns the error of CheckPath without the path.
func reason(err error) string {
	s := err.Error()
	if i := strings.LastIndex(s, ": "); i >= 0 {
		s = s[i+2:]
	}
	return s
}

// shown returns a place as the model would name it, on one line, relative to the working directory.
func (w *Toolset) shown(at string) string {
	rel, err := filepath.Rel(filepath.FromSlash(w.sub), filepath.FromSlash(at))
	if err != nil {
		return PlainName(at)
	}
	return PlainName(filepath.ToSlash(rel))
}

// hidden reports whether a name is git's or ours: such folders are not listed or searched.
func hidden(name string) bool {
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, ".async")
}
