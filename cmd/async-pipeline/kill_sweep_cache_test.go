package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// cachedProject is four tasks of which each copies its own file and what the one before made.
const cachedProject = `
task "a" {
  run     = "cat in/a > out_a"
  inputs  = ["in/a"]
  outputs = ["out_a"]
}
task "b" {
  depends_on = [task.a]
  run        = "mkdir -p out_b; cat out_a in/b > out_b/all; echo b > out_b/$(cat in/b)"
  inputs     = ["in/b"]
  outputs    = ["out_b/**"]
}
task "c" {
  depends_on = [task.b]
  run        = "cat out_b/all in/c > out_c"
  inputs     = ["in/c"]
  outputs    = ["out_c"]
}
task "d" {
  depends_on = [task.c]
  run        = "cat out_c; cat out_c in/d > out_d"
  inputs     = ["in/d"]
  outputs    = ["out_d"]
}
`

// declaredInputs matches the inputs of cachedProject, which may as well be seen.
var declaredInputs = regexp.MustCompile(`inputs .*`)

// A run is ended with kill -9 at any moment, while results are stored or restored too, and while tasks are watched. The
// next one makes what a run without a cache would, and the one after that runs nothing.
func TestKilledCache(t *testing.T) {
	t.Parallel()
	needProc(t)
	seed := sweepSeed(t)
	eachRound(t, fewRounds(), func(t *testing.T, round int) {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		t.Logf("seed %d", seed)
		v := emptyVictim(t)
		must(t, os.MkdirAll(filepath.Join(v.dir, "in"), 0o755))
		project := cachedProject
		if round%2 == 1 {
			project = declaredInputs.ReplaceAllString(project, "inputs = auto")
		}
		must(t, os.WriteFile(filepath.Join(v.dir, "PIPELINE.hcl"), []byte(project), 0o644))
		words := map[string]string{}
		edit := func(name string) {
			words[name] = fmt.Sprintf("%s%d", name, rng.IntN(3)) // also one that it had: then there is a result
			must(t, os.WriteFile(filepath.Join(v.dir, "in", name), []byte(words[name]+"\n"), 0o644))
		}
		for _, name := range []string{"a", "b", "c", "d"} {
			edit(name)
		}
		begun := time.Now()
		if code, out := v.run(t, "run"); code != 0 {
			t.Fatalf("without a kill: exit %d\n%s", code, out)
		}
		took := time.Since(begun)
		for range 4 {
			edit([]string{"a", "b", "c", "d"}[rng.IntN(4)])
			if rng.IntN(3) == 0 {
				must(t, os.RemoveAll(filepath.Join(v.dir, []string{"out_a", "out_b", "out_c", "out_d"}[rng.IntN(4)])))
			}
			pid, _, _ := v.killAt(t, time.Duration(rng.Int64N(int64(took))), "run")
			v.allEnd(t, pid, time.Now())
		}
		if code, out := v.run(t, "run"); code != 0 {
			t.Fatalf("after the kills: exit %d\n%s", code, out)
		}
		want := ""
		for _, name := range []string{"a", "b", "c", "d"} {
			want += words[name] + "\n"
		}
		got, err := os.ReadFile(filepath.Join(v.dir, "out_d"))
		if must(t, err); string(got) != want {
			t.Errorf("made %q, want %q", got, want)
		}
		if _, err := os.Stat(filepath.Join(v.dir, "out_b", words["b"])); err != nil {
			t.Error(err)
		}
		code, out := v.run(t, "run")
		if code != 0 || !strings.Contains(out, "4 cached") || strings.Contains(out, "passed") {
			t.Errorf("the next run: exit %d\n%s", code, out)
		}
		if code, out := v.run(t, "cache", "verify"); code != 0 {
			t.Errorf("cache verify: exit %d\n%s", code, out)
		}
	})
}
