package pipeline_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// multiplied is gen, build of two, test of three that waits for some of build, and two jobs.
func multiplied() *pipeline.Config {
	c := &pipeline.Config{File: "/r/PIPELINE.hcl", Empty: []string{"none"}}
	add := func(base, key string, deps ...string) {
		t := &pipeline.Task{Name: base, Base: base, DependsOn: deps}
		if key != "" {
			t.Name = pipeline.InstanceName(base, key)
		}
		c.Tasks = append(c.Tasks, t)
	}
	add("gen", "")
	add("test", "linux", `build["linux"]`)
	add("test", "darwin", `build["darwin"]`)
	add("test", `a"b\c`)
	add("build", "linux", "gen")
	add("build", "darwin", "gen")
	c.Jobs = []*pipeline.Job{{Name: "ci", Tasks: []string{"build", `test["linux"]`, "none"}}}
	return c
}

func TestSelectInstances(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ask  string
		only bool
		want string
	}{
		{ask: `test["linux"]`, want: `gen build["linux"] test["linux"]`},
		{ask: `test[linux]`, want: `gen build["linux"] test["linux"]`},
		{ask: "test:linux", want: `gen build["linux"] test["linux"]`},
		{ask: `test:a"b\c`, want: `test["a\"b\\c"]`},
		{ask: "test", only: true, want: `test["linux"] test["darwin"] test["a\"b\\c"]`},
		{ask: "build", want: `gen build["linux"] build["darwin"]`},
		{ask: `build test["darwin"]`, want: `gen build["linux"] build["darwin"] test["darwin"]`},
		{ask: `test["a\"b\\c"]`, want: `test["a\"b\\c"]`},
		{ask: "none", want: ""},
		{ask: "ci", want: `gen build["linux"] test["linux"] build["darwin"]`},
	} {
		t.Run(c.ask, func(t *testing.T) {
			t.Parallel()
			g, err := pipeline.Select(multiplied(), strings.Fields(c.ask), c.only)
			if err != nil {
				t.Fatal(err)
			}
			if got := names(g.Tasks()); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestUnknownInstances(t *testing.T) {
	t.Parallel()
	for ask, want := range map[string]struct{ text, suggestion string }{
		`test["linx"]`: {`task "test" has no instance "linx": did you mean test:linux?`, "test:linux"},
		"test:linx":    {`task "test" has no instance "linx": did you mean test:linux?`, "test:linux"},
		"gen:linux":    {`task "gen" is one task, without instances: did you mean gen?`, "gen"},
		`test[dawin]`:  {`task "test" has no instance "dawin": did you mean test:darwin?`, "test:darwin"},
		`build["bsd"]`: {`task "build" has no instance "bsd": it has linux, darwin`, ""},
		`gen["linux"]`: {`task "gen" is one task, without instances: did you mean gen?`, "gen"},
		"tets":         {`did you mean "test"?`, "test"},
		"buidl":        {`did you mean "build"?`, "build"},
		"non":          {`did you mean "none"?`, "none"},
		"[":            {`there is no task or job named "["`, ""},
	} {
		_, err := pipeline.Select(multiplied(), []string{ask}, false)
		var faults pipeline.Errors
		if !errors.As(err, &faults) || len(faults) != 1 || !strings.Contains(err.Error(), want.text) || faults[0].Suggestion != want.suggestion {
			t.Errorf("%s: got %v, want %v", ask, err, want)
		}
	}
}

func TestNamesOfInstances(t *testing.T) {
	t.Parallel()
	for name, shown := range map[string]string{
		"test": "test", `test["linux"]`: "test:linux", `build["linux,amd64"]`: "build:linux,amd64", `test["a\"b\\c"]`: `test:a"b\c`, `x["]"]`: "x:]",
		`test["a:b"]`: "test:a:b", `x["["]`: "x:[",
	} {
		if got := pipeline.ShownName(name); got != shown {
			t.Errorf("ShownName(%s) = %s, want %s", name, got, shown)
		}
		for _, typed := range []string{name, shown} {
			if !pipeline.IsNamed(name, typed) {
				t.Errorf("%s is not meant by %s", name, typed)
			}
		}
		if pipeline.IsNamed(name, shown+"x") || pipeline.IsNamed(name, ":") || pipeline.IsNamed(name, "[") {
			t.Errorf("%s is meant by something else", name)
		}
	}
}

// included is a task of the file itself, two of an included file api, one of them with instances, and one of a file in it.
func included() *pipeline.Config {
	c := &pipeline.Config{File: "/r/PIPELINE.hcl", Empty: []string{"api:none"}}
	for _, base := range []string{"lint", "api:test", "api:db:up"} {
		c.Tasks = append(c.Tasks, &pipeline.Task{Name: base, Base: base})
	}
	for _, key := range []string{"linux,amd64", "a:b", "x[y]"} {
		c.Tasks = append(c.Tasks, &pipeline.Task{Name: pipeline.InstanceName("api:build", key), Base: "api:build"})
	}
	c.Jobs = []*pipeline.Job{{Name: "api:verify", Tasks: []string{"api:test"}}}
	return c
}

// A task of an included file is found in every form of its name, and taken for no instance.
func TestNamesOfIncludedTasks(t *testing.T) {
	t.Parallel()
	const linux = `api:build["linux,amd64"]`
	all := linux + ` api:build["a:b"] api:build["x[y]"]`
	for ask, want := range map[string]string{
		"api:test": "api:test", "api:db:up": "api:db:up", "api:db": "api:db:up", "api": "api:test api:db:up " + all, "api:build": all, "api:none": "", "api:verify": "api:test",
		linux: linux, "api:build:linux,amd64": linux, "api:build[linux,amd64]": linux, "api:build:amd64,linux": linux,
		"api:build:a:b": `api:build["a:b"]`, "api:build[a:b]": `api:build["a:b"]`, "api:build:x[y]": `api:build["x[y]"]`,
	} {
		g, err := pipeline.Select(included(), []string{ask}, false)
		if err != nil {
			t.Errorf("%s: %v", ask, err)
		} else if got := names(g.Tasks()); got != want {
			t.Errorf("%s: got %s, want %s", ask, got, want)
		}
	}
	for ask, want := range map[string]string{
		"api:tset": `did you mean "api:test"?`, "ap": `did you mean "api"?`, "db": `there is no task or job named "db"`, "api:build:linx,amd64": "did you mean api:build:linux,amd64?",
		"api:test:x": `task "api:test" is one task, without instances`, "api:db:dwon": "there is no task or job", `api["test"]`: `there is no task or job named "api[\"test\"]"`,
	} {
		if _, err := pipeline.Select(included(), []string{ask}, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", ask, err, want)
		}
	}
	c := included()
	shown := map[string]string{"api:test": "api:test", "api:db:up": "api:db:up", linux: "api:build:linux,amd64", `api:build["a:b"]`: "api:build:a:b", `api:build["x[y]"]`: "api:build:x[y]"}
	for _, task := range c.Tasks[1:] {
		typed := pipeline.ShownName(task.Name)
		if typed != shown[task.Name] {
			t.Errorf("ShownName(%s) = %s", task.Name, typed)
		}
		for _, other := range c.Tasks {
			if pipeline.IsNamed(other.Name, typed) != (other == task) {
				t.Errorf("%s and %s", other.Name, typed)
			}
		}
		if got := c.Task(typed); got != task {
			t.Errorf("%s is found as %+v", typed, got)
		}
	}
	if c.Task("api") != nil || c.Task("api:build") != nil {
		t.Error("several tasks are none")
	}
	// Without a configuration the names in a record decide.
	for _, x := range []struct{ typed, names, want string }{
		{"api:test", "api:test lint", "api:test"},
		{"api:test", `api["test"] lint`, `api["test"]`},
		{"api:test", `api["test"] api:test`, "api:test"},
		{"api:build[x]", `lint api:build["x"]`, `api:build["x"]`},
		{"api:tset", "api:test", "api:tset"},
		{"lint", "lint", "lint"},
	} {
		if got := pipeline.Meant(x.typed, strings.Fields(x.names)); got != x.want {
			t.Errorf("Meant(%s, %s) = %s, want %s", x.typed, x.names, got, x.want)
		}
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	c := multiplied()
	for base, want := range map[string]string{
		"gen": "gen", "build": `build["linux"] build["darwin"]`, "none": "", `build["linux"]`: "", "nothing": "",
	} {
		if got := names(c.Named(base)); got != want {
			t.Errorf("Named(%s) = %s, want %s", base, got, want)
		}
	}
	if got := names(included().Named("api:db")); got != "api:db:up" {
		t.Errorf("of an included file: %s", got)
	}
	if got := names(config("a:", "b: a").Named("a")); got != "a" {
		t.Errorf("a task without a base is its own, got %q", got)
	}
}

// Every name is looked up, none is looked for.
func TestSelectManyInstances(t *testing.T) {
	t.Parallel()
	const n = 20000
	c := &pipeline.Config{}
	var ask []string
	for i := range n {
		task := &pipeline.Task{Base: fmt.Sprint("t", i%200)}
		task.Name = pipeline.InstanceName(task.Base, fmt.Sprint(i))
		if i > 0 {
			task.DependsOn = []string{c.Tasks[i-1].Name}
		}
		c.Tasks = append(c.Tasks, task)
		ask = append(ask, task.Name, task.Base)
	}
	start := time.Now()
	g, err := pipeline.Select(c, ask[:2000], false)
	if err != nil || len(g.Tasks()) != n {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 3*time.Minute {
		t.Errorf("took %v", took)
	}
}

// A key of a matrix is found in any order of its parts, unless that could mean two instances.
func TestKeyInAnyOrder(t *testing.T) {
	t.Parallel()
	keys := []string{"linux,amd64", "linux,arm64", "a,b", "b,a"}
	for key, want := range map[string]string{"amd64,linux": "linux,amd64", "amd64,darwin": "", "b,a,c": "", "a,b": "", "linux": ""} {
		if got := pipeline.KeyInAnyOrder(key, keys); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
	c := &pipeline.Config{}
	for _, key := range keys[:2] {
		c.Tasks = append(c.Tasks, &pipeline.Task{Name: pipeline.InstanceName("build", key), Base: "build"})
	}
	if got := c.Task(`build["amd64,linux"]`); got != c.Tasks[0] {
		t.Errorf("found %+v", got)
	}
	g, err := pipeline.Select(c, []string{"build:arm64,linux"}, false)
	if err != nil || len(g.Tasks()) != 1 || g.Tasks()[0] != c.Tasks[1] {
		t.Errorf("selected %v: %v", g, err)
	}
}
