package checkfile

// The survey of a tree: what its source files import, and which of them are tests, helpers of tests, or production.

import (
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"path"
	"slices"
	"strings"
)

const (
	maxSources     = 20_000    // source files that are read, tests first
	maxSource      = 1 << 20   // bytes; a larger file is not looked into
	maxSourceTotal = 256 << 20 // bytes that are read in all
	goPackageFile  = "*.go"    // stands for a package, where a path is wanted
)

// A unit is what is imported as one: a file, a Go package without its tests, a C source with its header.
type unit struct {
	key       string
	dir       string
	paths     []string
	test      bool // by convention, unless production uses it
	sure      bool // by its own name: nothing takes that back
	helper    bool
	reached   bool // production uses it
	testing   bool // imports a library for tests
	tool      bool // neither production nor test: configures tools
	runs      bool // its name speaks of tests: it may start them, so what it imports is not production for that
	uses      []*unit
	users     []*unit
	mentioned []string // data that its literals name
}

// A survey is made once and thrown away.
type survey struct {
	sub       string
	files     map[string]bool
	inDir     map[string][]string // files of a folder
	dirList   []string            // all folders, sorted
	byStem    map[string][]string
	byDirBase map[string]map[string]bool
	modules   map[string]string // Go module path → folder
	units     map[string]*unit
	order     []*unit
	dirUnits  map[string][]*unit
	codeBelow map[string]bool
	dataBelow map[string]bool
	dataBases map[string]bool
	data      []string // all that can be, sorted
	globs     map[*unit][]string

	nodePackages []string // package.json files, not of dependencies
}

func newSurvey(t Tree, sub string) *survey {
	s := &survey{
		sub: sub, files: map[string]bool{}, inDir: map[string][]string{}, byStem: map[string][]string{}, byDirBase: map[string]map[string]bool{},
		modules: map[string]string{}, units: map[string]*unit{}, dirUnits: map[string][]*unit{}, codeBelow: map[string]bool{}, dataBelow: map[string]bool{},
		dataBases: map[string]bool{}, globs: map[*unit][]string{},
	}
	paths := set(t.Paths)
	for _, p := range paths {
		s.index(p)
	}
	for dir := range s.inDir {
		s.dirList = append(s.dirList, dir)
	}
	slices.Sort(s.dirList)
	if t.Read != nil {
		s.read(paths, t.Read)
	}
	s.settle()
	return s
}

func (s *survey) index(p string) {
	dir := path.Dir(p)
	s.files[p] = true
	s.inDir[dir] = append(s.inDir[dir], p)
	if path.Base(p) == "package.json" && !foreign(p) && len(s.nodePackages) < maxPackages {
		s.nodePackages = append(s.nodePackages, p)
	}
	code, data := lang.ByPath(p) != "", isData(p)
	if code {
		stem := strings.TrimSuffix(path.Base(p), path.Ext(p))
		s.byStem[stem] = append(s.byStem[stem], p)
	} else if data {
		s.dataBases[path.Base(p)] = true
		s.data = append(s.data, p)
	}
	for d := dir; ; d = path.Dir(d) {
		if s.inDir[d] == nil {
			s.inDir[d] = []string{}
		}
		if code {
			s.codeBelow[d] = true
		} else if data {
			s.dataBelow[d] = true
		}
		base := path.Base(d)
		if s.byDirBase[base] == nil {
			s.byDirBase[base] = map[string]bool{}
		}
		s.byDirBase[base][d] = true
		if d == "." || d == "/" {
			return
		}
	}
}

// read looks into the sources: tests first, so that a tree that is too large loses what matters least.
func (s *survey) read(paths []string, read func(string) ([]byte, error)) {
	var tests, rest []string
	for _, p := range paths {
		switch {
		case foreign(p):
		case path.Base(p) == "go.mod":
			if src, err := read(p); err == nil && len(src) <= maxSource {
				if mod := lang.Module(src); mod != "" {
					s.modules[mod] = path.Dir(p)
				}
			}
		case lang.ByPath(p) == "":
		case s.unit(p).test:
			tests = append(tests, p)
		default:
			rest = append(rest, p)
		}
	}
	total := 0
	for i, p := range append(tests, rest...) {
		if i >= maxSources || total > maxSourceTotal {
			return
		}
		src, err := read(p)
		if err != nil || len(src) > maxSource {
			continue
		}
		total += len(src)
		u := s.unit(p)
		files, testing := s.uses(p, src)
		u.testing = u.testing || testing
		if u.sure && path.Ext(p) == ".py" && !lang.PyTest().Match(src) {
			u.sure = false // test_utils.py without a test: may be anything
		}
		for _, f := range files {
			s.link(u, s.unit(f))
		}
		s.literals(u, p, src)
	}
}

func (s *survey) link(from, to *unit) {
	if from != to && !slices.Contains(from.uses, to) {
		from.uses = append(from.uses, to)
		to.users = append(to.users, from)
	}
}

// unit is the one that p belongs to.
func (s *survey) unit(p string) *unit {
	key := p
	switch lang.ByPath(p) {
	case "go":
		if !strings.HasSuffix(p, "_test.go") {
			key = path.Join(path.Dir(p), goPackageFile)
		}
	case "c":
		key = strings.TrimSuffix(p, path.Ext(p)) + ".c"
	}
	u := s.units[key]
	if u == nil {
		u = &unit{key: key, dir: path.Dir(p)}
		in := s.inSub(p)
		u.sure = lang.TestName(in) || lang.DataName(in)
		u.test = u.sure || lang.TestFolder(in) || lang.DataFolder(in)
		u.tool = lang.Tooling(in)
		u.runs = lang.Testish(in)
		s.units[key] = u
		s.order = append(s.order, u)
		s.dirUnits[u.dir] = append(s.dirUnits[u.dir], u)
	}
	if !slices.Contains(u.paths, p) && s.files[p] {
		u.paths = append(u.paths, p)
	}
	return u
}

// inSub is p as the root sees it: a root that itself lies in a folder called tests has production in it.
func (s *survey) inSub(p string) string { return inSub(s.sub, p) }

func inSub(sub, p string) string {
	if sub == "." {
		return p
	}
	if rest, ok := strings.CutPrefix(p, sub+"/"); ok {
		return rest
	}
	return p
}

// settle finds out what only tests use, and what production uses. Each answer depends on the other: a folder that turns out
// to be production has no helpers, and what such a helper used was production's all along. Both only ever lose members.
func (s *survey) settle() {
	for again := true; again; {
		s.findHelpers()
		again = s.findProduction()
	}
}

func (s *survey) findHelpers() {
	for _, u := range s.order {
		u.helper = false
	}
	for changed := true; changed; {
		changed = false
		for _, u := range s.order {
			if !u.test && !u.helper && s.onlyTests(u) {
				u.helper, changed = true, true
			}
		}
	}
}

// findProduction follows the imports of production, and says whether it took something for a test no longer.
func (s *survey) findProduction() bool {
	var work []*unit
	for _, u := range s.order {
		u.reached = !u.test && !u.helper && !u.tool && !u.runs
		if u.reached {
			work = append(work, u)
		}
	}
	changed := false
	reach := func(u *unit) {
		u.reached = true
		changed = changed || u.test
		u.test = false
		work = append(work, u)
	}
	for len(work) > 0 {
		u := work[len(work)-1]
		work = work[:len(work)-1]
		for _, v := range u.uses {
			if v.reached || v.sure {
				continue
			}
			folder := v.test && !lang.TestName(s.inSub(v.key))
			reach(v)
			if !folder {
				continue
			}
			// A folder of which production imports a part is a production folder.
			for _, w := range s.dirUnits[v.dir] {
				if w.test && !w.reached && !w.sure && !lang.TestName(s.inSub(w.key)) {
					reach(w)
				}
			}
		}
	}
	return changed
}

// onlyTests says whether u is a helper: tests use it, nothing else does, and something about it says that it is for
// tests. Without the last, the code under test would count as a helper in every library.
func (s *survey) onlyTests(u *unit) bool {
	if u.tool || lang.ByPath(u.key) == "" {
		return false
	}
	used, subject := false, false
	for _, by := range u.users {
		switch {
		case by.tool:
		case !by.test && !by.helper:
			return false
		default:
			used = true
			subject = subject || by.test && (by.dir == u.dir && lang.ByPath(by.key) == "go" || lang.SubjectOf(by.key) == lang.SubjectOf(u.key))
		}
	}
	if !used {
		return false
	}
	in := s.inSub(u.key)
	sure, maybe := false, false
	if path.Base(in) != goPackageFile {
		sure, maybe = lang.HelperName(strings.TrimSuffix(path.Base(in), path.Ext(in)))
	}
	if dir := path.Dir(in); dir != "." {
		dirSure, dirMaybe := lang.HelperName(path.Base(dir))
		sure, maybe = sure || dirSure, maybe || dirMaybe
	}
	return sure || (maybe || u.testing) && !subject
}

// below are the files under a folder, itself included.
func (s *survey) below(dir string) []string {
	var files []string
	for _, d := range s.dirList {
		if d == dir || dir == "." || strings.HasPrefix(d, dir+"/") {
			files = append(files, s.inDir[d]...)
		}
	}
	return files
}

// foreign says whether p lies in a folder of dependencies, whose imports say nothing about this project.
func foreign(p string) bool {
	for seg := range strings.SplitSeq(path.Dir(p), "/") {
		switch seg {
		case "node_modules", ".venv", "venv", "site-packages", "vendor", "bower_components", ".git", ".async", "__pycache__":
			return true
		}
	}
	return false
}

// set returns the elements of list sorted and each once, in a slice of its own.
func set(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
