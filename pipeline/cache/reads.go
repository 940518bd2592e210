package cache

// What a task was seen to read of the tree: the inputs of one with inputs = auto, and what strict = true compares with
// those that are declared.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A readSet is what a task read. Paths are relative to the root; "" is the root itself. All lists are sorted.
type readSet struct {
	Files  []string `json:"files"`  // their contents; of links, the text
	Names  []string `json:"names"`  // whether they exist; at the time they were folders, or did not
	Listed []string `json:"listed"` // folders: which names are in them
	Made   []string `json:"made"`   // what the task made itself: these names do not count in Listed
}

// A seen is what was gathered, once the task has ended.
type seen struct {
	readSet
	snapshots map[string][]string // the names in Listed folders when they were read
	folders   map[string]bool     // of Names, those that were there
	links     map[string]string   // of Files, the texts of links as they were
	opened    []string            // files and links that were opened, also those that do not count
	whyNot    string              // it cannot be used for a key; empty: it can
	root      string
}

// end returns what was gathered. ignored reports whether git ignores a path, own whether it is an output of the task.
func (r *accesses) end(ignored, own func(string) bool) seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := seen{whyNot: r.blind, root: r.real, snapshots: map[string][]string{}, folders: map[string]bool{}, links: map[string]string{}}
	names := map[string]bool{} // of Names: whether it was there
	for _, p := range slices.Sorted(maps.Keys(r.inside)) {
		x := r.inside[p]
		file := x.was != absent && (x.was.IsRegular() || x.was&fs.ModeSymlink != 0)
		if x.read && file && !own(p) && !ours(p) && !r.madeAbove(p) {
			s.opened = append(s.opened, p)
		}
		switch {
		case ours(p):
			if x.read && file && s.whyNot == "" {
				s.whyNot = fmt.Sprintf("it reads %s, which cannot be an input", p)
			}
		case own(p):
		case x.was == absent && (x.made || r.madeAbove(p)):
			if _, err := os.Lstat(filepath.Join(r.real, p)); err == nil {
				s.Made = append(s.Made, p)
			} else if !r.madeAbove(p) {
				names[p] = false // it is gone again: it could be made because it was not there
			}
		case r.madeAbove(p): // it came with a folder that has another name now
		case x.first, x.made && ignored(p):
			s.Made = append(s.Made, p)
			if x.first && x.looked {
				names[p] = true
			}
		case x.was == absent:
			if up := parent(p); r.inside[up] == nil || r.inside[up].was != absent {
				names[p] = false
				if up != "" && !ours(up) {
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
		if !utf8.ValidString(p) && s.whyNot == "" {
			s.whyNot = fmt.Sprintf("it uses %q, and such a name cannot be stored", p)
		}
	}
	return s
}

// madeAbove reports whether a path is in a folder that the task made.
func (r *accesses) madeAbove(p string) bool {
	for up := parent(p); up != ""; up = parent(up) {
		if x := r.inside[up]; x != nil && x.made && x.was == absent {
			return true
		}
	}
	return false
}

// readSets are the newest sets of a task. Which one counts depends on the contents of the files: a branch may read
// others.
type readSets struct {
	Version int       `json:"schema_version"`
	Sets    []readSet `json:"sets"` // the newest first
}

const (
	readSetsVersion = 1
	mostSets        = 4
	limitReadSets   = 256 << 20 // bytes
)

func (s *store) readsPath(task string) string {
	return filepath.Join(s.dir, "reads", filename.Of(task)+".json")
}

// readSets returns the sets of a task; nil if there are none.
func (s *store) readSets(task string) []readSet {
	b, err := recordfile.Read(s.readsPath(task), limitReadSets)
	var all readSets
	if err != nil || json.Unmarshal(b, &all) != nil || all.Version != readSetsVersion {
		return nil
	}
	for _, set := range all.Sets {
		for _, p := range slices.Concat(set.Files, set.Names, set.Listed, set.Made) {
			if p != "" && !local(p) {
				return nil // not ours
			}
		}
	}
	return all.Sets
}

// putReadSet makes a set the newest of a task.
func (s *store) putReadSet(task string, set readSet) error {
	all := readSets{Version: readSetsVersion, Sets: []readSet{set}}
	digest := set.digest()
	for _, old := range s.readSets(task) {
		if len(all.Sets) < mostSets && old.digest() != digest {
			all.Sets = append(all.Sets, old)
		}
	}
	b, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(s.dir, "reads"), 0o750); err != nil {
		return err
	}
	return recordfile.Write(s.readsPath(task), b, false)
}

// digest tells one set from another.
func (s readSet) digest() string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // lists of strings
	}
	return reapi.DigestOf(b).Hash
}

// patterns returns patterns that match what a set names, or may come to.
func (s readSet) patterns() []string {
	all := escapeAll(slices.Concat(s.Files, s.Names))
	for _, dir := range s.Listed {
		all = append(all, path.Join(append(escapeAll([]string{dir}), "*")...))
	}
	return all
}

// nameOnly is the digest of a file of which only the name counts. No blob has it.
var nameOnly = reapi.Digest{Hash: reapi.DigestOf([]byte("only its name")).Hash, Size: 0}

// seen returns the files that a set names, as they are now, sorted. own are the outputs of the task.
func (v *view) seen(root string, set readSet, own []pattern) ([]reapi.File, error) {
	counts := func(p string) bool { return !ours(p) && !matches(own, p) }
	var files []reapi.File
	for _, p := range set.Files {
		if f, ok := v.find(p); ok && !f.Folder && counts(p) {
			files = append(files, f)
		} else if !ok && counts(p) && v.hasBelow(p) {
			files = append(files, reapi.File{Path: p, Folder: true})
		}
	}
	for _, b := range v.broken {
		if _, named := slices.BinarySearch(set.Files, b.Path); b.Why == "unreadable" && named {
			return nil, &unreadable{b.Path + " cannot be read"}
		}
	}
	files, err := v.withTargets(root, func(string) bool { return true }, files)
	if err != nil {
		return nil, err
	}
	name := func(p string) {
		f, ok := v.find(p)
		switch {
		case !counts(p):
		case ok && f.Link != "": // what a file is, and what not, counts too
			files = append(files, reapi.File{Path: p, Link: f.Link})
		case ok && !f.Folder:
			files = append(files, reapi.File{Path: p, Digest: nameOnly})
		case ok, v.hasBelow(p):
			files = append(files, reapi.File{Path: p, Folder: true})
		case special(root, p):
			files = append(files, reapi.File{Path: p, Digest: nameOnly, Executable: true})
		}
	}
	for _, p := range set.Names {
		name(p)
	}
	for _, dir := range set.Listed {
		if dir != "" {
			name(dir)
		}
		for _, n := range v.namesIn(dir) {
			p := path.Join(dir, n)
			if _, made := slices.BinarySearch(set.Made, p); !made {
				name(p)
			}
		}
	}
	return tidy(files), nil
}

// special reports whether a path is there that is no file, link or folder: a pipe or a socket. The walk leaves them out.
func special(root, p string) bool {
	info, err := os.Lstat(filepath.Join(root, p))
	return err == nil && !info.Mode().IsRegular() && !info.IsDir() && info.Mode()&fs.ModeSymlink == 0
}

// tidy sorts files, keeps one of each path, that which says most, and drops folders with something below.
func tidy(files []reapi.File) []reapi.File {
	contents := func(f reapi.File) int {
		if f.Digest == nameOnly || f.Folder {
			return 1
		}
		return 0
	}
	slices.SortFunc(files, func(a, b reapi.File) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), contents(a)-contents(b), len(b.Link)-len(a.Link))
	})
	files = slices.CompactFunc(files, func(a, b reapi.File) bool { return a.Path == b.Path })
	v := view{files: files}
	return slices.DeleteFunc(slices.Clone(files), func(f reapi.File) bool { return f.Folder && v.hasBelow(f.Path) })
}

// namesIn returns the names in a folder that count: where git does not ignore the folder, those that it does not ignore.
func (v *view) namesIn(dir string) (names []string) {
	all := isIgnored(v.top, dir)
	from, to := v.below(dir)
	prefix := ""
	if dir != "" {
		prefix = dir + "/"
	}
	for n := from; n < to; n++ {
		rest, ok := strings.CutPrefix(v.files[n].Path, prefix)
		if !ok || v.ignored[n] && !all {
			continue
		}
		name, _, _ := strings.Cut(rest, "/")
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// changed returns what came or went since the task read it, or "".
func (s *seen) changed(v *view, own []pattern) string {
	for _, p := range s.Files {
		if f, ok := v.find(p); !ok || f.Folder || f.Link != s.links[p] {
			return p
		}
	}
	for _, p := range s.Names {
		_, there := v.find(p)
		if (there || v.hasBelow(p) || special(s.root, p)) != s.folders[p] {
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

// listingChanged returns a name that came to a folder, or went, since it was read, and that the task did not make.
func (s *seen) listingChanged(v *view, dir string, own []pattern) string {
	was, now := map[string]bool{}, map[string]bool{}
	for _, n := range s.snapshots[dir] {
		was[n] = true
	}
	for _, n := range v.namesIn(dir) {
		now[n] = true
	}
	for _, n := range slices.Sorted(maps.Keys(now)) {
		p := path.Join(dir, n)
		if _, made := slices.BinarySearch(s.Made, p); !was[n] && !made && !matches(own, p) {
			return p
		}
	}
	for _, n := range s.snapshots[dir] {
		p := path.Join(dir, n)
		if _, err := os.Lstat(filepath.Join(s.root, p)); err != nil && !now[n] && !matches(own, p) {
			return p
		}
	}
	return ""
}

// gathered returns what a task that has ended was seen to read; nil if nobody looked.
func (c *Cache) gathered(ctx context.Context, e *Entry) (*seen, error) {
	if e.reads == nil {
		return nil, nil
	}
	own := parseAll(e.task.Outputs)
	end := func() seen {
		return e.reads.end(func(p string) bool { return isIgnored(c.memory.ignore.Top, p) }, func(p string) bool { return matches(own, p) })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := end()
	if e.task.Auto { // the walk must find what it read, and git tell what of that it ignores
		read := parseAll(s.patterns())
		c.memory.want(slices.DeleteFunc(slices.Clone(read), func(p pattern) bool { return p.folder == "" }), read)
		if _, err := c.look(ctx, e.task); err != nil {
			return nil, err
		}
		s = end()
	}
	return &s, nil
}

// inputs returns what counts as inputs of a task that was seen, nil for those that it declares.
func (s *seen) inputs(e *Entry) *readSet {
	if !e.task.Auto {
		return nil
	}
	return &s.readSet
}

// settle gives a task that has passed the key that belongs to what it read. It returns why that could not be stored, or "".
func (c *Cache) settle(ctx context.Context, e *Entry, s *seen, inputs []reapi.File, root reapi.Digest) string {
	d, err := c.Describe(e.task)
	if err != nil {
		return err.Error()
	}
	if e.made, err = c.describe(ctx, e.task, d, root, &s.readSet); err != nil {
		return err.Error()
	}
	e.Key, e.set, e.inputs, e.root = e.made.Key, &s.readSet, inputs, root
	if err := c.store.putReadSet(e.task.Name, s.readSet); err != nil {
		return err.Error()
	}
	return ""
}

// undeclared returns what a task with strict = true read that is not among its inputs, or "".
func (c *Cache) undeclared(e *Entry, s *seen, inputs []reapi.File) string {
	if !e.task.Strict || e.task.Auto {
		return ""
	}
	if s.whyNot != "" {
		return s.whyNot
	}
	declared := map[string]bool{}
	for _, f := range inputs {
		declared[f.Path] = true
	}
	d, err := c.Describe(e.task)
	if err != nil {
		return err.Error()
	}
	for _, p := range d.Programs { // they are part of the key
		if rel, err := filepath.Rel(c.Config.Root, p.Path); err == nil {
			declared[filepath.ToSlash(rel)] = true
		}
	}
	first, more := "", 0
	for _, p := range s.opened {
		switch {
		case declared[p]:
		case first == "":
			first = p
		default:
			more++
		}
	}
	switch {
	case first == "":
		return ""
	case more > 0:
		return fmt.Sprintf("it read %s and %d more that are not among its inputs", first, more)
	}
	return fmt.Sprintf("it read %s, which is not among its inputs", first)
}
