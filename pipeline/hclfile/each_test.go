package hclfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

// What went into for_each went into every instance; what an instance asks for itself is its own.
func TestUsesOfInstances(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{"a.txt": "A", "b.txt": "B", "list": "a,b", "key": "a"} {
		check(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	path := filepath.Join(root, hclfile.Name)
	src := `
task "each" {
  for_each = split(",", file("list"))
  run      = ["x", file("${each.key}.txt")]
  env      = { T = secret("${upper(each.key)}_TOKEN") }
}
task "after" {
  for_each   = ["a", "b"]
  depends_on = [task.each[file("key")]]
  run        = ["x"]
}
task "plain" {
  run = ["x"]
}
`
	check(t, os.WriteFile(path, []byte(src), 0o600))
	c, err := hclfile.Load(path, hclfile.Options{Env: func(name string) (string, bool) { return "value of " + name, name == "A_TOKEN" }})
	check(t, err)
	for name, want := range map[string]string{
		`each["a"]`: "a.txt list", `each["b"]`: "b.txt list", `after["a"]`: "key", `after["b"]`: "key", "plain": "",
	} {
		if got := strings.Join(c.Task(name).Reads, " "); got != want {
			t.Errorf("%s reads %q, want %q", name, got, want)
		}
		if got := strings.Join(c.Task(name).Asked, " "); got != want {
			t.Errorf("%s asked for %q, want %q", name, got, want)
		}
	}
	a, b := c.Task(`each["a"]`).Env[0], c.Task(`each["b"]`).Env[0]
	if !slices.Equal(a.Secrets, []string{"A_TOKEN"}) || a.Missing != nil || !slices.Equal(b.Missing, []string{"B_TOKEN"}) {
		t.Errorf("each instance has its own secret: %+v, %+v", a, b)
	}
}

func TestLimitsOfInstances(t *testing.T) {
	t.Parallel()
	each := func(name, rest string) string {
		return fmt.Sprintf("task %q {\n  for_each = range(1000)\n  run = [\"x\"]\n%s}\n", name, rest)
	}
	var many strings.Builder
	for i := range 21 {
		many.WriteString(each(fmt.Sprint("t", i), ""))
	}
	for _, c := range []struct{ name, src, want string }{
		{"all instances", many.String(), "there are more than 20000 instances"},
		{
			"edges", each("a", "") + each("b", "  depends_on = [task.a]\n") + each("c", "  depends_on = [task.a, task.b]\n"),
			"tasks name each other more than 1000000 times",
		},
		{
			"edges with a key", each("a", "") + each("b", "  depends_on = [task.a, task.a[each.key]]\n") + each("c", "  depends_on = [task.a]\n"),
			"tasks name each other more than 1000000 times",
		},
		{
			"text in instances", "locals {\n  b = join(\"\", [for i in range(1000) : \"" + strings.Repeat("x", 100) + "\"])\n}\n" + each("a", "  description = \"${local.b}${each.key}\"\n"),
			"the values are larger than 64 MiB together",
		},
		{
			"lists in instances", "locals {\n  b = [for i in range(1000) : \"" + strings.Repeat("x", 500) + "\"]\n}\n" + each("a", "  on_fail \"run\" {\n    run = local.b\n  }\n"),
			"the values are larger than 64 MiB together",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			_, err := load(t, c.src, hclfile.Options{})
			var faults pipeline.Errors
			if !errors.As(err, &faults) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %.500v, want %q", err, c.want)
			}
			if len(faults) > 10 {
				t.Errorf("%d faults", len(faults))
			}
			if took := time.Since(start); took > 3*time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
}

// A thousand instances with the same fault are one fault; with a thousand faults they are a few.
func TestFaultsOfManyInstances(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{
		"run = [nope]":                                           1,
		"run = [each.nope, uper(each.key)]":                      2,
		"run = [\"x\"]\ndir = \"/${each.key}\"":                  1,
		"run = [\"x\"]\nenv = { \"a=${each.key}\" = 1 }":         3,
		"run = [\"x\"]\ndepends_on = [task.a[\"${each.key}x\"]]": 3,
		"run = [\"x\"]\ndepends_on = [task.a[each.key]]":         1,
		"run = [\"x\"]\ndepends_on = [task.a]":                   1,
	} {
		_, err := load(t, "task \"a\" {\n  for_each = range(1000)\n"+body+"\n}\n", hclfile.Options{})
		var faults pipeline.Errors
		if !errors.As(err, &faults) || len(faults) != want {
			t.Errorf("%s: %d faults, want %d: %.500v", body, len(faults), want, err)
		}
	}
}

// manyTasks is n tasks, each with a repair that is verified by another one, in a chain of tens.
func manyTasks(n int, deps func(i int) string) string {
	var b strings.Builder
	b.WriteString("agent \"m\" {\n  command = [\"x\"]\n}\n")
	for i := range n {
		fmt.Fprintf(&b, "task \"t%d\" {\n  run = [\"x\"]\n  depends_on = [%s]\n", i, deps(i))
		if n <= 2000 {
			fmt.Fprintf(&b, "  on_fail \"agent\" {\n    use = agent.m\n    verify = [task.t%d]\n    budget {\n      attempts = 1\n      wall_clock = \"1m\"\n    }\n  }\n", max(i-1, 0))
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// Reading costs as much as the file is long, whatever its tasks say about each other.
func TestManyTasks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ src, want string }{
		"a chain": {src: manyTasks(10000, func(i int) string {
			if i == 0 {
				return ""
			}
			return fmt.Sprintf("task.t%d", i-1)
		})},
		"a chain backwards, verified": {src: manyTasks(2000, func(i int) string {
			if i == 1999 {
				return ""
			}
			return fmt.Sprintf("task.t%d", i+1)
		}), want: `verify names "t0", which depends on "t1"`},
		"a chain, verified": {src: manyTasks(2000, func(i int) string {
			if i == 0 {
				return ""
			}
			return fmt.Sprintf("task.t%d", i-1)
		})},
		"a way round": {
			src:  manyTasks(10000, func(i int) string { return fmt.Sprintf("task.t%d", (i+1)%10000) }),
			want: `wait for each other: t0 → t1 → t2 → t3 → t4 → t5 → (9988 more) → t9994`,
		},
		"instances": {
			src: "task \"a\" {\n for_each = range(1000)\n run = [\"x\", each.key]\n}\n" +
				"task \"b\" {\n for_each = range(1000)\n depends_on = [task.a[each.key]]\n run = [\"x\", \"${each.key}${each.value}\"]\n}\n" +
				"task \"c\" {\n for_each = range(900)\n depends_on = [task.a]\n run = [\"x\"]\n}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			config, err := load(t, c.src, hclfile.Options{})
			took := time.Since(start)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("got %.300v, want %q", err, c.want)
			}
			if err == nil {
				if _, err := pipeline.Select(config, nil, false); err != nil {
					t.Error(err)
				}
			}
			if took > 3*time.Minute {
				t.Errorf("took %v", took)
			}
			t.Log(took.Round(time.Millisecond))
		})
	}
}

// A reading of instances is not a reading of the file once for each of them.
func TestInstancesAreTheirOwn(t *testing.T) {
	t.Parallel()
	c := good(t, "task \"a\" {\n  for_each = [\"x\", \"y\"]\n  run = [\"x\"]\n  env = { K = each.key }\n  inputs = [each.key]\n}\n", hclfile.Options{})
	c.Tasks[0].Inputs[0], c.Tasks[0].Env[0].Value, c.Tasks[0].Run.Argv[0].Value = "z", "z", "z"
	if y := c.Tasks[1]; y.Inputs[0] != "y" || y.Env[0].Value != "y" || y.Run.Argv[0].Value != "x" || y.Pos != c.Tasks[0].Pos || y.Base != "a" {
		t.Errorf("%+v", y)
	}
}
