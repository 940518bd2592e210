// The workspaces of a Node project: folders with a package.json that a pattern of the root names.
package detect

import (
	"path"
	"strings"
)

const (
	maxMembers  = 200
	maxPatterns = 100
)

// A member is one workspace.
type member struct {
	dir     string
	name    string
	scripts map[string]string
}

// nodeMembers finds the workspaces and keeps them from becoming projects of their own.
func (l *look) nodeMembers(f *folder, m *manifest, g manager) []member {
	patterns, file := m.workspaces, "package.json"
	if g.name == "pnpm" || f.files["pnpm-workspace.yaml"] {
		file = "pnpm-workspace.yaml"
		patterns = yamlTexts(l.readYAML(f, file, "packages"))
	}
	found := map[string]bool{}
	for _, pattern := range patterns[:min(len(patterns), maxPatterns)] {
		pattern, not := strings.CutPrefix(pattern, "!")
		for _, dir := range l.expand(f.path, strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")) {
			if not {
				delete(found, dir)
			} else {
				found[dir] = true
			}
		}
	}
	delete(found, f.path)
	var all []member
	for _, dir := range sorted(found) {
		sub, err := l.tree.folder(dir)
		if err != nil || !sub.files["package.json"] {
			continue
		}
		if len(all) == maxMembers {
			l.note("%s: only the first %d workspaces were looked at", at(f.path, file), maxMembers)
			break
		}
		l.belongs("node", dir)
		if w := l.manifest(sub); w != nil {
			all = append(all, member{dir, w.name, w.scripts})
		}
	}
	return all
}

// expand gives the folders that a pattern names: name by name, * as in a shell, ** as any folder down to three levels. A link
// to a folder is not followed.
func (l *look) expand(dir, pattern string) []string {
	if pattern == "" || path.IsAbs(pattern) || strings.Count(pattern, "/") > 8 {
		return nil
	}
	dirs := []string{dir}
	for part := range strings.SplitSeq(path.Clean(pattern), "/") {
		var next []string
		switch part {
		case "..":
			return nil
		case ".":
			continue
		case "**":
			next = append(next, dirs...)
			level := dirs
			for range 3 {
				level = l.step(level, "*")
				next = append(next, level...)
			}
		default:
			next = l.step(dirs, part)
		}
		if dirs = next; len(dirs) > maxFolders {
			dirs = dirs[:maxFolders]
		}
	}
	return dirs
}

// step gives the folders in dirs whose names match.
func (l *look) step(dirs []string, pattern string) []string {
	var next []string
	for _, dir := range dirs {
		if len(next) > maxFolders {
			break
		}
		f, err := l.tree.folder(dir)
		if err != nil {
			continue
		}
		for _, name := range f.dirs {
			if ok, err := path.Match(pattern, name); err == nil && ok && name != "node_modules" && (!strings.HasPrefix(name, ".") || name == pattern) {
				next = append(next, path.Join(dir, name))
			}
		}
	}
	return next
}
