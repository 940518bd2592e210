package hclfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// An order is the tasks of a file, by number, and what each waits for.
type order struct {
	*report
	names []string
	deps  [][]ref
	asked []bool // somebody waits for it
	ended []int  // when the search left it: after all that it waits for; 0 means never
}

// relations checks the references between tasks: no cycles, and no task that verify would run before it can.
func (r *references) relations() {
	n := len(r.names)
	o := &order{report: r.report, names: r.names, deps: make([][]ref, n), asked: make([]bool, n), ended: make([]int, n)}
	for _, d := range r.deps {
		o.deps[d.task] = d.to
	}
	if o.cycles() {
		return // in a way round everything waits for everything
	}
	told := make(map[hcl.Pos]bool)
	seen, mark := make([]int, n), 0
	for _, v := range r.verify {
		if !o.asked[v.task] {
			continue
		}
		mark++
		for _, to := range v.to {
			if told[to.at.Start] {
				continue
			}
			if name, ok := o.waits(to, v.task, mark, seen); ok {
				mark++ // a search that has found something has not seen everything
				told[to.at.Start] = true
				r.addf(to.at, fmt.Sprintf("It would run before %s has passed. Name tasks that can run without it.", r.names[v.task]),
					"verify names %q, which depends on %q", r.names[name], r.names[v.task])
			}
		}
	}
}

// cycles adds a fault for each reference that closes a cycle, and reports whether there is one.
func (o *order) cycles() bool {
	found := false
	begun := make([]bool, len(o.names))
	told := make(map[hcl.Pos]bool) // a reference in many instances is told once
	var way []int
	left := 0
	var visit func(i int)
	visit = func(i int) {
		begun[i] = true
		way = append(way, i)
		for _, d := range o.deps[i] {
			for j := d.first; j < d.first+d.count; j++ {
				o.asked[j] = true
				switch {
				case !begun[j]:
					visit(j)
				case o.ended[j] == 0:
					found = true
					if told[d.at.Start] {
						continue
					}
					told[d.at.Start] = true
					if i == j && d.d.keys != nil && d.whole {
						o.addf(d.at, fmt.Sprintf(`task.%s is every instance of it, this one too. Name another one: task.%s["KEY"].`, d.d.name, d.d.name),
							"tasks wait for each other: %s → %s", d.d.name, d.d.name)
						continue
					}
					o.addf(d.at, "Take one of them out of a depends_on.", "tasks wait for each other: %s", o.round(way, j))
				}
			}
		}
		way = way[:len(way)-1]
		left++
		o.ended[i] = left
	}
	for i := range o.names {
		if !begun[i] {
			visit(i)
		}
	}
	return found
}

// round writes a cycle; of a long one both ends.
func (o *order) round(way []int, to int) string {
	const few = 12
	var all []string
	for _, i := range way[slices.Index(way, to):] {
		all = append(all, o.names[i])
	}
	if len(all) > few {
		all = slices.Concat(all[:few/2], []string{fmt.Sprintf("(%d more)", len(all)-few)}, all[len(all)-few/2:])
	}
	return strings.Join(append(all, o.names[to]), " → ")
}

// waits finds one of the tasks of a reference that waits for a task, directly or not. The search marks what it has seen, and
// never comes to what ended before: that cannot wait for the task.
func (o *order) waits(to ref, task, mark int, seen []int) (int, bool) {
	for from := to.first; from < to.first+to.count; from++ {
		todo := []int{from}
		for len(todo) > 0 {
			i := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if seen[i] == mark || o.ended[i] <= o.ended[task] {
				continue
			}
			seen[i] = mark
			for _, d := range o.deps[i] {
				if d.first <= task && task < d.first+d.count {
					return from, true
				}
				for j := d.first; j < d.first+d.count; j++ {
					if seen[j] != mark && o.ended[j] > o.ended[task] {
						todo = append(todo, j)
					}
				}
			}
		}
	}
	return 0, false
}
