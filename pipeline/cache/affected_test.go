package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A task is affected by what it reads, and by what it depends on.
func TestAffected(t *testing.T) {
	t.Parallel()
	tasks := []*pipeline.Task{
		{Name: "go", Dir: ".", Inputs: []string{"**/*.go", "!**/*_gen.go"}, Outputs: []string{"gen/**"}},
		{Name: "web", Dir: "web", Inputs: []string{"web/src/**"}, Dotenv: []string{"web/.env"}, Reads: []string{"web/[x]"}, Run: pipeline.Command{Argv: []pipeline.Text{{Value: "./build.sh"}}}},
		{Name: "site", Dir: ".", Inputs: []string{"site.txt"}, DependsOn: []string{"web"}},
		{Name: "deploy", Dir: ".", Inputs: []string{"deploy.txt"}, DependsOn: []string{"site", "go"}},
	}
	c := &pipeline.Config{Tasks: tasks}
	Know(c, "", func(*pipeline.Task) (Task, error) { return Task{}, errors.New("no environment") })
	for _, tt := range []struct {
		paths []string
		want  string
	}{
		{nil, "map[]"},
		{[]string{"README.md", "a_gen.go", "gen/x.txt", "web/other"}, "map[]"},
		{[]string{"gen/x.go"}, "map[deploy:after go go:gen/x.go changed]"}, // it was edited: the task may read it before it makes it
		{[]string{"b/a.go", "c.go"}, "map[deploy:after go go:b/a.go and 1 more changed]"},
		{[]string{"web/src/x"}, "map[deploy:after site site:after web web:web/src/x changed]"},
		{[]string{"web/.env"}, "map[deploy:after site site:after web web:web/.env changed]"},
		{[]string{"web/build.sh"}, "map[deploy:after site site:after web web:web/build.sh changed]"},
		{[]string{"web/[x]"}, "map[deploy:after site site:after web web:web/[x] changed]"},
		{[]string{"web/x"}, "map[]"},
		{[]string{"web/src/sub/"}, "map[deploy:after site go:web/src/sub/ changed site:after web web:web/src/sub/ changed]"},
		{[]string{"web/.gitignore"}, "map[deploy:after site go:web/.gitignore changed site:after web web:web/.gitignore changed]"},
		{[]string{"PIPELINE.hcl"}, "map[deploy:PIPELINE.hcl changed go:PIPELINE.hcl changed site:PIPELINE.hcl changed web:PIPELINE.hcl changed]"},
		{[]string{"api/db/PIPELINE.hcl"}, "map[deploy:api/db/PIPELINE.hcl changed go:api/db/PIPELINE.hcl changed site:api/db/PIPELINE.hcl changed web:api/db/PIPELINE.hcl changed]"},
		{[]string{"api/"}, "map[deploy:api/ changed go:api/ changed site:api/ changed web:api/ changed]"}, // a submodule
	} {
		if got := fmt.Sprint(Affected(c, tasks, tt.paths, []string{"PIPELINE.hcl", "api/db/PIPELINE.hcl"}, false)); got != tt.want {
			t.Errorf("%q: %s\nwant %s", tt.paths, got, tt.want)
		}
	}
}

// What a file function found, or looked for in vain, affects the task that it defines, also where it is gone by now.
func TestDefines(t *testing.T) {
	t.Parallel()
	tasks := []*pipeline.Task{
		{Name: "set", Dir: ".", Inputs: []string{"src/*"}, Filesets: []string{"data/*"}},
		{Name: "file", Dir: ".", Inputs: []string{"src/*"}, Asked: []string{"opt[1]"}},
		{Name: "each", Dir: ".", Inputs: []string{"src/*"}},
	}
	root := t.TempDir()
	must(t, os.Mkdir(filepath.Join(root, "each"), 0o700))
	for _, name := range []string{"each/new", "each/old"} {
		must(t, os.WriteFile(filepath.Join(root, name), nil, 0o600))
	}
	c := &pipeline.Config{
		Root: root, Tasks: tasks, Filesets: []string{"data/*", "each/*"}, Asked: []string{"opt[1]"}, Found: []string{"data/gone", "each/old"},
	}
	for path, want := range map[string]string{
		"data/gone": "map[set:data/gone changed]",
		"data/":     "map[set:data/ changed]",
		"data/a/b":  "map[]",
		"opt[1]":    "map[file:opt[1] changed]",
		"opt1":      "map[]",
		"each/new":  "map[]", // it makes another task
		"each/old":  "map[]", // an edit leaves the names as they are
	} {
		if got := fmt.Sprint(Affected(c, tasks, []string{path}, nil, false)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
		defines := want != "map[]" || path == "each/new"
		if Defines(c, path) != defines || Concerns(c, tasks[2:], path, "") != defines {
			t.Errorf("%s defines tasks: %v", path, !defines)
		}
	}
	if !Defines(c, "each/") || Defines(c, "other/") {
		t.Error("a folder")
	}
}

// The programs of a task are those that the cache would count, and those that its command names, there or not.
func TestPrograms(t *testing.T) {
	t.Parallel()
	argv := func(words ...string) (c pipeline.Command) {
		for _, w := range words {
			c.Argv = append(c.Argv, pipeline.Text{Value: w})
		}
		return c
	}
	shell := func(text string) pipeline.Command { return pipeline.Command{Shell: pipeline.Text{Value: text}} }
	for _, tt := range []struct {
		task  pipeline.Task
		found []string
		want  string
	}{
		{pipeline.Task{Run: argv("./a.sh", "./no")}, nil, "[a.sh]"},
		{pipeline.Task{Run: argv("env", "X=1", "../a.sh"), Dir: "sub"}, nil, "[a.sh]"},
		{pipeline.Task{Run: argv("a", "b/c")}, []string{"/root/bin/a", "/usr/bin/env", "/rooted"}, "[bin/a]"},
		{pipeline.Task{Run: shell("true; timeout 5 ./a.sh | /root/b && $X/c && \"$@\""), Dir: "sub"}, nil, "[b sub/a.sh]"},
		{pipeline.Task{Run: shell("true"), Tools: []pipeline.Tool{{Argv: []string{"tools/t", "a/b"}}, {Argv: []string{"go", "../v", "version"}}}}, nil, "[a/b tools/t version]"},
		{pipeline.Task{Agent: &pipeline.AgentWork{}}, []string{"/root/agent"}, "[agent]"},
		{pipeline.Task{Run: argv("../../a")}, nil, "[]"},
		{pipeline.Task{Run: argv("gone")}, nil, "[gone tools/gone]"}, // it may come to a folder of PATH
	} {
		c := &pipeline.Config{Root: "/root", Tasks: []*pipeline.Task{&tt.task}}
		Know(c, "", func(*pipeline.Task) (d Task, err error) {
			for _, at := range tt.found {
				d.Programs = append(d.Programs, Program{Path: at})
			}
			if d.Argv = tt.task.Run.Words(); len(d.Argv) > 0 && d.Argv[0] == "gone" {
				d.Path = []string{"/usr/bin", "/root/tools", "/root"}
			}
			return d, nil
		})
		if got := fmt.Sprint(tt.task.Programs); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.task.Run, got, tt.want)
		}
	}
}

// A task without inputs is affected by everything, or with touched by nothing but what it depends on.
func TestTouched(t *testing.T) {
	t.Parallel()
	tasks := []*pipeline.Task{
		{Name: "all", Dir: "."},
		{Name: "src", Dir: ".", Inputs: []string{"src/**"}},
		{Name: "after", Dir: ".", DependsOn: []string{"src"}},
	}
	c := &pipeline.Config{Tasks: tasks}
	for touched, want := range map[bool]string{
		false: "map[after:it has no inputs all:it has no inputs src:src/a changed]",
		true:  "map[after:after src src:src/a changed]",
	} {
		if got := fmt.Sprint(Affected(c, tasks, []string{"src/a"}, nil, touched)); got != want {
			t.Errorf("touched %v: %s", touched, got)
		}
	}
}

// Outputs concern nobody, and what git ignores only those that name it.
func TestConcerns(t *testing.T) {
	t.Parallel()
	tasks := []*pipeline.Task{
		{Name: "none", Dir: "."},
		{Name: "all", Dir: ".", Inputs: []string{"**"}, Dotenv: []string{".env"}, Outputs: []string{"out/**"}},
		{Name: "gen", Dir: ".", Inputs: []string{"gen/made/**"}},
	}
	for _, tt := range []struct {
		path, ignored string
		want          bool
	}{
		{"a", "", true},
		{"a", "a", false},
		{"out/a", "", false},
		{".env", ".env", true},
		{"gen/made/a", "gen", true},
		{"gen/made/a.log", "gen/made/a.log", false},
		{"gen/other", "", true},
		{"gen/other", "gen", false},
	} {
		if got := Concerns(&pipeline.Config{}, tasks, tt.path, tt.ignored); got != tt.want {
			t.Errorf("%s, %q ignored: %v", tt.path, tt.ignored, got)
		}
	}
	auto := []*pipeline.Task{
		{Name: "listed", Dir: ".", Auto: true, Seen: []string{"src/*", "flat/*", "looked/for"}},
		{Name: "declared", Dir: ".", Inputs: []string{"**"}, Outputs: []string{"src/made/**", "flat/*"}},
	}
	for path, want := range map[string]bool{"src/new": true, "looked/for": true, "src/new/deep": false, "new": false, "src/made": false, "flat/made": false} {
		if got := Concerns(&pipeline.Config{}, auto, NewFolder(path), ""); got != want {
			t.Errorf("a new folder %s: %v", path, got)
		}
		if got := Affected(&pipeline.Config{}, auto, []string{NewFolder(path)}, nil, true); want && (len(got) != 1 || got["listed"] == "") {
			t.Errorf("a new folder %s: %v", path, got)
		}
	}
	for path, want := range map[string]bool{"src/a": true, "src/a/": true, "src/a/b": false, "src/a/b/": false, "looked/for": true, "looked/": true, "looked/for/a": false, "looked/for/a/": false} {
		if got := Concerns(&pipeline.Config{}, auto[:1], path, ""); got != want {
			t.Errorf("%s of what was seen: %v", path, got)
		}
	}
	if Concerns(&pipeline.Config{}, tasks[:1], "a", "") {
		t.Error("a change concerns a task without inputs")
	}
}
