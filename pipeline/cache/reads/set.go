package reads

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
)

// A Set is what a task read. Paths are relative to the root; "" is the root itself. All lists are sorted.
type Set struct {
	Files  []string `json:"files"`  // their contents; of links, the text
	Names  []string `json:"names"`  // whether they exist; at the time they were folders, or did not
	Listed []string `json:"listed"` // folders: which names are in them
	Made   []string `json:"made"`   // what the task made itself: these names do not count in Listed
}

// A Seen is what was gathered, once the task has ended.
type Seen struct {
	Set
	snapshots map[string]map[string]fs.FileMode // the names in Listed folders when they were read, with their types
	folders   map[string]bool                   // of Names, those that were there
	links     map[string]string                 // of Files, the texts of links as they were
	were      map[string]fs.FileInfo            // what was there at the first access; no folder that the task removed
	Opened    []string                          // files and links that were opened, also those that do not count
	WhyNot    string                            // it cannot be used for a key; empty: it can
	root      string
}

// End returns what was gathered. ignored reports whether git ignores a path, own whether it is an output of the task.
func (r *Accesses) End(ignored, own func(string) bool) Seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Seen{
		WhyNot: r.blind, root: r.real, snapshots: map[string]map[string]fs.FileMode{}, folders: map[string]bool{},
		links: map[string]string{}, were: map[string]fs.FileInfo{},
	}
	names := map[string]bool{} // of Names: whether it was there
	for _, p := range slices.Sorted(maps.Keys(r.inside)) {
		x := r.inside[p]
		file := x.was != absent && (x.was.IsRegular() || x.was&fs.ModeSymlink != 0)
		if x.info != nil && (file && !x.first || !x.made) {
			s.were[p] = x.info
		}
		if x.read && file && !own(p) && !files.Ours(p) && !r.madeAbove(p) {
			s.Opened = append(s.Opened, p)
		}
		switch {
		case files.Ours(p):
			if x.read && file && s.WhyNot == "" {
				s.WhyNot = fmt.Sprintf("it reads %s, which cannot be an input", p)
			}
		case own(p):
		case x.was == absent && (x.made || r.madeAbove(p)):
			_, err := os.Lstat(filepath.Join(r.real, p))
			switch {
			case err == nil && (x.first && !x.alone || r.madeAbove(p) || ignored(p) || r.hasOnly(p, ignored)):
				s.Made = append(s.Made, p)
			case err == nil, !r.madeAbove(p): // it decided that it was not there, also where it is gone again
				names[p] = false
			}
		case r.madeAbove(p): // it came with a folder that has another name now
		case x.first, x.made && ignored(p):
			s.Made = append(s.Made, p)
			if x.first && x.looked {
				names[p] = true
			}
		case x.was == absent:
			if up := files.Parent(p); r.inside[up] == nil || r.inside[up].was != absent {
				names[p] = false
				if up != "" && !files.Ours(up) {
					names[up] = true // as what it is: a link in its place could have what is not there
				}
			}
		case x.isDir() && x.names != nil:
			s.Listed = append(s.Listed, p)
			s.snapshots[p] = x.names
			if x.made {
				names[p] = true // else it was removed
			}
		case !file:
			if x.looked && p != "" {
				names[p] = true
			}
		case x.read, x.looked, x.passed: // sizes and times are asked for as what stands for contents
			s.Files = append(s.Files, p)
			s.links[p] = x.text
		}
	}
	for _, p := range slices.Sorted(maps.Keys(names)) {
		s.Names = append(s.Names, p)
		s.folders[p] = names[p]
	}
	for _, p := range slices.Concat(s.Files, s.Names, s.Listed) {
		if !utf8.ValidString(p) && s.WhyNot == "" {
			s.WhyNot = fmt.Sprintf("it uses %q, and such a name cannot be stored", p)
		}
	}
	return s
}

// hasOnly reports whether a path is a folder in which git ignores everything, as one with a .gitignore of its own.
func (r *Accesses) hasOnly(p string, ignored func(string) bool) bool {
	names := namesIn(filepath.Join(r.real, p))
	for n := range names {
		if !ignored(path.Join(p, n)) {
			return false
		}
	}
	return len(names) > 0
}

// madeAbove reports whether a path is in a folder that the task made.
func (r *Accesses) madeAbove(p string) bool {
	for up := files.Parent(p); up != ""; up = files.Parent(up) {
		if x := r.inside[up]; x != nil && x.made && x.was == absent {
			return true
		}
	}
	return false
}

// Digest tells one set from another.
func (s Set) Digest() string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // lists of strings
	}
	return reapi.DigestOf(b).Hash
}

// Patterns returns patterns that match what a set names, or may come to.
func (s Set) Patterns() []string {
	all := files.EscapeAll(slices.Concat(s.Files, s.Names))
	for _, dir := range s.Listed {
		all = append(all, path.Join(append(files.EscapeAll([]string{dir}), "*")...))
	}
	return all
}

// Files returns the files of root that a set names, as a view shows them, sorted. own are the outputs of the task. An error
// says which file cannot be read, or what a link leads to that cannot be told.
func Files(v *files.View, root string, set Set, own []files.Pattern) ([]reapi.File, error) {
	counts := func(p string) bool { return !files.Ours(p) && !files.Matches(own, p) }
	var found []reapi.File
	for _, p := range set.Files {
		if f, ok := v.Find(p); ok && !f.Folder && counts(p) {
			found = append(found, f)
		} else if !ok && counts(p) && v.HasBelow(p) {
			found = append(found, reapi.File{Path: p, Folder: true})
		}
	}
	err := v.Unreadable(func(p string) bool { _, named := slices.BinarySearch(set.Files, p); return named })
	if err != nil {
		return nil, err
	}
	found, err = v.WithTargets(root, func(string) bool { return true }, found)
	if err != nil {
		return nil, err
	}
	name := func(p string) {
		f, ok := v.Find(p)
		switch {
		case !counts(p):
		case ok && f.Link != "": // what a file is, and what not, counts too
			found = append(found, reapi.File{Path: p, Link: f.Link})
		case ok && !f.Folder:
			found = append(found, reapi.File{Path: p, Digest: files.NameOnly})
		case ok, v.HasBelow(p):
			found = append(found, reapi.File{Path: p, Folder: true})
		case special(root, p):
			found = append(found, reapi.File{Path: p, Digest: files.NameOnly, Executable: true})
		}
	}
	for _, p := range set.Names {
		name(p)
	}
	for _, dir := range set.Listed {
		if dir != "" {
			name(dir)
		}
		for _, n := range v.NamesIn(dir) {
			p := path.Join(dir, n)
			if _, made := slices.BinarySearch(set.Made, p); !made {
				name(p)
			}
		}
	}
	return files.Tidy(found), nil
}

// special reports whether a path is there that is no file, link or folder: a pipe or a socket. The walk leaves them out.
func special(root, p string) bool {
	info, err := os.Lstat(filepath.Join(root, p))
	return err == nil && !info.Mode().IsRegular() && !info.IsDir() && info.Mode()&fs.ModeSymlink == 0
}

// Changed returns what came or went since the task read it, or "".
func (s *Seen) Changed(v *files.View, own []files.Pattern) string {
	for _, p := range s.Files {
		if f, ok := v.Find(p); !ok || f.Folder || f.Link != s.links[p] || v.Outdated(s.root, p) {
			return p
		}
	}
	for _, p := range slices.Concat(s.Files, s.Names, s.Listed) {
		if s.replaced(p) {
			return p
		}
	}
	for _, p := range s.Names {
		_, there := v.Find(p)
		if (there || v.HasBelow(p) || special(s.root, p)) != s.folders[p] {
			return p
		}
	}
	for _, dir := range s.Listed {
		if p := s.listingChanged(v, dir, own); p != "" {
			return p
		}
	}
	return ""
}

// replaced reports whether something else is at a path than what the task saw. Times do not tell that: where a folder
// took the place of another one, what is in it may be old.
func (s *Seen) replaced(p string) bool {
	was, there := s.were[p]
	if !there {
		return false
	}
	now, err := os.Lstat(filepath.Join(s.root, p))
	return err != nil || !os.SameFile(was, now) || was.Mode().Type() != now.Mode().Type()
}

// listingChanged returns a name that came to a folder, went, or is of another type since it was read, and that the task
// did not make.
func (s *Seen) listingChanged(v *files.View, dir string, own []files.Pattern) string {
	now := map[string]bool{}
	for _, n := range v.NamesIn(dir) {
		now[n] = true
		p := path.Join(dir, n)
		_, made := slices.BinarySearch(s.Made, p)
		if was, ok := s.snapshots[dir][n]; (!ok || was != typeIn(v, p)) && !made && !files.Matches(own, p) {
			return p
		}
	}
	for _, n := range slices.Sorted(maps.Keys(s.snapshots[dir])) {
		p := path.Join(dir, n)
		if _, err := os.Lstat(filepath.Join(s.root, p)); err != nil && !now[n] && !files.Matches(own, p) {
			return p
		}
	}
	return ""
}

// typeIn returns the type of what a view has at a path: of a file, a link or a folder.
func typeIn(v *files.View, p string) fs.FileMode {
	switch f, ok := v.Find(p); {
	case ok && f.Link != "":
		return fs.ModeSymlink
	case ok && !f.Folder:
		return 0
	}
	return fs.ModeDir
}
