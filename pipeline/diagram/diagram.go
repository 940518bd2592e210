// Package diagram draws a graph of tasks: as text, JSON, DOT, Mermaid or SVG. The same graph gives the same bytes.
// Names come from a file that somebody else may have written, so every format writes them in a way that can neither
// end its quoting nor move a terminal's cursor.
package diagram

import (
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// Formats are the names that Draw accepts.
var Formats = []string{"text", "json", "dot", "mermaid", "svg"}

// Draw returns g in one of Formats. Text is at most width columns wide where the names allow it; the other formats
// ignore width.
func Draw(g *pipeline.Graph, format string, width int) ([]byte, error) {
	nodes := read(g)
	if format == "json" {
		return asJSON(nodes)
	}
	for i := range nodes {
		nodes[i].name = pipeline.ShownName(nodes[i].name)
	}
	switch format {
	case "text":
		return text(nodes, width), nil
	case "dot":
		return dot(nodes), nil
	case "mermaid":
		return mermaid(nodes), nil
	case "svg":
		return svg(nodes), nil
	}
	last := len(Formats) - 1
	return nil, fmt.Errorf("%q is no format of a graph: write %s or %s", format, strings.Join(Formats[:last], ", "),
		Formats[last])
}

// A node is a task of the drawing. Other tasks are named by their index in the list, dependencies first.
type node struct {
	name    string
	about   string
	service bool
	agent   string // that does the task; empty: a command does
	after   []int  // what it waits for, ascending
	before  []int  // what waits for it, ascending
}

func read(g *pipeline.Graph) []node {
	tasks := g.Tasks()
	at := make(map[string]int, len(tasks))
	nodes := make([]node, len(tasks))
	for i, t := range tasks {
		at[t.Name] = i
		nodes[i] = node{name: t.Name, about: t.Description, service: t.Service != nil}
		if t.Agent != nil {
			nodes[i].agent = t.Agent.Use
		}
	}
	for i, t := range tasks {
		for _, d := range g.DependsOn(t.Name) {
			nodes[i].after = append(nodes[i].after, at[d])
			nodes[at[d]].before = append(nodes[at[d]].before, i)
		}
	}
	return nodes
}

// shown returns the name of a task as it is drawn, with its mark.
func (n node) shown() string { return label(n.name) + n.mark() }

// mark returns what is drawn behind the name of a task that is more than a command, with a space before it.
func (n node) mark() string {
	switch {
	case n.service:
		return " (service)"
	case n.agent != "":
		return " (agent " + label(n.agent) + ")"
	}
	return ""
}
