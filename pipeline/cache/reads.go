package cache

// What a task was seen to read of the tree: the inputs of one with inputs = auto, and what strict = true compares with
// those that are declared.

import (
	"cmp"
	"context"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/internal/access"
	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A readSet is what a task read. Paths are relative to the root; "" is the root itself. All lists are sorted.
type readSet struct {
	Files  []string `json:"files"`  // their contents; of links, the text
	Names  []string `json:"names"`  // whether they exist; at the time they were folders, or did not
	Listed []string `json:"listed"` // folders: which names are in them
	Made   []string `json:"made"`   // what the task made itself: these names do not count in Listed
}

// mostReads bounds a readSet: what reads more is better off with patterns.
const mostReads = 200_000

// accesses gathers what a task reads while it runs.
type accesses struct {
	real string // the root, without links

	mu     sync.Mutex
	blind  string           // why not all was seen; empty: it was
	inside map[string]*read // by path, relative to the root, without links on the way to it
}

// A read is a path that was accessed.
type read struct {
	was    fs.FileMode // at the first access, of a link its own; of something that was not there, absent
	looked bool        // whether it exists
	read   bool
	made   bool // it was made or written
	first  bool // and not read before that
	passed bool // of a link: it is on the way to another path
	names  []string
	text   string // of a link, at the first access
}

const absent = ^fs.FileMode(0)

func (x *read) isDir() bool { return x.was != absent && x.was.IsDir() }

func newAccesses(root string) *accesses {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		real = root
	}
	return &accesses{real: real, inside: map[string]*read{}}
}

// see takes note of an access, before the kernel carries it out.
func (r *accesses) see(a access.Path) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case a.Kind == access.Blind:
		r.blind = cmp.Or(r.blind, a.Name)
		return
	case len(r.inside) > mostReads:
		r.blind = cmp.Or(r.blind, fmt.Sprintf("it uses more than %d paths", mostReads))
		return
	}
	r.see1(a, mostInterpreters)
}

// mostInterpreters is how often the kernel runs a script by a script.
const mostInterpreters = 5

// see1 is see for a path that is not Blind. r.mu is locked.
func (r *accesses) see1(a access.Path, more int) {
	if more == 0 {
		return
	}
	links, at := resolve(a)
	for _, l := range links {
		if p, in := r.below(l); in {
			r.note(p).passed = true
		}
	}
	p, in := r.below(at)
	if in {
		r.want(p, a)
	}
	if a.Runs {
		for _, name := range runBy(at, in) {
			if !filepath.IsAbs(name) {
				name = fmt.Sprintf("/proc/%d/cwd/%s", a.PID, name)
			}
			r.see1(access.Path{Kind: access.Read, Name: name, PID: a.PID, Runs: true}, more-1)
		}
	}
}

// runBy returns what the kernel opens to run a program: the interpreter that its first line names, or the loader that it
// was linked for. That of a program outside of the root is outside too.
func runBy(at string, in bool) []string {
	f, err := os.Open(at)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head)
	if line, ok := strings.CutPrefix(string(head[:n]), "#!"); ok {
		line, _, _ = strings.Cut(line, "\n")
		if words := strings.Fields(line); len(words) > 0 {
			return words[:1]
		}
		return nil
	}
	if !in || !strings.HasPrefix(string(head[:n]), elf.ELFMAG) {
		return nil
	}
	program, err := elf.NewFile(f)
	if err != nil {
		return nil
	}
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP && p.Filesz < 4096 {
			if text, err := io.ReadAll(p.Open()); err == nil {
				return []string{strings.TrimRight(string(text), "\x00")}
			}
		}
	}
	return nil
}

// below returns the path of what is in the root, relative to it.
func (r *accesses) below(at string) (string, bool) {
	p, ok := strings.CutPrefix(at, r.real)
	if !ok || p != "" && p[0] != '/' {
		return "", false
	}
	return strings.TrimPrefix(p, "/"), true
}

// mostLinks is how many links the kernel follows in a path.
const mostLinks = 40

// resolve returns where a path leads, as the kernel will find it, and the links on the way, in their order. Of a path that
// does not lead anywhere it is where the rest of it would be.
func resolve(a access.Path) (links []string, at string) {
	rest, at := a.Name, "/"
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		if at == "/proc" && a.PID != 0 && (name == "self" || name == "thread-self") {
			name = strconv.Itoa(a.PID)
			if strings.HasPrefix(rest, "task/") { // of another thread: it is in the same place
				continue
			}
		}
		next := path.Join(at, name)
		text, err := os.Readlink(next)
		if err != nil || a.Link && strings.Trim(rest, "/") == "" || len(links) == mostLinks {
			at = next
			continue
		}
		links = append(links, next)
		if strings.HasPrefix(text, "/") {
			at = "/"
		}
		rest = text + "/" + rest
	}
	return links, at
}

// note returns what is known of a path in the root. r.mu is locked.
func (r *accesses) note(p string) *read {
	x := r.inside[p]
	if x != nil {
		return x
	}
	x = &read{was: absent}
	r.inside[p] = x
	if info, err := os.Lstat(filepath.Join(r.real, p)); err == nil {
		if x.was = info.Mode(); x.was&fs.ModeSymlink != 0 {
			x.text, _ = os.Readlink(filepath.Join(r.real, p))
		}
	} else if p != "" {
		r.note(parent(p)) // of a path in a folder that is not there, what counts is that there is no such folder
	}
	return x
}

// want takes note of what is wanted of a path in the root. r.mu is locked.
func (r *accesses) want(p string, a access.Path) {
	x := r.note(p)
	makes := x.was != absent || x.made || a.Add
	switch a.Kind {
	case access.Looked:
		x.looked = true
	case access.Listed:
		if x.isDir() && x.names == nil {
			x.names = namesIn(filepath.Join(r.real, p))
		}
	case access.Moved:
		if x.isDir() && !x.made {
			r.blind = cmp.Or(r.blind, "it moves the folder "+p)
		}
		x.read, x.made = x.read || !x.first, true
	case access.Removed:
		r.emptied(p, x)
		x.looked, x.made = true, true
	case access.Read, access.Written:
		switch {
		case x.isDir(), !makes && a.Kind == access.Written:
			x.looked = true // a folder that is opened may be one to work in; its names are asked for apart
		default:
			x.read = x.read || !x.first
			x.made = x.made || a.Kind == access.Written
		}
	case access.Made:
		if _, err := os.Lstat(filepath.Join(r.real, p)); !makes || a.New && err == nil {
			x.looked = true // it fails
			break
		}
		r.emptied(p, x)
		x.first = x.first || !x.read && !x.looked
		x.made = true
		x.looked = x.looked || !a.Add // it has to be there
	}
}

// emptied takes note that a folder can be removed or replaced only if nothing is in it. r.mu is locked.
func (r *accesses) emptied(p string, x *read) {
	if x.isDir() && x.names == nil {
		x.names = namesIn(filepath.Join(r.real, p))
		x.looked = true
	}
}

// namesIn returns the names in a folder, sorted. It is never nil.
func namesIn(dir string) []string {
	names := []string{}
	all, _ := os.ReadDir(dir)
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
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
	return digestOf(b).Hash
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
var nameOnly = Digest{digestOf([]byte("only its name")).Hash, 0}

// seen returns the files that a set names, as they are now, sorted. own are the outputs of the task.
func (v *view) seen(root string, set readSet, own []pattern) ([]File, error) {
	counts := func(p string) bool { return !ours(p) && !matches(own, p) }
	var files []File
	for _, p := range set.Files {
		if f, ok := v.find(p); ok && !f.Folder && counts(p) {
			files = append(files, f)
		} else if !ok && counts(p) && v.hasBelow(p) {
			files = append(files, File{Path: p, Folder: true})
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
			files = append(files, File{Path: p, Link: f.Link})
		case ok && !f.Folder:
			files = append(files, File{Path: p, Digest: nameOnly})
		case ok, v.hasBelow(p):
			files = append(files, File{Path: p, Folder: true})
		case special(root, p):
			files = append(files, File{Path: p, Digest: nameOnly, Executable: true})
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
func tidy(files []File) []File {
	contents := func(f File) int {
		if f.Digest == nameOnly || f.Folder {
			return 1
		}
		return 0
	}
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), contents(a)-contents(b), len(b.Link)-len(a.Link))
	})
	files = slices.CompactFunc(files, func(a, b File) bool { return a.Path == b.Path })
	v := view{files: files}
	return slices.DeleteFunc(slices.Clone(files), func(f File) bool { return f.Folder && v.hasBelow(f.Path) })
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
func (c *Cache) settle(ctx context.Context, e *Entry, s *seen, inputs []File, root Digest) string {
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
func (c *Cache) undeclared(e *Entry, s *seen, inputs []File) string {
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
