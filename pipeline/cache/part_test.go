package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// While a run changes the tree, each task sees what a whole walk and git would show it.
func TestPartsAgreeWithWholeWalks(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	seed := rand.Uint64()
	walks := uint64(8)
	if testing.Short() {
		walks = 2
	}
	for n := range walks {
		t.Run(fmt.Sprintf("%d-%d", seed, n), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, n))
			root := filepath.Join(t.TempDir(), "tree")
			must(t, os.MkdirAll(root, 0o755))
			must(t, exec.CommandContext(t.Context(), "git", "-C", root, "init", "-q").Run())
			tasks := []*pipeline.Task{
				{Name: "a", Inputs: []string{"a/**"}, Outputs: []string{"gen/a.txt"}},
				{Name: "b", Inputs: []string{"b/**/*.txt", "top.txt", "!b/d/**"}, Outputs: []string{"out/b/**"}, DependsOn: []string{"a"}},
				{Name: "c", Inputs: []string{"gen/**"}, DependsOn: []string{"b"}},
				{Name: "d", Inputs: []string{"a/d/x.txt", "b/d/**"}},
				{Name: "e", Inputs: []string{"**/x.txt"}},
				{Name: "f", Inputs: []string{"a/d/**", "out/**"}},
				{Name: "g", Inputs: []string{"b/**/x.txt"}},
				{Name: "links", Inputs: []string{"links/*"}},
				{Name: "all", Inputs: []string{"**"}},
			}
			p := newProject(t, root, filepath.Join(root, ".async", "cache"), tasks...)
			p.write(".gitignore", ".async/\nout/\n")
			p.write("a/d/x.txt", "x")
			must(t, os.Mkdir(filepath.Join(root, "links"), 0o755))
			must(t, os.Symlink("../gen/a.txt", filepath.Join(root, "links", "in")))
			must(t, os.Symlink("../../outside", filepath.Join(root, "links", "out")))
			c := p.cache()
			files := []string{
				"top.txt", "a/x.txt", "a/d/x.txt", "b/d/x.txt", "b/d/x.txt", "gen/a.txt", "out/b/1", "out/x.txt", "../outside",
			}
			rules := []string{".async/\n", "x.txt\n.async/\nout\n", "d/\n.async/\nout\n"}
			for range 40 {
				at := files[rng.IntN(len(files))]
				switch rng.IntN(9) {
				case 0:
					must(t, os.RemoveAll(filepath.Join(root, at)))
				case 1:
					must(t, os.RemoveAll(filepath.Join(root, filepath.Dir(at), ".gitignore")))
				case 2:
					p.write(filepath.Join(filepath.Dir(at), ".gitignore"), rules[rng.IntN(len(rules))])
				case 3, 4, 5: // nothing changes
				default:
					p.write(at, []string{"x", "y", "longer"}[rng.IntN(3)])
				}
				task := tasks[rng.IntN(len(tasks))]
				c.Ran(task)
				_, got, gotOut, err := c.inputs(openCache(t, c), task, nil)
				must(t, err)
				whole := p.cache(func(c *Cache) { c.Peek, c.Dir = true, filepath.Join(filepath.Dir(root), "none") })
				_, want, wantOut, err := whole.inputs(openCache(t, whole), task, nil)
				must(t, err)
				if !slices.Equal(got, want) || !slices.Equal(gotOut, wantOut) {
					t.Fatalf("after a change of %s, %s has %v and made %v; a whole walk says %v and %v", at, task.Name, got, gotOut, want, wantOut)
				}
			}
		})
	}
}

func openCache(t rapid.TB, c *Cache) context.Context {
	t.Helper()
	must(t, c.open())
	return context.Background()
}

// What git ignores is asked again when a file appears that nobody looked at as an input, and when rules change.
func TestPartsKnowWhatIsIgnored(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	root := filepath.Join(t.TempDir(), "tree")
	must(t, os.MkdirAll(root, 0o755))
	must(t, exec.CommandContext(t.Context(), "git", "-C", root, "init", "-q").Run())
	p := newProject(t, root, filepath.Join(root, ".async", "cache"),
		&pipeline.Task{Name: "flat", Inputs: []string{"b/*.txt"}}, &pipeline.Task{Name: "deep", Inputs: []string{"b/**/x.txt"}})
	p.write(".gitignore", ".async/\n")
	p.write("b/.gitignore", "d/\n")
	p.write("b/k/x.txt", "x")
	c := p.cache()
	for _, step := range []struct {
		do   func()
		task string
		want string
	}{
		{func() {}, "deep", "b/k/x.txt"},
		{func() { p.write("b/d/x.txt", "x") }, "flat", ""}, // it appears, and only the next task could take it
		{func() {}, "deep", "b/k/x.txt"},
		{func() { p.write("b/.gitignore", "d/\nk/\n") }, "deep", ""},
		{func() { must(t, os.Remove(filepath.Join(root, "b/.gitignore"))) }, "deep", "b/d/x.txt b/k/x.txt"},
		{func() { p.write("b/k/.gitignore", "x*\n") }, "deep", "b/d/x.txt"},
		{func() { p.write(".gitignore", ".async/\nb/\n") }, "deep", "b/d/x.txt b/k/x.txt"}, // a pattern names b
	} {
		step.do()
		c.Ran(p.config.Task(step.task))
		_, got, _, err := c.inputs(openCache(t, c), p.config.Task(step.task), nil)
		must(t, err)
		var names []string
		for _, f := range got {
			names = append(names, f.Path)
		}
		if s := strings.Join(names, " "); s != step.want {
			t.Errorf("%s has %q, want %q", step.task, s, step.want)
		}
	}
}

// A task that depends on nothing that ended may have had its turn before, and is taken from the cache as the tree was
// then; all of it is not walked again for that. One that depends on it, or that must run, is looked at as the tree is.
func TestEarlier(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	p := newProject(t, root, filepath.Join(root, ".async", "cache"),
		&pipeline.Task{Name: "ends", Inputs: []string{"ends.txt"}},
		&pipeline.Task{Name: "other", Inputs: []string{"other.txt"}},
		&pipeline.Task{Name: "after", Inputs: []string{"after.txt"}, DependsOn: []string{"ends"}},
		&pipeline.Task{Name: "misses", Inputs: []string{"misses.txt"}},
	)
	for _, t := range p.config.Tasks {
		p.write(t.Name+".txt", "1")
	}
	p.run()
	for _, name := range []string{"ends", "misses"} {
		p.write(name+".txt", "2")
	}
	c := p.cache()
	if e := c.Look(t.Context(), p.config.Task("ends")); e.Result != Miss {
		t.Fatal(e.Result)
	}
	p.write("other.txt", "2")
	p.write("after.txt", "2")
	p.write("misses.txt", "1")
	c.Ran(p.config.Task("ends"))
	for name, want := range map[string]string{"other": "hit", "after": "miss after.txt changed", "misses": "hit"} {
		if e := c.Look(t.Context(), p.config.Task(name)); strings.TrimSpace(e.Result+" "+e.Reason()) != want {
			t.Errorf("%s: %s %s, want %s", name, e.Result, e.Reason(), want)
		}
	}
	if e := p.cache().Look(t.Context(), p.config.Task("other")); e.Reason() != "other.txt changed" {
		t.Errorf("the next run: %s %s", e.Result, e.Reason())
	}
}

// Of a task that is taken from the cache as the tree was before others ran, outputs that are gone since are made again. Where
// its result cannot be used it runs in the tree as it is: what somebody else put there since is not of its making.
func TestEarlierOutputs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	p := newProject(t, root, filepath.Join(root, ".async", "cache"),
		&pipeline.Task{Name: "ends", Inputs: []string{"ends.txt"}},
		&pipeline.Task{Name: "makes", Inputs: []string{"makes.txt"}, Outputs: []string{"dist/**"}},
		&pipeline.Task{Name: "needs", Inputs: []string{"needs.txt"}, DependsOn: []string{"makes"}},
	)
	runs := 0
	begin := func() *Cache { // a run in which the first task runs
		runs++
		p.write("ends.txt", strconv.Itoa(runs))
		c := p.cache()
		p.carry(c, "ends")
		return c
	}
	results := func(c *Cache, names ...string) (all []string) {
		for _, name := range names {
			all = append(all, p.carry(c, name).Result)
		}
		must(t, c.Close())
		return all
	}
	p.write("makes.txt", "1")
	p.write("needs.txt", "1")
	results(begin(), "makes", "needs")

	p.write("needs.txt", "2")
	for _, change := range []func(){
		func() { must(t, os.RemoveAll(filepath.Join(root, "dist"))) },
		func() { p.write("dist/out", "by hand") },
	} {
		c := begin()
		change()
		if got := results(c, "makes", "needs"); got[0] != Hit || !fileExists(filepath.Join(root, "dist/out")) {
			t.Errorf("%q, and dist/out is %q", got, p.read("dist/out"))
		}
	}

	had := map[string]bool{}
	blobs := func(each func(at string)) {
		must(t, filepath.WalkDir(filepath.Join(p.dir, "cas"), func(at string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !had[at] {
				each(at)
			}
			return err
		}))
	}
	blobs(func(at string) { had[at] = true })
	p.write("makes.txt", "2")
	results(begin(), "makes")
	c := begin()
	blobs(func(at string) { // of the same size: that is noticed when it is read
		b, err := os.ReadFile(at)
		must(t, errors.Join(err, os.Chmod(at, 0o600), os.WriteFile(at, bytes.ToUpper(b), 0o600)))
	})
	p.write("dist/mine", "a person's")
	if got := results(c, "makes"); got[0] != Miss {
		t.Error(got)
	}
	p.write("makes.txt", "1")
	if got := results(begin(), "makes"); got[0] != Hit || p.read("dist/mine") != "a person's" {
		t.Errorf("%q, and dist/mine is %q", got, p.read("dist/mine"))
	}
}
