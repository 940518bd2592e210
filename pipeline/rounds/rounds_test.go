package rounds

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/watch"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A project is a folder with tasks that are watched.
type project struct {
	*Watch
	t      *testing.T
	config *pipeline.Config
	graph  *pipeline.Graph
	loops  []string // what Loops was told
}

// defining are the files that define the tasks of a project.
var defining = []string{"PIPELINE.hcl"}

// newProject makes a project in a new folder, or in root, of which nothing is watched yet.
func newProject(t *testing.T, root string, tasks ...*pipeline.Task) *project {
	t.Helper()
	if root == "" {
		var err error
		root, err = filepath.EvalSymlinks(t.TempDir())
		must(t, err)
	}
	p := &project{t: t, config: &pipeline.Config{Root: root, Tasks: tasks}}
	var err error
	p.graph, err = pipeline.Select(p.config, nil, false)
	must(t, err)
	p.Watch = &Watch{
		Root: root, Know: func(*pipeline.Config) {},
		Loops: func(path string, rounds int) { p.loops = append(p.loops, fmt.Sprint(path, " ", rounds)) },
		ended: map[string]record.Task{}, history: map[string]*fileChanges{}, left: map[string]bool{}, changed: make(chan struct{}, 1),
	}
	p.use(p.config, p.graph, defining)
	return p
}

// open watches the files of the project, in which these folders are; all tasks have passed.
func (p *project) open(folders ...string) {
	p.t.Helper()
	for _, dir := range folders {
		must(p.t, os.MkdirAll(filepath.Join(p.Root, dir), 0o755))
	}
	_, err := p.Open(p.config, p.graph, defining)
	must(p.t, err)
	p.t.Cleanup(p.Close)
	p.round()(nil, record.Passed)
}

// round begins a round of all tasks. end gives some of them, or all, a status.
func (p *project) round() (end func(tasks []string, status string)) {
	p.Reading()
	_, sealed := p.Begin(p.t.Context(), p.graph)
	return func(tasks []string, status string) {
		r := &record.Sealed{}
		for _, t := range p.graph.Tasks() {
			if tasks == nil || slices.Contains(tasks, t.Name) {
				r.Tasks = append(r.Tasks, record.Task{Name: t.Name, Status: status})
			}
		}
		sealed(r)
	}
}

// put replaces a file by a new one, in one step.
func (p *project) put(name string) {
	p.t.Helper()
	made := filepath.Join(p.t.TempDir(), "made")
	must(p.t, os.WriteFile(made, []byte(name), 0o644))
	must(p.t, os.Rename(made, filepath.Join(p.Root, name)))
}

// waits waits until there is a change.
func (p *project) waits() {
	p.t.Helper()
	select {
	case <-p.Changed():
	case <-time.After(time.Minute):
		p.t.Fatal("no change was noticed")
	}
}

// next chooses the next round: "a b <- changed/path".
func (p *project) next() string {
	p.Reading()
	tasks, paths, _ := p.Next(p.config, p.graph, defining)
	return strings.Join(tasks, " ") + " <- " + strings.Join(paths, " ")
}

func (p *project) want(want string) {
	p.t.Helper()
	if got := p.next(); got != want {
		p.t.Errorf("next round: %s\nwant: %s", got, want)
	}
}

// chain is gen, then test; lint, and once, which has no inputs.
func chain() []*pipeline.Task {
	return []*pipeline.Task{
		{Name: "gen", Dir: ".", Inputs: []string{"src/**"}, Outputs: []string{"src/out"}},
		{Name: "test", Dir: ".", Inputs: []string{"t/**"}, DependsOn: []string{"gen"}},
		{Name: "lint", Dir: ".", Inputs: []string{"lint/*"}},
		{Name: "once", Dir: "."},
	}
}

// A change runs the tasks whose inputs it touches, and what depends on them. What a task makes, and what none reads, is
// no change.
func TestChange(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", chain()...)
	p.open("src", "t", "lint", ".async")
	p.put("src/out") // else it is missing
	for _, tt := range []struct {
		put  []string
		want string
	}{
		{[]string{"src/a"}, "gen test <- src/a"},
		{[]string{"src/out", "other", ".async/x", "t/b"}, "test <- t/b"},
		{[]string{"lint/c"}, "lint <- lint/c"},
		{[]string{"PIPELINE.hcl"}, "gen test lint once <- PIPELINE.hcl"},
	} {
		for _, name := range tt.put {
			p.put(name)
		}
		p.waits()
		p.want(tt.want)
	}
	must(t, os.Rename(filepath.Join(p.Root, "lint"), filepath.Join(t.TempDir(), "lint"))) // of what was in it nothing is told
	p.waits()
	if got := p.next(); !strings.HasPrefix(got, "lint <- lint/") {
		t.Errorf("a folder is gone: %s", got)
	}
}

// What git and the records hold is no change, whatever the patterns are.
func TestRecords(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", &pipeline.Task{Name: "all", Dir: ".", Inputs: []string{"**"}})
	p.round()(nil, record.Passed)
	p.take(watch.Changes{Paths: []string{".async", ".async/runs/x", ".git", ".git/index"}})
	p.want(" <- ")
	p.take(watch.Changes{Paths: []string{".asyncx"}})
	p.want("all <- .asyncx")
}

// What git ignores is no change, unless a pattern names it or a folder in it.
func TestIgnored(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, exec.CommandContext(t.Context(), "git", "-C", top, "init", "-q").Run())
	must(t, os.WriteFile(filepath.Join(top, ".gitignore"), []byte("/proj/src/*.log\nbuild/\nnamed/\n"), 0o644))
	p := newProject(t, filepath.Join(top, "proj"), &pipeline.Task{Name: "a", Dir: ".", Inputs: []string{"src/**", "named/x", "named/deep/*.log"}})
	p.Repo, err = git.Find(t.Context(), top)
	must(t, err)
	p.open("src/build", "named/deep", "build/deep")
	for _, tt := range []struct {
		put  []string
		want string
	}{
		{[]string{"src/x.log", "src/build/y", "named/other", "src/a"}, "a <- src/a"},
		{[]string{"named/x"}, "a <- named/x"},
		{[]string{"named/deep/z.log"}, "a <- named/deep/z.log"},
	} {
		for _, name := range tt.put {
			p.put(name)
		}
		p.waits()
		p.want(tt.want)
	}
	skips := p.skips()
	for dir, want := range map[string]bool{"src": false, "src/build": true, "named": false, ".async": true, "src/.git": true} {
		if skips(dir) != want {
			t.Errorf("%s: skipped %v", dir, !want)
		}
	}
	// A folder is watched once git ignores it no longer, or a task reads what is in it.
	must(t, os.WriteFile(filepath.Join(p.Root, ".gitignore"), []byte("!src/build/\n"), 0o644))
	p.waits()
	p.want("a <- .gitignore")
	p.put("src/build/z")
	p.waits()
	p.want("a <- src/build/z")
	end := p.round()
	p.config.Tasks[0].Inputs = append(p.config.Tasks[0].Inputs, "build/deep/**")
	end(nil, record.Passed)
	p.put("build/deep/x")
	p.waits()
	p.want("a <- build/deep/x")
}

// A round ends when a change touches one of its tasks.
func TestEndsRound(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", chain()...)
	p.open("src", "lint")
	g, err := pipeline.Select(p.config, []string{"test"}, false)
	must(t, err)
	ctx, end := p.Begin(t.Context(), g)
	p.put("lint/a")
	p.waits()
	p.want("lint <- lint/a") // the output of gen is missing, but nothing needs it
	if ctx.Err() != nil {
		t.Error("a change of what another task reads ended the round")
	}
	p.put("src/a")
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Error("the round was not ended")
	}
	end(nil)
	p.want("gen test <- src/a")
}

// No round has tasks as they were before the last change of PIPELINE.hcl.
func TestChangedWhileRead(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", chain()...)
	p.round()(nil, record.Passed)
	p.Reading()
	p.take(watch.Changes{Paths: []string{"PIPELINE.hcl"}})
	if tasks, _, _ := p.Next(p.config, p.graph, defining); tasks != nil {
		t.Errorf("a round of %v", tasks)
	}
	p.waits()
	p.want("gen test lint once <- PIPELINE.hcl")
	p.take(watch.Changes{Paths: []string{"PIPELINE.hcl"}})
	ctx, end := p.Begin(t.Context(), p.graph)
	if ctx.Err() == nil {
		t.Error("the round goes on")
	}
	end(nil)
	p.waits()
	p.want("gen test lint once <- PIPELINE.hcl")
}

// A round with a service that nothing needs does not end by itself: every change ends it, also one that came before it began.
func TestEndsRoundOfService(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", &pipeline.Task{Name: "web", Dir: ".", Inputs: []string{"web/**"}, Service: &pipeline.Service{}}, &pipeline.Task{Name: "test", Dir: ".", Inputs: []string{"t/**"}})
	p.round()(nil, record.Passed)
	g, err := pipeline.Select(p.config, []string{"web"}, false)
	must(t, err)
	p.take(watch.Changes{Paths: []string{"web/a"}})
	p.want("web <- web/a")
	ctx, end := p.Begin(t.Context(), g)
	if ctx.Err() != nil {
		t.Error("the round ended at once")
	}
	p.take(watch.Changes{Paths: []string{"t/a"}})
	if ctx.Err() == nil {
		t.Error("the round goes on after a change")
	}
	end(nil)
	p.want("web test <- t/a")
	p.take(watch.Changes{Paths: []string{"t/a"}})
	ctx, end = p.Begin(t.Context(), g)
	if ctx.Err() == nil {
		t.Error("the round goes on after a change that came before it began")
	}
	end(nil)
}

// After lost events anything may have changed.
func TestLost(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", chain()...)
	ctx, end := p.Begin(t.Context(), p.graph)
	p.take(watch.Changes{Lost: true})
	if ctx.Err() == nil {
		t.Error("the round goes on")
	}
	end(&record.Sealed{})
	p.round()(nil, record.Passed)
	p.waits()
	p.want("gen test lint <- ")
	p.want(" <- ")
}

// What was not carried out runs in the next round, and what failed once something that depends on it runs.
func TestEnded(t *testing.T) {
	t.Parallel()
	reason := func(why string) *string { return &why }
	for name, tt := range map[string]struct {
		tasks []record.Task // others passed
		none  bool          // there is no record
		put   string
		want  string
	}{
		"passed":            {want: ""},
		"cancelled":         {tasks: []record.Task{{Name: "lint", Status: record.Cancelled}}, want: "lint"},
		"cancelled, needed": {tasks: []record.Task{{Name: "gen", Status: record.Cancelled}}, want: "gen test"},
		"fail fast":         {tasks: []record.Task{{Name: "once", Status: record.Skipped, Reason: reason("fail_fast")}}, want: "once"},
		"ended before it":   {tasks: []record.Task{{Name: "once", Status: record.Skipped, Reason: reason("signal")}}, want: "once"},
		"agents are off":    {tasks: []record.Task{{Name: "once", Status: record.Skipped, Reason: reason("agents_off")}}, want: ""},
		"failed":            {tasks: []record.Task{{Name: "gen", Status: record.Failed}}, want: ""},
		"failed, needed":    {tasks: []record.Task{{Name: "gen", Status: record.Failed}}, put: "t/b", want: "gen test"},
		"cached, needed":    {tasks: []record.Task{{Name: "gen", Status: record.Cached}}, put: "t/b", want: "test"},
		"failed, repaired":  {tasks: []record.Task{{Name: "test", Status: record.Failed}}, put: "t/b", want: "test"},
		"no record":         {none: true, want: "gen test lint once"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "", chain()...)
			must(t, os.MkdirAll(filepath.Join(p.Root, "src"), 0o755))
			p.put("src/out")
			p.round()(nil, record.Passed)
			_, end := p.Begin(t.Context(), p.graph)
			if tt.none {
				end(nil)
			} else {
				end(&record.Sealed{Run: record.Run{Tasks: tt.tasks}})
			}
			if tt.put != "" {
				p.take(watch.Changes{Paths: []string{tt.put}})
			}
			p.want(tt.want + " <- " + tt.put)
		})
	}
	t.Run("new, and with an output that is missing", func(t *testing.T) {
		t.Parallel()
		p := newProject(t, "", chain()...)
		p.round()([]string{"gen", "lint", "once"}, record.Cached)
		p.want("gen test <- ")
	})
}

// What tasks with inputs = auto read is asked again when a round ends, and for the next one.
func TestKnow(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", &pipeline.Task{Name: "a", Dir: ".", Auto: true})
	reads := "src/**"
	p.Know = func(c *pipeline.Config) { c.Tasks[0].Seen = []string{reads} }
	p.round()(nil, record.Passed)
	p.take(watch.Changes{Paths: []string{"lib/b"}})
	p.want(" <- ")
	end := p.round()
	reads = "lib/**"
	end(nil, record.Passed)
	p.take(watch.Changes{Paths: []string{"lib/b"}})
	p.want("a <- lib/b")
	reads = "t/**"
	p.want(" <- ")
	p.take(watch.Changes{Paths: []string{"t/c"}})
	p.want("a <- t/c")
}

// A new folder, with something in it or not, is a change for a task that listed the folder that it came to, unless git
// ignores it, and for no other.
func TestNewFolder(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", &pipeline.Task{Name: "listed", Dir: ".", Auto: true, Seen: []string{"src/*"}},
		&pipeline.Task{Name: "declared", Dir: ".", Inputs: []string{"**"}, Outputs: []string{"src/made/**"}})
	must(t, exec.CommandContext(t.Context(), "git", "-C", p.Root, "init", "-q").Run())
	must(t, os.WriteFile(filepath.Join(p.Root, ".gitignore"), []byte("ignored/\n"), 0o644))
	var err error
	p.Repo, err = git.Find(t.Context(), p.Root)
	must(t, err)
	p.open("src/old")
	for _, dir := range []string{"other", "src/old/deep", "src/made", "src/ignored", "src/new"} {
		must(t, os.Mkdir(filepath.Join(p.Root, dir), 0o755))
	}
	p.waits()
	p.want("listed <- src/new")
	p.take(watch.Changes{Paths: []string{"src/new", "src/new/"}})
	p.want("listed declared <- src/new")
}

// A file that changes in five quick rounds in a row, while tasks run, begins no further round until they rest. It is told
// once.
func TestLoops(t *testing.T) {
	t.Parallel()
	written := watch.Changes{Paths: []string{"lint/written"}}
	const told = "lint/written 5"
	for name, tt := range map[string]struct {
		takes time.Duration // a round
		after time.Duration // the end of a round the file changes; 0: twice while it is at work
		want  string
	}{
		"while they run":       {takes: time.Second, want: told},
		"just after them":      {takes: time.Second, after: atOnce, want: told},
		"later":                {takes: time.Second, after: atOnce + time.Millisecond},
		"while slow ones run":  {takes: fast + time.Millisecond},
		"while longer ones do": {takes: fast * 4 / 5, want: told},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newProject(t, "", chain()...)
				p.round()(nil, record.Passed)
				for i := range mostAtOnce + 2 {
					end := p.round()
					time.Sleep(tt.takes)
					if tt.after == 0 {
						p.take(written)
						p.take(written)
					}
					end(nil, record.Passed)
					if tt.after > 0 {
						time.Sleep(tt.after)
						p.take(written)
					}
					want := "lint <- lint/written"
					if tt.want != "" && i >= mostAtOnce {
						want = " <- "
					}
					if begins := len(p.changed) > 0; begins != (want != " <- ") {
						t.Errorf("round %d: the file begins another: %v", i, begins)
					}
					p.want(want)
				}
				if got := strings.Join(p.loops, ", "); got != tt.want {
					t.Errorf("told: %q, want %q", got, tt.want)
				}
				p.take(watch.Changes{Paths: []string{"src/a"}}) // another file
				p.want("gen test <- src/a")
				time.Sleep(2 * atOnce)
				p.take(written)
				p.want("lint <- lint/written")
			})
		})
	}
}

// What was left out is run once all is at rest, also where the round was at work for long. Where the file changes in that
// round, too, the next one comes later each time, until another change begins a round.
func TestRest(t *testing.T) {
	t.Parallel()
	written := watch.Changes{Paths: []string{"lint/written"}}
	for name, takes := range map[string]time.Duration{"quick": time.Second, "not so quick": fast * 19 / 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newProject(t, "", chain()...)
				p.round()(nil, record.Passed)
				write := func(takes time.Duration) {
					end := p.round()
					p.take(written)
					time.Sleep(takes)
					end(nil, record.Passed)
				}
				var began time.Time
				begins := func(after time.Duration, want string) {
					t.Helper()
					began = time.Now().Add(after)
					time.Sleep(after - time.Nanosecond)
					if len(p.changed) > 0 {
						t.Error("a round begins too early")
					}
					time.Sleep(2 * time.Nanosecond)
					if len(p.changed) != 1 {
						t.Error("no round begins")
					}
					p.want(want)
				}
				for again := range 2 {
					for range mostAtOnce - again { // the change by a person counts, too
						write(takes)
						p.want("lint <- lint/written")
					}
					write(3 * rest)
					begins(rest, "lint <- lint/written")
					for apart := 2 * rest; apart < 2*rest<<mostDouble; apart *= 2 {
						since := began
						write(takes)
						begins(apart-time.Since(since), "lint <- lint/written")
					}
					for range 2 { // not later than that
						since := began
						write(takes)
						begins(rest<<mostDouble-time.Since(since), "lint <- lint/written")
					}
					write(takes)
					if len(p.loops) != 1 {
						t.Errorf("told: %q", p.loops)
					}
					p.loops = nil
					p.take(watch.Changes{Paths: []string{"src/a"}})
					p.want("gen test <- src/a")
					write(takes) // it is still in a row
					time.Sleep(atOnce)
					p.take(written)
					begins(rest, "lint <- lint/written")
					time.Sleep(2 * atOnce)
					p.take(written) // by a person
					p.want("lint <- lint/written")
				}
				// What a round has run since begins no other.
				for _, other := range []string{"lint/written", "src/a"} {
					for range mostAtOnce - 1 {
						write(takes)
						p.want("lint <- lint/written")
					}
					write(takes)
					if other == "src/a" {
						begins(rest, "lint <- lint/written")
					}
					time.Sleep(2 * atOnce)
					p.take(watch.Changes{Paths: []string{other}})
					p.next()
					p.round()(nil, record.Passed)
					time.Sleep(3 * rest)
					if len(p.changed) > 0 {
						t.Errorf("after %s a round begins", other)
					}
					p.take(written)
					p.want("lint <- lint/written")
				}
			})
		})
	}
}

// What was left out is run also while a service keeps a round at work, and again if more changes after some time: a person
// may have made them.
func TestRestOfService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProject(t, "", &pipeline.Task{Name: "web", Dir: ".", Service: &pipeline.Service{}}, &pipeline.Task{Name: "test", Dir: ".", Inputs: []string{"t/**"}})
		p.round()(nil, record.Passed)
		edit := watch.Changes{Paths: []string{"t/a"}}
		var ctx context.Context
		end := func(*record.Sealed) {}
		begin := func() {
			g, err := pipeline.Select(p.config, []string{"web", "test"}, false)
			must(t, err)
			p.next()
			ctx, end = p.Begin(t.Context(), g)
		}
		begin()
		for range mostAtOnce + 3 { // quick edits
			p.take(edit)
			time.Sleep(atOnce / 2)
			if ctx.Err() != nil {
				end(nil)
				begin()
			}
		}
		if len(p.loops) != 1 {
			t.Errorf("told: %q", p.loops)
		}
		for _, after := range []time.Duration{rest, again, again, again, again} {
			time.Sleep(after)
			synctest.Wait()
			if ctx.Err() == nil {
				t.Fatal("the last state is not run")
			}
			end(nil)
			begin()
			p.take(edit)
		}
		end(nil) // the service has ended: the edit waits no longer than after one such round
		time.Sleep(2 * rest)
		synctest.Wait()
		if len(p.changed) != 1 {
			t.Error("the last state is not run")
		}
	})
}

// A round tells which services files concern that changed, or what they depend on; not those that only a task needs, and
// not those that are only written in the same PIPELINE.hcl.
func TestChangedServices(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"t/a":          "",
		"api/a":        "api",
		"schema":       "db api",
		"PIPELINE.hcl": "db", // prepare runs again
		"other":        "",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "",
				&pipeline.Task{Name: "prepare", Dir: ".", Inputs: []string{"schema"}},
				&pipeline.Task{Name: "db", Dir: ".", Service: &pipeline.Service{}, DependsOn: []string{"prepare"}},
				&pipeline.Task{Name: "api", Dir: ".", Inputs: []string{"api/**"}, Service: &pipeline.Service{}, DependsOn: []string{"db"}},
				&pipeline.Task{Name: "test", Dir: ".", Inputs: []string{"t/**"}, DependsOn: []string{"api"}},
			)
			p.round()(nil, record.Passed)
			p.round()([]string{"api", "db"}, record.Skipped) // not needed: the next round of test has them
			p.take(watch.Changes{Paths: []string{path}})
			p.Reading()
			_, _, changed := p.Next(p.config, p.graph, defining)
			if got := strings.Join(changed, " "); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	t.Run("changes were lost", func(t *testing.T) {
		t.Parallel()
		p := newProject(t, "",
			&pipeline.Task{Name: "db", Dir: ".", Service: &pipeline.Service{}},
			&pipeline.Task{Name: "api", Dir: ".", Inputs: []string{"api/**"}, Service: &pipeline.Service{}},
		)
		p.round()(nil, record.Passed)
		p.take(watch.Changes{Lost: true})
		if _, _, changed := p.Next(p.config, p.graph, defining); !slices.Equal(changed, []string{"api"}) {
			t.Errorf("%q", changed)
		}
	})
}
