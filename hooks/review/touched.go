package review

// protected_file, check_file, check_config, dependency_changed, mode_changed and symlink_out: what was touched, and what it is now.

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

var requirement = late.Regexp(`^\s*[A-Za-z][\w.\-\[\], ]*\s*(?:[=<>!~]=?|@|;|$)`)

func (r *report) touched(e *edit) {
	if e.class > 0 {
		how := "changed"
		switch {
		case e.isNew():
			how = "new"
		case !e.exists():
			how = "removed"
		}
		what := map[int]string{
			1: "named by protect, or PIPELINE.hcl", 2: "a test, or what only tests use", 3: "what tests read", 4: "what the command names or loads",
			5: "what the runner loads by itself",
		}[e.class]
		second := "the second check has it as it was"
		switch {
		case e.stays:
			second = "only what is tried: the second check has the change too"
		case e.class == 4 && r.checks.OnlyBuilds(e.change):
			second = "only what builds: the second check has the change too"
		}
		r.add(e, e.rule, -1, false, "%s, %s; %s", what, how, second)
	} else {
		r.parts(e)
	}
	if b, a := e.change.Before, e.change.After; b != nil && a != nil {
		switch {
		case link(b) != link(a):
			kind := map[bool]string{true: "a symbolic link", false: "a file"}
			r.add(e, ModeChanged, -1, false, "%s became %s", kind[link(b)], kind[link(a)])
		case b.Mode.Type() == 0 && a.Mode.Type() == 0 && executable(b) != executable(a):
			word := map[bool]string{true: "can be executed now", false: "can no longer be executed"}
			r.add(e, ModeChanged, -1, false, "%s", word[executable(a)])
		}
	}
}

func executable(f *patch.File) bool {
	return f != nil && f.Mode.Type() == 0 && f.Mode&fs.FileMode(0o100) != 0
}

// parts reports on a manifest.
func (r *report) parts(e *edit) {
	parts := r.checks.Parts(e.change)
	for _, p := range parts {
		line := p.Line - 1
		if p.Check {
			r.add(e, CheckConfig, line, false, "%s; the second check has it as it was", p.Name)
		} else {
			r.add(e, DependencyChanged, line, false, "%s", p.Name)
		}
	}
	if len(parts) > 0 || e.opaque {
		return
	}
	base := path.Base(e.path)
	if !strings.HasPrefix(base, "requirements") && !strings.HasPrefix(base, "constraints") || path.Ext(base) != ".txt" && path.Ext(base) != ".in" {
		return
	}
	for _, j := range e.added {
		if line := e.after.lines[j]; !e.moved[j] && requirement().MatchString(line) {
			r.add(e, DependencyChanged, j, false, "%s", strings.TrimSpace(line))
		}
	}
	for _, i := range e.removed {
		if line := e.before.lines[i]; requirement().MatchString(line) {
			r.add(e, DependencyChanged, e.at(i), false, "was %s", strings.TrimSpace(line))
		}
	}
}

// links looks where a symbolic link leads: by its text, through the other links of the patch. It caps in a check file too: applying the patch makes it.
func (r *report) links(e *edit) {
	if !link(e.change.After) {
		return
	}
	target := string(e.change.After.Data)
	if path.IsAbs(target) {
		r.put(e, SymlinkOut, -1, true, "leads to %s", target)
	} else if !r.inside(path.Dir(e.path), target) {
		r.put(e, SymlinkOut, -1, true, "leads out of the tree, or into .git: %s", target)
	}
}

// inside follows a target from a folder, name by name.
func (r *report) inside(dir, target string) bool {
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
		i, ok := slices.BinarySearchFunc(r.edits, at, func(e *edit, p string) int { return strings.Compare(e.path, p) })
		if ok && link(r.edits[i].change.After) {
			next := string(r.edits[i].change.After.Data)
			if path.IsAbs(next) || len(next) > 4096 {
				return false
			}
			todo = append(strings.Split(next, "/"), todo...)
			at = path.Dir(at)
		}
	}
	return true
}
