// Package files is the tree as tasks see it: which files their patterns name, and what git ignores. A Memory walks the
// tree, and remembers what it found for the next walk; a View is what one walk found.
package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// A Memory is what a walk of the tree found, kept for the next one: files that did not change are not read again.
type Memory struct {
	Cache  string                 // the folder of the cache, which git may track nothing of
	Dir    string                 // where it is stored
	Root   string                 // of the tree
	Hides  func(path string) bool // what may not be stored, not even its name; nil: nothing
	named  index                  // of all tasks: what is walked although git ignores it
	wanted index                  // of all tasks: nothing else is read
	wants  [2][]Pattern
	known  *tree.Manifest
	ignore ignoreList

	gitignores []string // the files of rules that known has

	loaded bool
	walked bool     // known is of this run
	last   *View    // of all of known and ignore; nil: there is none
	made   []string // what appeared since git was asked what it ignores, and no task looked at as an input
	global string   // the person's own file of rules for all repositories

	decides decisive // when rules was called last
	digest  string   // of decides
	stale   bool     // what is stored is older than known

	more folders // in which there is something that no task wants: they are not empty

	temporary struct { // files that begin with TempPrefix: several workers find them
		sync.Mutex
		paths []string
	}
}

// A folders is a set of folders, which several workers fill in.
type folders struct {
	mu  sync.Mutex
	all map[string]bool
}

func (f *folders) add(dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[string]bool{}
	}
	f.all[dir] = true
}

func (f *folders) has(dir string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all[dir]
}

// TempPrefix begins the name of a file that is being restored. Its maker's process follows: see process.MakerOf. Such a
// file is in no View.
const TempPrefix = ".async-pipeline-restore-"

// Abandoned returns, once, the files with TempPrefix that a walk found and whose maker is not alive.
func (m *Memory) Abandoned() (paths []string) {
	m.temporary.Lock()
	defer m.temporary.Unlock()
	for _, p := range m.temporary.paths {
		if maker, ok := process.MakerOf(path.Base(p), TempPrefix); ok && !maker.Alive() {
			paths = append(paths, p)
		}
	}
	m.temporary.paths = nil
	return paths
}

// An ignoreList is what git ignored when it was asked, and what it said that of.
type ignoreList struct {
	Top   []string `json:"top"`   // topmost paths, sorted; folders without their slash
	Rules string   `json:"rules"` // digest of the rules and of the index
	Repos []string `json:"repos"` // repositories in the tree, sorted: each is asked itself
}

// limitMemory bounds what is read of an ignore list, in bytes.
const limitMemory = 64 << 20

// limitWalk bounds what is read of a walk, in bytes.
const limitWalk = 1 << 30

func (m *Memory) load() {
	m.loaded = true
	if b, err := recordfile.Read(filepath.Join(m.Dir, "walk"), limitWalk); err == nil {
		m.known, _ = tree.Recall(b, m.Root, process.Self().Boot) // what cannot be read is not known
	}
	if recordfile.ReadSummed(filepath.Join(m.Dir, "ignored.json"), limitMemory, &m.ignore) != nil {
		m.ignore = ignoreList{}
	}
	m.ignore.Top, m.ignore.Repos = each(m.ignore.Top, Untext), each(m.ignore.Repos, Untext)
}

// Save stores what changed. What cannot be stored is read again next time.
func (m *Memory) Save() error {
	if !m.stale || m.known == nil {
		return nil
	}
	var b bytes.Buffer
	hides := func(p string) bool { return m.Hides != nil && m.Hides(p) }
	if err := m.known.Save(&b, m.Root, process.Self().Boot, func(p string) bool { return secretFile(p) || hides(p) }); err != nil {
		return err
	}
	m.stale = false
	ignore := m.ignore
	if slices.ContainsFunc(ignore.Top, hides) || slices.ContainsFunc(ignore.Repos, hides) {
		ignore = ignoreList{} // git is asked again
	}
	ignore.Top, ignore.Repos = each(ignore.Top, Text), each(ignore.Repos, Text)
	return errors.Join(
		recordfile.Write(filepath.Join(m.Dir, "walk"), b.Bytes(), false),
		recordfile.WriteSummed(filepath.Join(m.Dir, "ignored.json"), ignore),
	)
}

// secretFile reports whether a file may be all secret and short: its digest is not stored.
func secretFile(name string) bool {
	return strings.HasPrefix(path.Base(name), ".env")
}

// Look walks the tree.
func (m *Memory) Look(ctx context.Context) (*View, error) {
	if !m.loaded {
		m.load()
		m.noteRules()
	}
	rules := m.rules(ctx)
	asked := m.known == nil || m.ignore.Rules != rules || len(m.made) > 0
	at := time.Now()
	if asked {
		if err := m.ask(ctx, rules); err != nil {
			return nil, err
		}
	}
	found, err := m.walk(ctx, nil)
	if err != nil {
		return nil, err
	}
	fresh, changed := m.unknown(found, nil)
	if !slices.Equal(found.Repos, m.ignore.Repos) || !asked && (changed || len(fresh) > 0) || asked && m.anyMade(found, at) {
		m.ignore.Repos = found.Repos
		if err := m.ask(ctx, m.rules(ctx)); err != nil {
			return nil, err
		}
		m.known = found
		if found, err = m.walk(ctx, nil); err != nil {
			return nil, err
		}
	}
	m.ignore.Repos = found.Repos
	same := m.known != nil && len(found.Anew) == 0 && len(found.Entries) == len(m.known.Entries)
	if same && m.last != nil && slices.Equal(found.Omitted, m.last.broken) {
		m.known, m.walked = found, true
		maps.DeleteFunc(m.last.chosen, func(_ string, c choice) bool { return c.links || c.err != nil })
		return m.last, nil
	}
	m.stale = m.stale || !same
	m.known, m.walked = found, true
	m.noteRules()
	m.last = m.view(found)
	return m.last, nil
}

// anyMade reports whether a walk found a new file that may have been made after a time. If git was asked then, it may
// not have known of it.
func (m *Memory) anyMade(found *tree.Manifest, at time.Time) bool {
	return slices.ContainsFunc(found.Anew, func(i int) bool {
		e := &found.Entries[i]
		if e.Mode.IsDir() || tree.Settled(0, found.Changed(i), at.UnixNano()) {
			return false
		}
		if m.known == nil {
			return true
		}
		_, known := m.known.Find(e.Path)
		return !known
	})
}

// A Scope is what a task has to do with, of a tree.
type Scope struct {
	In, Makes []Pattern // inputs and outputs
	Paths     []string  // the folders of these; one of them may be "", all
}

// Part returns a view of a scope. Everything else is as it was when the tree was walked. ok is false if all of the tree
// must be walked.
func (m *Memory) Part(ctx context.Context, of Scope) (_ *View, ok bool, err error) {
	if !m.walked || slices.Contains(of.Paths, "") || m.ignore.Rules != m.rules(ctx) {
		return nil, false, nil
	}
	paths := slices.Clone(of.Paths)
	for _, p := range of.Paths {
		for dir := Parent(p); ; dir = Parent(dir) {
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
	isInput := func(p string) bool { return Matches(of.In, p) }
	fresh, rules := m.unknown(found, paths)
	repos := slices.DeleteFunc(slices.Clone(m.ignore.Repos), func(repo string) bool {
		return !slices.ContainsFunc(paths, func(p string) bool { return Within(repo, p) })
	})
	if rules || !slices.Equal(found.Repos, repos) || slices.ContainsFunc(m.made, isInput) || slices.ContainsFunc(fresh, isInput) {
		return nil, false, nil // git must be asked
	}
	m.made = append(m.made, fresh...)
	if m.known.Update(found, paths) {
		m.stale, m.last = true, nil
	}
	if m.last != nil && len(found.Omitted) == 0 && len(m.last.broken) == 0 {
		v := *m.last
		v.only = of.Paths
		return &v, true, nil
	}
	return m.view(found), true, nil
}

// Want adds patterns to named and wanted. What is new in them is found by the next walk.
func (m *Memory) Want(named, wanted []Pattern) {
	m.wants[0], m.wants[1] = append(m.wants[0], named...), append(m.wants[1], wanted...)
	before := m.wanted.texts
	m.named, m.wanted = newIndex(m.wants[0]), newIndex(m.wants[1])
	if m.wanted.texts != before {
		m.walked = false
	}
}

// walk walks the tree, or only some paths.
func (m *Memory) walk(ctx context.Context, only []string) (*tree.Manifest, error) {
	return tree.Walk(ctx, m.Root, tree.Options{Known: m.known, Only: only, Skip: func(p string, isDir bool) bool {
		if !isDir && strings.HasPrefix(path.Base(p), TempPrefix) {
			m.temporary.Lock()
			m.temporary.paths = append(m.temporary.paths, p)
			m.temporary.Unlock()
			return true
		}
		if Ours(p) {
			return true
		}
		if !m.wanted.wants(p, isDir) && (isDir || !IsRules(p)) { // see unknown
			if dir := Parent(p); m.wanted.chosen(dir) {
				m.more.add(dir)
			}
			return true
		}
		return isIgnored(m.ignore.Top, p) && !m.named.names(p, isDir)
	}})
}

// Ignores reports whether git ignored a path when it was asked last.
func (m *Memory) Ignores(p string) bool { return isIgnored(m.ignore.Top, p) }

// Known reports whether there is a walk to remember.
func (m *Memory) Known() bool { return m.known != nil }

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

// IsRules reports whether a path is that of a file in which git reads what it ignores.
func IsRules(p string) bool { return path.Base(p) == ".gitignore" }

func (m *Memory) noteRules() {
	m.gitignores = nil
	if m.known == nil {
		return
	}
	for i := range m.known.Entries {
		if p := m.known.Entries[i].Path; IsRules(p) {
			m.gitignores = append(m.gitignores, p)
		}
	}
}

// unknown returns the new files of a walk: git was not asked whether it ignores them. rules reports whether a file of
// rules appeared, changed or vanished. only are the paths that were walked, nil for all.
func (m *Memory) unknown(found *tree.Manifest, only []string) (fresh []string, rules bool) {
	if m.known == nil {
		return nil, true
	}
	for _, i := range found.Anew {
		e := &found.Entries[i]
		old, ok := m.known.Find(e.Path)
		switch {
		case e.Mode.IsDir():
		case ok:
			rules = rules || IsRules(e.Path) && old.Digest != e.Digest
		case !secretFile(e.Path) && !isIgnored(m.ignore.Top, e.Path):
			fresh = append(fresh, e.Path)
			rules = rules || IsRules(e.Path)
		}
	}
	for _, p := range m.gitignores {
		if _, there := found.Find(p); !there && (only == nil || slices.ContainsFunc(only, func(dir string) bool { return Within(p, dir) })) {
			rules = true
		}
	}
	return fresh, rules
}

// rules returns a digest of what git decides by, but for the .gitignore files in the tree, which a walk sees.
func (m *Memory) rules(ctx context.Context) string {
	if m.global == "" {
		m.global = globalRules(ctx, m.Root)
	}
	texts := []string{m.global}
	now := decisive{named: m.named.texts, wanted: m.wanted.texts}
	for dir := m.Root; ; dir = filepath.Dir(dir) {
		if dir != m.Root {
			texts = append(texts, filepath.Join(dir, ".gitignore"))
		}
		if facts, exclude, ok := rulesOf(dir); ok {
			now.files = facts
			texts = append(texts, exclude)
			break
		}
		if dir == filepath.Dir(dir) {
			texts = texts[:1] // there is no repository
			break
		}
	}
	for _, name := range m.ignore.Repos {
		if facts, exclude, ok := rulesOf(filepath.Join(m.Root, filepath.FromSlash(name))); ok {
			now.texts += fmt.Sprintf("%q %v\x00", name, facts)
			texts = append(texts, exclude)
		}
	}
	for _, path := range texts {
		if b, err := git.ReadRegular(path); err == nil && len(b) > 0 {
			now.texts += path + "\x00" + string(b) + "\x00"
		}
	}
	if now != m.decides || m.digest == "" { // the same is asked for each task
		m.decides, m.digest = now, now.sum()
	}
	return m.digest
}

// rulesOf returns facts of the index and the configuration of a work tree, and its own file of rules.
func rulesOf(top string) (facts [3]fileFacts, exclude string, ok bool) {
	own, common, err := git.Folders(top)
	if err != nil {
		return facts, "", false
	}
	for i, path := range []string{filepath.Join(own, "index"), filepath.Join(common, "config"), filepath.Join(own, "config.worktree")} {
		facts[i] = factsOf(path)
	}
	return facts, filepath.Join(common, "info", "exclude"), true
}

// decisive is what git decides by what it ignores, and of what it is asked that.
type decisive struct {
	texts         string       // of files of rules, with their paths
	files         [3]fileFacts // the index and the configuration
	named, wanted string
}

func (d decisive) sum() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %v\n%s\x00%s", d.texts, d.files, d.named, d.wanted)
	return hex.EncodeToString(h.Sum(nil))
}

// fileFacts tell whether a file changed. Git replaces a file that it changes by another one. The zero value is of one that
// is not there.
type fileFacts struct {
	ino                uint64
	size, mtime, ctime int64 // bytes, ns
}

func factsOf(path string) fileFacts {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return fileFacts{}
	}
	return fileFacts{st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()}
}

// globalRules returns the file of rules that git reads for all repositories of the person.
func globalRules(ctx context.Context, root string) string {
	if name, err := git.ExcludesFileOf(ctx, root); err == nil && name != "" {
		return name
	}
	return git.GlobalIgnore()
}

// ask asks git what it ignores, also in m.ignore.Repos, and whether the cache is its own. Without a repository nothing is
// ignored.
func (m *Memory) ask(ctx context.Context, rules string) error {
	m.ignore, m.made, m.last = ignoreList{Repos: m.ignore.Repos}, nil, nil
	if err := foreign(ctx, m.Cache); err != nil {
		return err
	}
	m.stale = true
	repo, err := git.Find(ctx, m.Root)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		m.ignore.Rules = rules
		return nil //nolint:nilerr // there is no repository, or git is not there
	}
	all, err := repo.Ignored(ctx)
	if err != nil {
		return err
	}
	below, err := filepath.Rel(repo.Top, m.Root)
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
	for _, name := range m.ignore.Repos {
		if isIgnored(m.ignore.Top, name) {
			continue
		}
		top := filepath.Join(repo.Top, below, filepath.FromSlash(name))
		inner, err := git.Find(ctx, top)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil || inner.Top != top:
			continue // git cannot read it: nothing in it is ignored
		}
		all, _ := inner.Ignored(ctx) // nothing where its index is damaged
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, p := range all {
			m.ignore.Top = append(m.ignore.Top, name+"/"+strings.TrimSuffix(p, "/"))
		}
		slices.Sort(m.ignore.Top)
	}
	m.ignore.Rules = rules
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
