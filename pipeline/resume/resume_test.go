package resume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

func check(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// A project is a tree with four tasks, of which gen has inputs and outputs, and the records of its runs.
type project struct {
	t      testing.TB
	store  *record.Store
	config *pipeline.Config
	mode   string   // a variable of every task
	dirs   []string // of the runs
}

func newProject(t testing.TB) *project {
	p := &project{t: t, store: record.At(t.TempDir()), mode: "fast"}
	p.config = &pipeline.Config{Root: p.store.Root, Tasks: []*pipeline.Task{
		task("gen"), task("lint"), task("test", "gen", "lint"), task("deploy", "test"),
	}}
	p.task("gen").Inputs, p.task("gen").Outputs = []string{"src/**"}, []string{"made"}
	p.write("src/a", "one")
	p.write("made", "one")
	return p
}

func task(name string, needs ...string) *pipeline.Task {
	return &pipeline.Task{Name: name, Base: name, Dir: ".", DependsOn: needs, Run: pipeline.Command{Argv: []pipeline.Text{{Value: "do"}}}}
}

func (p *project) task(name string) *pipeline.Task { return p.config.Task(name) }

func (p *project) add(t *pipeline.Task) { p.config.Tasks = append(p.config.Tasks, t) }

func (p *project) write(name, text string) {
	p.t.Helper()
	at := filepath.Join(p.store.Root, name)
	check(p.t, os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644))
}

func (p *project) remove(name string) { check(p.t, os.Remove(filepath.Join(p.store.Root, name))) }

// rewrite replaces text in a file of the record of a run.
func (p *project) rewrite(n int, name, from, to string) {
	p.t.Helper()
	at := filepath.Join(p.dirs[n], name)
	b, err := os.ReadFile(at)
	check(p.t, err)
	if !strings.Contains(string(b), from) {
		p.t.Fatalf("%s has no %q: %s", name, from, b)
	}
	check(p.t, os.WriteFile(at, []byte(strings.ReplaceAll(string(b), from, to)), 0o600))
}

// print returns the fingerprint of a task.
func (p *project) print(name string) string {
	p.t.Helper()
	print, err := run.Fingerprint(p.task(name), &redact.Set{})
	check(p.t, err)
	return print
}

func (p *project) cache(c *pipeline.Config, peek bool) *cache.Cache {
	return &cache.Cache{Config: c, Dir: cache.Place(c.Root), Peek: peek, Run: "r", Describe: func(t *pipeline.Task) (cache.Task, error) {
		return cache.Task{
			Argv: []string{t.Run.Argv[0].Value}, Env: []cache.Variable{{Name: "MODE", Value: p.mode, Plain: true}},
			Sandbox: "none", Secret: func(string) bool { return false },
		}, nil
	}}
}

// run records a run in which the tasks ended as it is written: "gen passed, test failed". A task without a status did
// not end, and a run with one is one that was killed.
func (p *project) run(text string, resumes *record.Resumed, change ...func(*record.Task)) {
	p.t.Helper()
	d, err := p.store.Begin(time.Now(), nil, nil)
	check(p.t, err)
	p.dirs = append(p.dirs, d.Dir)
	var names []string
	var nodes []record.Node
	var tasks []record.Task
	given := map[string]record.Args{}
	killed := text == ""
	for word := range strings.SplitSeq(text, ", ") {
		name, status, ended := strings.Cut(word, " ")
		if name == "" {
			continue
		}
		killed = killed || !ended
		r := record.Task{Name: name, Status: status}
		for _, f := range change {
			f(&r)
		}
		if len(r.Args) > 0 || r.ArgsHidden {
			given[name] = record.Args{Args: r.Args, Hidden: r.ArgsHidden}
		}
		names, nodes, tasks = append(names, name), append(nodes, record.Node{Name: name, Fingerprint: p.print(name)}), append(tasks, r)
	}
	check(p.t, d.Graph(nodes))
	if len(names) > 0 {
		check(p.t, d.Event(record.Event{Type: "run_started", Data: map[string]any{"tasks": names, "resumes": resumes, "arguments": given}}))
	}
	k := p.cache(p.config, false)
	for _, r := range tasks {
		if r.Status == "" {
			continue
		}
		check(p.t, d.Event(record.Event{Type: "task_finished", Task: r.Name, Data: map[string]any{"status": r.Status}}))
		if e := k.Look(context.Background(), p.task(r.Name)); e != nil {
			_, err := d.PutReceipt(&record.Receipt{Task: r.Name, Cache: record.Cache{Result: e.Result}, MadeOf: e.MadeOf()})
			check(p.t, err)
		}
	}
	if killed {
		check(p.t, os.WriteFile(filepath.Join(d.Dir, "maker.json"), []byte(`{"pid": 2147483646, "start": 1, "boot": "another"}`), 0o600))
		return
	}
	_, err = d.Seal(record.Run{Status: record.Failed, ExitCode: 1, Resumes: resumes, Tasks: tasks})
	check(p.t, err)
}

// took is what a run records that took over tasks of run n.
func (p *project) took(n int, passed ...string) *record.Resumed {
	return &record.Resumed{Run: filepath.Base(p.dirs[n]), Passed: passed}
}

// left returns what is left of the last run.
func (p *project) left() (*Left, error) {
	past, err := Read(p.store, p.store.Entry(filepath.Base(p.dirs[len(p.dirs)-1])), p.config)
	if err != nil {
		return nil, err
	}
	secrets := &redact.Set{}
	secrets.Add("TOKEN", "hunter2-hunter2")
	return past.Left(context.Background(), p.cache(past.Config, true), secrets)
}

// tell writes what is left on one line: "run: gen! lint failed there; for outputs: …; passed: deploy (1 unknown)". A ! is
// behind the name of a task that had passed.
func tell(l *Left) string {
	var again, outputs []string
	for _, name := range l.Names {
		why, ok := l.Again[name]
		if !ok {
			outputs = append(outputs, name)
			continue
		}
		if why.Passed {
			name += "!"
		}
		if why.After != "" {
			why.Text = "after " + why.After
		}
		again = append(again, name+" "+why.Text)
	}
	list := func(names []string) string { return strings.Join(names, ", ") }
	return fmt.Sprintf("run: %s; beside: %s; passed: %s (%d unknown)", list(again), list(outputs), list(l.Taken.Passed), l.Unknown)
}

const allPassed = "gen passed, lint cached, test passed, deploy passed"

func TestLeft(t *testing.T) {
	t.Parallel()
	nothing := func(*project) {}
	for _, tt := range []struct {
		what   string
		was    string
		change func(p *project) // since then
		want   string
	}{
		{"what passed is not run again", allPassed, nothing, "run: ; beside: ; passed: gen, lint, test, deploy (3 unknown)"},
		{
			"what did not pass runs", "gen passed, lint timed_out, test cancelled, deploy skipped", nothing,
			"run: lint timed out there, test cancelled there, deploy skipped there; beside: ; passed: gen (0 unknown)",
		},
		{
			"what needs a failed task runs with it", "gen passed, lint failed, test passed, deploy passed", nothing,
			"run: lint failed there, test! after lint, deploy! after test; beside: ; passed: gen (0 unknown)",
		},
		{
			"a killed run", "gen passed, lint passed, test, deploy", nothing,
			"run: test cancelled there, deploy cancelled there; beside: ; passed: gen, lint (1 unknown)",
		},
		{
			"the definition changed", allPassed, func(p *project) { p.task("test").Run.Argv[0].Value = "other" },
			"run: test! its definition changed, deploy! after test; beside: ; passed: gen, lint (1 unknown)",
		},
		{
			"what a changed task needs now is new", allPassed, func(p *project) {
				p.task("deploy").DependsOn = append(p.task("deploy").DependsOn, "pack")
				p.add(task("pack", "deep"))
				p.add(task("deep"))
			}, "run: deep new, pack new, deploy! its definition changed; beside: ; passed: gen, lint, test (2 unknown)",
		},
		{
			"what was left out then is left out", "test failed", nothing,
			"run: test failed there; beside: ; passed:  (0 unknown)",
		},
		{
			"what only an unchanged task needs is left out, too", "test passed, deploy passed", func(p *project) { p.task("deploy").Run.Argv[0].Value = "other" },
			"run: deploy! its definition changed; beside: ; passed: test (1 unknown)",
		},
		{
			"a task that passed is gone", "gen passed, lint passed, test passed", func(p *project) {
				p.config.Tasks = []*pipeline.Task{p.task("gen")}
			}, "run: ; beside: ; passed: gen (0 unknown)",
		},
		{
			"an output is missing", allPassed, func(p *project) { p.remove("made") },
			"run: gen! output made missing, test! after gen, deploy! after test; beside: ; passed: lint (1 unknown)",
		},
		{
			"an input changed", "gen passed, lint passed", func(p *project) { p.write("src/b", "") },
			"run: gen! ** changed; beside: ; passed: lint (1 unknown)",
		},
		{
			"a reason has no secret", "gen passed", func(p *project) { p.mode = "hunter2-hunter2" },
			"run: gen! env MODE was fast, is [redacted]; beside: ; passed:  (0 unknown)",
		},
		{
			"without a cache its inputs are not looked at", "gen passed, deploy", func(p *project) {
				with := p.print("gen")
				p.task("gen").Cache.Disabled = true
				p.rewrite(0, "graph.json", with, p.print("gen"))
				p.write("src/b", "")
			}, "run: deploy cancelled there; beside: ; passed: gen (1 unknown)",
		},
		{
			"there is no receipt", "gen passed", func(p *project) { check(p.t, os.RemoveAll(filepath.Join(p.dirs[0], "cache"))) },
			"run: gen! what it was made of is not recorded; beside: ; passed:  (0 unknown)",
		},
		{
			"the receipt tells of no inputs", "gen passed", func(p *project) { p.rewrite(0, "cache/gen.json", `"made_of":`, `"old":`) },
			"run: gen! what it was made of is not recorded; beside: ; passed:  (0 unknown)",
		},
		{
			"an input changed while it ran", "gen passed", func(p *project) { p.rewrite(0, "cache/gen.json", `"unchanged":null`, `"unchanged":false`) },
			"run: gen! what it was made of changed while it ran, or may have; beside: ; passed:  (0 unknown)",
		},
	} {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.run(tt.was, nil)
			tt.change(p)
			l, err := p.left()
			check(t, err)
			if got := tell(l); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if want := filepath.Base(p.dirs[0]); l.Past.Run != want || l.Taken.Run != want || l.Taken.Passed == nil {
				t.Errorf("of run %s: %+v", want, l.Taken)
			}
		})
	}
}

// Outputs that the cache has may have been made from other inputs since: the task is selected, and passed all the same.
// One without outputs is not.
func TestOutputsOfTheCache(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.task("lint").Inputs = []string{"src/**"}
	k := p.cache(p.config, false)
	log := filepath.Join(t.TempDir(), "log")
	check(t, os.WriteFile(log, nil, 0o600))
	for _, name := range []string{"gen", "lint"} {
		check(t, k.Store(t.Context(), k.Look(t.Context(), p.task(name)), log, time.Second))
	}
	p.run("gen passed, lint passed, test failed", nil)
	l, err := p.left()
	check(t, err)
	if got, want := tell(l), "run: test failed there; beside: gen; passed: lint (0 unknown)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A service is selected where a task needs it, and where it was asked for itself and failed. What passed with one that failed
// is run again.
func TestServices(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for _, name := range []string{"db", "web"} {
		p.add(task(name))
		p.task(name).Service = &pipeline.Service{}
	}
	p.task("test").DependsOn = append(p.task("test").DependsOn, "db")
	p.run("gen passed, lint passed, db passed, web failed, test failed", nil)
	l, err := p.left()
	check(t, err)
	if got, want := tell(l), "run: test failed there, web failed there; beside: db; passed: gen, lint (1 unknown)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	p.task("lint").DependsOn = append(p.task("lint").DependsOn, "web")
	p.run("gen passed, lint passed, db passed, web failed, test passed", nil)
	l, err = p.left()
	check(t, err)
	if got, want := tell(l), "run: lint! service web failed there, test! service web failed there; beside: web, db; passed: gen (0 unknown)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What a run had taken over from another one is part of it.
func TestChain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what   string
		change func(p *project)
		want   string
	}{
		{"as it was", func(*project) {}, "run: deploy failed there; beside: ; passed: gen, lint, test (2 unknown)"},
		{
			"inputs are compared with the first run", func(p *project) { p.write("src/b", "") },
			"run: gen! ** changed, test! after gen, deploy failed there; beside: ; passed: lint (1 unknown)",
		},
		{
			"what changed since the first run", func(p *project) { p.task("gen").Run.Argv[0].Value = "other" },
			"run: gen! its definition changed, test! after gen, deploy failed there; beside: ; passed: lint (1 unknown)",
		},
		{
			"the first run is gone", func(p *project) { check(p.t, os.RemoveAll(p.dirs[0])) },
			"run: gen its run is gone, lint its run is gone, test! after gen, deploy failed there; beside: ; passed:  (0 unknown)",
		},
		{
			"the second run is gone", func(p *project) { check(p.t, os.RemoveAll(p.dirs[1])) },
			"run: gen its run is gone, lint its run is gone, test its run is gone, deploy failed there; beside: ; passed:  (0 unknown)",
		},
	} {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.run("gen passed, lint passed, test failed, deploy skipped", nil)
			p.run("test passed, deploy", p.took(0, "gen", "lint"))
			p.run("deploy failed", p.took(1, "gen", "lint", "test"))
			tt.change(p)
			l, err := p.left()
			check(t, err)
			if got := tell(l); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			var names []string
			for _, task := range l.Past.Tasks {
				names = append(names, task.Name)
			}
			if got := strings.Join(names, " "); l.Past.Status != record.Failed || got != "deploy gen lint test" {
				t.Errorf("it ended %s, with the tasks %s", l.Past.Status, got)
			}
		})
	}
}

// A task of the first run that the second one neither ran nor took over was no longer declared then.
func TestChainHasGaps(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.run("gen passed, lint passed, test failed", nil)
	p.run("test, deploy", p.took(0, "gen"))
	l, err := p.left()
	check(t, err)
	if got, want := tell(l), "run: test cancelled there, deploy cancelled there; beside: ; passed: gen (0 unknown)"; got != want || l.Past.Status != record.Interrupted {
		t.Errorf("%s: got  %s\nwant %s", l.Past.Status, got, want)
	}
}

// The last end of a task counts: gen was taken over by the second run, and ran in the third one.
func TestChainRunsAgain(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.run("gen passed, lint passed, test failed", nil)
	p.run("test failed", p.took(0, "gen", "lint"))
	p.run("gen failed, test skipped", p.took(1, "lint"))
	l, err := p.left()
	check(t, err)
	if got, want := tell(l), "run: gen failed there, test skipped there; beside: ; passed: lint (1 unknown)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A run cannot have resumed itself or a later one, but its record may say so.
func TestChainIsACircle(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.run("test", nil)
	p.run("deploy", p.took(0, "test"))
	p.rewrite(0, "events.jsonl", `"resumes":null`, `"resumes":{"run":"`+filepath.Base(p.dirs[1])+`","passed":["deploy"]}`)
	l, err := p.left()
	check(t, err)
	if got, want := tell(l), "run: test cancelled there, deploy cancelled there; beside: ; passed:  (0 unknown)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Tasks run again with the arguments that they had, which a killed run has in its journal only.
func TestArguments(t *testing.T) {
	t.Parallel()
	for _, was := range []string{"lint failed, test failed", "lint, test"} {
		p := newProject(t)
		p.run(was, nil, func(r *record.Task) {
			if r.Name == "test" {
				r.Args, r.ArgsHidden = []string{"-v"}, true
			}
		})
		l, err := p.left()
		check(t, err)
		if args := l.Past.Config.Task("test").Run.Args; len(args) != 1 || args[0].Value != "-v" || len(p.task("test").Run.Args) > 0 {
			t.Errorf("%s: arguments %v", was, args)
		}
		if got := l.Past.Tasks; len(got) != 2 || got[0].ArgsHidden || !got[1].ArgsHidden {
			t.Errorf("%s: tasks %+v", was, got)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what   string
		change func(p *project)
		want   string
	}{
		{"a verdict that was changed", func(p *project) { p.run("test failed", nil); p.rewrite(0, "run.json", `"failed"`, `"passed"`) }, "its record is damaged: run.json"},
		{"a verdict that cannot be read", func(p *project) { p.run("test failed", nil); p.rewrite(0, "run.json", "{", "") }, "is damaged"},
		{"a graph that was changed", func(p *project) { p.run("test failed", nil); p.rewrite(0, "graph.json", "sha256", "sha257") }, "its record is damaged: graph.json"},
		{"a journal that was changed", func(p *project) {
			p.run("lint failed, gen passed, test", nil)
			p.rewrite(0, "events.jsonl", "failed", "passed")
		}, "its record is damaged: events.jsonl"},
		{"the run that it had resumed was changed", func(p *project) {
			p.run("lint passed, test failed", nil)
			p.run("test passed", p.took(0, "lint"))
			p.rewrite(0, "events.jsonl", "failed", "passed")
		}, "its record is damaged: events.jsonl"},
		{"it was killed before it had a task", func(p *project) { p.run("", nil) }, "it was ended before it had a task: start a run anew"},
		{"no task of it is left", func(p *project) {
			p.run("test failed", nil)
			p.config.Tasks = []*pipeline.Task{task("other")}
		}, "PIPELINE.hcl has none of its tasks"},
		{"tasks that did not pass are not left", func(p *project) {
			p.run("gen passed, lint passed, test failed, deploy skipped", nil)
			p.config.Tasks = []*pipeline.Task{p.task("gen")}
		}, "PIPELINE.hcl no longer has test, deploy, which did not pass there: type async-pipeline run, without --resume"},
	} {
		p := newProject(t)
		tt.change(p)
		if _, err := p.left(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.what, err, tt.want)
		}
	}
}

func TestLeftRefuses(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.run("gen passed, lint failed", nil)
	p.task("lint").DependsOn = []string{"gen", "lint"}
	var faults pipeline.Errors
	if _, err := p.left(); !errors.As(err, &faults) {
		t.Errorf("a circle: %v", err)
	}
}
