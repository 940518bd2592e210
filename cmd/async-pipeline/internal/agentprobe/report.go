package agentprobe

import (
	"fmt"
	"slices"
	"strings"
)

// Markdown returns a table of results: a row for each CLI, a column for each cell, and below it what was not right.
func Markdown(results []Result) []byte {
	var clis, cells []string
	for _, r := range results {
		if !slices.Contains(clis, r.CLI) {
			clis = append(clis, r.CLI)
		}
		if !slices.Contains(cells, r.Cell.Name) {
			cells = append(cells, r.Cell.Name)
		}
	}
	var b, faults strings.Builder
	b.WriteString("| | " + strings.Join(cells, " | ") + " |\n|---" + strings.Repeat("|---", len(cells)) + "|\n")
	for _, cli := range clis {
		row, name := make([]string, len(cells)), cli
		for _, r := range results {
			if r.CLI != cli {
				continue
			}
			if r.Version != "" {
				name = cli + " " + r.Version
			}
			text := fmt.Sprintf("%s, %d", shown(r), r.Requests)
			if len(r.Faults) > 0 {
				text = "**" + text + "**"
				fmt.Fprintf(&faults, "- %s, %s: %s\n", cli, r.Cell.Name, strings.Join(r.Faults, "; "))
			}
			row[slices.Index(cells, r.Cell.Name)] = text
		}
		b.WriteString("| " + name + " | " + strings.Join(row, " | ") + " |\n")
	}
	if faults.Len() > 0 {
		b.WriteString("\nNot right:\n\n" + faults.String())
	}
	return []byte(b.String())
}

// shown returns how a cell ended, for the table.
func shown(r Result) string {
	if r.Kind == "" {
		return "fixed"
	}
	return "`" + string(r.Kind) + "`"
}
