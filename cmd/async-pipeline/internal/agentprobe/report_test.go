package agentprobe

import (
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/knowncli"
)

// A cell that a CLI did not play is empty, and what is not right is marked and told below the table.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	got := string(Markdown([]Result{
		{CLI: "one", Version: "1.2", Cell: Cell{Name: "good"}, Requests: 2},
		{CLI: "one", Cell: Cell{Name: "401"}, Kind: failure.AuthInvalid, Requests: 3},
		{CLI: "two", Cell: Cell{Name: "401"}, Requests: 1, Faults: []string{"expected auth_invalid", "the tree was changed"}},
	}))
	want := "| | one 1.2 | two |\n|---|---|---|\n| good | fixed, 2 |  |\n| 401 | `auth_invalid`, 3 | **fixed, 1** |\n" +
		"\nNot right:\n\n- two, 401: expected auth_invalid; the tree was changed\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Each CLI that PIPELINE.hcl may name can be probed, and the names of cells differ.
func TestTables(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range Cells() {
		if seen[c.Name] || len(c.Kinds) == 0 {
			t.Errorf("cell %q: twice, or without a kind", c.Name)
		}
		seen[c.Name] = true
	}
	if short, smoke := len(Short()), len(Smoke()); short == 0 || smoke <= short || smoke >= len(Cells()) {
		t.Errorf("%d cells are short, and CI plays %d of %d", short, smoke, len(Cells()))
	}
	for i, c := range CLIs() {
		if c.Name != knowncli.Names()[i] {
			t.Errorf("%s is not probed", knowncli.Names()[i])
		}
	}
}
