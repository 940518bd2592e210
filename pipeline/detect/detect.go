// Package detect looks at a project and drafts a PIPELINE.hcl for it. It reads files and runs nothing.
package detect

// A Draft is a proposed PIPELINE.hcl.
type Draft struct {
	File  []byte   // the text, formatted, commented
	Tasks []string // names of its tasks, in file order
	Found []string // what it was made from, for the person: "go.mod: Go module example.com/shop"
	Notes []string // what was seen and left out, and why
}

// Look drafts a PIPELINE.hcl for the project in root. lookup says whether a program is in PATH. Nothing found gives a
// draft with one example task.
func Look(root string, lookup func(program string) bool) (Draft, error) { panic("door") }
