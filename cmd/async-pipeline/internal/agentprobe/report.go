package agentprobe

import (
	"fmt"
	"slices"
	"strings"
)

// Markdown returns a table of results: a row for each cell, a column for each CLI, with how it ended and the number of
// requests. Below it is what was not right.
func Markdown(results []Result) []byte {
	var clis, cells []string
	versions, table := map[string]string{}, map[[2]string]string{}
	var faults strings.Builder
	for _, r := range results {
		if !slices.Contains(clis, r.CLI) {
			clis = append(clis, r.CLI)
		}
		if !slices.Contains(cells, r.Cell.Name) {
			cells = append(cells, r.Cell.Name)
		}
		if r.Version != "" {
			versions[r.CLI] = " " + r.Version
		}
		text := fmt.Sprintf("%s, %d", shown(r), r.Requests)
		if len(r.Faults) > 0 {
			text = "**" + text + "**"
			fmt.Fprintf(&faults, "- %s, %s: %s\n", r.CLI, r.Cell.Name, strings.Join(r.Faults, "; "))
		}
		table[[2]string{r.Cell.Name, r.CLI}] = text
	}
	var b strings.Builder
	b.WriteString("| |")
	for _, cli := range clis {
		b.WriteString(" " + cli + versions[cli] + " |")
	}
	b.WriteString("\n|---" + strings.Repeat("|---", len(clis)) + "|\n")
	for _, cell := range cells {
		b.WriteString("| " + cell + " |")
		for _, cli := range clis {
			b.WriteString(" " + table[[2]string{cell, cli}] + " |")
		}
		b.WriteString("\n")
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
