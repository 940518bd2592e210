package files

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"golang.org/x/sys/unix"
)

// A View is what the tree had at one moment: what git does not ignore, and what patterns name below ignored folders.
type View struct {
	files   []reapi.File // files, links and empty folders, sorted by path
	closed  []reapi.File // folders that keep something from their group or others, with their modes, sorted by path
	changed []int64      // of files: when it was last changed in any way, ns since 1970
	latest  int64        // when one of them may have been changed last: see tree.Latest
	ignored []bool       // of files: git ignores it
	broken  []tree.Omitted
	repos   []string // folders below the root that have a .git
	top     []string // the ignored paths, topmost, sorted; a folder without its slash
	more    *folders // these are not empty, although nothing in them was looked at
	only    []string // what else is in it may have changed since; nil: nothing may

	chosen map[string]choice // by patterns, joined
}

// A choice is the files that patterns choose, or why they cannot be told.
type choice struct {
	files []reapi.File
	links bool // some are links: what they lead to counts, too
	err   error
}

// view makes a view of a walk.
func (m *Memory) view(found *tree.Manifest) *View {
	v := &View{top: m.ignore.Top, broken: found.Omitted, repos: found.Repos, more: &m.more, chosen: map[string]choice{}}
	v.files, v.changed = make([]reapi.File, 0, len(found.Entries)), make([]int64, 0, len(found.Entries))
	for i := range found.Entries {
		e := &found.Entries[i]
		f := reapi.File{Path: e.Path}
		switch {
		case e.Mode.IsDir():
			if reapi.IsClosed(e.Mode) {
				v.closed = append(v.closed, reapi.File{Path: e.Path, Mode: e.Mode.Perm()})
			}
			if i+1 < len(found.Entries) && Within(found.Entries[i+1].Path, e.Path) || found.HasBelow(e.Path) {
				continue
			}
			f.Folder = true
		case e.Mode&fs.ModeSymlink != 0:
			f.Link = e.Link
		default:
			f.Digest = reapi.Digest{Hash: strings.TrimPrefix(e.Digest, "sha256:"), Size: e.Size}
			f.Executable, f.Mode = e.Mode&0o100 != 0, reapi.Restricted(e.Mode)
		}
		v.files, v.changed = append(v.files, f), append(v.changed, found.Changed(i))
		v.latest = max(v.latest, tree.Latest(found.Changed(i)))
	}
	v.ignored = make([]bool, len(v.files))
	if len(v.top) > 0 {
		for i := range v.files {
			v.ignored[i] = isIgnored(v.top, v.files[i].Path)
		}
	}
	return v
}

// HasBelow reports whether there is a file below dir.
func (v *View) HasBelow(dir string) bool { return HasBelow(v.files, dir) }

// HasBelow reports whether there is a file below dir among files that are sorted by path.
func HasBelow(all []reapi.File, dir string) bool {
	i := sort.Search(len(all), func(i int) bool { return all[i].Path >= dir+"/" })
	return i < len(all) && strings.HasPrefix(all[i].Path, dir+"/")
}

// Find returns the file at p.
func (v *View) Find(p string) (reapi.File, bool) {
	i, ok := v.place(p)
	if !ok || v.only != nil && !slices.ContainsFunc(v.only, func(dir string) bool { return Within(p, dir) }) {
		return reapi.File{}, false
	}
	return v.files[i], true
}

// Outdated reports whether a path of root has a file now that is not the one that v was made of.
func (v *View) Outdated(root, p string) bool {
	at := filepath.Join(root, filepath.FromSlash(p))
	var now unix.Stat_t
	err := unix.Lstat(at, &now)
	i, ok := v.place(p)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return false
	case err != nil || !ok:
		return err != nil || now.Mode&unix.S_IFMT != unix.S_IFDIR
	case v.files[i].Link != "": // when a link was changed is not known
		text, _ := os.Readlink(at)
		return text != v.files[i].Link
	}
	return now.Mode&unix.S_IFMT != unix.S_IFDIR && now.Ctim.Nano() != v.changed[i]
}

// IsThere reports whether a path of root has the file, link or folder that v was made of.
func (v *View) IsThere(root, p string) bool {
	var now unix.Stat_t
	err := unix.Lstat(filepath.Join(root, filepath.FromSlash(p)), &now)
	f, ok := v.Find(p)
	return err == nil && ok && f.Folder == (now.Mode&unix.S_IFMT == unix.S_IFDIR) && !v.Outdated(root, p)
}

// Ignored reports whether git ignores a file that was found.
func (v *View) Ignored(p string) bool {
	i, ok := v.place(p)
	return ok && v.ignored[i]
}

func (v *View) place(p string) (int, bool) {
	return slices.BinarySearchFunc(v.files, p, func(f reapi.File, p string) int { return strings.Compare(f.Path, p) })
}

// below returns the range of files that a folder has; "" has all.
func (v *View) below(dir string) (from, to int) {
	if dir == "" {
		return 0, len(v.files)
	}
	from = sort.Search(len(v.files), func(i int) bool { return v.files[i].Path >= dir })
	to = sort.Search(len(v.files), func(i int) bool { return v.files[i].Path >= dir+"0" }) // 0 follows /
	return from, to
}

// Inputs returns the files that patterns choose, without folders, the last pattern that matches a path deciding; own
// are the outputs of the task itself, which are inputs only where that is on purpose. What it returns must not be
// changed.
func (v *View) Inputs(root string, texts, own []string) ([]reapi.File, error) {
	key := strings.Join(texts, "\x00") + "\x00\x00" + strings.Join(own, "\x00")
	if c, ok := v.chosen[key]; ok && (v.only == nil || !c.links && c.err == nil) {
		return c.files, c.err
	}
	files, err := v.choose(root, ParseAll(texts), ParseAll(own))
	v.chosen[key] = choice{files, slices.ContainsFunc(files, func(f reapi.File) bool { return f.Link != "" }), err}
	return files, err
}

func (v *View) choose(root string, all, own []Pattern) ([]reapi.File, error) {
	for i := range all {
		if link := v.linkTo(&all[i]); link != "" && !all[i].Not {
			return nil, fmt.Errorf("%s is a link, and what is behind it is no input: name what it leads to instead of %s", link, all[i].text)
		}
	}
	first, end := len(v.files), 0
	for i := range all {
		if from, to := v.below(all[i].Folder); !all[i].Not {
			first, end = min(first, from), max(end, to)
		}
	}
	in := make([]bool, max(0, end-first)) // of the files from first to end
	for i := range all {
		p := &all[i]
		names := isIgnored(v.top, p.Folder) // then it may name what git ignores
		from, to := v.below(p.Folder)
		for n := max(from, first); n < min(to, end); n++ {
			if in[n-first] == p.Not && (p.Not || names || !v.ignored[n]) && p.match(v.files[n].Path) {
				in[n-first] = !p.Not
			}
		}
	}
	n := 0
	for i := range in {
		f := &v.files[first+i]
		in[i] = in[i] && !f.Folder && (len(own) == 0 || !Matches(own, f.Path) || OnPurpose(all, own, f.Path))
		if in[i] {
			n++
		}
	}
	var files []reapi.File
	if n == len(in) && n > 0 {
		files = v.files[first:end:end]
	} else {
		files = make([]reapi.File, 0, n)
		for i := range in {
			if in[i] {
				files = append(files, v.files[first+i])
			}
		}
	}
	if err := v.Unreadable(func(p string) bool { return Matches(all, p) && !Matches(own, p) }); err != nil {
		return nil, err
	}
	return v.WithTargets(root, func(dir string) bool { return covered(all, dir) && !isIgnored(v.top, dir) }, files)
}

// linkTo returns the link on the way to what a pattern names, or "". What the pattern itself matches is not on the way.
func (v *View) linkTo(p *Pattern) string {
	for dir := p.Folder; dir != ""; dir = Parent(dir) {
		if i, ok := v.place(dir); ok && v.files[i].Link != "" && !p.match(dir) {
			return dir
		}
	}
	return ""
}

// Unreadable returns an error if a file of the tree that in holds for could not be read.
func (v *View) Unreadable(in func(p string) bool) error {
	for _, b := range v.broken {
		if b.Why == "unreadable" && in(b.Path) {
			return fmt.Errorf("%s cannot be read", b.Path)
		}
	}
	return nil
}

// Unstored returns what of the outputs that patterns match a result cannot have, and why, or "".
func (v *View) Unstored(outputs []Pattern) string {
	for _, b := range v.broken {
		if !Matches(outputs, b.Path) {
			continue
		}
		switch b.Why {
		case "special":
			return b.Path + " is no file, folder or link"
		case "unreadable":
			return b.Path + " cannot be read"
		}
	}
	for _, dir := range v.repos {
		if git := dir + "/.git"; Matches(outputs, git) {
			return git + " is never stored"
		}
	}
	return ""
}

// ChangedAfter reports whether a file was changed in any way after at, in ns since 1970.
func (v *View) ChangedAfter(p string, at int64) bool {
	if v.latest <= at {
		return false
	}
	i, ok := v.place(p)
	return ok && v.changed[i] > at
}

// MayHaveChangedAfter reports whether a file has a time with which it may have been changed after at, in ns since
// 1970: where the file system knows only whole seconds.
func (v *View) MayHaveChangedAfter(p string, at int64) bool {
	if v.latest <= at {
		return false
	}
	i, ok := v.place(p)
	return ok && tree.Latest(v.changed[i]) > at
}

// Differs reports whether a file was changed in any way since an earlier view, which had it. A file may be stamped up to a
// tick too early, so that ChangedAfter alone can miss a change that follows the earlier view at once.
func (v *View) Differs(earlier *View, p string) bool {
	was, there := earlier.Find(p)
	i, ok := v.place(p)
	if !there || !ok {
		return false
	}
	j, _ := earlier.place(p)
	return v.changed[i] != earlier.changed[j] || !v.files[i].Same(was)
}

// WithTargets adds the files that links lead to. A link to a file outside of the root has its digest in its own. One to a
// folder counts only by its text: covered must report whether what it has counts otherwise.
func (v *View) WithTargets(root string, covered func(dir string) bool, files []reapi.File) ([]reapi.File, error) {
	if !slices.ContainsFunc(files, func(f reapi.File) bool { return f.Link != "" }) {
		return files, nil
	}
	var more []reapi.File
	files = slices.Clone(files)
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	for i, f := range files {
		if f.Link == "" {
			continue
		}
		at, err := filepath.EvalSymlinks(filepath.Join(real, filepath.FromSlash(f.Path)))
		if err != nil {
			continue // it leads nowhere: the text counts
		}
		info, err := os.Stat(at)
		if err != nil {
			continue
		}
		rel, err := filepath.Rel(real, at)
		in := err == nil && filepath.IsLocal(rel) && rel != "." && !Ours(filepath.ToSlash(rel))
		p := filepath.ToSlash(rel)
		switch {
		case info.IsDir() && in && covered(p):
		case info.IsDir():
			return nil, fmt.Errorf("%s is a link to a folder, and not all of that is an input: name it too, or leave the link out", f.Path)
		case !info.Mode().IsRegular():
		case in:
			to, ok := v.Find(p)
			if !ok {
				to, ok = readFile(real, p)
			}
			if !ok {
				return nil, fmt.Errorf("%s leads to a file that cannot be read", f.Path)
			}
			more = append(more, to)
		default:
			to, ok := readFile(filepath.Dir(at), filepath.Base(at))
			if !ok {
				return nil, fmt.Errorf("%s leads to a file that cannot be read", f.Path)
			}
			files[i].Link += "\x00" + to.Digest.Hash // no text of a link has a NUL byte
		}
	}
	if len(more) == 0 {
		return files, nil
	}
	files = append(files, more...)
	slices.SortFunc(files, func(a, b reapi.File) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(files, func(a, b reapi.File) bool { return a.Path == b.Path }), nil
}

// LeadsOutside reports whether a file of WithTargets is a link to a file outside of the root.
func LeadsOutside(f reapi.File) bool { return strings.Contains(f.Link, "\x00") }

// covered reports whether patterns choose all of a folder, but for what others take away.
func covered(all []Pattern, dir string) bool {
	return slices.ContainsFunc(all, func(p Pattern) bool { return (p.All || p.Plain) && !p.Not && Within(dir, p.Folder) })
}

// readFile reads a file in the root that the walk did not, and no link to one.
func readFile(root, p string) (reapi.File, bool) {
	in, err := os.OpenRoot(root)
	if err != nil {
		return reapi.File{}, false
	}
	defer func() { _ = in.Close() }()
	info, err := in.Lstat(p)
	if err != nil || !info.Mode().IsRegular() {
		return reapi.File{}, false
	}
	f, err := in.Open(p)
	if err != nil {
		return reapi.File{}, false
	}
	defer func() { _ = f.Close() }()
	d, err := CopyHashed(io.Discard, f)
	return reapi.File{Path: p, Digest: d, Executable: info.Mode()&0o100 != 0}, err == nil
}

// Outputs returns what is there of the outputs of a task, and the first pattern that nothing matches.
func (v *View) Outputs(texts []string) (files []reapi.File, missing string) {
	all := ParseAll(texts)
	found := make([]bool, len(all))
	in := map[int]bool{}
	for i := range all {
		from, to := v.below(all[i].Folder)
		for n := from; n < to; n++ {
			f := &v.files[n]
			if all[i].match(f.Path) && (!f.Folder || !v.more.has(f.Path)) {
				found[i], in[n] = true, true
			}
		}
	}
	order := make([]int, 0, len(in))
	for n := range in {
		order = append(order, n)
	}
	slices.Sort(order)
	for _, n := range order {
		files = append(files, v.files[n])
	}
	if i := slices.Index(found, false); i >= 0 {
		missing = texts[i]
	}
	return files, missing
}

// Closed returns the folders that patterns of outputs match and that keep something from their group or others. made is
// what Outputs returned: folders with nothing of that are left out.
func (v *View) Closed(texts []string, made []reapi.File) (folders []reapi.File) {
	all := ParseAll(texts)
	for _, f := range v.closed {
		at, ok := v.Find(f.Path)
		if slices.ContainsFunc(all, func(p Pattern) bool { return p.match(f.Path) }) && (ok && at.Folder || HasBelow(made, f.Path)) {
			folders = append(folders, f)
		}
	}
	return folders
}

// CopyHashed copies from r to w and returns the digest of what was copied.
func CopyHashed(w io.Writer, r io.Reader) (reapi.Digest, error) {
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, h), r)
	return reapi.Digest{Hash: hex.EncodeToString(h.Sum(nil)), Size: n}, err
}

// NamesIn returns the names in a folder that count: where git does not ignore the folder, those that it does not ignore.
func (v *View) NamesIn(dir string) (names []string) {
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

// NameOnly is the digest of a file of which only the name counts. No blob has it.
var NameOnly = reapi.Digest{Hash: reapi.DigestOf([]byte("only its name")).Hash}

// Tidy sorts files, keeps one of each path, that which says most, and drops folders with something below.
func Tidy(all []reapi.File) []reapi.File {
	contents := func(f reapi.File) int {
		if f.Digest == NameOnly || f.Folder {
			return 1
		}
		return 0
	}
	slices.SortFunc(all, func(a, b reapi.File) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), contents(a)-contents(b), len(b.Link)-len(a.Link))
	})
	all = slices.CompactFunc(all, func(a, b reapi.File) bool { return a.Path == b.Path })
	return slices.DeleteFunc(slices.Clone(all), func(f reapi.File) bool { return f.Folder && HasBelow(all, f.Path) })
}
