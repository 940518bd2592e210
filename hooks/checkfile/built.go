package checkfile

// Sources that only a check builds: test programs that no name shows. Which these are is read from the build itself:
// what the goals of the check need and the default goal, all and install do not.

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
)

const (
	maxTargetsFollowed = 5_000 // of one Makefile
	maxPatternRules    = 1_000 // that are looked at for a target
)

var (
	compiled = lazily.Words(".c .cc .cpp .cxx .m .mm")

	// productGoals are what a Makefile builds and installs for its users, besides its default goal.
	productGoals = lazily.Words("all build install install-bin install-lib install-exec install-data lib libs static shared")

	mainFunction = lazily.Regexp(`(?m)^[ \t]*(?:int|void|auto)?\s*main\s*\(\s*([^)]*)\)`)
	readsOptions = lazily.Regexp(`\bargv\s*\[|\bgetopt\w*\s*\(`)

	// asserts is what a test program does, without the line ends of a library for tests.
	asserts = lazily.Regexp(`\bassert\s*\(|\b(?:ASSERT|EXPECT|CHECK|REQUIRE|TEST)\w*\s*\(|\bck_assert|` +
		`"[^"\n]*\b(?:FAIL|FAILED|fail|failed|not ok|PASS|passed)\b`)
)

// isCompiled reports whether p is a source of C or its like, but no header.
func isCompiled(p string) bool { return slices.Contains(compiled(), strings.ToLower(path.Ext(p))) }

// testishName reports whether the name of a program or of its source speaks of tests: test, calc-test, TestCalc.
func testishName(p string) bool {
	stem := strings.TrimSuffix(path.Base(p), path.Ext(p))
	sure, _ := lang.HelperName(stem)
	return sure || lang.HasWord(stem, checkWords())
}

// testProgram reports whether a compiled source is a test by what it holds: a library for tests, or a main function
// that asserts, or that has the name of a test. A program that reads its arguments is what is tested.
func (n *finder) testProgram(p string) bool {
	if !isCompiled(p) || n.imported(p) {
		return false
	}
	if u := n.seen.units[n.key(p)]; u != nil && u.testing {
		return true
	}
	src, ok := n.readOnce(p, "program")
	if !ok {
		return n.programs[p]
	}
	m := mainFunction().FindSubmatch(src)
	n.programs[p] = m != nil && (testishName(p) || asserts().Match(src)) && !readsOptions().Match(src)
	return n.programs[p]
}

// compiles adds the test programs among the sources that a program is given: a compiler, whatever it is called.
func (n *finder) compiles(args []string, w site) {
	n.operands(args, w, func(word string, w site) {
		if p := n.resolve(word, w); n.seen.Has(p) && n.testProgram(p) {
			n.addUnit(p)
		}
	})
}

// addUnit adds a source with its header.
func (n *finder) addUnit(p string) {
	n.files[p] = true
	n.settingsOf(p)
	if u := n.seen.units[lang.Unit(p)]; u != nil && !n.imported(p) {
		for _, file := range u.paths {
			n.files[file] = true
		}
	}
}

// onlyFor adds the sources among tested that are not among shipped. Where nothing that is shipped is known, or what
// was asked for is the program itself, only those count that are tests by what they hold.
func (n *finder) onlyFor(tested, shipped map[string]bool, certain bool) {
	units := map[string]bool{}
	for p := range shipped {
		if lang.ByPath(p) == "c" {
			units[lang.Unit(p)] = true
		}
	}
	certain = certain && len(units) > 0
	for _, p := range slices.Sorted(maps.Keys(tested)) {
		if isCompiled(p) && !foreign(p) && !units[lang.Unit(p)] && (certain && !n.imported(p) || n.testProgram(p)) {
			n.addUnit(p)
		}
	}
}

// A buildWalk follows the targets of a Makefile to the files that they are made of.
type buildWalk struct {
	n      *finder
	m      *makefile
	w      site
	except func(target string) bool
	seen   map[string]bool
	files  map[string]bool
	made   map[string]bool // targets with a recipe
	vague  bool            // something could not be followed
}

// builtFor adds the sources that only the goals of a check build.
func (n *finder) builtFor(m *makefile, goals []string, w site) {
	tested := n.walkBuild(m, goals, w, func(string) bool { return false })
	n.isMade(m, tested)
	var roots []string
	for _, goal := range append(m.defaultGoal(), productGoals()...) {
		if len(m.rulesOf(goal)) > 0 && !slices.Contains(goals, goal) && !checkName(goal) {
			roots = append(roots, goal)
		}
	}
	shipped := n.walkBuild(m, roots, w, func(target string) bool { // all may build the tests too
		return path.Ext(target) == "" && testishName(target)
	})
	n.onlyFor(tested.files, shipped.files, !shipped.vague && !slices.ContainsFunc(goals, func(goal string) bool {
		return !checkName(goal)
	}))
}

func (n *finder) walkBuild(m *makefile, goals []string, w site, except func(string) bool) *buildWalk {
	b := &buildWalk{n: n, m: m, w: w, except: except, seen: map[string]bool{}, files: map[string]bool{}, made: map[string]bool{}}
	for _, goal := range goals {
		b.target(goal)
	}
	return b
}

// target follows a target, with what it needs and what its recipe names.
func (b *buildWalk) target(target string) {
	switch {
	case b.seen[target]:
		return
	case len(b.seen) > maxTargetsFollowed || strings.ContainsRune(target, shelltext.Unknown):
		b.vague = true
		return
	}
	b.seen[target] = true
	if b.except(target) {
		return
	}
	b.file(path.Join(b.w.dir, target))
	made := false
	for _, i := range b.m.rulesOf(target) {
		r := &b.m.rules[i]
		b.rule(r, target, "")
		made = made || len(r.recipe) > 0
	}
	if made || b.implicit(target) {
		b.made[target] = true
	}
}

// rule follows what a rule needs and names. stem is what % stands for in it.
func (b *buildWalk) rule(r *makeSegment, target, stem string) {
	var needs []string
	for _, need := range strings.Fields(b.m.expand(strings.Join(r.prereqs, " "))) {
		if stem != "" {
			need = strings.Replace(need, "%", stem, 1)
		}
		needs = append(needs, need)
		b.target(need)
	}
	first := ""
	if len(needs) > 0 {
		first = needs[0]
	}
	automatic := map[string]string{"@": target, "<": first, "^": strings.Join(needs, " "), "*": stem}
	maps.Copy(b.m.vars, automatic)
	var text strings.Builder
	for _, line := range r.recipe {
		text.WriteString(b.m.recipe(line) + "\n")
	}
	for name := range automatic {
		delete(b.m.vars, name)
	}
	for _, c := range shelltext.Commands(text.String()) {
		words := shelltext.Unwrap(c.Words)
		if len(words) == 0 {
			continue
		}
		if base := path.Base(words[0]); base == "make" || base == "gmake" || base == "cmake" || base == "ninja" {
			b.vague = true
		}
		for _, word := range words {
			if ext := path.Ext(word); lang.ByPath(word) == "c" && ext != "" {
				b.file(path.Join(b.w.dir, word))
			}
		}
	}
}

// implicit follows the rule that make finds by itself: a pattern of the Makefile, else one that it knows. It reports
// whether there is one.
func (b *buildWalk) implicit(target string) bool {
	for _, p := range b.m.patternRules() {
		if len(target) < len(p.before)+len(p.after) || !strings.HasPrefix(target, p.before) || !strings.HasSuffix(target, p.after) {
			continue
		}
		stem := target[len(p.before) : len(target)-len(p.after)]
		needs := strings.Fields(b.m.expand(strings.Join(p.rule.prereqs, " ")))
		if len(needs) > 0 && b.n.seen.Has(path.Join(b.w.dir, strings.Replace(needs[0], "%", stem, 1))) {
			b.rule(p.rule, target, stem)
			return true
		}
	}
	stem, object := strings.CutSuffix(target, ".o")
	if !object && path.Ext(target) != "" {
		return false
	}
	for _, dir := range append([]string{"."}, strings.FieldsFunc(b.m.expand(b.m.vars["VPATH"]), isPathEnd)...) {
		for _, ext := range compiled() {
			if p := path.Join(b.w.dir, dir, stem+ext); b.n.seen.Has(p) {
				b.file(p)
				return true
			}
		}
	}
	return false
}

// A patternRule is a rule of a Makefile for all targets with such a name.
type patternRule struct {
	rule          *makeSegment
	before, after string // the %
}

// patternRules returns the pattern rules in their order.
func (m *makefile) patternRules() []patternRule {
	if m.patterns == nil {
		m.patterns = []patternRule{}
		for i := range m.rules {
			for _, pattern := range m.rules[i].targets {
				before, after, ok := strings.Cut(m.expand(pattern), "%")
				if ok && len(m.patterns) < maxPatternRules {
					m.patterns = append(m.patterns, patternRule{&m.rules[i], before, after})
				}
			}
		}
	}
	return m.patterns
}

func isPathEnd(c rune) bool { return c == ':' || c == ' ' }

// file notes a source of the tree, and what it includes.
func (b *buildWalk) file(p string) {
	if b.files[p] || !b.n.seen.Has(p) {
		return
	}
	b.files[p] = true
	if u := b.n.seen.units[lang.Unit(p)]; u != nil {
		for _, used := range u.uses {
			for _, file := range used.paths {
				b.file(file)
			}
		}
	}
}

// automake adds the sources that a Makefile.am builds only for its tests.
func (n *finder) automake(w site) {
	src, ok := n.readOnce(path.Join(w.dir, "Makefile.am"), "automake")
	if !ok {
		return
	}
	m := &makefile{vars: map[string]string{}}
	for _, s := range parseMakefile(string(src)) {
		if s.kind == makeVariable {
			m.set(s)
		}
	}
	tested, shipped := map[string]bool{}, map[string]bool{}
	for name := range maps.Clone(m.vars) {
		where, primary, ok := strings.Cut(name, "_")
		if !ok || !slices.Contains([]string{"PROGRAMS", "LIBRARIES", "LTLIBRARIES", "HEADERS"}, primary) {
			continue
		}
		to := shipped
		if where == "check" {
			to = tested
		}
		for _, program := range strings.Fields(m.expand(m.vars[name])) {
			if where == "noinst" && testishName(program) {
				to = tested
			}
			sources := m.vars[strings.NewReplacer(".", "_", "-", "_", "/", "_").Replace(program)+"_SOURCES"]
			if sources == "" {
				sources = program + ".c " + program + ".cpp " + program + ".cc"
			}
			for _, file := range strings.Fields(m.expand(sources)) {
				if p := path.Join(w.dir, file); n.seen.Has(p) {
					to[p] = true
				}
			}
		}
	}
	n.onlyFor(tested, shipped, true)
}
