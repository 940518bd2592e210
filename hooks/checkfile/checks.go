// Package checkfile decides which files belong to a check: its tests, what they read, what the check's command refers
// to, and what its runner loads. It restores them in a patch. It reads no file itself: it asks through Tree. Any
// package above it may use it.
package checkfile

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/async-pipeline/async-pipeline/internal/lang"
)

// Checks decides which paths are check files. Paths are slash-separated and relative to git's top. It is made from
// the base alone, so nothing that a patch does can change its answers. It is safe for concurrent use.
type Checks struct {
	Sub         string // the folder of PIPELINE.hcl, "." for the top
	tree        *lang.Index
	protected   fileSet
	conventions conventions
	data        fileSet // what tests read
	refs        references
	runner      runnerFiles
	found       foundFiles
	read        func(path string) ([]byte, error)
	failing     []string
}

// A Tree gives Checks the paths of the base and the content of one.
type Tree struct {
	Paths []string
	Read  func(path string) ([]byte, error)
}

// A Scope describes what is checked. The zero value is a tree without a sub-folder, protected files or commands.
type Scope struct {
	Sub     string    // the folder of PIPELINE.hcl, relative to git's top; "" and "." are the top
	Include []string  // PIPELINE.hcl files that the one in Sub includes, relative to Sub
	Protect []string  // globs relative to Sub
	Runs    []Command // the failed task's command, and those of the tasks that are verified with it
	Dotenv  []string  // files of their environment, relative to Sub; one need not be there
	Found   []string  // files that they name because fileset() found them, relative to git's top
	Sets    []string  // patterns of fileset() in their definitions, relative to Sub

	Makers  []string       // scripts that make what tests read, relative to git's top
	Made    []MakeDatabase // what make said of commands in Runs
	Failing []string       // names of the tests that failed, as their runner prints them
}

// A Command is what a task runs: Argv, or Shell where that is nil.
type Command struct {
	Argv  []string
	Shell string
	Dir   string // relative to git's top, "." for the top
}

// NewChecks prepares the classes. It reads go.mod and package.json files, at most 20,000 source files of at most 1
// MiB each, tests first, and at most 1,000 files that the commands lead to.
func NewChecks(t Tree, s Scope) *Checks {
	sub := path.Clean(strings.TrimPrefix(s.Sub, "./"))
	if sub == "/" {
		sub = "."
	}
	found := newSurvey(t, sub, s.Failing)
	if t.Read != nil {
		maps.Copy(found.onlyForTests, devCrates(t, found))
	}
	c := &Checks{
		Sub: sub, tree: found.Index, protected: newProtected(sub, s.Include, s.Protect), conventions: newConventions(found),
		data: found.testData(), refs: findReferences(t, found, s), runner: newRunnerFiles(t, found),
		found: foundFiles{s.Found, s.Sets, sub}, read: t.Read, failing: s.Failing,
	}
	dropPrograms(c.data.files, t.Read)
	for _, file := range s.Dotenv {
		c.refs.files[path.Join(sub, file)] = true
	}
	for _, file := range s.Makers {
		c.refs.files[file] = true
	}
	c.findLists()
	return c
}

// Has reports whether p is a file of the base.
func (c *Checks) Has(p string) bool { return c.tree.Has(p) }

// HasBelow reports whether the base has a file in a folder, which ends in a slash.
func (c *Checks) HasBelow(folder string) bool { return c.tree.IsDir(strings.TrimSuffix(folder, "/")) }

// Class returns what makes p a check file, 0 for none. It answers for new paths too.
//
//	1  a glob of protect, PIPELINE.hcl, or one that it includes
//	2  a test by the conventions of its language, or a helper that only tests import
//	3  what tests read
//	4  what the check's commands refer to, a file of their environment, or a script that makes what tests read
//	5  what the check's runner loads by itself
//
// Manifests, which are judged by their parts, have no class (Parts).
func (c *Checks) Class(p string) int {
	p = path.Clean(p)
	if c.protected.has(p) {
		return 1
	}
	if class := c.conventions.class(p); class > 0 {
		return class
	}
	switch {
	case c.data.has(p):
		return 3
	case c.refs.has(p), c.loadsNew(p):
		return 4
	case c.runner.loads(p, c.refs.subjects), c.refs.gitReads(p):
		return 5
	}
	return 0
}

// newProtected returns the files of class 1. A glob that matches a folder protects all below.
func newProtected(sub string, included, globs []string) fileSet {
	s := fileSet{files: map[string]bool{}}
	for _, file := range append([]string{"PIPELINE.hcl"}, included...) {
		pipeline := path.Join(sub, strings.TrimSuffix(file, ".json"))
		s.files[pipeline], s.files[pipeline+".json"] = true, true
	}
	for _, glob := range globs {
		if glob = strings.TrimSpace(glob); glob != "" {
			glob = path.Join(literal(sub), glob)
			s.files[glob], s.files[glob+"/"] = true, true // one that is no valid pattern is a name
			s.globs = append(s.globs, glob, glob+"/**")
		}
	}
	return s
}

// literal returns a glob that matches p alone.
func literal(p string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`).Replace(p)
}

// A fileSet is a set of files, whether they are there or not: paths, folders with a slash at the end, and globs.
type fileSet struct {
	files map[string]bool
	globs []string
}

func (s *fileSet) has(p string) bool {
	return s.files[p] || below(p, s.files) ||
		slices.ContainsFunc(s.globs, func(glob string) bool { return doublestar.MatchUnvalidated(glob, p) })
}

// below reports whether p is below one of folders, which have a slash at the end.
func below(p string, folders map[string]bool) bool {
	for dir := path.Dir(p); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if folders[dir+"/"] {
			return true
		}
	}
	return false
}

// conventions knows the files of classes 2 and 3 that the names of files and folders tell, and what the imports of
// the tree say against or besides that.
type conventions struct {
	sub        string
	production map[string]bool // files that only look like tests: production imports them
	folders    map[string]bool // folders that only look like tests'
	helpers    map[string]bool // files; lang.GoPackage for a Go package; folders, with a slash at the end
}

func newConventions(s *survey) conventions {
	c := conventions{sub: s.sub, production: map[string]bool{}, folders: map[string]bool{}, helpers: map[string]bool{}}
	maps.Copy(c.helpers, s.onlyForTests)
	for _, u := range s.order {
		switch {
		case u.helper && u.key == lang.GoPackage(u.dir):
			c.helpers[u.key] = true
		case u.helper:
			for _, p := range u.paths {
				c.helpers[p] = true
			}
		case (u.reached || u.offered) && conventional(s.Rel(u.key)):
			if !lang.TestName(s.Rel(u.key)) {
				c.folders[u.dir] = true
			}
			for _, p := range u.paths {
				c.production[p] = true
			}
		}
	}
	return c
}

func conventional(p string) bool { return lang.TestName(p) || lang.TestFolder(p) || lang.DataFolder(p) }

// class returns 2, 3, or 0 for what is neither.
func (c *conventions) class(p string) int {
	in := lang.Rel(c.sub, p)
	folder := !c.production[p] && !c.folders[path.Dir(p)]
	switch {
	case lang.TestName(in) && !c.production[p]:
		return 2
	case lang.DataName(in), folder && lang.DataFolder(in):
		return 3
	case folder && lang.TestFolder(in):
		return 2
	case c.helpers[p], below(p, c.helpers), path.Ext(p) == ".go" && c.helpers[lang.GoPackage(path.Dir(p))]:
		return 2
	}
	return 0
}
