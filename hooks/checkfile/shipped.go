package checkfile

// What the packages of a tree ship to their users: such a module is production also where nothing but tests imports
// it here, as a client for the tests of others.

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

const maxShippingLists = 400 // manifests and build files that are read for what they ship

// A shipping knows what packages ship, from their manifests alone: nothing is run.
type shipping struct {
	*survey
	read    func(string) ([]byte, error)
	failing []string        // names of the tests that failed; empty: not known
	ships   fileSet         // without those of out
	out     fileSet         // left out of ships
	folders map[string]bool // Python packages: their modules are shipped
	failed  map[string]bool // tests that name one of failing, or do not
	python  map[string]*pythonPackage
	room    cmakeRoom // of all files of CMake
}

// shippingLists read what a manifest ships, by its name.
var shippingLists = map[string]func(s *shipping, dir string, src []byte){
	"pyproject.toml": (*shipping).pyproject, "setup.cfg": (*shipping).setupCfg, "setup.py": (*shipping).setupPy,
	"package.json":   (*shipping).node,
	"CMakeLists.txt": (*shipping).cmake, "Makefile.am": (*shipping).automake, "meson.build": (*shipping).meson,
	"GNUmakefile": (*shipping).make, "makefile": (*shipping).make, "Makefile": (*shipping).make,
	"Makefile.in": (*shipping).make,
}

func newShipping(s *survey, t Tree, failing []string) *shipping {
	k := &shipping{
		survey: s, read: t.Read, failing: failing, failed: map[string]bool{}, python: map[string]*pythonPackage{},
		ships: fileSet{files: map[string]bool{}}, out: fileSet{files: map[string]bool{}}, folders: map[string]bool{},
		room: maxCMakeRoom,
	}
	n := 0
	for _, p := range set(t.Paths) {
		list := shippingLists[path.Base(p)]
		if list == nil || foreign(p) || n == maxShippingLists {
			continue
		}
		n++
		if src, err := t.Read(p); err == nil && len(src) <= maxSource {
			list(k, path.Dir(p), src)
		}
	}
	for _, p := range k.python {
		p.add(k)
	}
	return k
}

// offers reports whether u is production because a package ships it and the failure is its own: a test of it failed.
// What another test that failed only leans on stays with the check: to weaken it could be all that a patch does.
func (k *shipping) offers(u *unit) bool {
	about, others := false, false
	for _, by := range k.testsOf(u) {
		switch {
		case !isAbout(by, u):
			others = true
		case len(k.failing) == 0 || k.fails(by):
			about = true
		}
	}
	return about && (len(k.failing) > 0 || !others) && (slices.ContainsFunc(u.paths, k.has) || k.exported(u))
}

// has reports whether a package ships the file p.
func (k *shipping) has(p string) bool {
	return (k.ships.has(p) || path.Ext(p) == ".py" && k.folders[path.Dir(p)]) && !k.out.has(p)
}

// exported reports whether u is a Go package that other modules can import.
func (k *shipping) exported(u *unit) bool {
	if u.key != lang.GoPackage(u.dir) || lang.InFolder(u.key, []string{"internal"}) {
		return false
	}
	_, ok := k.inModule(u.dir)
	return ok
}

// inModule returns dir as seen from the folder of its go.mod. ok is false where there is none.
func (k *shipping) inModule(dir string) (rel string, ok bool) {
	for top := dir; ; top = path.Dir(top) {
		switch {
		case k.Has(path.Join(top, "go.mod")) && top == dir:
			return ".", true
		case k.Has(path.Join(top, "go.mod")):
			return lang.Rel(top, dir), true
		case top == "." || top == "/":
			return dir, false
		}
	}
}

// testsOf returns the tests and helpers that use u. Those in the folder of a Go package do, without an import.
func (k *shipping) testsOf(u *unit) []*unit {
	users := slices.Clone(u.users)
	if u.key == lang.GoPackage(u.dir) {
		for _, by := range k.dirUnits[u.dir] {
			if by.test && by.sure && !slices.Contains(users, by) {
				users = append(users, by)
			}
		}
	}
	return users
}

// isAbout reports whether a file is the test of u by its name, or by its folder for a Go package.
func isAbout(by, u *unit) bool {
	if !by.sure {
		return false
	}
	if u.key == lang.GoPackage(u.dir) {
		return by.dir == u.dir && path.Ext(by.key) == ".go"
	}
	subject, stem := lang.SubjectOf(by.key), strings.ToLower(strings.TrimSuffix(path.Base(u.key), path.Ext(u.key)))
	whole, _, _ := strings.Cut(strings.ToLower(path.Base(by.key)), ".") // SubjectOf makes io of iotest
	folder := path.Base(u.dir)
	inFolder, _ := lang.HelperName(folder)
	return subject == stem || strings.TrimPrefix(whole, "test_") == stem ||
		subject == strings.ToLower(folder) && (inFolder || stem == "__init__" || stem == "index")
}

// fails reports whether a test that failed is in the file of by, or has the name of its program.
func (k *shipping) fails(by *unit) bool {
	known, ok := k.failed[by.key]
	if !ok {
		if src, err := k.read(by.key); err == nil && len(src) <= maxSource {
			dir, _ := k.inModule(by.dir)
			known = slices.ContainsFunc(k.failing, func(name string) bool { return inFile(name, by.key, dir, string(src)) })
		}
		k.failed[by.key] = known
	}
	return known
}

// goTestName matches what go test calls a test, with its package or without.
var goTestName = lazily.Regexp(`^(?:(\S+?)\.)?((?:Test|Example|Fuzz)[^/\s]*)`)

// inFile reports whether a test may be in the file p with text src, in the folder dir of its Go module. Where the name
// tells its file, module or Go package, that decides: tests of one name are in many files.
func inFile(name, p, dir, src string) bool {
	base := path.Base(p)
	stem := strings.TrimSuffix(base, path.Ext(base))
	file, _, named := strings.Cut(name, "::")
	first, _, _ := strings.Cut(name, " ")
	switch ext := path.Ext(p); {
	case named && path.Ext(file) != "":
		return path.Base(file) == base
	case ext == ".go":
		m := goTestName().FindStringSubmatch(name)
		return m != nil && strings.Contains(src, "func "+m[2]+"(") &&
			(m[1] == "" || dir == "." || strings.HasSuffix(m[1], "/"+dir))
	case ext == ".py" && strings.Contains(first, "."):
		return slices.Contains(strings.Split(first, "."), stem)
	}
	last := strings.ToLower(path.Base(name))
	return mentions(src, base, name) || last == strings.ToLower(stem) || last == lang.SubjectOf(p)
}

// file ships p, which a manifest in dir names, where it is a file of the tree; a folder ships its files of one of
// exts below it; a pattern ships what it matches.
func (k *shipping) file(dir, name string, exts string) {
	p := path.Join(dir, name)
	switch {
	case strings.ContainsAny(name, "*?["):
		if doublestar.ValidatePattern(name) {
			k.ships.globs = append(k.ships.globs, path.Join(literal(dir), name))
		}
	case k.Has(p):
		k.ships.files[p] = true
	case k.IsDir(p):
		k.ships.globs = append(k.ships.globs, path.Join(literal(p), "**/*"+exts))
	}
}
