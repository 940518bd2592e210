package record

import (
	"slices"
	"time"
)

// CriticalPath is the chain of tasks that decided how long a run took: from the one that ended last back over the dependency
// that ended last, in the order they ran. after gives what each task waits for. Tasks that were not started are in none; what
// such a task waits for counts for who waits for it (a task may have come from the cache). Of several that ended at the same
// time it takes the first in tasks.
func CriticalPath(tasks []Task, after func(name string) []string) []string {
	ended := make(map[string]time.Time, len(tasks))
	place := make(map[string]int, len(tasks))
	var all []string
	for i, t := range tasks {
		place[t.Name] = i
		if t.StartedAt != nil && t.DurationMS != nil {
			ended[t.Name] = t.StartedAt.Add(time.Duration(*t.DurationMS) * time.Millisecond)
			all = append(all, t.Name)
		}
	}
	last := func(names []string) string {
		best := ""
		for _, n := range names {
			if best == "" || ended[n].After(ended[best]) || ended[n].Equal(ended[best]) && place[n] < place[best] {
				best = n
			}
		}
		return best
	}
	var path []string
	seen := make(map[string]bool)
	for at := last(all); at != ""; {
		seen[at] = true
		path = append(path, at)
		var before []string
		for todo := after(at); len(todo) > 0; todo = todo[1:] {
			name := todo[0]
			if seen[name] {
				continue
			}
			if _, ran := ended[name]; ran {
				before = append(before, name)
				continue
			}
			seen[name] = true
			todo = slices.Concat(todo, after(name))
		}
		at = last(before)
	}
	slices.Reverse(path)
	return path
}
