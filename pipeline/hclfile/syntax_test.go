package hclfile_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

// One quote that is missing is one fault, in its line, wherever it is missed.
func TestMissingQuote(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("../../examples/go-service/PIPELINE.hcl")
	if err != nil {
		t.Fatal(err)
	}
	line, quotes, removed := 1, 0, 0
	for i, c := range src {
		switch c {
		case '\n':
			line++
		case '"':
			if quotes++; quotes%3 != 0 { // some that begin a text, some that end one
				continue
			}
			without := string(src[:i]) + string(src[i+1:])
			_, err := load(t, without, hclfile.Options{})
			var got pipeline.Errors
			if err == nil || strings.Contains(err.Error(), "go-service") { // in a comment, or in a text for the shell
				continue
			}
			if !errors.As(err, &got) {
				t.Fatal(err)
			}
			quoted := 0
			for _, e := range got {
				if e.Summary == "a quote is missing in this line" {
					quoted++
				}
			}
			removed++
			if quoted > 1 || len(got) > 1 || got[0].Pos.Line != line {
				t.Errorf("without the quote in line %d:\n%v", line, got)
			}
		}
	}
	if removed < 50 {
		t.Errorf("only %d quotes were taken out", removed)
	}
}

// What is meant for the shell hides nothing that stands above or below it.
func TestShellTextFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, run, want string }{
		{"length", `"echo ${#arr}"`, "7:15: a comment begins in this text|write $${#arr}."},
		{"length of an array", `"echo ${#arr[@]} x"`, "7:15: a comment begins in this text|write $${#arr[@]}."},
		{"in a heredoc", "<<EOT\necho ${#arr} ${#two}\nEOT", "8:6: a comment begins in this text|write $${#arr}.|8:14: a comment|write $${#two}."},
		{"two of them", `"echo ${#a} ${b:-c}"`, "7:15: a comment|write $${#a}.|7:24: Extra characters|write $${b:-c}."},
		{"inside another", `"echo ${a:-${b}}"`, "7:20: Invalid character|write $${a:-${b}}.|7:22: b is not a pipeline value|write $b, or $${b}"},
		{"with quotes", `"echo ${a:-\"b\"}"`, "7:21: a quote is missing|write $${…}."},
		{"a directive", `"curl -w %{http_code}"`, "7:20: Invalid template control keyword|write %%{http_code}."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			src := "task \"above\" {\n  run = \"cd ${PWD}\"\n}\n# ${#comment}\ntask \"x\" {\n  # ${#comment}\n  run = " + c.run + "\n}\ntask \"below\" {\n  run = \"cd ${PWD}\"\n}\n"
			_, err := load(t, src, hclfile.Options{})
			var got pipeline.Errors
			if !errors.As(err, &got) {
				t.Fatal(err)
			}
			var all []string
			for _, e := range got {
				all = append(all, fmt.Sprintf("%d:%d: %s %s", e.Pos.Line, e.Pos.Column, e.Summary, e.Detail))
			}
			text := strings.Join(all, "\n")
			rest := text
			want := append([]string{"2:15: PWD is not a pipeline value"}, strings.Split(c.want, "|")...)
			below := fmt.Sprintf("%d:15: PWD is not", 10+strings.Count(c.run, "\n"))
			if c.name == "with quotes" {
				want, below = want[1:], ""
			}
			for _, w := range append(want, below) {
				_, after, ok := strings.Cut(rest, w)
				if !ok {
					t.Errorf("%q is missing, or out of its place, in:\n%s", w, text)
				}
				rest = after
			}
			if n := strings.Count(c.want, ": ") + 2; c.name != "with quotes" && len(got) != n {
				t.Errorf("%d faults, want %d:\n%s", len(got), n, text)
			}
		})
	}
}
