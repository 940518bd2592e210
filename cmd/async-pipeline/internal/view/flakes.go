// Proven flakes: tasks that failed and passed with the same inputs.
package view

import (
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline/flake"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// flakyText returns what another run proves about a task, without its name; empty: nothing.
func flakyText(t record.Task) string {
	if t.Cache == nil || t.Cache.Flaky == nil {
		return ""
	}
	now, then := "failed", "passed"
	if t.Status == record.Passed {
		now, then = then, now
	}
	return fmt.Sprintf("%s now and %s in run %s with the same inputs", now, then, *t.Cache.Flaky)
}

// flaky names the proven flakes of a run.
func (s *Screen) flaky(tasks []record.Task) string {
	const most = 5
	var b strings.Builder
	n := 0
	for _, t := range tasks {
		text := flakyText(t)
		if text == "" {
			continue
		}
		n++
		text = taskName(t.Name) + " " + Harmless(text)
		switch lead := s.paint(yellow, "flaky:") + " "; {
		case n > most:
		case s.Columns <= 0:
			b.WriteString(lead + text + "\n") // one line, which can be searched for
		default:
			b.WriteString(s.hanging(lead, text))
		}
	}
	if n > most {
		fmt.Fprintf(&b, "and %d more: async-pipeline runs --flaky\n", n-most)
	}
	return b.String()
}

// shortKey is how many digits of a key are shown.
const shortKey = 12

// Flakes shows the table of `runs --flaky`; older is how many more there are.
func (s *Screen) Flakes(flakes []flake.Flake, older int) {
	var b strings.Builder
	names := make([]string, len(flakes))
	for i, f := range flakes {
		names[i] = f.Task
	}
	wide := max(nameColumns(names, 30), len("TASK"))
	b.WriteString(s.paint(bold, pad("TASK", wide)+"  "+pad("KEY", shortKey)+"  FAILED  PASSED  RATE") + "\n")
	for _, f := range flakes {
		key := strings.TrimPrefix(f.Key, "sha256:")
		fmt.Fprintf(&b, "%s  %s  %6d  %6d  %3.0f%%\n", pad(taskName(f.Task), wide),
			pad(Harmless(key[:min(len(key), shortKey)]), shortKey), f.Failed, f.Passed, 100*f.Rate)
		b.WriteString(s.paint(dim, s.words("last failed in "+f.LastFailed+", last passed in "+f.LastPassed, "  ")))
	}
	if older > 0 {
		b.WriteString(s.paint(dim, fmt.Sprintf("and %s before; --limit 0 shows all", english.Count(older, "flake"))) + "\n")
	}
	s.put(b.String())
}
