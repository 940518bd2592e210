package diagram

import (
	"bytes"
	"encoding/json"
)

// A jsonGraph is the format json: fields may be added, none renamed.
type jsonGraph struct {
	Tasks []jsonTask `json:"tasks"` // dependencies first
}

type jsonTask struct {
	Name        string   `json:"name"`
	Description *string  `json:"description"` // null where there is none
	DependsOn   []string `json:"depends_on"`  // of the tasks drawn, in the order of tasks
	Service     bool     `json:"service,omitempty"`
	Agent       string   `json:"agent,omitempty"` // that does the task
}

// asJSON returns the graph with its names unchanged: JSON can contain all of them.
func asJSON(nodes []node) ([]byte, error) {
	g := jsonGraph{Tasks: []jsonTask{}}
	for _, n := range nodes {
		t := jsonTask{Name: n.name, DependsOn: []string{}, Service: n.service, Agent: n.agent}
		if n.about != "" {
			t.Description = &n.about
		}
		for _, d := range n.after {
			t.DependsOn = append(t.DependsOn, nodes[d].name)
		}
		g.Tasks = append(g.Tasks, t)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(g)
	return b.Bytes(), err
}
