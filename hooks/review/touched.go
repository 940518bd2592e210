package review

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

var (
	requirements = lazily.Regexp(`^(?:requirements|constraints).*\.(?:txt|in)$`)
	requirement  = lazily.Regexp(`^\s*[A-Za-z][\w.\-\[\], ]*\s*(?:[=<>!~]=?|@|;|$)`)

	// depends is a line that names a dependency, its version or its place.
	depends = lazily.Regexp(`(?i)\b\d+\.\d+|<(?:version|groupId|artifactId|dependency|parent|repository|url)\b` +
		`|<Package(?:Reference|Version)|\b(?:api|implementation|compileOnly|runtimeOnly|annotationProcessor` +
		`|classpath|test\w*Implementation|testRuntimeOnly)\b\s*[( ]|\bdependency\s*\(|^\s*gem\b|\b(?:url` +
		`|submodule|git|branch|path|rev|tag)\b\s*[:=]|\bversion\b|"[\w.-]+:[\w.-]+`)
	host = lazily.Regexp(`\b(?:https?|git|ssh)(?:\+\w+)?://(?:[^/@\s"']*@)?([\w.-]+)`)
)

// checkFile reports a change of a check file, or of the parts of a manifest: protected_file, check_file, check_config
// and dependency_changed.
func checkFile(e *edit) (found findings) {
	if e.class == none {
		return parts(e)
	}
	how := "changed"
	switch {
	case e.isNew():
		how = "new"
	case !e.exists():
		how = "removed"
	}
	what := map[int]string{
		protected: "named by protect, or PIPELINE.hcl", testFile: "a test, or what only tests use",
		testData:  "what tests read",
		namedFile: "what the command names or loads", loadedFile: "what the runner loads by itself",
	}[e.class]
	if e.class == loadedFile && checkfile.IsObject(e.path) {
		what = "compiled code, which may be taken in place of sources"
	}
	second := "the second check has it as it was"
	switch {
	case e.stays:
		second = "only what is tried: the second check has the change too"
	case e.of.checks.Idle(e.change):
		second = "only how it is written, or a marker: the second check has the change too"
	case e.class == namedFile && e.of.checks.OnlyBuilds(e.change, e.of.changes):
		second = "only what builds: the second check has the change too"
	}
	found.add(e, e.kind(), -1, false, "%s, %s; %s", what, how, second)
	return found
}

// modes reports a file that became a symbolic link, or another kind of program: mode_changed.
func modes(e *edit) (found findings) {
	if b, a := e.change.Before, e.change.After; b != nil && a != nil {
		switch {
		case link(b) != link(a):
			kind := map[bool]string{true: "a symbolic link", false: "a file"}
			found.add(e, rules.ModeChanged, -1, false, "%s became %s", kind[link(b)], kind[link(a)])
		case b.Mode.Type() == 0 && a.Mode.Type() == 0 && executable(b) != executable(a):
			word := map[bool]string{true: "can be executed now", false: "can no longer be executed"}
			found.add(e, rules.ModeChanged, -1, false, "%s", word[executable(a)])
		}
	}
	return found
}

// executable reports whether f is a file that can be executed.
func executable(f *patch.File) bool {
	return f != nil && f.Mode.Type() == 0 && f.Mode&fs.FileMode(0o100) != 0
}

// parts reports on a manifest.
func parts(e *edit) (found findings) {
	list := e.of.checks.Parts(e.change)
	for _, part := range list {
		line := part.Line - 1
		switch {
		case part.Test:
			found.add(e, rules.CheckFile, line, false, "a test in a source: %s; the second check has it as it was", part.Name)
		case part.Check:
			found.add(e, rules.CheckConfig, line, false, "%s; the second check has it as it was", part.Name)
		default:
			found.add(e, rules.DependencyChanged, line, false, "%s", part.Name)
		}
	}
	if len(list) > 0 || e.opaque {
		return found
	}
	base := path.Base(e.path)
	if !requirements().MatchString(base) {
		return found
	}
	for _, j := range e.fresh {
		if line := e.after.lines[j]; requirement().MatchString(line) {
			found.add(e, rules.DependencyChanged, j, false, "%s", strings.TrimSpace(line))
		}
	}
	for _, i := range e.removed {
		if line := e.before.lines[i]; requirement().MatchString(line) {
			found.add(e, rules.DependencyChanged, e.at(i), false, "was %s", strings.TrimSpace(line))
		}
	}
	return found
}

// links reports a symbolic link that leads out of the tree, by its text and through the other links of the patch.
// It caps in a check file too: applying the patch makes it. The kind is symlink_out.
func links(e *edit) (found findings) {
	if !link(e.change.After) {
		return found
	}
	target := string(e.change.After.Data)
	if path.IsAbs(target) {
		found.put(e, rules.SymlinkOut, -1, true, "leads to %s", target)
	} else if !e.of.inside(path.Dir(e.path), target) {
		found.put(e, rules.SymlinkOut, -1, true, "leads out of the tree, or into .git: %s", target)
	}
	return found
}

// inside reports whether a target leads to a place in the tree. It follows it from a folder, name by name.
func (p *proposal) inside(dir, target string) bool {
	todo := strings.Split(target, "/")
	at := path.Clean(dir)
	for steps := 0; len(todo) > 0; steps++ {
		if steps > 4000 {
			return false // a loop
		}
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if at == "." || strings.HasPrefix(at, "..") {
				return false
			}
			at = path.Dir(at)
			continue
		}
		at = path.Join(at, name)
		if at == ".git" || strings.HasPrefix(at, ".git/") {
			return false
		}
		if e := p.edit(at); e != nil && link(e.change.After) {
			next := string(e.change.After.Data)
			if path.IsAbs(next) || len(next) > 4096 {
				return false
			}
			todo = append(strings.Split(next, "/"), todo...)
			at = path.Dir(at)
		}
	}
	return true
}

// lockFile reports a change of a file that a package manager writes: dependency_changed.
func lockFile(e *edit) (found findings) {
	switch {
	case !slices.Contains(rules.LockFiles(), path.Base(e.path)):
	case e.opaque:
		found.add(e, rules.DependencyChanged, -1, false, "a lock file that is no text")
	case !e.exists():
		found.add(e, rules.DependencyChanged, -1, false, "a lock file is gone: any version may be taken")
	case len(e.added)+len(e.removed) == 0:
	default:
		from := ""
		if hosts := newHosts(e); len(hosts) > 0 {
			from = ", from a new place: " + strings.Join(hosts, ", ")
		}
		found.add(e, rules.DependencyChanged, -1, false,
			"a lock file: %d lines added, %d removed%s", len(e.added), len(e.removed), from)
	}
	return found
}

// newHosts returns the machines that added lines name and the file before did not.
func newHosts(e *edit) []string {
	known := map[string]bool{}
	for _, m := range host().FindAllStringSubmatch(text(e.change.Before), -1) {
		known[m[1]] = true
	}
	var hosts []string
	for _, j := range e.added {
		for _, m := range host().FindAllStringSubmatch(e.after.lines[j], -1) {
			if !known[m[1]] {
				known[m[1]] = true
				hosts = append(hosts, m[1])
			}
		}
	}
	return hosts
}

// buildFile reports the first line that names a dependency of what is built, and the first other one. A build file
// stays as the patch left it for both checks. What it says of tests is found by patterns.
func buildFile(e *edit) (found findings) {
	if e.opaque || e.class != none || !rules.BuildFile(e.path) {
		return nil
	}
	version, other := -1, -1
	disarms := func(line string) bool {
		return strings.HasPrefix(path.Base(e.path), "meson") && checkfile.Disarms(line)
	}
	sort := func(j int, line string) {
		switch {
		case strings.TrimSpace(line) == "" || inBuild(e.path, line):
		case depends().MatchString(line) && version < 0:
			version = j
		case !depends().MatchString(line) && other < 0:
			other = j
		}
	}
	for _, j := range e.fresh {
		sort(j, e.after.lines[j])
	}
	for _, i := range e.removed {
		if other < 0 && version < 0 || depends().MatchString(e.before.lines[i]) {
			sort(e.at(i), e.before.lines[i])
		}
	}
	if j := slices.IndexFunc(e.fresh, func(j int) bool { return disarms(e.after.lines[j]) }); j >= 0 {
		found.add(e, rules.ExitSwallowed, e.fresh[j], true, "takes the asserts out of what is built: %s", e.after.trimmed(e.fresh[j]))
	}
	if version >= 0 {
		line := "a line is gone"
		if e.exists() && version < len(e.after.lines) {
			line = e.after.trimmed(version)
		}
		found.add(e, rules.DependencyChanged, version, false, "what it is built with: %s", line)
	}
	if other >= 0 {
		found.add(e, rules.CheckConfig, other, false,
			"how it is built, and perhaps tested; the second check has the change too")
	}
	return found
}

// inBuild reports whether a line of a build file is found by a rule of its own.
func inBuild(name, line string) bool {
	s := newSide("", line)
	return slices.ContainsFunc(general(), func(m *matcher) bool {
		return m.In == rules.Builds && strings.HasSuffix(name, m.File) && len(m.find(s, 0)) > 0
	})
}
