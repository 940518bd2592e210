package cache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// A view is what the tree had at one moment: what git does not ignore, and what patterns name below ignored folders.
type view struct {
	files   []reapi.File     // files, links and empty folders, sorted by path
	changed map[string]int64 // when a file was last changed in any way, ns since 1970
	ignored []bool           // of files: git ignores it
	broken  []tree.Omitted
	top     []string // the ignored paths, topmost, sorted; a folder without its slash

	chosen map[string]choice // by patterns, joined
}

// A choice is the files that patterns choose, or why they cannot be told.
type choice struct {
	files []reapi.File
	err   error
}

// A memory is what a walk of the tree found, kept for the next one: files that did not change are not read again.
type memory struct {
	dir    string // where it is stored
	root   string
	named  index // of all tasks: what is walked although git ignores it
	wanted index // of all tasks: nothing else is read
	wants  [2][]pattern
	known  *tree.Manifest
	ignore ignoreList

	gitignores []string // the files of rules that known has

	loaded bool
	walked bool     // known is of this run
	made   []string // what appeared since git was asked what it ignores, and no task looked at as an input
	global string   // the person's own file of rules for all repositories
	stale  bool     // what is stored is older than known
}

// An ignoreList is what git ignored when it was asked, and what it said that of.
type ignoreList struct {
	Top   []string `json:"top"`   // topmost paths, sorted; folders without their slash
	Rules string   `json:"rules"` // digest of the rules and of the index
}

// limitMemory bounds what is read of an ignore list, in bytes.
const limitMemory = 64 << 20

// limitWalk bounds what is read of a walk, in bytes.
const limitWalk = 1 << 30

func (m *memory) load() {
	m.loaded = true
	if b, err := recordfile.Read(filepath.Join(m.dir, "walk"), limitWalk); err == nil {
		m.known, _ = tree.Recall(bytes.NewReader(b), m.root, process.Self().Boot) // what cannot be read is not known
	}
	if b, err := recordfile.Read(filepath.Join(m.dir, "ignored.json"), limitMemory); err != nil ||
		json.Unmarshal(b, &m.ignore) != nil {
		m.ignore = ignoreList{}
	}
}

// save stores what changed. What cannot be stored is read again next time.
func (m *memory) save() error {
	if !m.stale || m.known == nil {
		return nil
	}
	var b bytes.Buffer
	if err := m.known.Save(&b, m.root, process.Self().Boot, secretFile); err != nil {
		return err
	}
	list, err := json.Marshal(m.ignore)
	if err != nil {
		return err
	}
	m.stale = false
	return errors.Join(
		recordfile.Write(filepath.Join(m.dir, "walk"), b.Bytes(), false),
		recordfile.Write(filepath.Join(m.dir, "ignored.json"), list, false),
	)
}

// secretFile reports whether a file may be all secret and short: its digest is not stored.
func secretFile(name string) bool {
	return strings.HasPrefix(path.Base(name), ".env")
}

// look walks the tree.
func (m *memory) look(ctx context.Context) (*view, error) {
	if !m.loaded {
		m.load()
		m.noteRules()
	}
	rules := m.rules(ctx)
	asked := m.known == nil || m.ignore.Rules != rules || len(m.made) > 0
	if asked {
		if err := m.ask(ctx, rules); err != nil {
			return nil, err
		}
	}
	found, err := m.walk(ctx, nil)
	if err != nil {
		return nil, err
	}
	if fresh, changed := m.unknown(found, nil); !asked && (changed || len(fresh) > 0) {
		if err := m.ask(ctx, rules); err != nil {
			return nil, err
		}
		m.known = found
		if found, err = m.walk(ctx, nil); err != nil {
			return nil, err
		}
	}
	if m.known == nil || !slices.Equal(m.known.Entries, found.Entries) {
		m.stale = true
	}
	m.known, m.walked = found, true
	m.noteRules()
	return m.view(found), nil
}

// A scope is what a task has to do with, of a tree.
type scope struct {
	in, makes []pattern // inputs and outputs
	paths     []string  // the folders of these; one of them may be "", all
}

// part returns a view of a scope. Everything else is as it was when the tree was walked. ok is false if all of the tree
// must be walked.
func (m *memory) part(ctx context.Context, of scope) (_ *view, ok bool, err error) {
	if !m.walked || slices.Contains(of.paths, "") || m.ignore.Rules != m.rules(ctx) {
		return nil, false, nil
	}
	paths := slices.Clone(of.paths)
	for _, p := range of.paths {
		for dir := parent(p); ; dir = parent(dir) {
			paths = append(paths, path.Join(dir, ".gitignore"))
			if dir == "" {
				break
			}
		}
	}
	found, err := m.walk(ctx, paths)
	if err != nil {
		return nil, false, err
	}
	isInput := func(p string) bool { return matches(of.in, p) }
	fresh, rules := m.unknown(found, paths)
	if rules || slices.ContainsFunc(m.made, isInput) || slices.ContainsFunc(fresh, isInput) {
		return nil, false, nil // git must be asked
	}
	m.made = append(m.made, fresh...)
	if m.known.Update(found, paths) {
		m.stale = true
	}
	return m.view(found), true, nil
}

// want adds patterns to named and wanted. What is new in them is found by the next walk.
func (m *memory) want(named, wanted []pattern) {
	m.wants[0], m.wants[1] = append(m.wants[0], named...), append(m.wants[1], wanted...)
	before := m.wanted.texts
	m.named, m.wanted = newIndex(m.wants[0]), newIndex(m.wants[1])
	if m.wanted.texts != before {
		m.walked = false
	}
}

// walk walks the tree, or only some paths.
func (m *memory) walk(ctx context.Context, only []string) (*tree.Manifest, error) {
	return tree.Walk(ctx, m.root, tree.Options{Known: m.known, Only: only, Skip: func(p string, isDir bool) bool {
		if ours(p) || !m.wanted.wants(p, isDir) && (isDir || !isRules(p)) { // see unknown
			return true
		}
		return isIgnored(m.ignore.Top, p) && !m.named.names(p, isDir)
	}})
}

// isIgnored reports whether p is one of top, or below one.
func isIgnored(top []string, p string) bool {
	for {
		if _, ok := slices.BinarySearch(top, p); ok {
			return true
		}
		i := strings.LastIndexByte(p, '/')
		if i < 0 {
			return false
		}
		p = p[:i]
	}
}

func isRules(p string) bool { return path.Base(p) == ".gitignore" }

func (m *memory) noteRules() {
	m.gitignores = nil
	if m.known == nil {
		return
	}
	for i := range m.known.Entries {
		if p := m.known.Entries[i].Path; isRules(p) {
			m.gitignores = append(m.gitignores, p)
		}
	}
}

// unknown returns the new files of a walk: git was not asked whether it ignores them. rules reports whether a file of
// rules appeared, changed or vanished. only are the paths that were walked, nil for all.
func (m *memory) unknown(found *tree.Manifest, only []string) (fresh []string, rules bool) {
	if m.known == nil {
		return nil, true
	}
	for i := range found.Entries {
		e := &found.Entries[i]
		old, ok := m.known.Find(e.Path)
		switch {
		case e.Mode.IsDir():
		case ok:
			rules = rules || isRules(e.Path) && old.Digest != e.Digest
		case !secretFile(e.Path) && !isIgnored(m.ignore.Top, e.Path):
			fresh = append(fresh, e.Path)
			rules = rules || isRules(e.Path)
		}
	}
	for _, p := range m.gitignores {
		if _, there := found.Find(p); !there && (only == nil || slices.ContainsFunc(only, func(dir string) bool { return within(p, dir) })) {
			rules = true
		}
	}
	return fresh, rules
}

// rules returns a digest of what git decides by, but for the .gitignore files, which a walk sees.
func (m *memory) rules(ctx context.Context) string {
	h := sha256.New()
	if m.global == "" {
		m.global = globalRules(ctx, m.root)
	}
	if b, err := os.ReadFile(m.global); err == nil {
		fmt.Fprintf(h, "global %x\n", sha256.Sum256(b))
	}
	for dir := m.root; ; dir = filepath.Dir(dir) {
		at := filepath.Join(dir, ".git")
		if info, err := os.Lstat(at); err == nil {
			if !info.IsDir() { // a linked work tree: a file that names its folder
				at = gitFolder(at)
			}
			for _, name := range []string{"index", "info/exclude", "config"} {
				if info, err := os.Stat(filepath.Join(at, name)); err == nil {
					fmt.Fprintln(h, name, info.Size(), info.ModTime().UnixNano())
				}
			}
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	_, _ = io.WriteString(h, m.named.texts+"\x00"+m.wanted.texts) // a hash never fails
	return hex.EncodeToString(h.Sum(nil))
}

// globalRules returns the file of rules that git reads for all repositories of the person.
func globalRules(ctx context.Context, root string) string {
	if repo, err := git.Find(ctx, root); err == nil {
		if name, err := repo.ExcludesFile(ctx); err == nil && name != "" {
			return name
		}
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return os.DevNull
	}
	return filepath.Join(dir, "git", "ignore")
}

// gitFolder returns the folder that the file .git of a linked work tree names, or "".
func gitFolder(file string) string {
	b, err := recordfile.Read(file, 1<<16)
	if err != nil {
		return ""
	}
	at := strings.TrimSpace(strings.TrimPrefix(string(b), "gitdir:"))
	if !filepath.IsAbs(at) {
		at = filepath.Join(filepath.Dir(file), at)
	}
	return at
}

// ask asks git what it ignores, and whether the cache is its own. Without a repository nothing is ignored.
func (m *memory) ask(ctx context.Context, rules string) error {
	m.ignore, m.made = ignoreList{}, nil
	if err := foreign(ctx, m.dir); err != nil {
		return err
	}
	m.ignore.Rules = rules
	repo, err := git.Find(ctx, m.root)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return nil //nolint:nilerr // there is no repository, or git is not there
	}
	all, err := repo.Ignored(ctx)
	if err != nil {
		return err
	}
	below, err := filepath.Rel(repo.Top, m.root)
	if err != nil {
		return err
	}
	for _, p := range all {
		p = strings.TrimSuffix(p, "/")
		if below != "." {
			var in bool
			if p, in = strings.CutPrefix(p, filepath.ToSlash(below)+"/"); !in {
				continue
			}
		}
		m.ignore.Top = append(m.ignore.Top, p)
	}
	slices.Sort(m.ignore.Top)
	return nil
}

// foreign returns an error if git tracks files of the cache: a commit could bring along a result for a check that never
// passed.
func foreign(ctx context.Context, dir string) error {
	in := dir
	for !recordfile.IsFolder(in) {
		in = filepath.Dir(in)
	}
	repo, err := git.Find(ctx, in)
	if err != nil {
		return ctx.Err() // there is no repository, or git is not there
	}
	rel, err := filepath.Rel(repo.Top, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return err
	}
	tracked, err := repo.Tracks(ctx, filepath.ToSlash(rel))
	if err == nil && tracked {
		err = fmt.Errorf("git tracks files in %s, and what came with a repository is never used: git rm -r --cached %s", rel, rel)
	}
	return err
}

// view makes a view of a walk.
func (m *memory) view(found *tree.Manifest) *view {
	v := &view{top: m.ignore.Top, broken: found.Omitted, chosen: map[string]choice{}, changed: map[string]int64{}}
	v.files = make([]reapi.File, 0, len(found.Entries))
	for i := range found.Entries {
		e := &found.Entries[i]
		f := reapi.File{Path: e.Path}
		switch {
		case e.Mode.IsDir():
			if i+1 < len(found.Entries) && within(found.Entries[i+1].Path, e.Path) {
				continue
			}
			f.Folder = true
		case e.Mode&fs.ModeSymlink != 0:
			f.Link = e.Link
		default:
			f.Digest = reapi.Digest{Hash: strings.TrimPrefix(e.Digest, "sha256:"), Size: e.Size}
			f.Executable = e.Mode&0o100 != 0
			v.changed[e.Path] = found.Changed(i)
		}
		v.files = append(v.files, f)
	}
	// A folder a and a file a-b sort otherwise than their paths: what follows a folder need not be in it.
	v.files = slices.DeleteFunc(v.files, func(f reapi.File) bool { return f.Folder && v.hasBelow(f.Path) })
	v.ignored = make([]bool, len(v.files))
	if len(v.top) > 0 {
		for i := range v.files {
			v.ignored[i] = isIgnored(v.top, v.files[i].Path)
		}
	}
	return v
}

// hasBelow reports whether there is a file below dir.
func (v *view) hasBelow(dir string) bool {
	i := sort.Search(len(v.files), func(i int) bool { return v.files[i].Path >= dir+"/" })
	return i < len(v.files) && strings.HasPrefix(v.files[i].Path, dir+"/")
}

// find returns the file at p.
func (v *view) find(p string) (reapi.File, bool) {
	i, ok := slices.BinarySearchFunc(v.files, p, func(f reapi.File, p string) int { return strings.Compare(f.Path, p) })
	if !ok {
		return reapi.File{}, false
	}
	return v.files[i], true
}

// below returns the range of files that a folder has; "" has all.
func (v *view) below(dir string) (from, to int) {
	if dir == "" {
		return 0, len(v.files)
	}
	from = sort.Search(len(v.files), func(i int) bool { return v.files[i].Path >= dir })
	to = sort.Search(len(v.files), func(i int) bool { return v.files[i].Path >= dir+"0" }) // 0 follows /
	return from, to
}

// An unreadable error says that the inputs of a task cannot be told.
type unreadable struct{ text string }

func (u *unreadable) Error() string { return u.text }

// inputs returns the files that patterns choose, without folders, the last pattern that matches a path deciding; own
// are the outputs of the task itself.
func (v *view) inputs(root string, texts, own []string) ([]reapi.File, error) {
	key := strings.Join(texts, "\x00") + "\x00\x00" + strings.Join(own, "\x00")
	if c, ok := v.chosen[key]; ok {
		return c.files, c.err
	}
	files, err := v.choose(root, parseAll(texts), parseAll(own))
	v.chosen[key] = choice{files, err}
	return files, err
}

func (v *view) choose(root string, all, own []pattern) ([]reapi.File, error) {
	first, end := len(v.files), 0
	for i := range all {
		if from, to := v.below(all[i].folder); !all[i].not {
			first, end = min(first, from), max(end, to)
		}
	}
	in := make([]bool, max(0, end-first)) // of the files from first to end
	for i := range all {
		p := &all[i]
		names := isIgnored(v.top, p.folder) // then it may name what git ignores
		from, to := v.below(p.folder)
		for n := max(from, first); n < min(to, end); n++ {
			if in[n-first] == p.not && (p.not || names || !v.ignored[n]) && p.match(v.files[n].Path) {
				in[n-first] = !p.not
			}
		}
	}
	var files []reapi.File
	for i, is := range in {
		f := v.files[first+i]
		if !is || f.Folder || len(own) > 0 && matches(own, f.Path) {
			continue
		}
		files = append(files, f)
	}
	for _, b := range v.broken {
		if b.Why == "unreadable" && matches(all, b.Path) && !matches(own, b.Path) {
			return nil, &unreadable{b.Path + " cannot be read"}
		}
	}
	return v.withTargets(root, func(dir string) bool { return covered(all, dir) && !isIgnored(v.top, dir) }, files)
}

// withTargets adds the files that links lead to. A link to a file outside of the root has its digest in its own. One to a
// folder counts only by its text: covered must report whether what it has counts otherwise.
func (v *view) withTargets(root string, covered func(dir string) bool, files []reapi.File) ([]reapi.File, error) {
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
		in := err == nil && filepath.IsLocal(rel) && rel != "." && !ours(filepath.ToSlash(rel))
		p := filepath.ToSlash(rel)
		switch {
		case info.IsDir() && in && covered(p):
		case info.IsDir():
			return nil, &unreadable{fmt.Sprintf("%s is a link to a folder, and not all of that is an input: name it too, or leave the link out", f.Path)}
		case !info.Mode().IsRegular():
		case in:
			to, ok := v.find(p)
			if !ok {
				to, ok = readFile(real, p)
			}
			if !ok {
				return nil, &unreadable{f.Path + " leads to a file that cannot be read"}
			}
			more = append(more, to)
		default:
			to, ok := readFile(filepath.Dir(at), filepath.Base(at))
			if !ok {
				return nil, &unreadable{f.Path + " leads to a file that cannot be read"}
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

// covered reports whether patterns choose all of a folder, but for what others take away.
func covered(all []pattern, dir string) bool {
	return slices.ContainsFunc(all, func(p pattern) bool { return p.all && !p.not && within(dir, p.folder) })
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
	d, err := copyHashed(io.Discard, f)
	return reapi.File{Path: p, Digest: d, Executable: info.Mode()&0o100 != 0}, err == nil
}

// outputs returns what is there of the outputs of a task, and the first pattern that nothing matches.
func (v *view) outputs(texts []string) (files []reapi.File, missing string) {
	all := parseAll(texts)
	found := make([]bool, len(all))
	in := map[int]bool{}
	for i := range all {
		from, to := v.below(all[i].folder)
		for n := from; n < to; n++ {
			if all[i].match(v.files[n].Path) {
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

// copyHashed copies from r to w and returns the digest of what was copied.
func copyHashed(w io.Writer, r io.Reader) (reapi.Digest, error) {
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, h), r)
	return reapi.Digest{Hash: hex.EncodeToString(h.Sum(nil)), Size: n}, err
}
