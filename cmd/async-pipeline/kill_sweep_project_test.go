// What kill_sweep_test.go ends with kill -9: a project of its own with a private home, and what is asked of it after.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A victim is one project with its own HOME, cache and TMPDIR.
type victim struct {
	base, dir string
	env       []string
	tag       string // an argument of everything that its scripts leave running
	twin      bool   // a copy of another: its tag and its run are not its own
}

const victimPipeline = `
task "check" {
  run = ["sh", "check.sh", "%[1]s"]
  on_fail "agent" {
    use = agent.a
    budget {
      attempts   = 2
      wall_clock = "15m"
    }
  }
}
agent "a" {
  command = ["sh", "agent.sh", "%[1]s"]
}
`

// The check leaves a process behind in the tree, and fails until every file is as the agent's second attempt makes it.
const victimCheck = `
(setsid sleep "$1" </dev/null >/dev/null 2>&1 &)
echo checking
for i in 1 2 3 4 5 6 7 8 9; do grep -qx hello "f$i" || { echo "f$i is not right"; exit 1; }; done
test ! -e old && test -e d/new
`

// The agent is deaf, its children leave its session and throw their environment away, and it works file by file.
// What the first attempt leaves running is deaf too; that costs three seconds, so the second has polite children.
const victimAgent = `
trap '' TERM INT HUP
word=hello deaf=:
grep -q 'with the patch applied' || { word=wrong deaf='trap "" TERM HUP'; }
setsid sh -c "$deaf"'; sleep "$0"' "$1" </dev/null >/dev/null 2>&1 &
(env -i "$(command -v setsid)" sh -c "$deaf"'; sleep "$0"' "$1" </dev/null >/dev/null 2>&1 &)
for i in 1 2 3 4 5 6 7 8 9; do echo "$word" >"f$i"; sleep 0.01; done
mkdir -p d && echo new >d/new && rm -f old && chmod +x mode && ln -sfn f2 link
mkdir -p deep/er && echo new >deep/er/new
head -c 3000 /dev/zero >binary
sleep 0.1
echo '{"outcome": "fixed", "summary": "All say hello."}'
`

// victimTree is the tree before the fix and after it: 15 paths differ.
func victimTree(tag string) (before, after map[string]string) {
	before = map[string]string{
		"PIPELINE.hcl": "-" + fmt.Sprintf(victimPipeline, tag), "check.sh": "-" + victimCheck, "agent.sh": "-" + victimAgent,
		"old": "-old\n", "mode": "-#!/bin/sh\n", "link": ">f1", "binary": "-\x00\x01\x02", "other": "-stays\n",
	}
	after = maps.Clone(before)
	for i := range 9 {
		before[fmt.Sprintf("f%d", i+1)], after[fmt.Sprintf("f%d", i+1)] = "-goodbye\n", "-hello\n"
	}
	delete(after, "old")
	after["mode"], after["link"], after["binary"] = "x#!/bin/sh\n", ">f2", "-"+strings.Repeat("\x00", 3000)
	after["d/new"], after["deep/er/new"] = "-new\n", "-new\n"
	return before, after
}

var sweepTags = make(chan int, 1) // the next tag, so that none is used twice

func init() { sweepTags <- os.Getpid() * 1000 }

// emptyVictim returns a project without files.
func emptyVictim(t *testing.T) *victim {
	t.Helper()
	n := <-sweepTags
	sweepTags <- n + 1
	v := victimAt(t.TempDir(), fmt.Sprintf("1000.%010d", n))
	for _, dir := range []string{"home", "cache", "tmp", "project"} {
		must(t, os.MkdirAll(filepath.Join(v.base, dir), 0o700))
	}
	return v
}

// write writes files of the project, by name.
func (v *victim) write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(v.dir, name), []byte(text), 0o644))
	}
}

func newVictim(t *testing.T) *victim {
	t.Helper()
	v := emptyVictim(t)
	before, _ := victimTree(v.tag)
	for name, what := range before {
		path := filepath.Join(v.dir, name)
		if what[0] == '>' {
			must(t, os.Symlink(what[1:], path))
			continue
		}
		must(t, os.WriteFile(path, []byte(what[1:]), 0o644))
	}
	commitAll(t, v.dir)
	return v
}

func victimAt(base, tag string) *victim {
	return &victim{base: base, dir: filepath.Join(base, "project"), tag: tag, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(base, "home"), "XDG_CACHE_HOME=" + filepath.Join(base, "cache"),
		"TMPDIR=" + filepath.Join(base, "tmp"), "USER=somebody", "LANG=C.UTF-8", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
	}}
}

func (v *victim) git(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "git", args...)
	c.Dir, c.Env = v.dir, append(v.env, "GIT_OPTIONAL_LOCKS=0")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// start starts the program; what it prints goes into the file it gives.
func (v *victim) start(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	out, err := os.CreateTemp(v.base, "output-*")
	must(t, err)
	defer func() { must(t, out.Close()) }()
	c := exec.CommandContext(context.Background(), self)
	c.Args = append([]string{"async-pipeline"}, args...)
	c.Dir, c.Env, c.Stdout, c.Stderr = v.dir, v.env, out, out
	must(t, c.Start())
	return c, out.Name()
}

// stuckAfter is the longest that a command of these tests may take on a busy machine: what hangs does so for ever.
const stuckAfter = 10 * time.Minute

// run runs the program to its end.
func (v *victim) run(t *testing.T, args ...string) (int, string) {
	t.Helper()
	c, file := v.start(t, args...)
	stuck := time.AfterFunc(stuckAfter, func() { _ = c.Process.Kill() })
	err := c.Wait()
	if !stuck.Stop() {
		t.Errorf("%v did not end in %v", args, stuckAfter)
	}
	out, readErr := os.ReadFile(file)
	must(t, readErr)
	return exitCode(err), string(out)
}

// killAt starts the program and ends it with kill -9 after d, if it still runs. It returns its pid and what it had
// printed.
func (v *victim) killAt(t *testing.T, d time.Duration, args ...string) (pid int, killed bool, out string) {
	t.Helper()
	c, file := v.start(t, args...)
	killed = killAfter(c, d)
	b, err := os.ReadFile(file)
	must(t, err)
	return c.Process.Pid, killed, string(b)
}

// killSince is killAt with d counted from when a file is there; an empty name: from the start.
func (v *victim) killSince(t *testing.T, file string, d time.Duration, args ...string) (killed bool) {
	t.Helper()
	c, _ := v.start(t, args...)
	for file != "" {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
		_, there := os.Lstat(file)
		if there == nil || err != nil || bytes.Contains(stat, []byte(") Z ")) {
			break
		}
		time.Sleep(100 * time.Microsecond) // it is to have the processor
	}
	return killAfter(c, d)
}

// killAfter ends a program with kill -9 after d, unless it ends before.
func killAfter(c *exec.Cmd, d time.Duration) (killed bool) {
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case err := <-ended:
		return exitCode(err) == 128+9
	case <-time.After(d):
	}
	_ = c.Process.Kill() // it may have ended by itself
	return exitCode(<-ended) == 128+9
}

// tree returns the files of the project, in the form of victimTree.
func (v *victim) tree(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, filepath.WalkDir(v.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(v.dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if rel == ".git" || rel == ".async" {
				return fs.SkipDir
			}
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			found[rel] = ">" + to
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		found[rel] = map[bool]string{false: "-", true: "x"}[info.Mode()&0o111 != 0] + string(b)
		return err
	}))
	return found
}

// whole says which of the two trees is there; anything between them is a fault.
func (v *victim) whole(t *testing.T) (applied bool) {
	t.Helper()
	before, after := victimTree(v.tag)
	got := v.tree(t)
	switch {
	case maps.Equal(got, before):
	case maps.Equal(got, after):
		applied = true
	default:
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if got[name] != before[name] {
				t.Errorf("%s is %q; before %q, after %q", name, got[name], before[name], after[name])
			}
		}
		t.Fatalf("the tree is half applied: %d files", len(got))
	}
	for _, lock := range []string{"index.lock", "HEAD.lock"} {
		if _, err := os.Lstat(filepath.Join(v.dir, ".git", lock)); err == nil {
			t.Errorf("git's %s was left", lock)
		}
	}
	return applied
}

// alive lists processes that the runner with this pid, or a hook of this project, started. pid 0: hooks and scripts
// only.
func (v *victim) alive(t *testing.T, pid int) []string {
	t.Helper()
	var marks [][]byte
	if pid > 0 {
		marks = append(marks, []byte("\x00ASYNC_PIPELINE_RUNNER="+strconv.Itoa(pid)+"."))
	}
	for _, id := range v.runs(t) {
		marks = append(marks, []byte("\x00ASYNC_PIPELINE_HOOK="+id+"/"))
	}
	found, err := processesWith(func(environ, args []byte) bool {
		if v.twin && !bytes.Contains(environ, []byte(v.base)) {
			return false
		}
		marked := func(mark []byte) bool { return bytes.Contains(environ, mark) }
		return bytes.Contains(args, []byte(v.tag)) || slices.ContainsFunc(marks, marked)
	})
	must(t, err)
	return found
}

func (v *victim) runs(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(v.dir, ".async", "runs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.Name())
	}
	return ids
}

// rescues returns the rescue patches that journals announce. Each must be there and be a patch.
func (v *victim) rescues(t *testing.T) []string {
	t.Helper()
	var list []string
	ids := v.runs(t)
	for _, id := range ids {
		dir := filepath.Join(v.dir, ".async", "runs", id)
		b, err := os.ReadFile(filepath.Join(dir, "fixes", "events.jsonl"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			var e struct{ Type, Path string }
			if json.Unmarshal(line, &e) == nil && e.Type == "rescue_saved" {
				list = append(list, filepath.Join(dir, e.Path))
			}
		}
	}
	for _, path := range list {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("a rescue patch was announced and is lost: %v", err)
			continue
		}
		if p, err := patch.Parse(b); err != nil || len(p.Files) == 0 {
			t.Errorf("%s is no patch: %v", path, err)
		}
	}
	return list
}

// records checks every run: sealed and whole, or interrupted; and every fix.
func (v *victim) records(t *testing.T) []fix.Item {
	t.Helper()
	store, now := record.At(v.dir), time.Now()
	interrupted, err := store.Interrupted()
	must(t, err)
	for _, id := range v.runs(t) {
		dir := filepath.Join(v.dir, ".async", "runs", id)
		run, err := store.Find(id)
		if err != nil {
			info, statErr := os.Stat(dir)
			must(t, statErr)
			// Between a run's folder and its maker's stamp there is a moment in which only its age tells.
			if !slices.Contains(interrupted, id) && now.Sub(info.ModTime()) > 11*time.Second {
				t.Errorf("run %s is neither sealed nor interrupted: %v", id, err)
			}
			continue
		}
		for _, j := range []string{"events.jsonl", "fixes/events.jsonl"} {
			text, err := os.ReadFile(filepath.Join(run.Dir, j))
			if errors.Is(err, fs.ErrNotExist) && j != "events.jsonl" {
				continue
			}
			must(t, err)
			// The journal of the hooks may end in the middle of a line when they were ended there.
			if err := journalHolds(text, j == "events.jsonl"); err != nil {
				t.Errorf("run %s: %s: %v", id, j, err)
			}
		}
	}
	items, errs := (&fix.Store{Root: v.dir, Dir: filepath.Join(v.dir, ".async")}).List()
	for _, err := range errs {
		t.Error(err)
	}
	return items
}

// journalHolds follows the chain of a journal as its format says, by other means than the program's own.
func journalHolds(text []byte, toTheEnd bool) error {
	prev, n := "", 0
	for line := range bytes.Lines(text) {
		line, whole := bytes.CutSuffix(line, []byte("\n"))
		if !whole {
			if toTheEnd {
				return fmt.Errorf("line %d is not complete", n+1)
			}
			return nil
		}
		n++
		var l struct {
			Seq  int
			Prev *string
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if l.Seq != n || (l.Prev == nil) != (n == 1) || l.Prev != nil && *l.Prev != prev {
			return fmt.Errorf("line %d does not follow from the one before", n)
		}
		prev = fmt.Sprintf("sha256:%x", sha256.Sum256(line))
	}
	if n == 0 && toTheEnd {
		return errors.New("it is empty")
	}
	return nil
}

// interruptedShows checks that a fix that began and was not sealed is listed as interrupted, with its rescue
// patches.
func (v *victim) interruptedShows(t *testing.T, items []fix.Item) {
	t.Helper()
	for _, id := range v.runs(t) {
		fixes := filepath.Join(v.dir, ".async", "runs", id, "fixes")
		_, begun := os.Stat(filepath.Join(fixes, "check", "draft.json"))
		if _, err := os.Stat(filepath.Join(fixes, "check.json")); begun != nil || err == nil {
			continue
		}
		patches, err := filepath.Glob(filepath.Join(fixes, "check", "attempt-*.patch"))
		must(t, err)
		is := func(i fix.Item) bool { return i.Run == id && i.State == "interrupted" }
		n := slices.IndexFunc(items, is)
		// A child that was being started when the runner was killed keeps its lock until it has become its program.
		for end := time.Now().Add(endsWithin); n < 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			items, _ = (&fix.Store{Root: v.dir, Dir: filepath.Join(v.dir, ".async")}).List()
			n = slices.IndexFunc(items, is)
		}
		if n < 0 || len(items[n].Rescue) != len(patches) {
			t.Errorf("the fix of run %s was interrupted and left %d rescue patches; listed is %+v", id, len(patches), items)
		}
	}
}

// sealed lists the runs that have a verdict.
func (v *victim) sealed(t *testing.T) []*record.Sealed {
	t.Helper()
	runs, errs := record.At(v.dir).List()
	for _, err := range errs {
		t.Error(err)
	}
	return runs
}

// scratchLeft lists what is in the folders for scratch copies and temporary files.
func (v *victim) scratchLeft(t *testing.T) []string {
	t.Helper()
	var left []string
	for _, pattern := range []string{"cache/async-pipeline/scratch/*/*", "cache/async-pipeline/rescued/*", "tmp/*"} {
		found, err := filepath.Glob(filepath.Join(v.base, pattern))
		must(t, err)
		hidden, err := filepath.Glob(filepath.Join(v.base, filepath.Dir(pattern), ".[a-z]*"))
		must(t, err)
		left = append(append(left, found...), hidden...)
	}
	// Four empty folders in which a tier was tried are no copy of anything.
	return slices.DeleteFunc(left, func(path string) bool { return strings.HasPrefix(filepath.Base(path), "async-pipeline-probe-") })
}
