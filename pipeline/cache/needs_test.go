package cache

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// What a task needs is what a plain search finds, also in a cycle and where a name is of no task.
func TestNeeds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := &pipeline.Config{}
		n := rapid.IntRange(1, 12).Draw(t, "tasks")
		name := rapid.Custom(func(t *rapid.T) string { return fmt.Sprint(rapid.IntRange(0, n+1).Draw(t, "place")) })
		for i := range n {
			c.Tasks = append(c.Tasks, &pipeline.Task{Name: fmt.Sprint(i), DependsOn: rapid.SliceOfN(name, 0, 4).Draw(t, "needs")})
		}
		all := needsOf(c)
		for _, task := range c.Tasks {
			want := map[string]bool{}
			for more := true; more; {
				more = false
				for _, of := range append(slices.Clone(c.Tasks), task) {
					for _, d := range of.DependsOn {
						if (of == task || want[of.Name]) && d != task.Name && c.Task(d) != nil && !want[d] {
							want[d], more = true, true
						}
					}
				}
			}
			got := all.of(task)
			for _, d := range got {
				if !want[d.Name] {
					t.Errorf("%s needs %s", task.Name, d.Name)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%s needs %d tasks, want %v", task.Name, len(got), want)
			}
		}
	})
}

// BenchmarkChain is what the cache says of a task of 2,000 that wait for each other, against tasks that wait for none
// ("x-wide").
func BenchmarkChain(b *testing.B) {
	const n = 2000
	look := func(chain bool) time.Duration {
		tasks := make([]*pipeline.Task, n)
		for i := range tasks {
			tasks[i] = &pipeline.Task{Name: fmt.Sprint(i), Inputs: []string{"x"}}
			if chain && i > 0 {
				tasks[i].DependsOn = []string{tasks[i-1].Name}
			}
		}
		p := newProject(b, b.TempDir(), b.TempDir(), tasks...)
		p.write("x", "")
		c := p.cache()
		c.Peek = true
		start := time.Now()
		for _, task := range tasks {
			if e := c.Look(b.Context(), task); e == nil || e.Result != Miss {
				b.Fatalf("%+v", e)
			}
		}
		return time.Since(start)
	}
	var chain, wide time.Duration
	for b.Loop() {
		wide += look(false)
		chain += look(true)
	}
	b.ReportMetric(float64(chain)/float64(wide), "x-wide")
}
