package diagram

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
)

// mermaid returns the graph as a Mermaid flowchart. Ids are generated and names are only in labels: a name such as
// "end" is a keyword. Arrows go from a task to what waits for it.
func mermaid(nodes []node) []byte {
	var b bytes.Buffer
	b.WriteString("flowchart LR\n")
	for i, n := range nodes {
		fmt.Fprintf(&b, "  n%d[\"%s\"]\n", i+1, entities(n.shown()))
	}
	for i, n := range nodes {
		for _, d := range n.after {
			fmt.Fprintf(&b, "  n%d --> n%d\n", d+1, i+1)
		}
	}
	return b.Bytes()
}

// entities writes everything but letters, digits and a few harmless characters as #<number>;. It is the only way to
// write a quote between quotes, and Mermaid reads Markdown, HTML and \n there.
func entities(label string) string {
	var b strings.Builder
	for _, r := range label {
		if r == ' ' || unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-/,:", r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}
