package diagram

import (
	"bytes"
	"fmt"
	"strings"
)

// dot returns the graph for Graphviz. Arrows go from a task to what waits for it. A node's id is its name, so that
// other tools can find it. The quoting follows https://graphviz.org/doc/info/lang.html: within quotes the language
// reads only \"; a backslash that is written twice stays two in the id and becomes one where it is drawn, and drawn
// text may contain entities of HTML.
func dot(nodes []node) []byte {
	var b bytes.Buffer
	b.WriteString("digraph pipeline {\n  rankdir=LR\n  node [shape=box, style=rounded, fontname=\"monospace\"]\n")
	ids := make([]string, len(nodes))
	taken := map[string]bool{}
	for i, n := range nodes {
		name := label(n.name)
		for k := 2; taken[name]; k++ { // two names that differ only in what cannot be seen
			name = fmt.Sprintf("%s (%d)", label(n.name), k)
		}
		taken[name] = true
		ids[i] = `"` + dotEscape.Replace(name) + `"`
		var shown []string
		if strings.Contains(name, "&") || n.mark() != "" {
			shown = append(shown, `label="`+dotShown.Replace(name+n.mark())+`"`)
		}
		if n.about != "" {
			shown = append(shown, `tooltip="`+dotShown.Replace(label(n.about))+`"`)
		}
		b.WriteString("  " + ids[i])
		if len(shown) > 0 {
			b.WriteString(" [" + strings.Join(shown, ", ") + "]")
		}
		b.WriteByte('\n')
	}
	for i, n := range nodes {
		for _, d := range n.after {
			fmt.Fprintf(&b, "  %s -> %s\n", ids[d], ids[i])
		}
	}
	b.WriteString("}\n")
	return b.Bytes()
}

var (
	dotEscape = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	dotShown  = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;")
)
