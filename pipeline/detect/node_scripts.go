// Which scripts of a package.json become tasks.
package detect

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// scriptSorts are the names of scripts that check, test or build, in the order of the tasks. A name with a part
// (test:unit) is taken where there is no plain one, which usually calls it.
var scriptSorts = []struct {
	sort  string
	names []string
}{
	{"format", []string{"format:check", "format-check", "check:format", "check-format", "fmt:check", "prettier:check"}},
	{"lint", []string{"lint", "eslint"}},
	{"typecheck", []string{"typecheck", "type-check", "check-types", "types:check", "check:types", "tsc"}},
	{"check", []string{"check"}},
	{"build", []string{"build", "compile"}},
	{"test", []string{"test"}},
}

// elsewhere are parts of a name that exclude a script: it does not end, changes the sources, or needs more than a
// checkout.
var elsewhere = []string{
	"watch", "fix", "write", "update", "dev", "start", "serve", "open", "ui", "debug", "deploy", "publish", "release",
	"e2e", "browser",
	"docker", "push", "storybook", "preview", "clean", "install", "staging", "live",
}

var (
	endless = lazily.Regexp(`(^|\s)--?(watch(All)?|fix|write|serve)(\s|=true|$)|\b(nodemon|tsc-watch|webpack-dev-server)\b`)
	nothing = lazily.Regexp(`no test specified`)
	// runners that wait for changes where they find no CI.
	waits = lazily.Regexp(`\b(vitest|react-scripts test)\b`)
	calls = lazily.Regexp(`\b(npm|pnpm|yarn|bun)\s+(run\s+|-s\s+)?([\w:.-]+)`)
)

// maxParts is how many parts of a script (test:a, test:b …) become tasks.
const maxParts = 12

// taken returns the scripts that become tasks, in order, and those of the others that a person might miss.
func taken(scripts map[string]string) (take, left []string) {
	names := sorted(scripts)
	for _, s := range scriptSorts {
		var plain, parts []string
		for _, n := range s.names {
			if fit(n, scripts[n]) {
				plain = append(plain, n)
				break
			}
		}
		for _, n := range names {
			if head, _, ok := strings.Cut(n, ":"); ok && slices.Contains(s.names, head) && fit(n, scripts[n]) &&
				len(parts) < maxParts && !slices.Contains(take, n) {
				parts = append(parts, n)
			}
		}
		if len(plain) > 0 {
			parts = nil
		}
		take = append(append(take, plain...), parts...)
	}
	// A check that only calls others that are tasks already would run them twice.
	take = slices.DeleteFunc(take, func(n string) bool {
		others := calls().FindAllStringSubmatch(scripts[n], -1)
		return n == "check" && slices.ContainsFunc(others, func(c []string) bool {
			return c[3] != n && slices.Contains(take, c[3])
		})
	})
	for _, n := range names {
		if !slices.Contains(take, n) && !strings.HasPrefix(n, "pre") && !strings.HasPrefix(n, "post") {
			left = append(left, n)
		}
	}
	return take, left
}

// scriptSort returns the sort of a script that is a task. yarn's have the workspace behind the name: test-web.
func scriptSort(name string) string {
	for _, s := range scriptSorts {
		for _, n := range s.names {
			if rest, ok := strings.CutPrefix(name, n); ok && (rest == "" || rest[0] == ':' || rest[0] == '-') {
				return s.sort
			}
		}
	}
	return ""
}

// fit reports whether a script is there, ends by itself, runs no download, and can be named on a command line.
func fit(name, script string) bool {
	if strings.TrimSpace(script) == "" || nothing().MatchString(script) || endless().MatchString(script) ||
		runsDownload(script) || !speakable(name) || strings.HasPrefix(name, "-") {
		return false
	}
	parts := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(":-_.", r) })
	return !slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(elsewhere, part) })
}

// scripts adds the tasks of a project's scripts: its own, and those of the workspaces that it does not have. It
// returns the names of its own that become no task.
func (d *detector) scripts(p *project, m *manifest, g manager, members []member) (left []string) {
	take, left := taken(m.scripts)
	have := map[string]bool{}
	for _, n := range take {
		have[n] = true
		d.script(p, &task{name: n, about: "Script: " + line(m.scripts[n], 60), argv: []string{g.name, "run", n}},
			m.scripts[n])
	}
	all := map[string][]member{}
	for _, w := range members {
		theirs, _ := taken(w.scripts)
		for _, n := range theirs {
			if !have[n] {
				all[n] = append(all[n], w)
			}
		}
	}
	for _, n := range sorted(all) {
		d.everywhere(p, g, n, all[n])
	}
	afterBuilds(p)
	return left
}

// afterBuilds makes builds go one after the other, since two could write the same folder, and what may read what
// they make wait for them: all but formatting and linting.
func afterBuilds(p *project) {
	var before *task
	for _, t := range p.tasks {
		if t.sort == "build" && t.lacks == "" {
			if before != nil {
				t.after = append(t.after, before)
			}
			before = t
		}
	}
	for _, t := range p.tasks {
		if before != nil && t.sort != "build" && t.sort != "format" && t.sort != "lint" {
			t.after = append(t.after, before)
		}
	}
}

// everywhere runs a script in all workspaces that have it.
func (d *detector) everywhere(p *project, g manager, name string, in []member) {
	script := ""
	for _, w := range in {
		script += w.scripts[name] + "\n"
	}
	about := "Script " + line(name, 30) + " in every workspace that has it"
	switch g.name {
	case "npm":
		d.script(p, &task{name: name, about: about, argv: []string{"npm", "run", name, "--workspaces", "--if-present"}}, script)
	case "pnpm":
		d.script(p, &task{name: name, about: about, argv: []string{"pnpm", "--recursive", "run", name}}, script)
	case "bun":
		d.script(p, &task{name: name, about: about, argv: []string{"bun", "run", "--filter", "*", name}}, script)
	default: // yarn's two ways to run everywhere differ between its versions; the way to run one is the same
		for _, w := range in {
			if w.name == "" || !speakable(w.name) || strings.HasPrefix(w.name, "-") {
				d.note("%s: its script %s was left out: yarn finds a workspace by the name in it, and it has none",
					at(w.dir, "package.json"), name)
				continue
			}
			t := &task{name: name + "-" + path.Base(w.dir), about: "Script " + line(name, 30) + " of " + line(w.dir, 60), argv: []string{"yarn", "workspace", w.name, "run", name}}
			d.script(p, t, w.scripts[name])
		}
	}
}

// script adds the task of a script. What a build makes is not known: without inputs it is never taken for done.
func (d *detector) script(p *project, t *task, script string) {
	t.sort = scriptSort(t.name)
	t.checks, t.sources = t.sort == "test", t.sort != "build"
	t.timeout = "15m"
	if waits().MatchString(script) {
		t.env = append(t.env, [2]string{"CI", "true"})
	}
	d.add(p, t)
}
