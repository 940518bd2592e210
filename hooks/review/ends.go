package review

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
)

const (
	askedAbove = 8 // lines above an end of the process that say why
	askedBelow = 2
)

// libraryEnds reports production code that is no program and now ends the process, with success or with what only
// running it tells: exit_swallowed. The test that called it ends as if all was well.
func libraryEnds(e *edit) (found findings) {
	language := rules.For(e.language)
	ends := compile(language.Ends)
	if ends == nil || !e.production() || !e.exists() || e.isProgram() {
		return nil
	}
	badly, asked := compile(language.Badly), compile(language.Asked)
	for _, j := range e.fresh {
		line := folded(e.after.plain(j))
		at := ends.FindStringIndex(line)
		if at == nil || !e.after.matchesCode(j, ends) && line == e.after.plain(j) || badly.MatchString(line[at[1]:]) {
			continue
		}
		around := e.after.plain(j)[:min(at[0], len(e.after.plain(j)))]
		for k := max(0, j-askedAbove); k < min(len(e.after.lines), j+askedBelow+1); k++ {
			if k != j {
				around += "\n" + e.after.plain(k)
			}
		}
		if !asked.MatchString(around) {
			found.add(e, rules.ExitSwallowed, j, true, "a library ends the process: %s", e.after.trimmed(j))
		}
	}
	return found
}

// programNames are names of files, without their ends, and of folders that hold programs.
var programNames = []string{"__main__", "main", "cli", "manage", "setup", "console", "command", "commands", "bin", "scripts", "build"}

// isProgram reports whether a file is, or was before the change, what a person starts.
func (e *edit) isProgram() bool {
	base, _, _ := strings.Cut(path.Base(e.path), ".")
	dir := path.Dir(e.path)
	if e.language == "jvm" {
		dir = strings.Replace("/"+dir, "/src/main/", "/", 1) // Maven and Gradle have all production there
	}
	return slices.Contains(programNames, base) || slices.ContainsFunc(strings.Split(dir, "/"), func(folder string) bool {
		return slices.Contains(programNames, folder)
	}) || compile(rules.For(e.language).Program).MatchString(e.original())
}
