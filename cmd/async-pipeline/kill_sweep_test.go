// kill -9 at any moment: of a run with its hooks, of `fix apply` and of `fix revert`. Whatever the moment, the next
// command finds a whole tree, no lost work, no stuck lock, nothing left running and no scratch copy.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// sweepRounds is how many rounds a sweep has: 6, or 300 with ASYNC_PIPELINE_SWEEP=full; 2 with -short.
func sweepRounds() int {
	switch {
	case sweepFull():
		return 300
	case testing.Short():
		return 2
	}
	return 6
}

func sweepFull() bool { return os.Getenv("ASYNC_PIPELINE_SWEEP") == "full" }

// sweepSeed is new each time; ASYNC_PIPELINE_SWEEP_SEED asks for the moments of an earlier sweep.
func sweepSeed(t *testing.T) uint64 {
	t.Helper()
	if s := os.Getenv("ASYNC_PIPELINE_SWEEP_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		must(t, err)
		return seed
	}
	return rand.Uint64()
}

// fewRounds is sweepRounds for a sweep that is much like another one.
func fewRounds() int { return min(sweepRounds(), max(4, sweepRounds()/3)) }

// eachRound runs the rounds, some at a time whatever -parallel says: most of a round is waiting.
func eachRound(t *testing.T, rounds int, do func(t *testing.T, round int)) {
	t.Helper()
	var workers sync.WaitGroup
	var next atomic.Int32
	for range 4 {
		workers.Go(func() {
			for round := next.Add(1) - 1; int(round) < rounds; round = next.Add(1) - 1 {
				t.Run(strconv.Itoa(int(round)), func(t *testing.T) { do(t, int(round)) })
			}
		})
	}
	workers.Wait()
}

// needProc skips where processes cannot be told apart by their environment.
func needProc(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc here")
	}
}

// endsWithin is the longest, after a kill, that anything may live on a busy machine: the supervisors take 3.2 s,
// and what they do not end lives for a quarter of an hour, in scripts for five minutes.
const endsWithin = 3 * time.Minute

var nextCommands = [][]string{{"run", "--no-heal"}, {"heal"}, {"fix", "list"}, {"fix", "apply", "--accept", "mode_changed"}}

func TestKilledRunner(t *testing.T) {
	t.Parallel()
	needProc(t)
	seed := sweepSeed(t)
	v := newVictim(t)
	begun := time.Now()
	if code, out := v.run(t, "run"); code != 1 || !strings.Contains(out, "verified") {
		t.Fatalf("without a kill: exit %d\n%s", code, out)
	}
	took := time.Since(begun)
	if left := append(v.alive(t, 0), v.scratchLeft(t)...); len(left) > 0 {
		t.Fatalf("without a kill, left: %q", left)
	}

	var killed, sealed, rescued, proposed atomic.Int32
	eachRound(t, sweepRounds(), func(t *testing.T, round int) {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		moment := time.Duration(rng.Int64N(int64(took)))
		atOnce := rng.IntN(2) == 0
		next := nextCommands[round%len(nextCommands)]
		t.Logf("seed %d, killed after %v, then %v (at once: %v)", seed, moment, next, atOnce)

		v := newVictim(t)
		pid, wasKilled, _ := v.killAt(t, moment, "run")
		dead := time.Now()
		if v.whole(t) {
			t.Fatal("the tree was written")
		}
		before := v.rescues(t)
		if !atOnce {
			v.allEnd(t, pid, dead)
		}
		items := v.records(t)
		v.interruptedShows(t, items)
		tally(&killed, wasKilled)
		tally(&sealed, len(v.sealed(t)) > 0)
		tally(&rescued, len(before) > 0)
		tally(&proposed, len(items) > 0 && items[0].State == "proposed")

		v.goOn(t, next)
		v.allEnd(t, pid, dead)
		for _, path := range before {
			if _, err := os.Stat(path); err != nil {
				t.Errorf("the rescue patch was lost with the next command: %v", err)
			}
		}
		v.cleanAfter(t)
	})
	t.Logf("a run takes %v; of %d: %d killed, %d with a verdict, %d with a rescue patch, %d with a proposal",
		took, sweepRounds(), killed.Load(), sealed.Load(), rescued.Load(), proposed.Load())
}

func TestKilledFixApply(t *testing.T) {
	t.Parallel()
	killedFix(t, sweepRounds(), false, "fix", "apply", "--accept", "mode_changed")
}

func TestKilledFixRevert(t *testing.T) {
	t.Parallel()
	killedFix(t, fewRounds(), true, "fix", "revert")
}

// killedFix ends a command that writes the tree. before says whether the fix is in the tree when the command begins.
func killedFix(t *testing.T, rounds int, before bool, command ...string) {
	t.Helper()
	needProc(t)
	seed := sweepSeed(t)
	apply := []string{"fix", "apply", "--accept", "mode_changed"}
	model := newVictim(t)
	if code, out := model.run(t, "run"); code != 1 || !strings.Contains(out, "verified") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if before {
		if code, out := model.run(t, apply...); code != 0 || !model.whole(t) {
			t.Fatalf("exit %d\n%s", code, out)
		}
	}
	another := func(t *testing.T) *victim {
		t.Helper()
		v := victimAt(t.TempDir(), model.tag)
		v.twin = true
		if out, err := exec.CommandContext(t.Context(), "cp", "-a", model.base+"/.", v.base).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return v
	}
	v := another(t)
	begun := time.Now()
	if code, out := v.run(t, command...); code != 0 || v.whole(t) == before {
		t.Fatalf("without a kill: exit %d\n%s", code, out)
	}
	took := time.Since(begun)

	var killed, settled, applied atomic.Int32
	eachRound(t, rounds, func(t *testing.T, round int) {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		v := another(t)
		journal := filepath.Join(v.dir, ".async", "apply", "journal.json")
		moment, since := time.Duration(rng.Int64N(int64(took))), ""
		if rng.IntN(2) == 0 { // while it writes, which is a small part of the whole
			moment, since = time.Duration(rng.Int64N(int64(took/8))), journal
		}
		next := nextCommands[round%len(nextCommands)]
		t.Logf("seed %d, killed after %v (since it began to write: %v), then %v", seed, moment, since != "", next)
		wasKilled := v.killSince(t, since, moment, command...)
		tally(&killed, wasKilled)
		_, err := os.Lstat(journal)
		tally(&settled, err == nil)

		v.goOn(t, next)
		now := v.whole(t)
		tally(&applied, now)
		in := false
		for _, i := range v.records(t) {
			in = in || i.Disposition == "applied"
		}
		if in != now {
			t.Errorf("that the fix is in the tree is recorded as %v, and it is %v", in, now)
		}
		if before && now { // what was undone can be done again
			if code, out := v.run(t, command...); code != 0 || v.whole(t) {
				t.Errorf("%v once more: exit %d\n%s", command, code, out)
			}
		}
		if code, out := v.run(t, apply...); code != 0 || !v.whole(t) {
			t.Errorf("applied in the end: exit %d\n%s", code, out)
		}
		v.cleanAfter(t)
	})
	t.Logf("%v takes %v; of %d: %d killed, %d with a journal to settle, %d with the fix in the tree afterwards",
		command, took, rounds, killed.Load(), settled.Load(), applied.Load())
}

// goOn gives the next command, which must do its work as if nothing had happened.
func (v *victim) goOn(t *testing.T, args []string) {
	t.Helper()
	open := false
	for _, i := range v.records(t) {
		open = open || i.State == "proposed"
	}
	sealed := len(v.sealed(t)) > 0
	code, out := v.run(t, args...)
	applied := v.whole(t)
	want := map[bool]int{true: 0, false: 1}
	ok := false
	switch args[0] + " " + args[len(args)-1] {
	case "run --no-heal":
		ok = code == want[applied]
	case "heal heal":
		ok = !sealed && code == 2 || sealed && code == want[!applied]
	case "fix list":
		ok = code == 0
	case "fix mode_changed": // fix apply --accept
		ok = applied == open && (open && code == 0 || !open && code != 0)
	}
	if !ok {
		t.Errorf("%v: exit %d; a sealed run: %v, a proposal: %v, in the tree: %v\n%s", args, code, sealed, open, applied, out)
	}
	if strings.Contains(out, "lock") || strings.Contains(out, "is at work here") {
		t.Errorf("%v speaks of a lock\n%s", args, out)
	}
	v.rescues(t)
	for _, i := range v.records(t) {
		if i.State == "skipped" {
			t.Errorf("the fix of run %s was skipped", i.Run)
		}
	}
}

// allEnd waits until nothing of a dead runner lives.
func (v *victim) allEnd(t *testing.T, pid int, since time.Time) {
	t.Helper()
	for {
		late := time.Since(since) > endsWithin
		left := v.alive(t, pid)
		if len(left) == 0 {
			return
		}
		if late {
			t.Errorf("%v after the kill there are still %s", time.Since(since), strings.Join(left, ", "))
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// cleanAfter runs once more and finds nothing left by anybody.
func (v *victim) cleanAfter(t *testing.T) {
	t.Helper()
	want := 1
	if v.whole(t) {
		want = 0
	}
	if code, out := v.run(t, "run", "--no-heal"); code != want {
		t.Errorf("the last run: exit %d, want %d\n%s", code, want, out)
	}
	if left := v.scratchLeft(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if left := v.alive(t, 0); len(left) > 0 {
		t.Errorf("still alive: %s", strings.Join(left, ", "))
	}
	v.records(t)
}

func tally(n *atomic.Int32, yes bool) {
	if yes {
		n.Add(1)
	}
}

// widePipeline has tasks that run side by side and leave all sorts of processes behind: in their session, out of
// it, and out of it without an environment. What it has besides, as inputs = auto, is the second argument.
const widePipeline = `
pipeline {
  concurrency = 4
}
task "wide" {
  for_each = toset(["a", "b", "c", "d", "e", "f", "g", "h"])
  run      = ["sh", "leave.sh", "%[1]s"]
  %[2]s
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

func newWideVictim(t *testing.T, more string) *victim {
	t.Helper()
	v := emptyVictim(t)
	v.write(t, map[string]string{"PIPELINE.hcl": fmt.Sprintf(widePipeline, v.tag, more), "leave.sh": wideScript})
	return v
}

// A run of many tasks is ended with kill -9: all that they started ends, whatever it did to get away, also while the
// kernel waits for the runner to look at each of its calls; doctor names the run and changes nothing; the next run passes.
func TestKilledWideRun(t *testing.T) {
	t.Parallel()
	needProc(t)
	seed := sweepSeed(t)
	v := newWideVictim(t, "")
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
		v := newWideVictim(t, []string{"", "inputs = auto"}[round%2])
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
