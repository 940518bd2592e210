package review

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/late"
)

var (
	// selfFolders have settings of a program that starts what they name, as the end of a folder's path.
	selfFolders = map[string]string{
		".idea/runConfigurations": "the IDE", ".run": "the IDE", ".githooks": "git", ".git-hooks": "git", "githooks": "git", ".husky": "git", ".lefthook": "git", ".lefthook-local": "git",
		".devcontainer": "whatever opens the folder in a container", ".direnv": "the shell", ".idx": "the editor",
		".claude": "an agent", ".codex": "an agent", ".gemini": "an agent", ".cursor": "an agent", ".windsurf": "an agent", ".roo": "an agent", ".opencode": "an agent",
	}
	// selfNames by the name of a file, in lower case, in any folder.
	selfNames = map[string]string{
		".envrc": "the shell", "mise.toml": "the shell", ".mise.toml": "the shell", ".devcontainer.json": "whatever opens the folder in a container", ".gitpod.yml": "whatever opens the folder in a container",
		"lefthook.yml": "git", "lefthook.yaml": "git", "lefthook.toml": "git", "lefthook.json": "git", ".lefthook.yml": "git", ".lefthook.yaml": "git", "lefthook-local.yml": "git", ".lefthook-local.yml": "git",
		".pre-commit-config.yaml": "git", ".overcommit.yml": "git", ".huskyrc": "git", ".huskyrc.json": "git", ".mcp.json": "an agent", "mcp.json": "an agent", "opencode.json": "an agent",
		"agents.md": "an agent", "agents.override.md": "an agent", "claude.md": "an agent", "claude.local.md": "an agent", "gemini.md": "an agent", ".cursorrules": "an agent", ".windsurfrules": "an agent", "copilot-instructions.md": "an agent",
		".gdbinit": "a debugger", ".lldbinit": "a debugger",
		".nvimrc": "the editor", ".nvim.lua": "the editor", ".exrc": "the editor", ".vimrc": "the editor", ".lvimrc": "the editor", ".dir-locals.el": "the editor", ".autoenv.zsh": "the shell",
	}
	// selfPaths by the last two parts of a path.
	selfPaths = map[string]string{
		".vscode/tasks.json": "the editor", ".vscode/launch.json": "the editor", ".vscode/settings.json": "the editor", ".vscode/mcp.json": "an agent", ".zed/tasks.json": "the editor",
		".zed/settings.json": "the editor", ".zed/debug.json": "the editor", ".fleet/run.json": "the editor", ".helix/config.toml": "the editor", ".helix/languages.toml": "the editor", ".idea/workspace.xml": "the IDE",
		".idea/externalDependencies.xml": "the IDE", ".idea/watcherTasks.xml": "the IDE", ".idea/startup.xml": "the IDE",
	}

	gitDriver = late.Regexp(`(?:^|\s)(filter|diff|merge)=(\S+)`)

	// ownDrivers come with git, for diff= and merge=.
	ownDrivers = strings.Fields(`ada bash bibtex cpp csharp css dts elixir fortran fountain golang html java kotlin markdown matlab objc pascal perl php python ruby rust scheme tex ini union text binary`)
)

// startsItself reports files that start programs on the machine of whoever has the tree: new_process. An editor that opens the folder, git, a
// shell that enters it, an agent or a debugger reads them. No check runs them, so verification knows nothing about them, and they cap
// nothing; but `fix apply` brings them to a person, and wants the flag named.
func startsItself(e *edit) (found findings) {
	if !e.exists() {
		return found
	}
	base := path.Base(e.path)
	if base == ".gitattributes" {
		for _, j := range e.added {
			for _, m := range gitDriver().FindAllStringSubmatch(e.after.lines[j], -1) {
				if !e.moved[j] && (m[1] == "filter" || !slices.Contains(ownDrivers, m[2])) {
					found.put(e, rules.NewProcess, j, false, "git runs the %s driver %s, where one is set up, when it reads or writes such files", m[1], m[2])
				}
			}
		}
		return found
	}
	who := selfNames[strings.ToLower(base)]
	if path.Ext(base) == ".code-workspace" {
		who = "the editor"
	}
	dir := path.Dir(e.path)
	if who == "" {
		who = selfPaths[path.Join(path.Base(dir), base)]
	}
	for at := dir; who == "" && at != "." && at != "/"; at = path.Dir(at) {
		for folder, by := range selfFolders {
			if lang.Ends(at, folder) && !slices.Contains(proseExts, strings.ToLower(path.Ext(base))) {
				who = by
			}
		}
	}
	if who != "" {
		found.put(e, rules.NewProcess, -1, false, "%s may start by itself what this file says; no check ran it", who)
	}
	return found
}
