// Package reads is about what a task was seen to read of the tree: the inputs of one with inputs = auto, and what
// strict = true compares with those that are declared. Accesses gathers what its processes name to the kernel, and
// follows it to files. A Set is what of that decides whether the task would do the same again.
package reads

import (
	"cmp"
	"debug/elf"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/async-pipeline/async-pipeline/internal/access"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
)

// mostReads bounds a Set: what reads more is better off with patterns.
const mostReads = 200_000

// Accesses gathers what a task reads while it runs.
type Accesses struct {
	real string // the root, without links

	mu     sync.Mutex
	blind  string           // why not all was seen; empty: it was
	inside map[string]*read // by path, relative to the root, without links on the way to it
}

// A read is a path that was accessed.
type read struct {
	was    fs.FileMode // at the first access, of a link its own; of something that was not there, absent
	info   fs.FileInfo // of was; nil: absent
	looked bool        // whether it exists
	read   bool
	made   bool                   // it was made or written
	first  bool                   // and not read before that, nor looked for
	alone  bool                   // it could be made only because it was not there
	passed bool                   // of a link: it is on the way to another path
	names  map[string]fs.FileMode // of a folder that was listed: what it had, with their types
	text   string                 // of a link, at the first access
}

const absent = ^fs.FileMode(0)

func (x *read) isDir() bool { return x.was != absent && x.was.IsDir() }

// New returns an Accesses for the tree at root.
func New(root string) *Accesses {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		real = root
	}
	return &Accesses{real: real, inside: map[string]*read{}}
}

// See takes note of an access, before the kernel carries it out.
func (r *Accesses) See(a access.Path) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case a.Kind == access.Blind:
		r.blind = cmp.Or(r.blind, a.Name)
		return
	case len(r.inside) > mostReads:
		r.blind = cmp.Or(r.blind, fmt.Sprintf("it uses more than %d paths", mostReads))
		return
	}
	r.follow(a, mostInterpreters)
}

// mostInterpreters is how often the kernel runs a script by a script.
const mostInterpreters = 5

// follow takes note of an access that is not Blind. r.mu is locked.
func (r *Accesses) follow(a access.Path, more int) {
	if more == 0 {
		return
	}
	links, at := a.Resolve()
	for _, l := range links {
		if p, in := r.below(l); in {
			r.note(p).passed = true
		}
	}
	p, in := r.below(at)
	if in {
		r.add(p, a)
	}
	if a.Runs {
		for _, name := range runBy(at, in) {
			if !filepath.IsAbs(name) {
				name = fmt.Sprintf("/proc/%d/cwd/%s", a.PID, name)
			}
			r.follow(access.Path{Kind: access.Read, Name: name, PID: a.PID, Runs: true}, more-1)
		}
	}
}

// runBy returns what the kernel opens to run a program: the interpreter that its first line names, or the loader that it
// was linked for. That of a program outside of the root is outside too.
func runBy(at string, in bool) []string {
	f, err := os.Open(at)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head)
	if line, ok := strings.CutPrefix(string(head[:n]), "#!"); ok {
		line, _, _ = strings.Cut(line, "\n")
		if words := strings.Fields(line); len(words) > 0 {
			return words[:1]
		}
		return nil
	}
	if !in || !strings.HasPrefix(string(head[:n]), elf.ELFMAG) {
		return nil
	}
	program, err := elf.NewFile(f)
	if err != nil {
		return nil
	}
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP && p.Filesz < 4096 {
			if text, err := io.ReadAll(p.Open()); err == nil {
				return []string{strings.TrimRight(string(text), "\x00")}
			}
		}
	}
	return nil
}

// below returns a path relative to the root, and whether it is in it.
func (r *Accesses) below(at string) (string, bool) {
	p, ok := strings.CutPrefix(at, r.real)
	if !ok || p != "" && p[0] != '/' {
		return "", false
	}
	return strings.TrimPrefix(p, "/"), true
}

// note returns what is known of a path in the root. r.mu is locked.
func (r *Accesses) note(p string) *read {
	x := r.inside[p]
	if x != nil {
		return x
	}
	x = &read{was: absent}
	r.inside[p] = x
	if info, err := os.Lstat(filepath.Join(r.real, p)); err == nil {
		if x.was, x.info = info.Mode(), info; x.was&fs.ModeSymlink != 0 {
			x.text, _ = os.Readlink(filepath.Join(r.real, p))
		}
	} else if p != "" {
		r.note(files.Parent(p)) // of a path in a folder that is not there, what counts is that there is no such folder
	}
	return x
}

// add takes note of an access to a path in the root. r.mu is locked.
func (r *Accesses) add(p string, a access.Path) {
	x := r.note(p)
	makes := x.was != absent || x.made || a.Add
	switch a.Kind {
	case access.Looked:
		x.looked = true
	case access.Listed:
		if x.isDir() && x.names == nil {
			x.names = namesIn(filepath.Join(r.real, p))
		}
	case access.Moved:
		if x.isDir() && !x.made {
			r.blind = cmp.Or(r.blind, "it moves the folder "+p)
		}
		x.read, x.made = x.read || !x.first, true
	case access.Removed:
		r.emptied(p, x)
		x.looked, x.made = true, true
	case access.Read, access.Written:
		switch {
		case x.isDir(), !makes && a.Kind == access.Written:
			x.looked = true // a folder that is opened may be one to work in; its names are asked for apart
		default:
			x.read = x.read || !x.first
			x.made = x.made || a.Kind == access.Written
		}
	case access.Made:
		if _, err := os.Lstat(filepath.Join(r.real, p)); !makes || a.New && err == nil {
			x.looked = true // it fails
			break
		}
		r.emptied(p, x)
		x.first = x.first || !x.read && !x.looked
		x.made, x.alone = true, x.alone || a.New
		x.looked = x.looked || !a.Add // it has to be there
	}
}

// emptied takes note that a folder can be removed or replaced only if nothing is in it. r.mu is locked.
func (r *Accesses) emptied(p string, x *read) {
	if x.isDir() && x.names == nil {
		x.names = namesIn(filepath.Join(r.real, p))
		x.looked = true
	}
}

// namesIn returns the names in a folder, with their types. It is never nil.
func namesIn(dir string) map[string]fs.FileMode {
	names := map[string]fs.FileMode{}
	all, _ := os.ReadDir(dir)
	for _, e := range all {
		names[e.Name()] = e.Type()
	}
	return names
}
