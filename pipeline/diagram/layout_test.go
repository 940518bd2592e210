package diagram

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// anyNodes draws a graph of up to 30 tasks.
func anyNodes(rt *rapid.T) *pipeline.Graph {
	c := &pipeline.Config{}
	for i := range rapid.IntRange(1, 30).Draw(rt, "tasks") {
		task := &pipeline.Task{Name: fmt.Sprintf("t%d", i)}
		if i > 0 {
			for range rapid.IntRange(0, 3).Draw(rt, "dependencies") {
				task.DependsOn = append(task.DependsOn, fmt.Sprintf("t%d", rapid.IntRange(0, i-1).Draw(rt, "on")))
			}
		}
		c.Tasks = append(c.Tasks, task)
	}
	g, err := pipeline.Select(c, nil, false)
	if err != nil {
		rt.Fatal(err)
	}
	return g
}

// Every task stands right of what it waits for, no two boxes of a column touch, and a way along the lines leads to it.
func TestLayout(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		nodes := read(anyNodes(rt))
		sheets, loose := split(nodes)
		seen := len(loose)
		for _, members := range sheets {
			seen += len(members)
			s := layer(nodes, members)
			before := placesOf(s)
			was := s.crossings(before)
			s.order()
			if now := s.crossings(placesOf(s)); now > was {
				rt.Errorf("%d lines cross, %d before they were put in order", now, was)
			}
			widths := make([]float64, len(nodes))
			for i := range widths {
				widths[i] = 100
			}
			s.place(widths)
			checkSheet(rt, nodes, s)
		}
		if seen != len(nodes) {
			rt.Errorf("%d of %d tasks are drawn", seen, len(nodes))
		}
	})
}

func placesOf(s *sheet) []int {
	place := make([]int, len(s.boxes))
	for _, column := range s.columns {
		for k, b := range column {
			place[b] = k
		}
	}
	return place
}

func checkSheet(rt *rapid.T, nodes []node, s *sheet) {
	for _, column := range s.columns {
		for k := 1; k < len(column); k++ {
			a, b := &s.boxes[column[k-1]], &s.boxes[column[k]]
			if b.y-a.y < s.apart(column[k-1], column[k])-1 { // whole pixels
				rt.Errorf("boxes at %g and %g", a.y, b.y)
			}
		}
	}
	for i := range s.boxes {
		b := &s.boxes[i]
		if b.y < 0 || b.y > s.height || b.x < 0 || b.x+b.width > s.width {
			rt.Errorf("a box at %g, %g in a sheet of %g × %g", b.x, b.y, s.width, s.height)
		}
		if b.bend() {
			if len(b.from) != 1 || len(b.to) == 0 {
				rt.Errorf("a bend between %d and %d", len(b.from), len(b.to))
			}
			continue
		}
		var reached []int
		todo := slices.Clone(b.to)
		for len(todo) > 0 {
			at := &s.boxes[todo[0]]
			todo = todo[1:]
			if at.bend() {
				todo = append(todo, at.to...)
				continue
			}
			reached = append(reached, at.node)
			if at.x < b.x+b.width {
				rt.Errorf("%s does not stand right of %s", nodes[at.node].name, nodes[b.node].name)
			}
		}
		slices.Sort(reached)
		if !slices.Equal(reached, nodes[b.node].before) {
			rt.Errorf("lines from %s lead to %v, not %v", nodes[b.node].name, reached, nodes[b.node].before)
		}
	}
}

// crossings by definition: every pair of lines.
func TestCrossings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		nodes := read(anyNodes(rt))
		sheets, _ := split(nodes)
		for _, members := range sheets {
			s := layer(nodes, members)
			place := placesOf(s)
			want := 0
			for _, column := range s.columns {
				var lines [][2]int
				for _, b := range column {
					for _, to := range s.boxes[b].to {
						lines = append(lines, [2]int{place[b], place[to]})
					}
				}
				for i, a := range lines {
					for _, b := range lines[:i] {
						if (a[0]-b[0])*(a[1]-b[1]) < 0 {
							want++
						}
					}
				}
			}
			if got := s.crossings(place); got != want {
				rt.Errorf("got %d, want %d", got, want)
			}
		}
	})
}

// The tree opens every task that waits for something exactly once, and shows every line.
func TestTree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		g := anyNodes(rt)
		width := rapid.SampledFrom([]int{0, 24, 40, 80}).Draw(rt, "width")
		out := string(text(read(g), width))
		edges := map[string]int{}
		var way []string // the tasks that a line stands below
		opened, place := map[string]int{}, map[string]int{}
		type said struct {
			name, mark string
			line       int
		}
		var marks []said
		_, tree, _ := strings.Cut(out, "\n\n") // the first lines say how to read it
		for i, line := range strings.Split(tree, "\n") {
			if n := columns(line); n > max(width, 24) {
				rt.Errorf("%d columns: %s", n, line)
			}
			name := strings.TrimLeft(line, " │├└─")
			if name == "" {
				continue
			}
			deep := columns(strings.TrimSuffix(line, name)) / 3
			name, mark, _ := strings.Cut(name, " ")
			if deep > 0 {
				way = way[:deep]
				edges[way[deep-1]+" "+name]++
			}
			way = append(way[:deep], name)
			if mark == "" {
				opened[name]++
				place[name] = i
			} else {
				marks = append(marks, said{name, mark, i})
			}
		}
		for _, m := range marks {
			if (m.mark == "(above)") != (place[m.name] < m.line) {
				rt.Errorf("line %d says that %s is %s in\n%s", m.line+1, m.name, m.mark, out)
			}
		}
		want := 0
		for _, task := range g.Tasks() {
			if after := g.DependsOn(task.Name); len(after) > 0 {
				if opened[task.Name] != 1 {
					rt.Errorf("%s is opened %d times in\n%s", task.Name, opened[task.Name], out)
				}
				for _, d := range after {
					want++
					if edges[task.Name+" "+d] != 1 {
						rt.Errorf("%s below %s: %d times in\n%s", d, task.Name, edges[task.Name+" "+d], out)
					}
				}
			} else if opened[task.Name] == 0 {
				rt.Errorf("no %s in\n%s", task.Name, out)
			}
		}
		if len(edges) != want {
			rt.Errorf("%d lines, not %d, in\n%s", len(edges), want, out)
		}
	})
}

// What would be hours or gigabytes without bounds is drawn, too: a chain in which everybody waits for everybody
// before.
func TestDenseChain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine at work: the race detector, with which CI runs -short, finds nothing in it")
	}
	c := &pipeline.Config{}
	var before []string
	for i := range 300 {
		name := fmt.Sprintf("t%d", i)
		c.Tasks = append(c.Tasks, &pipeline.Task{Name: name, DependsOn: slices.Clone(before)})
		before = append(before, name)
	}
	g := selected(t, c)
	start := time.Now()
	for _, format := range Formats {
		draw(t, g, format, 80)
	}
	if d := time.Since(start); d > 3*time.Minute {
		t.Errorf("took %v", d)
	}
	nodes := read(g)
	sheets, _ := split(nodes)
	if n := len(layer(nodes, sheets[0]).boxes); n > mostBends+len(nodes) {
		t.Errorf("%d boxes", n)
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		most int
		want string
	}{
		{"abcdefghij", 10, "abcdefghij"},
		{"abcdefghij", 7, "abc…hij"},
		{"abcdefghij", 6, "abc…ij"},
		{"長長長長長", 7, "長…長"},
		{"a長長長長長", 8, "a長…長"},
	} {
		if got := shorten(tt.name, tt.most); got != tt.want || columns(got) > tt.most {
			t.Errorf("shorten(%q, %d) = %q, %d columns; want %q", tt.name, tt.most, got, columns(got), tt.want)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	g := big(b, 1000, 25)
	for _, format := range Formats {
		b.Run(format, func(b *testing.B) {
			for b.Loop() {
				draw(b, g, format, 80)
			}
		})
	}
}
