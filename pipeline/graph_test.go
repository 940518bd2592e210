package pipeline_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// config reads lines such as "a: b c" (a waits for b and c) and "job j: a b".
func config(lines ...string) *pipeline.Config {
	c := &pipeline.Config{File: "/r/PIPELINE.hcl"}
	for i, line := range lines {
		name, rest, _ := strings.Cut(line, ":")
		pos := pipeline.Pos{File: c.File, Line: i + 1, Column: 1}
		if job, ok := strings.CutPrefix(name, "job "); ok {
			c.Jobs = append(c.Jobs, &pipeline.Job{Name: job, Pos: pos, Tasks: strings.Fields(rest)})
			continue
		}
		c.Tasks = append(c.Tasks, &pipeline.Task{Name: name, Pos: pos, DependsOn: strings.Fields(rest)})
	}
	return c
}

func names(tasks []*pipeline.Task) string {
	var s []string
	for _, t := range tasks {
		s = append(s, t.Name)
	}
	return strings.Join(s, " ")
}

func TestSelect(t *testing.T) {
	t.Parallel()
	shop := config("test: build", "lint:", "build: gen", "gen:", "deploy: test lint", "job ci: test lint", "job default: lint")
	for _, c := range []struct {
		name   string
		config *pipeline.Config
		ask    string
		only   bool
		want   string
	}{
		{"a task with what it depends on", shop, "test", false, "gen build test"},
		{"a job", shop, "ci", false, "lint gen build test"},
		{"task and job, no doubles", shop, "ci gen test", false, "lint gen build test"},
		{"the job default", shop, "", false, "lint"},
		{"every task", config("b: c", "a:", "c:"), "", false, "a c b"},
		{"only keeps the order of what is left out between", shop, "test gen", true, "gen test"},
		{"only keeps edges inside", shop, "test build", true, "build test"},
		{"only ignores a job's dependencies", shop, "ci", true, "test lint"},
		{"an empty file", config(), "", false, ""},
		{"doubled dependencies", config("a: b b", "b:"), "a", false, "b a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g, err := pipeline.Select(c.config, strings.Fields(c.ask), c.only)
			if err != nil {
				t.Fatal(err)
			}
			if got := names(g.Tasks()); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestSelectFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, ask string
		config    *pipeline.Config
		want      []string
	}{
		{"unknown with suggestion", "biuld", config("build:"), []string{`there is no task or job named "biuld": did you mean "build"?`}},
		{"unknown, nothing near", "zzz", config("build:"), []string{`named "zzz"`}},
		{"every unknown name", "x y", config("build:"), []string{`"x"`, `"y"`}},
		{"cycle", "a", config("a: b", "b: a"), []string{"a → b → a"}},
		{"itself", "", config("a: a"), []string{"a → a"}},
		{"the way in is no part of it", "x", config("x: b", "b: c", "c: d", "d: b"), []string{"wait for each other: b → c → d → b"}},
		{"what waits for a cycle", "", config("top: a", "a: b", "b: a", "ok:"), []string{": a → b → a"}},
		{"unknown dependency", "a", config("a: nope"), []string{`task "a" depends on "nope"`}},
		{"unknown task of a job", "j", config("a:", "job j: nope"), []string{`job "j" names the task "nope"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := pipeline.Select(c.config, strings.Fields(c.ask), false)
			var all pipeline.Errors
			if !errors.As(err, &all) || len(all) != len(c.want) {
				t.Fatalf("got %v, want %d faults", err, len(c.want))
			}
			for i, want := range c.want {
				if !strings.Contains(all[i].Error(), want) {
					t.Errorf("got %q, want %q in it", all[i].Error(), want)
				}
			}
			var one pipeline.Error
			if !errors.As(err, &one) || one.Pos.File == "" {
				t.Errorf("an Error with a place must be found in %v", err)
			}
		})
	}
}

func TestCycleOutsideTheSelection(t *testing.T) {
	t.Parallel()
	g, err := pipeline.Select(config("a: b", "b: a", "ok:"), []string{"ok"}, false)
	if err != nil || names(g.Tasks()) != "ok" {
		t.Errorf("got %v, %v", g, err)
	}
	if _, err := pipeline.Select(config("a: b", "b: a"), []string{"a"}, true); err != nil {
		t.Errorf("only drops the edge that closes the cycle, got %v", err)
	}
}

func TestAncestors(t *testing.T) {
	t.Parallel()
	g, err := pipeline.Select(config("d: b c", "b: a", "c: a", "a:", "x:"), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"d": "a b c", "b": "a", "a": "", "nope": ""} {
		if got := names(g.Ancestors(name)); got != want {
			t.Errorf("Ancestors(%s) = %q, want %q", name, got, want)
		}
	}
	if got := g.DependsOn("d"); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("DependsOn(d) = %q", got)
	}
}

func TestSelectIsFast(t *testing.T) {
	t.Parallel()
	c := &pipeline.Config{}
	for i := range 50_000 {
		task := &pipeline.Task{Name: fmt.Sprint("t", i)}
		if i < 49_999 {
			task.DependsOn = []string{fmt.Sprint("t", i+1)}
		}
		c.Tasks = append(c.Tasks, task)
	}
	start := time.Now()
	g, err := pipeline.Select(c, nil, false)
	if err != nil || len(g.Tasks()) != 50_000 || g.Tasks()[0].Name != "t49999" {
		t.Fatal("a long chain must come out turned round", err)
	}
	if took := time.Since(start); took > 3*time.Minute {
		t.Errorf("took %v", took)
	}
}

// drawDAG draws a config whose tasks wait only for tasks after a random order, so without a cycle.
func drawDAG(t *rapid.T) *pipeline.Config {
	n := rapid.IntRange(0, 12).Draw(t, "tasks")
	order := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	})).Draw(t, "order")
	c := &pipeline.Config{}
	for i := range n {
		c.Tasks = append(c.Tasks, &pipeline.Task{Name: fmt.Sprint("t", i)})
	}
	for i := range n {
		for j := range i {
			if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
				from := c.Tasks[order[i]]
				from.DependsOn = append(from.DependsOn, c.Tasks[order[j]].Name)
			}
		}
	}
	return c
}

func TestSelectProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawDAG(t)
		var ask []string
		for _, task := range c.Tasks {
			if rapid.Bool().Draw(t, "ask") {
				ask = append(ask, task.Name)
			}
		}
		g, err := pipeline.Select(c, ask, false)
		if err != nil {
			t.Fatal(err)
		}
		in := make(map[string]int)
		for i, task := range g.Tasks() {
			if _, ok := in[task.Name]; ok {
				t.Fatalf("%s is in twice", task.Name)
			}
			in[task.Name] = i
			for _, d := range task.DependsOn {
				if at, ok := in[d]; !ok || at >= i {
					t.Fatalf("%s must come before %s", d, task.Name)
				}
			}
			if above := g.Ancestors(task.Name); len(task.DependsOn) > len(above) {
				t.Fatalf("ancestors of %s: %s", task.Name, names(above))
			}
		}
		for _, name := range ask {
			if _, ok := in[name]; !ok {
				t.Fatalf("%s was asked for", name)
			}
		}
		// One more edge, from an ancestor back, always makes a cycle that is found.
		for _, task := range g.Tasks() {
			if above := g.Ancestors(task.Name); len(above) > 0 {
				above[0].DependsOn = append(above[0].DependsOn, task.Name)
				_, err := pipeline.Select(c, []string{task.Name}, false)
				if err == nil || !strings.Contains(err.Error(), " → ") {
					t.Fatalf("a cycle was not found: %v", err)
				}
				break
			}
		}
	})
}
