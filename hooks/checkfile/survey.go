package checkfile

// The survey of a tree: what its sources import, and which of them are tests, helpers of tests, or production.

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

const (
	maxSources     = 20_000    // source files that are read, tests first
	maxSource      = 1 << 20   // bytes; a larger file is not read
	maxSourceTotal = 256 << 20 // bytes that are read in all
)

// A unit is what is imported as one: a file, a Go package without its tests, a C source with its header.
type unit struct {
	key       string
	dir       string
	paths     []string
	test      bool // by convention, unless production uses it
	sure      bool // a test by its own name, whoever imports it
	helper    bool
	reached   bool // production uses it
	testing   bool // imports a library for tests
	asserts   bool // holds what tests assert with
	tool      bool // neither production nor test: configures tools
	offered   bool // production, because a package ships it (shipping)
	runs      bool // its name speaks of tests: it may start them, so what it imports is not production for that
	uses      []*unit
	users     []*unit
	mentioned []string // data that its literals name
	filled    []string // names of files that its literals have parts of
}

// production reports whether u is neither a test, nor a helper of tests, nor a tool.
func (u *unit) production() bool { return !u.test && !u.helper && !u.tool }

// A survey is what NewChecks learns of a tree. It is thrown away afterwards.
type survey struct {
	*lang.Index
	sub       string
	units     map[string]*unit
	order     []*unit
	dirUnits  map[string][]*unit
	codeBelow map[string]bool
	dataBelow map[string]bool
	dataBases map[string]bool
	data      []string // files that can be data, sorted
	globs     map[*unit][]string
	ships     *shipping // nil: nothing can be read
	doctests  bool      // a source of Python speaks of doctests

	rustTests    map[string]bool // folders with a test of Rust in them or below
	onlyForTests map[string]bool // modules of Rust that only tests compile

	headers map[string][]string // of C, by their names without folders

	nodePackages []string // package.json files, not of dependencies
}

// newSurvey reads a tree. failing are the names of the tests that failed, as far as they are known.
func newSurvey(t Tree, sub string, failing []string) *survey {
	paths := set(t.Paths)
	s := &survey{
		Index: lang.NewIndex(paths, sub), sub: sub, units: map[string]*unit{}, dirUnits: map[string][]*unit{},
		codeBelow: map[string]bool{}, dataBelow: map[string]bool{}, dataBases: map[string]bool{},
		globs: map[*unit][]string{}, onlyForTests: map[string]bool{}, rustTests: map[string]bool{},
		headers: map[string][]string{},
	}
	for _, p := range paths {
		s.note(p)
	}
	if t.Read != nil {
		s.read(paths, t.Read)
		s.ships = newShipping(s, t, failing)
		s.offer()
	}
	s.classify()
	return s
}

// note indexes p by what it may be: code, data, a package.json.
func (s *survey) note(p string) {
	if path.Base(p) == "package.json" && !foreign(p) && len(s.nodePackages) < maxPackages {
		s.nodePackages = append(s.nodePackages, p)
	}
	if slices.Contains([]string{".h", ".hh", ".hpp", ".hxx"}, path.Ext(p)) && !foreign(p) {
		s.headers[path.Base(p)] = append(s.headers[path.Base(p)], p)
	}
	below := s.codeBelow
	if lang.ByPath(p) == "" {
		if !isData(p) {
			return
		}
		below = s.dataBelow
		s.dataBases[path.Base(p)] = true
		s.data = append(s.data, p)
	}
	for d := path.Dir(p); !below[d]; d = path.Dir(d) {
		below[d] = true
		if d == "." || d == "/" {
			return
		}
	}
}

// read reads the sources, tests first: of a tree that is too large, what matters least is left out.
func (s *survey) read(paths []string, read func(string) ([]byte, error)) {
	var tests, rest []string
	for _, p := range paths {
		switch {
		case foreign(p):
		case path.Base(p) == "go.mod":
			if src, err := read(p); err == nil && len(src) <= maxSource {
				s.AddGoModule(path.Dir(p), src)
			}
		case path.Base(p) == "package.json":
			if src, err := read(p); err == nil && len(src) <= maxSource {
				s.AddNodePackage(path.Dir(p), src)
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
		files, testing := lang.Imports(s.Index, p, src)
		if lang.ByPath(p) == "c" {
			files = append(files, s.headersElsewhere(src, files)...)
		}
		u.testing = u.testing || testing
		u.asserts = u.asserts || asserter(src)
		s.doctests = s.doctests || path.Ext(p) == ".py" && bytes.Contains(src, []byte("doctest"))
		u.sure = u.sure && lang.HasTest(p, src) // test_utils.py without a test may be anything
		for _, f := range files {
			s.link(u, s.unit(f))
		}
		for _, f := range lang.TestModules(s.Index, p, src) {
			s.onlyForTests[f] = true
		}
		if path.Ext(p) == ".rs" && bytes.Contains(src, []byte("#[test]")) {
			for dir := path.Dir(p); !s.rustTests[dir] && dir != "."; dir = path.Dir(dir) {
				s.rustTests[dir] = true
			}
		}
		s.literals(u, p, src)
	}
}

var includesHeader = lazily.Regexp(`^#[ \t]*include[ \t]+"([\w./+-]+)"`)

// headersElsewhere returns the headers that src includes, besides those that were found, where only one file of the tree
// has the name: a flag of the compiler says where it is.
func (s *survey) headersElsewhere(src []byte, found []string) (more []string) {
	for line := range bytes.Lines(src) {
		line = bytes.TrimLeft(line, " \t")
		if len(line) == 0 || line[0] != '#' {
			continue
		}
		m := includesHeader().FindSubmatch(line)
		if m == nil {
			continue
		}
		name := string(m[1])
		ends := func(p string) bool { return p == name || strings.HasSuffix(p, "/"+name) }
		if list := s.headers[path.Base(name)]; !slices.ContainsFunc(found, ends) && len(list) == 1 && ends(list[0]) {
			more = append(more, list[0])
		}
	}
	return more
}

func (s *survey) link(from, to *unit) {
	if from != to && !slices.Contains(from.uses, to) {
		from.uses = append(from.uses, to)
		to.users = append(to.users, from)
	}
}

// unit returns the unit that p belongs to.
func (s *survey) unit(p string) *unit {
	key := lang.Unit(p)
	u := s.units[key]
	if u == nil {
		u = &unit{key: key, dir: path.Dir(p)}
		in := s.Rel(p)
		u.sure = lang.TestName(in) || lang.DataName(in)
		u.test = u.sure || lang.TestFolder(in) || lang.DataFolder(in)
		u.tool = lang.Tooling(in)
		u.runs = lang.Testish(in)
		s.units[key] = u
		s.order = append(s.order, u)
		s.dirUnits[u.dir] = append(s.dirUnits[u.dir], u)
	}
	if !slices.Contains(u.paths, p) && s.Has(p) {
		u.paths = append(u.paths, p)
	}
	return u
}

// offer notes the units that are production because a package ships them: of those that only their names or their
// users make a part of the tests.
func (s *survey) offer() {
	for _, u := range s.order {
		in := s.Rel(u.key)
		if u.tool || u.sure || lang.TestFolder(in) || lang.DataFolder(in) || path.Base(in) == "conftest.py" {
			continue
		}
		if u.offered = s.ships.offers(u); u.offered {
			u.test = false
		}
	}
}

// classify finds out what only tests use, and what production uses. Each answer depends on the other: a folder that
// turns out to be production has no helpers, and what such a helper used was production's all along. Both sets only
// shrink, so it ends.
func (s *survey) classify() {
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
			if !u.test && !u.helper && !u.offered && s.onlyTests(u) {
				u.helper, changed = true, true
			}
		}
	}
}

// findProduction follows the imports of production, and reports whether one led to what was taken for a test.
func (s *survey) findProduction() bool {
	var work []*unit
	for _, u := range s.order {
		u.reached = u.production() && !u.runs
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
			folder := v.test && !lang.TestName(s.Rel(v.key))
			reach(v)
			if !folder {
				continue
			}
			// A folder of which production imports a part is a production folder.
			for _, w := range s.dirUnits[v.dir] {
				if w.test && !w.reached && !w.sure && !lang.TestName(s.Rel(w.key)) {
					reach(w)
				}
			}
		}
	}
	return changed
}

// onlyTests reports whether u is a helper: tests use it, nothing else does, and its name, a testing library that it
// imports, or what its tests are about marks it as theirs. Without the last condition, the code under test would count as
// a helper in every library.
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
			subject = subject || by.test && (by.dir == u.dir && lang.ByPath(by.key) == "go" ||
				lang.SubjectOf(by.key) == lang.SubjectOf(u.key))
		}
	}
	if !used {
		return false
	}
	in := s.Rel(u.key)
	sure, maybe := false, false
	if in != lang.GoPackage(path.Dir(in)) {
		sure, maybe = lang.HelperName(strings.TrimSuffix(path.Base(in), path.Ext(in)))
	}
	if dir := path.Dir(in); dir != "." {
		dirSure, dirMaybe := lang.HelperName(path.Base(dir))
		sure, maybe = sure || dirSure, maybe || dirMaybe
	}
	return sure || (maybe || u.testing || u.asserts || s.beside(u)) && !subject
}

// beside reports whether all tests that use u are about something else, each by its name or its folder, and u has no
// test of its own.
func (s *survey) beside(u *unit) bool {
	if u.key == lang.GoPackage(u.dir) && slices.ContainsFunc(s.dirUnits[u.dir], func(by *unit) bool { return by.test && by.sure }) {
		return false
	}
	return !slices.ContainsFunc(u.users, func(by *unit) bool {
		about := func(v *unit) bool { return v != nil && v != u && v.production() && isAbout(by, v) }
		return by.test && !slices.ContainsFunc(by.uses, about) && !about(s.units[lang.GoPackage(by.dir)])
	})
}

// foreign reports whether p is in a folder of dependencies, whose imports are not those of this project.
func foreign(p string) bool { return lang.InFolder(p, foreignFolders()) }

var foreignFolders = lazily.Words(
	"node_modules .venv venv site-packages vendor bower_components .git .async __pycache__")

// set returns the elements of list sorted and each once, in a slice of its own.
func set(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
