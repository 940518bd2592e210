package checkfile

// Lists of the project's files, as MANIFEST, that a check compares with the tree.

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

const (
	leastListed   = 3   // files of a list
	maxFileLists  = 200 // files that are read to find lists
	shareOfSource = 2   // a list has at least one of so many sources of a kind
)

// findLists finds the lists among what belongs to the check: of their changes some may stay. A list of what a check lets
// pass is none.
func (c *Checks) findLists() {
	looked := 0
	for _, p := range slices.Concat(slices.Sorted(maps.Keys(c.data.files)), slices.Sorted(maps.Keys(c.refs.files))) {
		end := strings.ToLower(path.Ext(p))
		if !slices.Contains([]string{"", ".txt", ".in", ".list", ".lst"}, end) || lang.HasWord(path.Base(p), settingWords()) || !c.Has(p) {
			continue
		}
		if looked++; looked > maxFileLists {
			return
		}
		there, lines := 0, fileLines(c.Text(p))
		for _, line := range lines {
			if c.listed(p, line) != "" {
				there++
			}
		}
		if there >= leastListed && there*4 >= len(lines)*3 {
			delete(c.data.files, p)
			c.refs.files[p], c.refs.lists[p] = true, true
		}
	}
}

// fileLines returns the first words of the lines of a list, without comments.
func fileLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(words[0], "#") {
			lines = append(lines, words[0])
		}
	}
	return lines
}

// listed returns the file of the base that a line of a list names; "": there is none.
func (c *Checks) listed(list, line string) string {
	for _, p := range []string{path.Join(path.Dir(list), line), path.Join(c.Sub, line), path.Clean(line)} {
		if c.Has(p) {
			return p
		}
	}
	return ""
}

// OnlyLists reports whether a change of a list of the project's files only adds lines of new sources that belong to no
// check, of a kind of which the list has at least half: the check asks for such lines.
func (c *Checks) OnlyLists(change patch.Change) bool {
	if !c.refs.lists[change.Path] || !edited(change) {
		return false
	}
	old, now := strings.Split(string(change.Before.Data), "\n"), strings.Split(string(change.After.Data), "\n")
	var added []string
	for _, line := range now {
		if len(old) > 0 && line == old[0] {
			old = old[1:]
		} else {
			added = append(added, line)
		}
	}
	return len(old) == 0 && !slices.ContainsFunc(fileLines(strings.Join(added, "\n")), func(line string) bool { return !c.listsNew(change, line) })
}

// listsNew reports whether a new line of a list names a source that the base has not, among its like.
func (c *Checks) listsNew(change patch.Change, line string) bool {
	p := path.Join(path.Dir(change.Path), line)
	if lang.ByPath(p) == "" || strings.ContainsAny(line, "*?[") || strings.HasPrefix(p, "../") || c.Has(p) || c.Class(p) != 0 {
		return false
	}
	has, all := 0, 0
	lines := map[string]bool{}
	for _, line := range fileLines(string(change.Before.Data)) {
		lines[c.listed(change.Path, line)] = true
	}
	for _, file := range c.Production() {
		if path.Ext(file) == path.Ext(p) {
			all++
			if lines[file] {
				has++
			}
		}
	}
	return all > 0 && has*shareOfSource >= all
}
