package record

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// ran is a task that started and ended so many seconds after noon.
func ran(name string, from, to int) Task {
	ms := int64(to-from) * 1000
	return Task{Name: name, StartedAt: &Time{noon.Add(time.Duration(from) * time.Second)}, DurationMS: &ms}
}

func TestCriticalPath(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		tasks []Task
		after map[string][]string
		want  string
	}{
		{"nothing", nil, nil, ""},
		{"nothing started", []Task{{Name: "a"}}, nil, ""},
		{"one", []Task{ran("a", 0, 1)}, nil, "a"},
		{"the slower branch", []Task{ran("a", 0, 1), ran("slow", 1, 9), ran("quick", 1, 2), ran("end", 9, 10)}, map[string][]string{"slow": {"a"}, "quick": {"a"}, "end": {"quick", "slow"}}, "a slow end"},
		{"the one that ended last has no dependency", []Task{ran("a", 0, 1), ran("b", 1, 2), ran("alone", 0, 9)}, map[string][]string{"b": {"a"}}, "alone"},
		{"a tie", []Task{ran("a", 0, 1), ran("b", 0, 1), ran("c", 1, 2)}, map[string][]string{"c": {"b", "a"}}, "b c"},
		{"what ended last was not the longest way", []Task{ran("a", 0, 3), ran("b", 3, 6), ran("late", 6, 8)}, map[string][]string{"b": {"a"}}, "a b"},
		{"skipped ones are in none", []Task{ran("a", 0, 1), {Name: "b", Status: Skipped}}, map[string][]string{"b": {"a"}}, "a"},
		{"through the cache", []Task{ran("a", 0, 1), {Name: "b", Status: Cached}, ran("c", 1, 2)}, map[string][]string{"b": {"a"}, "c": {"b"}}, "a c"},
		{"tasks that are not in the run", []Task{ran("a", 0, 1)}, map[string][]string{"a": {"gone"}}, "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := CriticalPath(tt.tasks, func(name string) []string { return tt.after[name] })
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
}

// In any run: each link waits for the one before, and no chain of tasks takes longer.
func TestCriticalPathProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var tasks []Task
		after := make(map[string][]string)
		n := rapid.IntRange(0, 10).Draw(t, "tasks")
		for i := range n {
			name := fmt.Sprint("t", i)
			from := 0
			for j := range i {
				if rapid.IntRange(0, 2).Draw(t, "edge") == 0 {
					after[name] = append(after[name], tasks[j].Name)
					from = max(from, int(end(tasks[j]).Sub(noon).Seconds()))
				}
			}
			from += rapid.IntRange(0, 2).Draw(t, "waits")
			tasks = append(tasks, ran(name, from, from+rapid.IntRange(0, 3).Draw(t, "takes")))
		}
		slices.Reverse(tasks) // no order of the list is relied upon
		byName := make(map[string]Task)
		for _, task := range tasks {
			byName[task.Name] = task
		}
		path := CriticalPath(tasks, func(name string) []string { return after[name] })
		if (len(path) == 0) != (n == 0) {
			t.Fatalf("path %v of %d tasks", path, n)
		}
		sum := time.Duration(0)
		for i, name := range path {
			if i > 0 && !slices.Contains(after[name], path[i-1]) {
				t.Fatalf("%s does not wait for %s", name, path[i-1])
			}
			sum += end(byName[name]).Sub(byName[name].StartedAt.Time)
		}
		var longest func(name string) time.Duration
		longest = func(name string) time.Duration {
			most := time.Duration(0)
			for _, d := range after[name] {
				most = max(most, longest(d))
			}
			return most + end(byName[name]).Sub(byName[name].StartedAt.Time)
		}
		for name := range byName {
			if l := longest(name); l > sum {
				t.Fatalf("%v takes %v, the way to %s takes %v", path, sum, name, l)
			}
		}
	})
}

func end(t Task) time.Time {
	return t.StartedAt.Add(time.Duration(*t.DurationMS) * time.Millisecond)
}
