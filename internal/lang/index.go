package lang

import (
	"path"
	"slices"
	"strings"
)

// An Index knows the files of a tree, to find those that a source imports. Paths are slash-separated and relative to
// the top.
type Index struct {
	sub     string // the folder of the project, "." for the top
	files   map[string]bool
	inDir   map[string][]string // the files of each folder
	dirs    []string            // all folders, sorted
	named   map[string][]string // folders by their last name
	stems   map[string][]string // sources by their name without extension
	modules map[string]string   // Go module → its folder

	packages map[string]string // package of JavaScript → the file that its name stands for, or its folder
}

// NewIndex makes the index of paths; sub is the folder of the project.
func NewIndex(paths []string, sub string) *Index {
	ix := &Index{
		sub: sub, files: map[string]bool{}, inDir: map[string][]string{}, named: map[string][]string{},
		stems: map[string][]string{}, modules: map[string]string{}, packages: map[string]string{},
	}
	for _, p := range paths {
		dir, base := path.Dir(p), path.Base(p)
		ix.files[p] = true
		if ByPath(p) != "" {
			stem := strings.TrimSuffix(base, path.Ext(base))
			ix.stems[stem] = append(ix.stems[stem], p)
		}
		for d := dir; ix.inDir[d] == nil; d = path.Dir(d) {
			ix.inDir[d] = []string{}
			ix.dirs = append(ix.dirs, d)
			ix.named[path.Base(d)] = append(ix.named[path.Base(d)], d)
			if d == "." || d == "/" {
				break
			}
		}
		ix.inDir[dir] = append(ix.inDir[dir], p)
	}
	slices.Sort(ix.dirs)
	return ix
}

// Has reports whether p is a file.
func (ix *Index) Has(p string) bool { return ix.files[p] }

// Files returns all files, in no order.
func (ix *Index) Files() map[string]bool { return ix.files }

// IsDir reports whether p is a folder with files in it or below.
func (ix *Index) IsDir(p string) bool { return ix.inDir[p] != nil }

// HasDirNamed reports whether the last name of some folder is base.
func (ix *Index) HasDirNamed(base string) bool { return ix.named[base] != nil }

// In returns the files of a folder, without those of its folders.
func (ix *Index) In(dir string) []string { return ix.inDir[dir] }

// Rel returns p as the project sees it: a project inside a folder called tests has production code.
func (ix *Index) Rel(p string) string { return Rel(ix.sub, p) }

// Rel returns p relative to sub where it is below sub, else p.
func Rel(sub, p string) string {
	if rest, ok := strings.CutPrefix(p, sub+"/"); ok && sub != "." {
		return rest
	}
	return p
}

// First returns name in the first of dirs that has it: one path or none.
func (ix *Index) First(name string, dirs ...string) []string {
	for _, dir := range dirs {
		if p := path.Join(dir, name); ix.files[p] {
			return []string{p}
		}
	}
	return nil
}

// below returns the files of dir and of all folders below it.
func (ix *Index) below(dir string) []string {
	var files []string
	for _, d := range ix.dirs {
		if d == dir || dir == "." || strings.HasPrefix(d, dir+"/") {
			files = append(files, ix.inDir[d]...)
		}
	}
	return files
}

// ofPackage returns the sources of l whose path ends as the import of a package does; its last name may be a member,
// or *.
func (ix *Index) ofPackage(l *Language, suffix string) []string {
	var found []string
	for try := 0; try < 3 && strings.Contains(suffix, "/"); try++ {
		parent, base := path.Split(suffix)
		if parent = path.Clean(parent); base == "*" {
			for _, dir := range ix.named[path.Base(parent)] {
				if Ends(dir, parent) {
					found = append(found, slices.DeleteFunc(slices.Clone(ix.inDir[dir]),
						func(p string) bool { return !slices.Contains(l.Exts, path.Ext(p)) })...)
				}
			}
		}
		for _, p := range ix.stems[base] {
			if slices.Contains(l.Exts, path.Ext(p)) && Ends(strings.TrimSuffix(p, path.Ext(p)), suffix) {
				found = append(found, p)
			}
		}
		if len(found) > 0 {
			return found
		}
		suffix = parent
	}
	return nil
}

// Ends reports whether suffix is p or the last names of it.
func Ends(p, suffix string) bool { return p == suffix || strings.HasSuffix(p, "/"+suffix) }

// Matches reports whether name matches a pattern of path.Match. A broken pattern matches nothing.
func Matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
