package review

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// starters are programs that start what files of the tree name, without that anybody asks: folders whose files
// they read, names of files in any folder, in lower case, and ends of paths.
var starters = []struct{ who, folders, names, paths string }{
	{
		"the editor", ".idx", ".nvimrc .nvim.lua .exrc .vimrc .lvimrc .dir-locals.el",
		`.vscode/tasks.json .vscode/launch.json .vscode/settings.json .zed/tasks.json .zed/settings.json .zed/debug.json .fleet/run.json
		.helix/config.toml .helix/languages.toml`,
	},
	{
		"the IDE", ".idea/runConfigurations .run", "",
		".idea/workspace.xml .idea/externalDependencies.xml .idea/watcherTasks.xml .idea/startup.xml",
	},
	{
		"git", ".githooks .git-hooks githooks .husky .lefthook .lefthook-local",
		`lefthook.yml lefthook.yaml lefthook.toml lefthook.json .lefthook.yml .lefthook.yaml lefthook-local.yml .lefthook-local.yml
		.pre-commit-config.yaml .overcommit.yml .huskyrc .huskyrc.json`, "",
	},
	{"the shell", ".direnv", ".envrc mise.toml .mise.toml .autoenv.zsh", ""},
	{"whatever opens the folder in a container", ".devcontainer", ".devcontainer.json .gitpod.yml", ""},
	{
		"an agent", ".claude .codex .gemini .cursor .windsurf .roo .opencode",
		`.mcp.json mcp.json opencode.json agents.md agents.override.md claude.md claude.local.md gemini.md .cursorrules .windsurfrules
		copilot-instructions.md`, ".vscode/mcp.json",
	},
	{"a debugger", "", ".gdbinit .lldbinit", ""},
}

var (
	gitDriver = lazily.Regexp(`(?:^|\s)(filter|diff|merge)=(\S+)`)

	// ownDrivers come with git, for diff= and merge=.
	ownDrivers = lazily.Words(`
		ada bash bibtex cpp csharp css dts elixir fortran fountain golang html java kotlin markdown matlab objc pascal perl php python ruby
		rust scheme tex ini union text binary`)
)

// startsItself reports files that start programs on the machine of whoever has the tree: new_process. An editor
// that opens the folder, git, a shell that enters it, an agent or a debugger reads them. No check runs them, so
// verification knows nothing about them, and they cap nothing; but `fix apply` brings them to a person, and wants
// the flag named.
func startsItself(e *edit) (found findings) {
	if !e.exists() {
		return found
	}
	base := path.Base(e.path)
	if base == ".gitattributes" {
		for _, j := range e.fresh {
			for _, m := range gitDriver().FindAllStringSubmatch(e.after.lines[j], -1) {
				if m[1] == "filter" || !slices.Contains(ownDrivers(), m[2]) {
					found.put(e, rules.NewProcess, j, false,
						"git runs the %s driver %s, where one is set up, when it reads or writes such files", m[1], m[2])
				}
			}
		}
		return found
	}
	if base == "config" && e.of.repository(path.Dir(e.path)) {
		found.put(e, rules.NewProcess, -1, false, "git, run in this folder, takes it for a repository, and starts what its settings name")
	}
	if who := starter(e.path); who != "" {
		found.put(e, rules.NewProcess, -1, false, "%s may start by itself what this file names; no check ran it", who)
	}
	return found
}

// repository reports whether a folder is, or is made, what git takes for a bare repository.
func (p *proposal) repository(dir string) bool {
	there := func(name string) bool {
		if e := p.edit(path.Join(dir, name)); e != nil {
			return e.exists()
		}
		return p.checks.Has(path.Join(dir, name))
	}
	below := func(folder string) bool {
		prefix := path.Join(dir, folder) + "/"
		return p.checks.HasBelow(prefix) || slices.ContainsFunc(p.edits, func(e *edit) bool { return e.exists() && strings.HasPrefix(e.path, prefix) })
	}
	return there("HEAD") && (below("objects") || below("refs") || there("packed-refs") || there("commondir"))
}

// starter returns the program that starts by itself what a file names, "" for none. Prose in a folder is only read.
func starter(p string) string {
	dir, base := path.Dir(p), path.Base(p)
	if path.Ext(base) == ".code-workspace" {
		return "the editor"
	}
	prose := slices.Contains(proseExts, strings.ToLower(path.Ext(base)))
	for _, s := range starters {
		if slices.Contains(strings.Fields(s.names), strings.ToLower(base)) ||
			slices.Contains(strings.Fields(s.paths), path.Join(path.Base(dir), base)) {
			return s.who
		}
		for at := dir; !prose && at != "." && at != "/"; at = path.Dir(at) {
			if slices.ContainsFunc(strings.Fields(s.folders),
				func(folder string) bool { return lang.Ends(at, folder) }) {
				return s.who
			}
		}
	}
	return ""
}
