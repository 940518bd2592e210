package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// widePipeline has tasks that run side by side and leave all sorts of processes behind: in their session, out of it, and
// out of it without an environment.
const widePipeline = `
pipeline {
  concurrency = 4
}
task "wide" {
  for_each = toset(["a", "b", "c", "d", "e", "f", "g", "h"])
  run      = ["sh", "leave.sh", "%[1]s"]
}
task "after" {
  depends_on = [task.wide]
  matrix = {
    n = [1, 2, 3, 4]
  }
  run = ["sh", "-c", "echo ${matrix.n}; sleep 0.05; echo done"]
}
`

const wideScript = `
sleep "$1" </dev/null >/dev/null 2>&1 &
(setsid sleep "$1" </dev/null >/dev/null 2>&1 &)
(env -i "$(command -v setsid)" sh -c 'sleep "$0" & sleep "$0"' "$1" </dev/null >/dev/null 2>&1 &)
echo working
sleep 0.05
`

func newWideVictim(t *testing.T) *victim {
	t.Helper()
	n := <-sweepTags
	sweepTags <- n + 1
	v := victimAt(t.TempDir(), fmt.Sprintf("1000.%010d", n))
	for _, dir := range []string{"home", "cache", "tmp", "project"} {
		must(t, os.MkdirAll(filepath.Join(v.base, dir), 0o700))
	}
	must(t, os.WriteFile(filepath.Join(v.dir, "PIPELINE.hcl"), fmt.Appendf(nil, widePipeline, v.tag), 0o600))
	must(t, os.WriteFile(filepath.Join(v.dir, "leave.sh"), []byte(wideScript), 0o600))
	return v
}

// A run of many tasks is ended with kill -9: all that they started ends, whatever it did to get away; doctor names the run
// and changes nothing; the next run passes.
func TestKilledWideRun(t *testing.T) {
	t.Parallel()
	needProc(t)
	seed := sweepSeed(t)
	v := newWideVictim(t)
	begun := time.Now()
	if code, out := v.run(t, "run"); code != 0 || !strings.Contains(out, "12 passed") {
		t.Fatalf("without a kill: exit %d\n%s", code, out)
	}
	took := time.Since(begun)
	if left := v.alive(t, 0); len(left) > 0 {
		t.Fatalf("without a kill, left: %q", left)
	}
	var killed, named atomic.Int32
	eachRound(t, sweepRounds(), func(t *testing.T, round int) {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		moment := time.Duration(rng.Int64N(int64(took)))
		t.Logf("seed %d, killed after %v", seed, moment)
		v := newWideVictim(t)
		pid, wasKilled, _ := v.killAt(t, moment, "run")
		tally(&killed, wasKilled)
		v.allEnd(t, pid, time.Now())

		runs, err := os.ReadDir(filepath.Join(v.dir, ".async", "runs"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		// A run that was killed before it had signed its folder is known by its age alone.
		for _, r := range runs {
			dir := filepath.Join(v.dir, ".async", "runs", r.Name())
			if _, err := os.Stat(filepath.Join(dir, "maker.json")); os.IsNotExist(err) {
				long := time.Now().Add(-time.Minute)
				must(t, os.Chtimes(dir, long, long))
			}
		}
		code, out := v.run(t, "doctor")
		for _, r := range runs {
			_, err := os.Stat(filepath.Join(v.dir, ".async", "runs", r.Name(), "run.json"))
			if unsealed := err != nil; unsealed != strings.Contains(out, r.Name()) {
				t.Errorf("run %s (without a verdict: %v), and doctor (exit %d) says\n%s", r.Name(), unsealed, code, out)
			} else if unsealed {
				named.Add(1)
			}
		}
		if again, err := os.ReadDir(filepath.Join(v.dir, ".async", "runs")); err == nil && len(again) != len(runs) {
			t.Errorf("doctor changed the runs: %d, now %d", len(runs), len(again))
		}
		if code, out := v.run(t, "run"); code != 0 || !strings.Contains(out, "12 passed") {
			t.Errorf("the next run: exit %d\n%s", code, out)
		}
		v.allEnd(t, pid, time.Now())
	})
	t.Logf("a run takes %v; of %d: %d killed, %d named by doctor", took, sweepRounds(), killed.Load(), named.Load())
}
