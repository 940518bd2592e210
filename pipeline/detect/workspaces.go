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
	dir string
	*manifest
}

// nodeMembers finds the workspaces and keeps them from becoming projects of their own.
func (d *detector) nodeMembers(f *folder, m *manifest, g manager) []member {
	patterns, file := m.workspaces, "package.json"
	if g.name == "pnpm" || f.files["pnpm-workspace.yaml"] {
		file = "pnpm-workspace.yaml"
		patterns = yamlTexts(d.readYAML(f, file, "packages"))
	}
	found := map[string]bool{}
	for _, pattern := range patterns[:min(len(patterns), maxPatterns)] {
		pattern, not := strings.CutPrefix(pattern, "!")
		for _, dir := range d.expand(f.path, strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")) {
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
		sub, err := d.tree.folder(dir)
		if err != nil || !sub.files["package.json"] {
			continue
		}
		if len(all) == maxMembers {
			d.note("%s: only the first %d workspaces were read", at(f.path, file), maxMembers)
			break
		}
		d.belongs("node", dir)
		if w := d.manifest(sub); w != nil {
			all = append(all, member{dir, w})
		}
	}
	return all
}

// expand returns the folders that a pattern matches: * as in a shell, ** as any folder down to three levels. Links to
// folders are not followed.
func (d *detector) expand(dir, pattern string) []string {
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
				level = d.step(level, "*")
				next = append(next, level...)
			}
		default:
			next = d.step(dirs, part)
		}
		if dirs = next; len(dirs) > maxFolders {
			dirs = dirs[:maxFolders]
		}
	}
	return dirs
}

// step returns the folders in dirs whose names match.
func (d *detector) step(dirs []string, pattern string) []string {
	var next []string
	for _, dir := range dirs {
		if len(next) > maxFolders {
			break
		}
		f, err := d.tree.folder(dir)
		if err != nil {
			continue
		}
		for _, name := range f.dirs {
			if ok, err := path.Match(pattern, name); err == nil && ok && name != "node_modules" &&
				(!strings.HasPrefix(name, ".") || name == pattern) {
				next = append(next, path.Join(dir, name))
			}
		}
	}
	return next
}
