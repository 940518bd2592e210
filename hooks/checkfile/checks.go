// Package checkfile tells which files belong to a check: its tests, what they read, and what its runner loads. It restores them in a
// patch. It reads no file itself: it asks through Tree.
package checkfile

// What counts as a check file: by classes, the first that fits.

import (
	"path"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/bmatcuk/doublestar/v4"
)

// Checks says which paths are check files. Paths are slash-separated and relative to git's top. It is made from the base
// alone, so nothing that a patch does can change what it says; it is safe for concurrent use.
type Checks struct {
	Sub        string
	protect    []string        // globs relative to git's top
	own        map[string]bool // PIPELINE.hcl
	production map[string]bool // files that only look like tests
	folders    map[string]bool // folders that only look like tests': production imports from them
	helpers    map[string]bool // files; "dir/*.go" for a Go package
	data       map[string]bool // files that tests name; folders, with a slash at the end
	globs      []string        // of data that tests name

	named      map[string]bool // files that the run names, whether they are there or not
	namedGlobs []string
	makefiles  map[string]bool  // those of named that are Makefiles
	libraries  map[string]bool  // shell scripts that the run and production source
	calls      map[string]uint8 // what the run's commands name, and how
	variables  map[string]bool  // that the run's scripts name
	subjects   map[string]bool  // files that the run gives to linters; folders, with a slash at the end
	Known      map[string]bool  // all files
	modules    map[string]bool  // folders with a manifest that a vendor folder may stand beside
	vendored   map[string]bool  // vendor folders
	goFolders  map[string]bool  // folders with Go files in them or below
	vite       map[string]bool  // folders whose package.json speaks of vitest
}

// A Tree is what Checks asks about the base: the paths it holds, and the content of one.
type Tree struct {
	Paths []string
	Read  func(path string) ([]byte, error)
}

// A Scope says what is being checked. The zero value is a tree without a sub-folder, protected files or commands.
type Scope struct {
	Sub     string    // the folder of PIPELINE.hcl, relative to git's top; "" and "." are the top
	Protect []string  // globs relative to Sub
	Runs    []Command // the failed task's command, and those of the tasks that are verified with it
	Dotenv  []string  // files of their environment, relative to Sub; one need not be there
}

// A Command is what a task runs: Argv, or Shell where that is nil.
type Command struct {
	Argv  []string
	Shell string
	Dir   string // relative to git's top, "." for the top
}

// NewChecks prepares the classes: 1, protect globs and PIPELINE.hcl; 2, tests by their language's conventions, with helpers
// that only tests import or include; 3, what tests read; 4, what the run names, and Dotenv; 5, what the check's runner loads by itself.
// Manifests, which are judged by their parts, have no class.
//
// A helper is also known by its name or by the testing library it imports: code that only its own test imports is
// code under test. It reads go.mod and package.json files, at most 20,000 source files of at most 1 MiB each, tests first,
// and at most 1,000 files that the run leads to.
func NewChecks(t Tree, s Scope) *Checks {
	sub := s.Sub
	if sub = path.Clean(strings.TrimPrefix(sub, "./")); sub == "" || sub == "/" {
		sub = "."
	}
	c := &Checks{
		Sub: sub, own: map[string]bool{}, production: map[string]bool{}, folders: map[string]bool{}, helpers: map[string]bool{},
	}
	for _, name := range []string{"PIPELINE.hcl", "PIPELINE.hcl.json"} {
		c.own[path.Join(sub, name)] = true
	}
	for _, glob := range s.Protect {
		if glob = strings.TrimSpace(glob); glob != "" {
			c.protect = append(c.protect, path.Join(literal(sub), glob))
		}
	}

	seen := newSurvey(t, sub)
	for _, u := range seen.order {
		switch {
		case u.helper && u.key == lang.GoPackage(u.dir):
			c.helpers[u.key] = true
		case u.helper:
			for _, p := range u.paths {
				c.helpers[p] = true
			}
		case u.reached && conventional(lang.Rel(sub, u.key)):
			if !lang.TestName(lang.Rel(sub, u.key)) {
				c.folders[u.dir] = true
			}
			for _, p := range u.paths {
				c.production[p] = true
			}
		}
	}
	c.data, c.globs = seen.testData()
	withoutPrograms(c.data, t.Read)
	c.name(t, seen, s.Runs)
	for _, file := range s.Dotenv {
		c.named[path.Join(sub, file)] = true
	}
	c.findLoaded(t, seen)
	return c
}

// literal is a path as a glob that matches it alone.
func literal(p string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`).Replace(p)
}

func conventional(p string) bool { return lang.TestName(p) || lang.TestFolder(p) || lang.DataFolder(p) }

// Class returns the class (1 to 5) that makes p a check file, 0 for none. It answers for new paths too.
func (c *Checks) Class(p string) int {
	p = path.Clean(p)
	if c.protected(p) {
		return 1
	}
	if class := c.check(p); class > 0 {
		return class
	}
	if c.namedBy(p) {
		return 4
	}
	if c.loaded(p) {
		return 5
	}
	return 0
}

func (c *Checks) protected(p string) bool {
	if c.own[p] {
		return true
	}
	for _, glob := range c.protect {
		if glob == p || doublestar.MatchUnvalidated(glob, p) {
			return true
		}
		// A glob that names a folder takes all below.
		for dir := path.Dir(p); dir != "." && dir != "/"; dir = path.Dir(dir) {
			if doublestar.MatchUnvalidated(glob, dir) {
				return true
			}
		}
	}
	return false
}

func (c *Checks) check(p string) int {
	in := lang.Rel(c.Sub, p)
	folder := !c.production[p] && !c.folders[path.Dir(p)]
	switch {
	case lang.TestName(in) && !c.production[p]:
		return 2
	case lang.DataName(in), folder && lang.DataFolder(in):
		return 3
	case folder && lang.TestFolder(in):
		return 2
	case c.helpers[p], path.Ext(p) == ".go" && c.helpers[lang.GoPackage(path.Dir(p))]:
		return 2
	case c.data[p]:
		return 3
	}
	for dir := path.Dir(p); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if c.data[dir+"/"] {
			return 3
		}
	}
	for _, glob := range c.globs {
		if doublestar.MatchUnvalidated(glob, p) {
			return 3
		}
	}
	return 0
}
