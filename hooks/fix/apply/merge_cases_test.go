package apply

// Random fixes and trees, and a repository in which git does what we do: for TestApplyAgreesWithGit.

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

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
