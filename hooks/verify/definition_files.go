package verify

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// A definition is a folder that gets the files that PIPELINE.hcl asks for, as they are once the patch is applied. All
// names are relative to the root.
type definition struct {
	dir   string
	into  *os.Root
	base  *os.Root
	tree  *os.Root               // for what the base leaves out, as what git ignores
	after map[string]*patch.File // by the patch; nil: it is gone
	names []string               // of files and links, that a pattern may match
	put   map[string]bool        // false: with its name only
	err   error                  // the first one
}

// mostLinks is how many links are followed for one name, as the kernel does it.
const mostLinks = 40

func (q *Request) openDefinition(dir string) (d *definition, err error) {
	d = &definition{dir: dir, after: map[string]*patch.File{}, put: map[string]bool{}}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	for at, root := range map[string]**os.Root{
		dir: &d.into, filepath.Join(q.Base.Dir, filepath.FromSlash(q.Base.Sub)): &d.base, q.Failure.Config.Root: &d.tree,
	} {
		if *root, err = os.OpenRoot(at); err != nil {
			return nil, err
		}
	}
	add := func(name string) {
		if rel, ok := q.inRoot(name); ok {
			d.names = append(d.names, rel)
		}
	}
	for _, change := range q.Changes {
		// the patch is not judged by its own PIPELINE.hcl
		if rel, ok := q.inRoot(change.Path); ok && !slices.Contains(q.definitionFiles(), rel) {
			d.after[rel] = change.After
			add(change.Path)
		}
	}
	for _, name := range q.Base.Paths() {
		add(name)
	}
	for _, t := range q.Failure.Config.Tasks {
		d.names = append(d.names, t.Reads...)
	}
	return d, nil
}

func (d *definition) close() {
	for _, root := range []*os.Root{d.into, d.base, d.tree} {
		if root != nil {
			_ = root.Close() // only a folder
		}
	}
}

// fetch makes what a file function is about to look for. at is in the folder.
func (d *definition) fetch(at string, pattern bool) {
	rel, err := filepath.Rel(d.dir, at)
	if err != nil || !filepath.IsLocal(rel) {
		return
	}
	if rel = filepath.ToSlash(rel); pattern {
		d.match(rel)
	} else {
		d.file(rel)
	}
}

// match makes the files that a pattern matches, with their names only.
func (d *definition) match(pattern string) {
	folder, rest := doublestar.SplitPattern(pattern)
	folder, ok := d.follow(folder)
	if !ok {
		return
	}
	pattern = path.Join(folder, rest)
	for _, name := range d.names {
		if _, done := d.put[name]; done || !doublestar.MatchUnvalidated(pattern, name) {
			continue
		}
		f, gone := d.lstat(name)
		switch {
		case gone || f == nil:
		case f.Mode&fs.ModeSymlink != 0:
			d.file(name)
		case f.Mode.IsRegular():
			d.put[name] = false
			d.write(name, strings.NewReader(""))
		}
	}
}

// file makes a file, with the links that lead to it.
func (d *definition) file(name string) {
	name, ok := d.follow(name)
	if !ok || d.put[name] {
		return
	}
	if f := d.after[name]; f != nil {
		d.put[name] = true
		d.write(name, strings.NewReader(string(f.Data)))
		return
	}
	f, _ := d.lstat(name)
	if f == nil || !f.Mode.IsRegular() {
		return // PIPELINE.hcl says what is wrong with it
	}
	d.put[name] = true
	for _, root := range []*os.Root{d.base, d.tree} {
		from, err := root.Open(filepath.FromSlash(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			d.fail(err)
			return
		}
		d.write(name, from)
		_ = from.Close() // only read
		return
	}
}

// follow makes the links on the way to a name, and returns where it leads. false: out of the root, or round and round.
func (d *definition) follow(name string) (to string, ok bool) {
	for range mostLinks {
		parts := strings.Split(path.Clean(name), "/")
		link := -1
		for i := range parts {
			f, _ := d.lstat(path.Join(parts[:i+1]...))
			if f != nil && f.Mode&fs.ModeSymlink != 0 {
				link = i
				at, text := path.Join(parts[:i+1]...), string(f.Data)
				if !d.put[at] {
					d.put[at] = true
					d.fail(errors.Join(d.into.MkdirAll(filepath.Dir(filepath.FromSlash(at)), 0o700), d.into.Symlink(text, filepath.FromSlash(at))))
				}
				name = path.Join(append([]string{path.Dir(at), text}, parts[i+1:]...)...)
				if path.IsAbs(text) || !filepath.IsLocal(name) {
					return "", false
				}
				break
			}
		}
		if link < 0 {
			return path.Clean(name), true
		}
	}
	return "", false
}

// lstat returns a file or link as it is once the patch is applied: its type, and the text of a link. It is nil for a
// folder, and where there is nothing. gone reports whether the patch removes it.
func (d *definition) lstat(name string) (f *patch.File, gone bool) {
	if f, changed := d.after[name]; changed {
		return f, f == nil
	}
	at := filepath.FromSlash(name)
	for _, root := range []*os.Root{d.base, d.tree} {
		info, err := root.Lstat(at)
		switch {
		case err != nil:
			continue
		case info.IsDir():
			return nil, false
		case info.Mode()&fs.ModeSymlink == 0:
			return &patch.File{Mode: info.Mode()}, false
		}
		text, err := root.Readlink(at)
		if err != nil {
			d.fail(err)
		}
		return &patch.File{Mode: info.Mode(), Data: []byte(text)}, false
	}
	return nil, false
}

// write writes a file, with the folders above it.
func (d *definition) write(name string, from io.Reader) {
	at := filepath.FromSlash(name)
	if err := d.into.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		d.fail(err)
		return
	}
	to, err := d.into.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		d.fail(err)
		return
	}
	_, err = io.Copy(to, from)
	d.fail(errors.Join(err, to.Close()))
}

func (d *definition) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}
