// Package diagram draws a graph of tasks: as text, JSON, DOT, Mermaid or SVG.
package diagram

import "github.com/async-pipeline/async-pipeline/pipeline"

// Formats are the names that Draw takes.
var Formats = []string{"text", "json", "dot", "mermaid", "svg"}

// Draw gives g in one of Formats. Text is at most width columns wide where the names let it.
func Draw(g *pipeline.Graph, format string, width int) ([]byte, error) { panic("door") }
