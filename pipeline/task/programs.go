package task

// Which programs a command is known to run.

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
)

const (
	mostPrograms     = 64 // of a task
	mostInterpreters = 4  // a script may be run by a script
)

// allPrograms returns the programs that a command names, the first one first, with what runs them.
func (r *Runner) allPrograms(named []shelltext.Program, dir string, env []string) (all []cache.Program) {
	if len(named) > 1 {
		slices.SortFunc(named[1:], func(a, b shelltext.Program) int { return strings.Compare(a.Name, b.Name) })
	}
	for _, p := range slices.Compact(named) {
		if p.Script {
			all = append(all, r.script(p.Name, dir)...)
		} else {
			all = append(all, r.programs(p.Name, dir, env)...)
		}
	}
	return all[:min(len(all), mostPrograms)]
}

// programs returns the program that a name means in a folder and an environment, and what runs it. A name that is not
// found may be one of the shell's own. The program of an argv is found, or the task fails.
func (r *Runner) programs(name, dir string, env []string) []cache.Program {
	if strings.Contains(name, "/") {
		return r.find(name, dir, env)
	}
	return r.found.get(name, pathOf(env), r.Config.Root, func() []cache.Program { return r.find(name, dir, env) })
}

func (r *Runner) find(name, dir string, env []string) (all []cache.Program) {
	for len(all) < mostInterpreters {
		path, err := sandbox.Find(name, dir, env)
		if err != nil {
			break
		}
		all = append(all, cache.Program{Name: shown(name, r.Config.Root), Path: path})
		words := interpreter(path)
		if len(words) == 0 {
			break
		}
		if name = words[0]; shown(path, r.Config.Root) != path { // what is found outside of the root is remembered for all folders
			for _, p := range shelltext.ProgramsOf(words) {
				if p.Script {
					all = append(all, r.script(p.Name, dir)...)
				}
			}
		}
	}
	return all
}

// script returns the file that an interpreter reads in a folder, where there is one.
func (r *Runner) script(name, dir string) []cache.Program {
	path := name
	if !filepath.IsAbs(path) {
		path = dir + "/" + name // not cleaned: see sandbox.Find
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return []cache.Program{{Name: shown(name, r.Config.Root), Path: path}}
}

func pathOf(env []string) string {
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			return value
		}
	}
	return ""
}

// lookups are the programs that were found while no task runs: a task may install one.
type lookups struct {
	mu      sync.Mutex
	running int                        // tasks
	changes int                        // how often a task began or ended
	asked   int                        // since then
	found   map[string][]cache.Program // by name and PATH
	fixed   map[string]bool            // by PATH: see isFixed
}

// get returns what find returns for a name that is looked up in a PATH. The first lookup after a task ran is not
// remembered: while tasks run there is one lookup a task, and no second one that would need it.
func (l *lookups) get(name, path, root string, find func() []cache.Program) []cache.Program {
	key := name + "\x00" + path
	l.mu.Lock()
	l.asked++
	all, ok := l.found[key]
	fixed, known := l.fixed[path]
	again, changes := l.running == 0 && l.asked > 1, l.changes
	l.mu.Unlock()
	switch {
	case ok:
		return all
	case !again:
		return find()
	case !known:
		fixed = isFixed(path, root)
	}
	all = find()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changes != changes {
		return all
	}
	if l.found == nil {
		l.found, l.fixed = map[string][]cache.Program{}, map[string]bool{}
	}
	if l.fixed[path] = fixed; fixed {
		l.found[key] = all
	}
	return all
}

// isFixed reports whether no folder of a PATH is in the root, where a result from the cache may put a program, or depends
// on where a command runs.
func isFixed(path, root string) bool {
	root = sandbox.Resolved(root)
	return !slices.ContainsFunc(filepath.SplitList(path), func(dir string) bool {
		rel, err := filepath.Rel(root, sandbox.Resolved(dir))
		return !filepath.IsAbs(dir) || err != nil || filepath.IsLocal(rel)
	})
}

// begin tells that a task runs until the function that it returns is called.
func (l *lookups) begin() (end func()) {
	l.count(1)
	return func() { l.count(-1) }
}

func (l *lookups) count(more int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running += more
	l.changes++
	l.asked, l.found, l.fixed = 0, nil, nil
}

// interpreter returns the command that the first line of a script names, without env, or nil.
func interpreter(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, 256)
	n, _ := io.ReadFull(f, b)
	line, _, _ := strings.Cut(string(b[:n]), "\n")
	line, ok := strings.CutPrefix(line, "#!")
	words := strings.Fields(line)
	switch {
	case !ok || len(words) == 0:
		return nil
	case filepath.Base(words[0]) != "env":
		return words
	}
	// The kernel gives all that follows as one argument.
	arg := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), words[0]))
	if split, ok := shelltext.SplitString(arg); ok {
		words = append(words[:1], split...)
	}
	if inner := shelltext.Unwrap(words); len(inner) > 0 {
		return inner
	}
	return words[:1]
}

// shown returns a program's name without the place of the root, which must not be in a key.
func shown(name, root string) string {
	if rel, err := filepath.Rel(root, name); filepath.IsAbs(name) && err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return name
}
