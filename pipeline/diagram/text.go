package diagram

import (
	"bytes"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
)

// text returns a tree: from the tasks that nobody waits for to what each waits for. A task with dependencies of its
// own is expanded once; elsewhere it is marked "(above)", or "(below)" where it is too deep for the width and
// expanded at the margin later.
func text(nodes []node, width int) []byte {
	t := &tree{nodes: nodes, space: max(width, 20), drawn: make([]bool, len(nodes)), put: make([]bool, len(nodes))}
	head := english.Count(len(nodes), "task") + ". Each waits for what is indented below it."
	if len(nodes) == 0 {
		head = "no task."
	}
	for _, line := range wrap(head, t.space) {
		t.b.WriteString(line + "\n")
	}
	var loose []int // tasks that have to do with no other
	for i, n := range nodes {
		switch {
		case len(n.before) > 0:
		case len(n.after) == 0:
			loose = append(loose, i)
		default:
			t.root(i)
		}
	}
	if len(loose) > 0 {
		t.b.WriteByte('\n')
	}
	for _, i := range loose {
		t.b.WriteString(nodes[i].shown() + "\n")
	}
	return t.b.Bytes()
}

// A tree is the state of text.
type tree struct {
	nodes []node
	space int
	b     bytes.Buffer
	drawn []bool // opened: what it waits for has been shown
	put   []bool // put off to the margin
	later []int
}

// root draws a task at the margin, and then what was too deep below it.
func (t *tree) root(i int) {
	todo := []int{i}
	for len(todo) > 0 {
		t.b.WriteByte('\n')
		t.b.WriteString(t.nodes[todo[0]].shown() + "\n")
		t.drawn[todo[0]] = true
		t.below(todo[0], "")
		todo = append(todo[1:], t.later...)
		t.later = nil
	}
}

// below draws what i waits for. Its depth is bounded by the width, not by the graph.
func (t *tree) below(i int, lead string) {
	after := t.nodes[i].after
	for k, d := range after {
		branch, next := "├─ ", "│  "
		if k == len(after)-1 {
			branch, next = "└─ ", "   "
		}
		name := t.nodes[d].shown()
		t.b.WriteString(lead + branch + name)
		switch {
		case len(t.nodes[d].after) == 0:
		case t.drawn[d]:
			t.b.WriteString(" (above)")
		case t.put[d] || !t.fits(d, lead+next):
			t.b.WriteString(" (below)")
			if !t.put[d] {
				t.put[d] = true
				t.later = append(t.later, d)
			}
		default:
			t.drawn[d] = true
			t.b.WriteByte('\n')
			t.below(d, lead+next)
			continue
		}
		t.b.WriteByte('\n')
	}
}

// fits reports whether what d waits for can be drawn behind lead. At the margin it always can: a name that is too
// wide would be postponed for ever.
func (t *tree) fits(d int, lead string) bool {
	const branch = 3
	if columns(lead) <= branch {
		return true
	}
	for _, n := range t.nodes[d].after {
		if columns(lead)+branch+columns(t.nodes[n].shown())+len(" (above)") > t.space {
			return false
		}
	}
	return true
}

// wrap breaks a line at spaces.
func wrap(line string, width int) []string {
	var lines []string
	at := ""
	for word := range strings.FieldsSeq(line) {
		switch {
		case at == "":
			at = word
		case columns(at)+1+columns(word) > width:
			lines, at = append(lines, at), word
		default:
			at += " " + word
		}
	}
	return append(lines, at)
}
