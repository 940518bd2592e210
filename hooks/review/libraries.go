package review

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var (
	goReplace   = lazily.Regexp(`(?:^\s*replace\s|=>)\s*.*(?:=>\s*)?(?:\.{0,2}/|[A-Za-z]:)\S*`)
	localDep    = lazily.Regexp(`^\s*["'](@?[\w./-]+)["']\s*:\s*["'](?:file:|link:|portal:)`)
	vendoredMod = lazily.Regexp(`^# (\S+) v\S+`)
	cInclude    = lazily.Regexp(`(?m)^\s*#\s*(?:include|define|pragma|ifn?def)\b`)

	headerFolders = []string{"include", "inc", "src", "lib", "headers"}
)

// replaced reports dependencies that a manifest takes from the tree: library_shadowed.
func replaced(e *edit) (found findings) {
	for _, j := range e.fresh {
		switch line := e.after.plain(j); path.Base(e.path) {
		case "go.mod", "go.work":
			if strings.Contains(line, "=>") && goReplace().MatchString(line) {
				found.put(e, rules.LibraryShadowed, j, false, "%s", strings.TrimSpace(line))
			}
		case "package.json":
			if m := localDep().FindStringSubmatch(line); m != nil {
				found.add(e, rules.LibraryShadowed, j, testLibraryName(m[1]), "%s", strings.TrimSpace(line))
			}
		}
	}
	return found
}

// testLibraryName reports whether tests assert with a package of npm, or are run by it.
func testLibraryName(name string) bool {
	return slices.ContainsFunc(rules.NodeTestLibraries(), func(lib string) bool {
		return name == lib || strings.HasSuffix(lib, "/") && strings.HasPrefix(name, lib)
	})
}

// modules reports a new file that has the name of a library: library_shadowed.
func modules(e *edit) (found findings) {
	p := e.of
	if !e.isNew() {
		return found
	}
	dir, base := path.Split(e.path)
	dir = path.Clean(dir)
	name, isPy := strings.CutSuffix(base, ".py")
	if base == "__init__.py" {
		name, isPy = path.Base(dir), true
		dir = path.Dir(dir)
	}
	shadow := compile(rules.For(e.language).Shadow)
	switch {
	case shadow != nil && shadow.MatchString(e.path):
		found.add(e, rules.LibraryShadowed, -1, true, "is loaded instead of a library, or at every start")
	case isPy && slices.Contains(rules.PythonModules(), name):
		if p.checks.Has(path.Join(dir, "__init__.py")) || p.edit(path.Join(dir, "__init__.py")) != nil {
			return found // a module of a package has a name of its own: package.json, not json
		}
		if p.checks.Has(path.Join(dir, name+".py")) || p.checks.Has(path.Join(dir, name, "__init__.py")) {
			return found // a module that became a package, or the other way round
		}
		// Python searches first the root, in src, and in the folder of the file that it runs; which one that is
		// cannot be told.
		top := dir == "." || dir == p.checks.Sub || path.Base(dir) == "src" || path.Base(dir) == "lib"
		found.add(e, rules.LibraryShadowed, -1, top, "is imported instead of Python's own or an installed %s", name)
	case path.Base(dir) == "gtest" && base == "gtest.h" && e.language == "c":
		found.add(e, rules.LibraryShadowed, -1, false, "is included instead of an installed GoogleTest")
	}
	return found
}

// dependencies reports installed libraries in the tree that changed: library_shadowed.
func dependencies(e *edit) (found findings) {
	_, inner, node := cutLast("/"+e.path, "/node_modules/")
	switch {
	case strings.Contains(e.path, "node_modules/.bin/"):
	case node && !strings.HasPrefix(inner, "."):
		name, _, _ := strings.Cut(inner, "/")
		if strings.HasPrefix(name, "@") {
			rest := strings.TrimPrefix(inner, name+"/")
			first, _, _ := strings.Cut(rest, "/")
			name += "/" + first
		}
		manifest := strings.TrimSuffix(e.path, inner) + name + "/package.json"
		found.add(e, rules.LibraryShadowed, -1, testLibraryName(name) || !e.of.versionChanged(manifest),
			"an installed dependency: %s", name)
	default:
		before, file, ok := cutLast("/"+e.path, "/vendor/")
		if !ok || file == "modules.txt" {
			return found
		}
		// go.sum has digests of whole modules, and vendor/ a part of each: offline nothing proves that a copy is of
		// that version.
		parts := strings.Split(file, "/")
		isGo := strings.Contains(parts[0], ".") && len(parts) > 2
		if e.of.vendored(strings.TrimPrefix(before+"/vendor", "/"), file) {
			found.add(e, rules.LibraryShadowed, -1, false,
				"a vendored dependency, with another version: nothing here proves that this is its code")
		} else {
			found.add(e, rules.LibraryShadowed, -1, isGo, "a vendored dependency was changed, not its version")
		}
	}
	return found
}

// cutLast is strings.Cut around the last sep.
func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// versionChanged reports whether the patch gives an installed package another version: then its files change with it.
func (p *proposal) versionChanged(manifest string) bool {
	e := p.edit(manifest)
	return e != nil && slices.ContainsFunc(e.added,
		func(j int) bool { return strings.Contains(e.after.lines[j], `"version"`) })
}

// vendored reports whether the patch gives the module of a file of a vendor folder another version.
func (p *proposal) vendored(folder, file string) bool {
	e := p.edit(folder + "/modules.txt")
	if e == nil {
		return false
	}
	names := func(line string) bool {
		m := vendoredMod().FindStringSubmatch(line)
		return m != nil && strings.HasPrefix(file, m[1]+"/")
	}
	return slices.ContainsFunc(e.added, func(j int) bool { return names(e.after.lines[j]) }) ||
		slices.ContainsFunc(e.removed, func(i int) bool { return names(e.before.lines[i]) })
}

// headers reports a new header of C that has the name of one of the system.
func headers(e *edit) (found findings) {
	dir, base := path.Split(e.path)
	dir = path.Clean(dir)
	if !e.isNew() || e.class == testData || e.of.renamed(e, base) {
		return found
	}
	caps := slices.Contains(rules.CHeaders(), base) || path.Base(dir) == "sys" && slices.Contains(rules.SysHeaders(), base)
	switch {
	case caps:
	case slices.Contains(rules.PlainHeaders(), base):
		caps = dir == "." || dir == e.of.checks.Sub || slices.Contains(headerFolders, path.Base(dir)) ||
			wraps(text(e.change.After), base)
	case slices.Contains(rules.PlusHeaders(), base):
		if caps = cInclude().MatchString(text(e.change.After)); !caps {
			return found
		}
	default:
		return found
	}
	found.add(e, rules.LibraryShadowed, -1, caps, "is included instead of the system's %s", base)
	return found
}

// wraps reports whether a header includes the one of the system that has its name. It is then found before that one.
func wraps(text, base string) bool {
	return strings.Contains(text, "include_next") || strings.Contains(text, "<"+base+">")
}

// renamed reports whether a file of the same name is gone from another folder. e exists.
func (p *proposal) renamed(e *edit, base string) bool { return p.gone[classed{base, e.class}] }

var (
	function = lazily.Regexp(`^\s*(?:function\s+)?([\w.+-]+)\s*\(\s*\)\s*[{(]?`)
	alias    = lazily.Regexp(`^\s*alias\s+(?:-\w\s+)?([\w.+-]+)=`)
)

// programs reports what is found in place of a program that a check starts: program_shadowed.
func programs(e *edit) (found findings) {
	base := path.Base(e.path)
	became := executable(e.change.After) && !executable(e.change.Before)
	switch {
	case !e.exists():
	case strings.Contains("/"+e.path, "/node_modules/.bin/"):
		found.add(e, rules.ProgramShadowed, -1, true, "npm's scripts find %s here before any other", base)
	case slices.Contains(checkfile.Programs(), base) && (became || link(e.change.After) && !link(e.change.Before)):
		found.add(e, rules.ProgramShadowed, -1, true, "can be executed and is named like the program %s", base)
	case slices.Contains(checkfile.Programs(), base) && executable(e.change.After):
		found.add(e, rules.ProgramShadowed, -1, false, "is named like the program %s, and changed", base)
	}
	if e.opaque || e.class == testData || e.language != "shell" {
		return found
	}
	for _, j := range e.fresh {
		for _, re := range []func() *regexp.Regexp{function, alias} {
			m := re().FindStringSubmatch(e.after.code(j))
			if m != nil && slices.Contains(checkfile.Programs(), m[1]) {
				found.add(e, rules.ProgramShadowed, j, false, "%s is a function or an alias from here on", m[1])
			}
		}
	}
	return found
}
