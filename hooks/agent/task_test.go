package agent

import (
	"strings"
	"testing"
	"time"
)

// What a reader of an answer gets: no report, no terminal control, a line end.
func TestAnswer(t *testing.T) {
	t.Parallel()
	const report = `{"outcome": "fixed", "summary": "All is {well}."}`
	for text, want := range map[string]string{
		"":                                    "",
		" \n\t":                               "",
		"Two faults.":                         "Two faults.\n",
		"\x1b[31mTwo\x1b[0m \x1b]0;x\afaults": "Two faults\n",
		"Two faults.\n\n" + report:            "Two faults.\n",
		"Two faults.\n```json\n" + report + "\n```\n": "Two faults.\n",
		report:                                "All is {well}.\n",
		`{"outcome":"no_fix","summary":""}`:   "",
		`The form is {"a": 1}`:                "The form is {\"a\": 1}\n",
		"```\ncode {}\n```":                   "```\ncode {}\n```\n",
		report + "\nand more":                 report + "\nand more\n",
		"a" + strings.Repeat("{", 5000) + "}": "a" + strings.Repeat("{", 5000) + "}\n",
	} {
		if got := Answer(text); got != want {
			t.Errorf("Answer(%.60q) = %.80q, want %.80q", text, got, want)
		}
	}
}

// The prompt of a task has the person's words, where the answer goes, and what becomes of the changes.
func TestTaskPrompt(t *testing.T) {
	t.Parallel()
	p := TaskParts{Person: " Review it.\n", Task: "review", Dir: "/copy\x1b[2J", Left: 90 * time.Second, To: "review.txt"}
	got := TaskPrompt(p)
	for _, part := range []string{
		`task "review"`, "/copy\n", "You have 1m30s", "Nothing of it is applied", "the file review.txt", "\n\nReview it.\n",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("the prompt lacks %q:\n%s", part, got)
		}
	}
	if p.To = ""; !strings.Contains(TaskPrompt(p), "kept in the log") {
		t.Error("the prompt of a task without a file does not say where its answer goes")
	}
	for _, not := range []string{"repair", "JSON"} {
		if strings.Contains(got, not) {
			t.Errorf("the prompt says %q", not)
		}
	}
}
