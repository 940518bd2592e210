package main

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A randomGraph is a project of tasks that read their own folder, a common one, and what the tasks before them made. What
// each of them makes is known without running it: see outcome.
type randomGraph struct {
	*victim
	rng   *rand.Rand
	tasks []randomTask
	store string // the folder of the cache

	known   []map[string]bool   // by task: of what it was made when it passed
	last    []map[string]string // by task: of what it was made when it passed last; nil: not known
	damaged bool                // something of the store was
}

type randomTask struct {
	form   string // file | folder | none: what it makes
	needs  []int
	shared bool // it reads in/shared, too
	auto   bool
	env    string
	pause  int // ms
}

func taskName(i int) string { return fmt.Sprintf("t%d", i) }

// command is the shell text of a task.
func (g *randomGraph) command(i int) string {
	t := g.tasks[i]
	reads := fmt.Sprintf("cat in/%s/*; echo $V", taskName(i))
	if t.shared {
		reads += "; cat in/shared/*"
	}
	for _, d := range t.needs {
		switch g.tasks[d].form {
		case "file":
			reads += "; cat out/" + taskName(d)
		case "folder":
			reads += fmt.Sprintf("; cat out/%s/all; ls out/%s", taskName(d), taskName(d))
		}
	}
	begin := fmt.Sprintf("sleep 0.%03d; ", t.pause)
	switch t.form {
	case "file":
		return begin + fmt.Sprintf("mkdir -p out; { %s; } > out/%s", reads, taskName(i))
	case "folder":
		return begin + fmt.Sprintf("rm -rf out/%[2]s; mkdir -p out/%[2]s/e; { %[1]s; } > out/%[2]s/all; "+
			"for f in in/%[2]s/*; do echo $f > out/%[2]s/c-$(cat $f); done; ln -s all out/%[2]s/l; "+
			"if [ $V = x ]; then chmod +x out/%[2]s/all; fi", reads, taskName(i))
	}
	return begin + reads
}

func (g *randomGraph) writePipeline(t *testing.T) {
	t.Helper()
	var b strings.Builder
	for i, task := range g.tasks {
		inputs := fmt.Sprintf("[%q]", "in/"+taskName(i)+"/**")
		if task.shared {
			inputs = fmt.Sprintf("[%q, %q]", "in/"+taskName(i)+"/**", "in/shared/*")
		}
		if task.auto {
			inputs = "auto"
		}
		fmt.Fprintf(&b, "task %q {\n  run = %q\n  env = { V = %q }\n  inputs = %s\n", taskName(i),
			g.command(i), task.env, inputs)
		if task.form != "none" {
			fmt.Fprintf(&b, "  outputs = [%q]\n", "out/"+taskName(i)+map[string]string{"folder": "/**"}[task.form])
		}
		var needs []string
		for _, d := range task.needs {
			needs = append(needs, "task."+taskName(d))
		}
		fmt.Fprintf(&b, "  depends_on = [%s]\n}\n", strings.Join(needs, ", "))
	}
	must(t, os.WriteFile(filepath.Join(g.dir, "PIPELINE.hcl"), []byte(b.String()), 0o644))
}

// An outcome is what a task makes, as files in the form of victimTree, what it prints, and what it is made of, by name.
type outcome struct {
	files map[string]string
	log   string
	made  map[string]string
}

// folder adds what a folder of inputs has to what a task is made of, and returns its texts by path.
func (g *randomGraph) folder(t *testing.T, dir string, made map[string]string) (paths []string, texts map[string]string) {
	t.Helper()
	found, err := os.ReadDir(filepath.Join(g.dir, dir)) // sorted
	must(t, err)
	texts = map[string]string{}
	for _, f := range found {
		p := dir + "/" + f.Name()
		at := filepath.Join(g.dir, p)
		b, err := os.ReadFile(at)
		must(t, err)
		info, err := os.Stat(at)
		must(t, err)
		paths, texts[p] = append(paths, p), string(b)
		facts := fmt.Sprintf("%v %s", info.Mode()&0o100 != 0, b)
		if to, err := os.Readlink(at); err == nil {
			made[p], p = to, filepath.Join(dir, to)
		}
		made[p] = facts
	}
	return paths, texts
}

// outcomes are those of all tasks with the tree as it is.
func (g *randomGraph) outcomes(t *testing.T) (all []outcome) {
	t.Helper()
	var before []map[int]bool // what each task depends on, also indirectly
	for i, task := range g.tasks {
		o := outcome{files: map[string]string{}, made: map[string]string{"env V": task.env}}
		paths, texts := g.folder(t, "in/"+taskName(i), o.made)
		text := ""
		for _, p := range paths {
			text += texts[p]
			if task.form == "folder" {
				o.files[fmt.Sprintf("out/%s/c-%s", taskName(i), strings.TrimSpace(texts[p]))] = "-" + p + "\n"
			}
		}
		text += task.env + "\n"
		if task.shared {
			paths, texts := g.folder(t, "in/shared", o.made)
			for _, p := range paths {
				text += texts[p]
			}
		}
		before = append(before, map[int]bool{})
		for _, d := range task.needs {
			before[i][d] = true
			maps.Copy(before[i], before[d])
			switch out := "out/" + taskName(d); g.tasks[d].form {
			case "file":
				text += all[d].files[out][1:]
			case "folder":
				text += all[d].files[out+"/all"][1:]
				for _, p := range slices.Sorted(maps.Keys(all[d].files)) {
					text += filepath.Base(p) + "\n"
				}
			}
		}
		for d := range before[i] {
			maps.Copy(o.made, all[d].files)
		}
		switch out := "out/" + taskName(i); task.form {
		case "file":
			o.files[out] = "-" + text
		case "folder":
			o.files[out+"/all"], o.files[out+"/l"], o.files[out+"/e"] = "-"+text, ">all", "folder"
			if task.env == "x" {
				o.files[out+"/all"] = "x" + text
			}
		default:
			o.log = text
		}
		all = append(all, o)
	}
	return all
}

func newRandomGraph(t *testing.T, rng *rand.Rand) *randomGraph {
	t.Helper()
	g := &randomGraph{rng: rng}
	for i := range 2 + rng.IntN(6) {
		task := randomTask{
			form: []string{"file", "folder", "none"}[rng.IntN(3)], shared: rng.IntN(3) == 0, auto: rng.IntN(4) == 0,
			env: "v", pause: rng.IntN(30),
		}
		for d := range i {
			if rng.IntN(3) == 0 {
				task.needs = append(task.needs, d)
			}
		}
		g.tasks = append(g.tasks, task)
	}
	g.create(t)
	g.store = filepath.Join(g.base, "store")
	g.env = append(g.env, "ASYNC_PIPELINE_CACHE_DIR="+g.store)
	return g
}

// another returns the same project in another folder, with the same store.
func (g *randomGraph) another(t *testing.T) *randomGraph {
	t.Helper()
	other := &randomGraph{rng: g.rng, tasks: slices.Clone(g.tasks), store: g.store}
	other.create(t)
	other.env = append(other.env, "ASYNC_PIPELINE_CACHE_DIR="+g.store)
	return other
}

// create makes the project.
func (g *randomGraph) create(t *testing.T) {
	t.Helper()
	g.victim = emptyVictim(t)
	g.known, g.last = make([]map[string]bool, len(g.tasks)), make([]map[string]string, len(g.tasks))
	g.forget()
	files := map[string]string{"in/shared/always": "a\n", "unrelated": "", ".gitignore": "/.async/\n/out/\n"}
	for i := range g.tasks {
		files["in/"+taskName(i)+"/always"] = "a\n"
	}
	for _, dir := range []string{"in/shared", "out"} {
		must(t, os.MkdirAll(filepath.Join(g.dir, dir), 0o755))
	}
	for i := range g.tasks {
		must(t, os.Mkdir(filepath.Join(g.dir, "in", taskName(i)), 0o755))
	}
	g.write(t, files)
	g.writePipeline(t)
	commitAll(t, g.dir)
}

// edit changes one thing of the project, and returns what. tracked: one that git tells of.
func (g *randomGraph) edit(t *testing.T, tracked bool) string {
	t.Helper()
	i := g.rng.IntN(len(g.tasks))
	dir := "in/" + taskName(i)
	if g.rng.IntN(5) == 0 {
		dir = "in/shared"
	}
	file := dir + "/" + []string{"always", "b", "c"}[g.rng.IntN(3)]
	at := filepath.Join(g.dir, file)
	text := []byte([]string{"a\n", "b\n", "aa\n"}[g.rng.IntN(3)])
	out := filepath.Join(g.dir, "out", taskName(i))
	what := g.rng.IntN(11)
	if tracked {
		what = g.rng.IntN(8)
	}
	switch what {
	case 0, 1, 2: // also through a link, and of the same size at the same time
		if info, err := os.Stat(at); err == nil && what == 2 {
			must(t, os.WriteFile(at, text, 0o644))
			must(t, os.Chtimes(at, info.ModTime(), info.ModTime()))
			return "the contents of " + file + ", and the old time"
		}
		must(t, os.WriteFile(at, text, 0o644))
		return fmt.Sprintf("%s is %q", file, text)
	case 3:
		if filepath.Base(file) != "always" {
			must(t, os.RemoveAll(at))
		}
		return file + " is gone"
	case 4:
		if info, err := os.Stat(at); err == nil {
			must(t, os.Chmod(at, info.Mode()^0o100))
		}
		return "the mode of " + file
	case 5:
		if filepath.Base(file) != "always" {
			must(t, os.RemoveAll(at))
			must(t, os.Symlink("../"+taskName(i)+"/always", at))
		}
		return file + " is a link"
	case 6:
		must(t, os.WriteFile(at+"-new", text, 0o644))
		must(t, os.Rename(at+"-new", at))
		return fmt.Sprintf("%s is another file, %q", file, text)
	case 7:
		g.tasks[i].env = []string{"v", "w", "x"}[g.rng.IntN(3)]
		g.writePipeline(t)
		return fmt.Sprintf("env of %s is %s", taskName(i), g.tasks[i].env)
	case 8:
		must(t, os.RemoveAll(out))
		return out + " is gone"
	case 9:
		if g.tasks[i].form == "folder" {
			out = filepath.Join(out, "all")
		}
		if _, err := os.Stat(out); err == nil {
			must(t, os.WriteFile(out, []byte("by hand\n"), 0o644))
		}
		return out + " is edited"
	}
	must(t, os.WriteFile(filepath.Join(g.dir, "unrelated"), text, 0o644))
	return "an unrelated file"
}

// damage changes one file of the store.
func (g *randomGraph) damage(t *testing.T) string {
	t.Helper()
	var all []string
	must(t, filepath.WalkDir(g.store, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all = append(all, p)
		}
		return err
	}))
	if len(all) == 0 {
		return "the store is empty"
	}
	at := all[g.rng.IntN(len(all))]
	b, err := os.ReadFile(at)
	must(t, err)
	must(t, os.Chmod(at, 0o600))
	how := g.rng.IntN(3)
	switch {
	case how == 0 || len(b) == 0:
		must(t, os.Remove(at))
		return at + " is removed"
	case how == 1:
		must(t, os.Truncate(at, g.rng.Int64N(int64(len(b)))))
		return at + " is cut"
	}
	b[g.rng.IntN(len(b))] ^= 1 << g.rng.IntN(8)
	must(t, os.WriteFile(at, b, 0o600))
	return at + " has another bit"
}

// check runs the project, and compares what is there with what its tasks make, and what ran with what had to.
func (g *randomGraph) check(t *testing.T, args ...string) {
	t.Helper()
	code, out := g.run(t, append([]string{"run", "--concurrency", fmt.Sprint(1 + g.rng.IntN(4))}, args...)...)
	defer func() {
		if t.Failed() {
			t.Log(out)
		}
	}()
	if code != 0 {
		t.Fatalf("exit %d", code)
	}
	want, found := g.outcomes(t), g.tree(t)
	maps.DeleteFunc(found, func(p, _ string) bool { return !strings.HasPrefix(p, "out/") })
	all := map[string]string{}
	for i, o := range want {
		maps.Copy(all, o.files)
		if empty := "out/" + taskName(i) + "/e"; recordfile.IsFolder(filepath.Join(g.dir, empty)) {
			found[empty] = "folder"
		}
	}
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if found[p] != all[p] {
			t.Errorf("%s is %q, want %q", p, found[p], all[p])
		}
		delete(found, p)
	}
	if len(found) > 0 {
		t.Errorf("there is as well: %q", found)
	}
	now := slices.MaxFunc(g.sealed(t), func(a, b *record.Sealed) int { return a.StartedAt.Compare(b.StartedAt.Time) })
	if strings.HasPrefix(out, "Nothing is affected") { // and there is no run
		now.Tasks = nil
	}
	for i, o := range want {
		n := slices.IndexFunc(now.Tasks, func(t record.Task) bool { return t.Name == taskName(i) })
		if n >= 0 {
			g.checkTask(t, i, o, now.Dir, &now.Tasks[n])
		} else if g.last[i] != nil && !maps.Equal(o.made, g.last[i]) {
			t.Errorf("%s was not of the run; it is made of %q, and was of %q", taskName(i), o.made, g.last[i])
		}
	}
}

// checkTask checks the record of a task, and notes that the cache knows its result.
func (g *randomGraph) checkTask(t *testing.T, i int, o outcome, dir string, got *record.Task) {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(dir, got.Log.Path))
	if must(t, err); !strings.HasSuffix(string(log), o.log) {
		t.Errorf("%s printed %q, want %q", taskName(i), log, o.log)
	}
	var differs []string
	both := maps.Clone(o.made)
	maps.Copy(both, g.last[i])
	for n := range both {
		if o.made[n] != g.last[i][n] {
			differs = append(differs, n)
		}
	}
	reason := ""
	if got.Cache.Reason != nil {
		reason = *got.Cache.Reason
	}
	if key := fmt.Sprint(o.made); got.Cache.Result == "miss" && (!g.damaged || !strings.Contains(reason, "damaged")) {
		if len(differs) == 0 || g.known[i][key] && !g.tasks[i].auto {
			t.Errorf("%s ran (%s), and it is known what it makes", taskName(i), reason)
		}
		if g.last[i] != nil && !g.damaged && !slices.ContainsFunc(differs, func(n string) bool { return strings.Contains(reason, n) }) {
			t.Errorf("%s ran because of %q; what differs is %q", taskName(i), reason, differs)
		}
	}
	if g.last[i] = o.made; got.Cache.NotStored != nil {
		t.Errorf("%s is not stored: %s", taskName(i), *got.Cache.NotStored)
	}
	g.known[i][fmt.Sprint(o.made)] = true // fmt sorts the keys of maps
}

// killed kills a run at some moment, and returns its id, or "" where it ended before, or had no graph of tasks yet.
func (g *randomGraph) killed(t *testing.T) (id string) {
	t.Helper()
	before := g.runs(t)
	pid, killed, _ := g.killAt(t, time.Duration(g.rng.IntN(200))*time.Millisecond, "run")
	t.Log("a run is killed: ", killed)
	g.allEnd(t, pid, time.Now())
	g.forget()
	for _, run := range g.runs(t) {
		if killed && !slices.Contains(before, run) && recordfile.Exists(filepath.Join(g.dir, ".async", "runs", run, "graph.json")) {
			return run
		}
	}
	return ""
}

// forget is what follows when it is not known any more what the cache knows.
func (g *randomGraph) forget() {
	for i := range g.tasks {
		g.known[i], g.last[i] = map[string]bool{}, nil
	}
}

// Random graphs of tasks; edits of every kind; results that are removed, cut and altered in the store; runs that are
// killed, and resumed; runs of what is affected; two trees that share a store and run at once. What is there after a run
// is what its tasks make of the tree as it is, what they printed is shown, nothing runs of which the result is known, and a
// miss names what differs.
func TestRandomGraphs(t *testing.T) {
	t.Parallel()
	needProc(t)
	seed := sweepSeed(t)
	eachRound(t, fewRounds(), func(t *testing.T, round int) {
		t.Logf("ASYNC_PIPELINE_SWEEP_SEED=%d", seed)
		g := newRandomGraph(t, rand.New(rand.NewPCG(seed, uint64(round))))
		twin := g.another(t)
		g.check(t)
		for range 6 {
			what := g.rng.IntN(9)
			if what == 3 {
				g.git(t, "add", "-A")
				g.git(t, "-c", "user.name=Somebody", "-c", "user.email=somebody@example.com", "commit", "-qm", "more", "--allow-empty")
			}
			for range 1 + g.rng.IntN(3) {
				t.Log(g.edit(t, what == 3))
			}
			switch what {
			case 0:
				t.Log(g.damage(t))
				g.damaged = true
				g.forget()
			case 1:
				g.killed(t)
				must(t, os.RemoveAll(filepath.Join(g.dir, "out"))) // what a killed task left in a folder stays
				must(t, os.Mkdir(filepath.Join(g.dir, "out"), 0o755))
			case 2:
				t.Log("in the other tree: ", twin.edit(t, false))
				c, file := twin.start(t, "run")
				g.check(t)
				if err := c.Wait(); err != nil {
					b, _ := os.ReadFile(file)
					t.Fatalf("in the other tree: %v\n%s", err, b)
				}
				twin.forget()
				twin.damaged = g.damaged
				twin.check(t)
			case 3:
				g.check(t, "--affected=HEAD")
			case 4:
				if id := g.killed(t); id != "" && !slices.ContainsFunc(g.tasks, func(t randomTask) bool { return t.form == "folder" }) {
					t.Log(g.edit(t, true))
					g.check(t, "--resume", id)
				} else {
					must(t, os.RemoveAll(filepath.Join(g.dir, "out")))
					must(t, os.Mkdir(filepath.Join(g.dir, "out"), 0o755))
				}
			}
			g.check(t)
			if code, out := g.run(t, "run"); !g.damaged && (code != 0 || strings.Contains(out, "passed")) {
				t.Errorf("the same again: exit %d\n%s", code, out)
			}
			if t.Failed() {
				return
			}
		}
		if code, out := g.run(t, "cache", "verify"); code != 0 && !g.damaged {
			t.Errorf("cache verify: exit %d\n%s", code, out)
		}
	})
}
