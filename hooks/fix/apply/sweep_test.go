package apply

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

const childEnv = "FIX_TEST_APPLY_IN"

// full asks for the long sweeps.
var full = os.Getenv("ASYNC_PIPELINE_SWEEP") == "full"

func TestMain(m *testing.M) {
	if root := os.Getenv(childEnv); root != "" {
		os.Exit(applyInChild(root))
	}
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	if !asked {
		checks := "250"
		if full {
			checks = "5000"
		}
		if err := flag.Set("rapid.checks", checks); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// applyInChild applies the one fix below root, or reverts it where it is applied; its first output tells that it
// begins.
func applyInChild(root string) int {
	s := treeOf(root)
	p, err := s.Find(fixtest.RunID, "test")
	if err == nil {
		fmt.Println("apply")
		if p.Disposition == fix.Applied {
			_, err = s.Revert(context.Background(), p, Options{})
		} else {
			_, err = s.Apply(context.Background(), p, Options{})
		}
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// sweepTrees are two trees with 30 differences of every kind.
func sweepTrees() (before, after fixtest.Files) {
	before, after = fixtest.Files{}, fixtest.Files{}
	for i := range 5 {
		body := strings.Repeat(fmt.Sprintf("line of %d\n", i), 2000)
		before[fmt.Sprintf("edit/%d", i)], after[fmt.Sprintf("edit/%d", i)] = "f:"+body, "f:first\n"+body
		after[fmt.Sprintf("add/%d/new", i)] = "f:new\n"
		before[fmt.Sprintf("del/%d/old", i)] = "f:old\n"
		before[fmt.Sprintf("mode%d", i)], after[fmt.Sprintf("mode%d", i)] = "f:#!\n", "x:#!\n"
		before[fmt.Sprintf("link%d", i)], after[fmt.Sprintf("link%d", i)] = "l:mode0", "l:mode1"
		before[fmt.Sprintf("bin/%d", i)], after[fmt.Sprintf("bin/%d", i)] = "f:\x00\x01", "f:\x00\x02"
	}
	return before, after
}

// A `fix apply` or `fix revert` that is killed at any moment leaves a tree that the next command makes whole.
func TestKilledApply(t *testing.T) {
	t.Parallel()
	rounds := 10
	switch {
	case full:
		rounds = 250
	case testing.Short():
		rounds = 3
	}
	for _, back := range []bool{false, true} {
		killed(t, rounds, back)
	}
}

// killed kills an apply, or a revert, in every round.
func killed(t *testing.T, rounds int, back bool) {
	before, after := sweepTrees()
	self, err := os.Executable()
	fixtest.Check(t, err)
	took := time.Duration(0)
	ends := map[string]int{}
	for round := range rounds + 1 {
		s, p := proposed(t, before, after)
		if back {
			fixtest.OK(t)(apply(t, s, p, Options{}))
		}
		c := exec.CommandContext(t.Context(), self)
		c.Env = append(os.Environ(), childEnv+"="+s.Root)
		out, err := c.StdoutPipe()
		fixtest.Check(t, err)
		fixtest.Check(t, c.Start())
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "apply\n" {
			_ = c.Process.Kill()
			_ = c.Wait()
			t.Fatalf("the child says %q %v", line, err)
		}
		begun := time.Now()
		switch { // the first one is only measured
		case round%2 == 1:
			time.Sleep(rand.N(took + took/10))
			fixtest.Check(t, c.Process.Kill())
		case round > 0: // while it writes, which is the smaller part of it
			for !recordfile.Exists(s.transaction(nil).file()) && time.Since(begun) < 5*took {
				time.Sleep(20 * time.Microsecond)
			}
			time.Sleep(rand.N(took / 16))
			fixtest.Check(t, c.Process.Kill())
		}
		err = c.Wait()
		if round == 0 {
			fixtest.Check(t, err)
			took = time.Since(begun)
		}
		r, err := s.Recover(context.Background())
		fixtest.Check(t, err)
		to := "nothing to settle"
		if r != nil {
			to = r.What + " " + r.To
		}
		ends[to]++
		done := whole(t, fmt.Sprintf("round %d, %s", round, to), s, before, after)
		if r != nil && done != ((r.To == "completed") != back) {
			t.Errorf("round %d: %+v, and applied: %v", round, r, done)
		}
		fixtest.Check(t, os.RemoveAll(s.Root))
	}
	t.Logf("revert %v takes %v; %v", back, took, ends)
}

// Apply leads to the same tree as the patch in memory does, for any two trees.
func TestApplyIsThePatch(t *testing.T) {
	t.Parallel()
	root := fixtest.TempDir(t)
	content := rapid.OneOf(
		rapid.Just(""), rapid.StringMatching(`([a-c]{0,3}\n){0,8}`), rapid.StringMatching(`([a-c]{0,3}\r?\n){0,6}[a-c]?`),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return string(b) }),
	)
	names := []string{
		"a", "a/b", "a/b/c", "n.txt", "dir/x", "dir/y z", "dir/sub/é", "q\"uote", "new\nline", "tab\there",
		"-dash", "back\\slash", "other/deep/er/f", "inv\xff\xfealid",
	}
	node := rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			return "l:" + rapid.StringMatching(`[a-z./]{1,8}`).Draw(t, "target")
		case 1, 2:
			return "x:" + content.Draw(t, "content")
		}
		return "f:" + content.Draw(t, "content")
	})
	grow := func(t *rapid.T, old fixtest.Files) fixtest.Files {
		f := fixtest.Files{}
		for _, name := range names {
			taken := false
			for _, dir := range parents(name) {
				_, file := f[dir]
				taken = taken || file
			}
			v, was := old[name]
			switch n := rapid.IntRange(0, 3).Draw(t, name); {
			case taken || n == 0:
			case n == 1 && was:
				f[name] = v
			case n == 2 && was && v[0] != 'l' && len(v) > 20: // an edit in place
				f[name] = v[:10] + "edited\n" + v[12:]
			default:
				f[name] = node.Draw(t, "node")
			}
		}
		return f
	}
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		before := grow(rt, nil)
		after := grow(rt, before)
		changes := fixtest.Change(before, after)
		if len(changes) == 0 { // every case counts
			after["always"] = "f:new"
			changes = fixtest.Change(before, after)
		}
		n++
		s := treeAt(t, root, before)
		run := fmt.Sprintf("20261121T%06dZ-aaaa", n)
		fixtest.Check(t, os.MkdirAll(fixtest.RunDir(s.Store, run), 0o700))
		p := fixtest.SealedIn(t, s.Store, run, "test", changes, nil)
		parsed, err := patch.Parse(p.Diff)
		fixtest.Check(t, err)
		memory := maps.Clone(before)
		made, err := parsed.Apply(func(name string) (*patch.File, error) { return before.File(name), nil })
		fixtest.Check(t, err)
		for _, c := range made {
			delete(memory, c.Path)
			if c.After != nil {
				memory[c.Path] = written(c.After)
			}
		}
		if _, err := apply(t, s, p, Options{}); err != nil {
			rt.Fatalf("%v", err)
		}
		fixtest.Same(rt, "tree", fixtest.Snapshot(t, s.Root), memory.With())
		fixtest.Same(rt, "memory", memory, after)
		if got, err := apply(t, s, p, Options{}); err != nil || !got.Already {
			rt.Errorf("H16 a second time: %+v %v", got, err)
		}
		fixtest.Check(t, os.RemoveAll(fixtest.RunDir(s.Store, run)))
	})
}
