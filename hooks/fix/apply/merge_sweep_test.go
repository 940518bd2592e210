package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// mergeCases is how many random cases are tried.
func mergeCases() int {
	switch {
	case full:
		return 10_000
	case testing.Short():
		return 20
	}
	return 100
}

// A mergeCase is a fix, a tree that it is applied to, and what a person asks for.
type mergeCase struct {
	n                int
	rng              *rand.Rand
	base, after, now fixtest.Files
	other            fixtest.Files // the base with a second fix
	chosen           map[string][]bool
	o                Options
	diff, selected   []byte
}

// Random fixes over random trees: dirty, drifted, renamed, with CRLF, modes, binary files, symlinks, parts of a
// patch, a second proposal on one file, a revert, a crash. No tree is ever half-applied or wrong, and what `git
// apply --3way` makes of it, where it succeeds, is what we make of it.
func TestApplyAgreesWithGit(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	if s := os.Getenv("ASYNC_PIPELINE_SWEEP_SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		fixtest.Check(t, err)
	}
	t.Logf("ASYNC_PIPELINE_SWEEP_SEED=%d", seed)
	const batch, workers = 50, 2
	var mu sync.Mutex
	ends := map[string]int{}
	var work sync.WaitGroup
	for worker := range workers {
		work.Go(func() {
			m := newMirror(t)
			for first := worker * batch; first < mergeCases() && !t.Failed(); first += workers * batch {
				var cases []*mergeCase
				for n := first; n < min(first+batch, mergeCases()); n++ {
					cases = append(cases, newMergeCase(t, n, seed))
				}
				m.load(t, cases)
				for _, c := range cases {
					one := &oneCase{TB: t}
					end := c.play(one, m)
					mu.Lock()
					ends[end]++
					mu.Unlock()
					if one.failed {
						t.Errorf("case %d, ASYNC_PIPELINE_SWEEP_SEED=%d: %s", c.n, seed, c)
						return
					}
				}
			}
		})
	}
	work.Wait()
	for _, end := range slices.Sorted(maps.Keys(ends)) {
		t.Logf("%5d %s", ends[end], end)
	}
	wanted := []string{"merged", "conflict", "as git", "already", "reverted"}
	if full { // of 100 cases now and then none is one
		wanted = append(wanted, "crashed")
	}
	for _, want := range wanted {
		if !testing.Short() && !strings.Contains(fmt.Sprint(ends), want) {
			t.Errorf("no case ended as %q: %v", want, ends)
		}
	}
}

// A oneCase knows whether its own case failed.
type oneCase struct {
	testing.TB
	failed bool
}

func (o *oneCase) Errorf(format string, args ...any) {
	o.Helper()
	o.failed = true
	o.TB.Errorf(format, args...)
}

func (o *oneCase) Failed() bool { return o.failed }

func (c *mergeCase) String() string {
	return fmt.Sprintf("base %q\nnow %q\nafter %q\nchosen %v %+v\n%s", c.base, c.now, c.after, c.chosen, c.o, c.diff)
}

// play applies the case in every way that it asks for, and returns how it ended.
func (c *mergeCase) play(t testing.TB, m *mirror) string {
	s := newTree(t, c.base)
	defer func() { fixtest.Check(t, os.RemoveAll(s.Root)) }()
	p := based(t, s, "test", c.base, c.after)
	c.now.Write(t, s.Root)
	want, ok := m.apply(t, c, c.selected, false)
	switch {
	case c.rng.IntN(8) == 0:
		return c.crash(t, s, p)
	case c.rng.IntN(8) == 0 && len(fixtest.Change(c.base, c.other)) > 0:
		return c.second(t, m, s, p)
	}
	got, err := apply(t, s, p, c.o)
	tree := fixtest.Snapshot(t, s.Root)
	settled(t, s)
	switch {
	case err != nil && !errors.Is(err, ErrRefused):
		t.Errorf("%v", err)
		return ""
	case err != nil:
		fixtest.Same(t, "refused ("+err.Error()+")", tree, c.now.With())
		if ok && (c.o.ThreeWay || c.plain()) {
			t.Errorf("git applies it, and we say: %v", err)
		}
		if errors.Is(err, ErrConflict) {
			return "conflict"
		}
		return "refused"
	case !ok:
		// What is there already is no error here; without it git has to succeed too.
		m.reset(t, c, c.now)
		rest := c.rest(t)
		if want, ok = m.apply(t, c, rest, false); !ok {
			t.Errorf("git does not apply it, and we do: %+v\n%s", got, rest)
		}
	}
	fixtest.Same(t, "as git", tree, want)
	if t.Failed() {
		return ""
	}
	end := "as git"
	switch {
	case got.Already:
		end = "already"
	case len(got.Merged) > 0:
		end = "merged"
	}
	if again, err := apply(t, s, p, c.o); err != nil || !again.Already {
		t.Errorf("a second time: %+v %v", again, err)
	}
	s.holds(t, "a second time", want)
	if !c.o.some() && c.rng.IntN(2) == 0 && !got.Already {
		return end + c.edit(t, m, s, p, want)
	}
	if c.o.some() && maps.Equal(c.now, c.base) {
		if _, err := apply(t, s, p, Options{}); err != nil {
			t.Errorf("the rest: %v", err)
		}
		s.holds(t, "the rest", c.after)
	}
	if got.Already {
		return end
	}
	_, err = s.Revert(context.Background(), p, Options{By: "tester"})
	if err != nil && !c.whole() && errors.Is(err, ErrRefused) {
		// What somebody had done by hand cannot always be taken back: a file may be where a deleted one was.
		s.holds(t, "not reverted", tree)
		return end + ", kept"
	}
	if err != nil {
		t.Errorf("revert: %v", err)
	}
	if c.whole() { // else some of it had been there by somebody's hand, and goes too
		s.holds(t, "reverted", c.now)
	}
	if _, err := s.Revert(context.Background(), p, Options{}); !errors.Is(err, ErrRefused) {
		t.Errorf("reverted twice: %v", err)
	}
	settled(t, s)
	return end + ", reverted"
}

// second applies two fixes of one tree, one after the other.
func (c *mergeCase) second(t testing.TB, m *mirror, s *testTree, p *fix.Proposal) string {
	t.Helper()
	c.base.Write(t, s.Root)
	q := based(t, s, "lint", c.base, c.other)
	if _, err := apply(t, s, p, Options{}); err != nil {
		t.Errorf("the first: %v", err)
	}
	m.reset(t, c, c.after)
	both := false
	for _, f := range q.Patch.Files {
		both = both || c.after[f.Path] != c.base[f.Path] && c.after[f.Path] != c.other[f.Path]
	}
	_, err := apply(t, s, q, Options{})
	if both != errors.Is(err, ErrConflict) || both && !strings.Contains(err.Error(),
		"the fix for test of run "+fixtest.RunID) && strings.Contains(err.Error(), "(changed)") {
		t.Errorf("the second, of the same files %v: %v", both, err)
	}
	if err != nil {
		s.holds(t, "the second refused", c.after)
	}
	want, ok := m.apply(t, c, q.Diff, false)
	got, err := apply(t, s, q, Options{ThreeWay: true})
	tree := fixtest.Snapshot(t, s.Root)
	settled(t, s)
	switch {
	case err != nil && ok:
		t.Errorf("git applies the second, and we say: %v", err)
		return ""
	case err != nil:
		fixtest.Same(t, "the second in conflict", tree, c.after.With())
		return "two, in conflict"
	case ok:
		fixtest.Same(t, "two as git", tree, want)
	}
	if got.Already {
		return "two, already"
	}
	if _, err := s.Revert(context.Background(), q, Options{}); err != nil {
		t.Errorf("revert of the second: %v", err)
	}
	return "two as git"
}

// plain reports whether every chosen path is as the fix found it or as it makes it.
func (c *mergeCase) plain() bool {
	for name := range c.chosen {
		if c.now[name] != c.base[name] && c.now[name] != c.after[name] {
			return false
		}
	}
	return true
}

// whole reports whether nothing of the patch was there before.
func (c *mergeCase) whole() bool {
	for name := range c.union() {
		if c.now[name] != c.base[name] {
			return false
		}
	}
	return true
}

// rest is the chosen patch without the paths that are already as it makes them.
func (c *mergeCase) rest(t testing.TB) []byte {
	t.Helper()
	b, err := patch.Select(c.diff, func(path string, n int) bool {
		there := c.now[path] == c.after[path] && (c.now[path] != "" || c.after[path] == "")
		return n < len(c.chosen[path]) && c.chosen[path][n] && !there
	})
	fixtest.Check(t, err)
	return b
}

// edit changes what was applied and takes the fix out of it.
func (c *mergeCase) edit(t testing.TB, m *mirror, s *testTree, p *fix.Proposal, was fixtest.Files) string {
	t.Helper()
	tree := fixtest.Files{}
	for name, v := range was {
		if v != "d" {
			tree[name] = v
		}
	}
	edited := c.change(tree, 4)
	edited.Write(t, s.Root)
	m.reset(t, c, edited)
	kept := c.now
	c.now = edited
	want, ok := m.apply(t, c, c.diff, true)
	touched := slices.ContainsFunc(fixtest.Change(c.base, c.after), func(d patch.Change) bool {
		// Also by a file where the folder of a deleted one was: nothing can come back below it.
		onTheWay := slices.ContainsFunc(parents(d.Path), func(dir string) bool { return edited[dir] != "" })
		return edited[d.Path] != tree[d.Path] || onTheWay
	})
	_, err := s.Revert(context.Background(), p, Options{})
	if err != nil {
		s.holds(t, "not reverted", edited)
		if !touched && maps.Equal(kept, c.base) || !errors.Is(err, ErrRefused) {
			t.Errorf("revert: %v", err)
		}
		_, err = s.Revert(context.Background(), p, Options{ThreeWay: true})
	}
	settled(t, s)
	// git knows the fix alone. Where it was merged into edits, what it wrote is the way back, and git has nothing to
	// say.
	if !maps.Equal(kept, c.base) {
		if err != nil {
			s.holds(t, "not reverted", edited)
		}
		return ", edited"
	}
	switch {
	case err != nil:
		s.holds(t, "not reverted", edited)
		if ok {
			t.Errorf("git takes it back, and we say: %v", err)
		}
		return ", edited and kept"
	case ok:
		for name, v := range want {
			// git apply -R sets the mode that the index line names; a mode that somebody changed since is theirs, as
			// on the way forth.
			if b, a := c.base[name], c.after[name]; b != "" && a != "" && a[0] == b[0] && edited[name] != "" {
				want[name] = edited[name][:1] + v[1:]
			}
		}
		s.holds(t, "taken back as git", want)
	}
	return ", edited and reverted"
}

// crash ends apply or revert at some step; what is left is whole.
func (c *mergeCase) crash(t testing.TB, s *testTree, p *fix.Proposal) string {
	t.Helper()
	o := Options{ThreeWay: true}
	before, back := c.now, c.rng.IntN(2) == 0
	if back {
		if _, err := apply(t, s, p, o); err != nil {
			return "refused"
		}
		before = fixtest.Snapshot(t, s.Root)
	}
	s.step = after(c.rng.IntN(4+4*len(fixtest.Change(c.base, c.after))), die)
	var err error
	step := crashing(func() {
		if back {
			_, err = s.Revert(context.Background(), p, o)
		} else {
			_, err = apply(t, s, p, o)
		}
	})
	s.step = nil
	if step == "" {
		if err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%v", err)
		}
		return "ended"
	}
	r, err := s.Recover(context.Background())
	fixtest.Check(t, err)
	p = fixtest.Find(t, s.Store, fixtest.RunID, "test")
	tree := fixtest.Snapshot(t, s.Root)
	settled(t, s)
	done := p.Disposition == fix.Applied
	if back {
		done = p.Disposition == fix.Reverted
	}
	if !done {
		if r != nil && r.To != "undone" {
			t.Errorf("%+v, but it is %s", r, p.Disposition)
		}
		fixtest.Same(t, "crashed at "+step, tree, before.With())
		return "crashed, undone"
	}
	// All of it: doing it again finds nothing to write.
	if back {
		if _, err := s.Revert(context.Background(), p, o); !errors.Is(err, ErrRefused) {
			t.Errorf("crashed at %s, reverted, and again: %v", step, err)
		}
		if c.whole() {
			fixtest.Same(t, "crashed at "+step, tree, c.now.With())
		}
		return "crashed, reverted"
	}
	if again, err := apply(t, s, p, o); err != nil || !again.Already {
		t.Errorf("crashed at %s, and again: %+v %v", step, again, err)
	}
	return "crashed, completed"
}

// Random fixes and trees, and a repository in which git does what we do: for TestApplyAgreesWithGit.

func newMergeCase(t testing.TB, n int, seed uint64) *mergeCase {
	t.Helper()
	c := &mergeCase{n: n, rng: rand.New(rand.NewPCG(seed, uint64(n)))}
	c.base = c.grow()
	for c.after == nil || len(fixtest.Change(c.base, c.after)) == 0 {
		c.after = c.change(c.base, 2)
	}
	c.now = maps.Clone(c.base)
	c.other = c.drift(c.base, 3)
	switch c.rng.IntN(12) {
	case 0, 1: // as the fix found it
	case 5, 6, 7, 8: // edited in a place or two
		c.now = c.drift(c.base, 2)
	case 2: // some of it by hand
		for name := range c.union() {
			if c.rng.IntN(2) == 0 {
				take(c.now, name, c.after)
			}
		}
	case 3: // another fix of the same files was applied
		c.now = c.change(c.base, 2)
	case 4: // the same fix, and then edits
		c.now = c.change(c.after, 4)
	default:
		c.now = c.change(c.base, 3)
	}
	sane(c.now)
	var err error
	c.diff, err = patch.Encode(fixtest.Change(c.base, c.after))
	fixtest.Check(t, err)
	parsed, err := patch.Parse(c.diff)
	fixtest.Check(t, err)
	c.choose(parsed.Paths())
	c.selected, err = patch.Select(c.diff,
		func(path string, n int) bool { return n < len(c.chosen[path]) && c.chosen[path][n] })
	fixtest.Check(t, err)
	if c.rng.IntN(6) == 0 { // some hunks by hand
		for _, g := range parsed.Paths() {
			some := make([]bool, len(g.Parts()))
			for i := range some {
				some[i] = c.rng.IntN(2) == 0
			}
			if f, err := g.Splice(c.base.File(g.Path), make([]bool, len(some)), some); err == nil && f != nil &&
				c.now[g.Path] == c.base[g.Path] {
				c.now[g.Path] = written(f)
			}
		}
		sane(c.now)
	}
	c.o.ThreeWay = c.rng.IntN(4) > 0
	return c
}

func written(f *patch.File) string {
	return map[string]string{"100644": "f:", "100755": "x:", "120000": "l:"}[fix.ContentOf(f).Mode] + string(f.Data)
}

func take(f fixtest.Files, name string, from fixtest.Files) {
	delete(f, name)
	if v, ok := from[name]; ok {
		f[name] = v
	}
}

// sane removes what is below a path that is a file.
func sane(f fixtest.Files) {
	for name := range f {
		for _, dir := range parents(name) {
			if _, ok := f[dir]; ok {
				delete(f, name)
			}
		}
	}
}

func (c *mergeCase) union() fixtest.Files {
	all := maps.Clone(c.base)
	maps.Copy(all, c.after)
	return all
}

// choose takes all of the patch, some files, or some hunks.
func (c *mergeCase) choose(groups []patch.PathPatch) {
	c.chosen = map[string][]bool{}
	some := c.rng.IntN(3)
	for _, g := range groups {
		parts := make([]bool, len(g.Parts()))
		for i := range parts {
			parts[i] = some == 0 || c.rng.IntN(2) == 0
		}
		switch {
		case !slices.Contains(parts, true):
		case some == 0:
			c.chosen[g.Path] = parts
		case !slices.Contains(parts, false):
			c.chosen[g.Path] = parts
			c.o.Files = append(c.o.Files, g.Path)
		default:
			c.chosen[g.Path] = parts
			for i, set := range parts {
				if set {
					c.o.Hunks = append(c.o.Hunks, fmt.Sprintf("%s:%d", g.Path, i+1))
				}
			}
		}
	}
	if len(c.chosen) == 0 {
		c.o = Options{}
		for _, g := range groups {
			c.chosen[g.Path] = all(len(g.Parts()))
		}
	}
}

var mergeNames = []string{"a", "b.txt", "dir/c.go", "dir/sub/d", "e e", "é/f", "g.bin", "link", "run.sh", "to/h"}

func (c *mergeCase) grow() fixtest.Files {
	f := fixtest.Files{}
	for _, name := range mergeNames {
		if c.rng.IntN(2) == 0 {
			f[name] = c.node()
		}
	}
	return f
}

func (c *mergeCase) node() string {
	switch c.rng.IntN(10) {
	case 0:
		return "l:" + strings.Repeat("t", 1+c.rng.IntN(5))
	case 1:
		return fmt.Sprintf("f:\x00binary %d\n", c.rng.IntN(1000))
	case 2:
		return "x:" + c.text()
	case 3:
		return "f:" + strings.ReplaceAll(c.text(), "\n", "\r\n")
	}
	return "f:" + c.text()
}

func (c *mergeCase) text() string {
	var b strings.Builder
	for i := range 1 + c.rng.IntN(40) {
		b.WriteString(c.line(i))
	}
	return strings.TrimSuffix(b.String(), strings.Repeat("\n", c.rng.IntN(8)/7))
}

// line is often one of a few, so that hunks could find their place elsewhere.
func (c *mergeCase) line(i int) string {
	if c.rng.IntN(3) == 0 {
		return []string{"\n", "}\n", "\treturn nil\n"}[c.rng.IntN(3)]
	}
	return fmt.Sprintf("line %d of %d\n", i, c.rng.IntN(3))
}

// drift edits one place of one text in rare.
func (c *mergeCase) drift(from fixtest.Files, rare int) fixtest.Files {
	f := maps.Clone(from)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if v := f[name]; v[0] != 'l' && c.rng.IntN(rare) == 0 {
			lines := strings.SplitAfter(v[2:], "\n")
			lines[c.rng.IntN(len(lines))] = "drifted\n"
			f[name] = v[:2] + strings.Join(lines, "")
		}
	}
	return f
}

// change changes one path in rare.
func (c *mergeCase) change(from fixtest.Files, rare int) fixtest.Files {
	f := maps.Clone(from)
	for _, name := range slices.Concat(mergeNames, []string{"to", "new/i"}) {
		if c.rng.IntN(rare) > 0 {
			continue
		}
		v, ok := f[name]
		if !ok {
			if c.rng.IntN(3) == 0 {
				f[name] = c.node()
			}
			continue
		}
		switch n := c.rng.IntN(12); {
		case n == 0:
			delete(f, name)
		case n == 1: // renamed
			delete(f, name)
			f[name+".new"] = v
		case n == 2:
			f[name] = c.node()
		case n == 3 && v[0] != 'l':
			f[name] = map[byte]string{'f': "x", 'x': "f"}[v[0]] + v[1:]
		case v[0] != 'l':
			f[name] = v[:2] + c.edited(v[2:])
		}
	}
	sane(f)
	return f
}

// edited changes a few places of a text.
func (c *mergeCase) edited(text string) string {
	lines := strings.SplitAfter(text, "\n")
	end := "\n"
	if strings.Contains(text, "\r\n") {
		end = "\r\n"
	}
	for range 1 + c.rng.IntN(3) {
		at := c.rng.IntN(len(lines))
		switch c.rng.IntN(4) {
		case 0:
			lines = slices.Delete(lines, at, min(at+1+c.rng.IntN(2), len(lines)))
			if len(lines) == 0 {
				lines = []string{"left" + end}
			}
		case 1:
			lines = slices.Insert(lines, at, strings.TrimSuffix(c.line(100), "\n")+end)
		default:
			lines[at] = fmt.Sprintf("changed %d%s", c.rng.IntN(2), end)
		}
	}
	return strings.Join(lines, "")
}

// A mirror is a repository in which git does what we do, each case in a folder of its own.
type mirror struct{ dir string }

func newMirror(t testing.TB) *mirror {
	t.Helper()
	m := &mirror{fixtest.TempDir(t)}
	gitRun(t, m.dir, "init", "-q")
	return m
}

// load puts the trees of cases where git finds them, and all contents into the repository.
func (m *mirror) load(t testing.TB, cases []*mergeCase) {
	t.Helper()
	fixtest.Files{}.Write(t, m.dir)
	fixtest.Check(t, os.RemoveAll(filepath.Join(m.dir, ".git", "index")))
	for _, c := range cases {
		for kind, f := range map[string]fixtest.Files{"now": c.now, "base": c.base, "after": c.after} {
			for name, v := range f {
				fixtest.Put(t, m.dir, fmt.Sprintf("%d/%s/%s", c.n, kind, name), v)
			}
		}
	}
	gitRun(t, m.dir, "add", "-A", ".")
}

// apply returns the tree after `git apply` of a patch; false where that does not succeed.
func (m *mirror) apply(t testing.TB, c *mergeCase, diff []byte, back bool) (fixtest.Files, bool) {
	t.Helper()
	if len(diff) == 0 {
		return c.now.With(), true
	}
	args := []string{"apply", "--3way", "--whitespace=nowarn", fmt.Sprintf("--directory=%d/now", c.n)}
	if back {
		args = append(args, "-R")
	}
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = m.dir, bytes.NewReader(diff)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	err := cmd.Run()
	dir := filepath.Join(m.dir, strconv.Itoa(c.n), "now")
	if !recordfile.Exists(dir) {
		return fixtest.Files{}, err == nil
	}
	got := fixtest.Snapshot(t, dir)
	return got, err == nil
}

// reset makes git's tree of a case what it is to be.
func (m *mirror) reset(t testing.TB, c *mergeCase, to fixtest.Files) {
	t.Helper()
	dir := fmt.Sprintf("%d/now", c.n)
	fixtest.Check(t, os.MkdirAll(filepath.Join(m.dir, dir), 0o755))
	to.Write(t, filepath.Join(m.dir, dir))
	fixtest.Put(t, m.dir, dir+".keep", "f:") // so that the folder is known, should it be empty
	gitRun(t, m.dir, "add", "-A", strconv.Itoa(c.n))
}
