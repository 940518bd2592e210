package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

func TestCIMode(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"": false, "0": false, "false": false, "FALSE": false, "1": true, "true": true, "yes": true, "no": true} {
		if got := (process{environ: []string{"CI=" + value}}).open().ciMode(); got != want {
			t.Errorf("CI=%q: %v", value, got)
		}
	}
	if (process{}).open().ciMode() {
		t.Error("CI mode without CI")
	}
}

func TestDiagnosticsJSON(t *testing.T) {
	t.Parallel()
	got := diagnostics(pipeline.Errors{
		{Pos: pipeline.Pos{File: "f", Line: 2, Column: 3}, Summary: "s", Detail: "d", Suggestion: "x"},
		{Warning: true, Summary: "w"},
	})
	want := []diagnostic{
		{"error", "s", orNull("d"), orNull("f"), orNull(2), orNull(3), orNull("x")},
		{"warning", "w", nil, nil, nil, nil, nil},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if diagnostics(nil) == nil {
		t.Error("no faults are null and not []")
	}
}

// Help is read in a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		text := c.Long + "\n" + c.UsageString()
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\n"); utf8.RuneCountInString(line) > 80 {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), utf8.RuneCountInString(line), line)
			}
			if strings.Contains(line, "(default )") {
				t.Errorf("%s: a default that is none: %s", c.CommandPath(), line)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(command(process{}.open()))
}
