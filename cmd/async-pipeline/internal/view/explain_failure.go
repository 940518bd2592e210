// One task of a run, and what the context pack of a failed one holds, for a person.
package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A Pack is the context pack of a failed task, as `context` prints it: what of it a person reads.
type Pack struct {
	Description string          `json:"description"`
	Command     json.RawMessage `json:"command"` // a list is argv, a string is shell text
	Dir         string          `json:"dir"`
	RunAgain    string          `json:"run_again"`
	LogTail     string          `json:"log_tail"`
	Changed     struct {
		Baseline     string   `json:"baseline"`
		Dependencies []string `json:"dependencies"`
	} `json:"changed"`
	Git struct {
		Commit    *string  `json:"commit"`
		Dirty     []string `json:"dirty"`
		DirtyMore int      `json:"dirty_more"`
	} `json:"git"`
	Tools map[string]string `json:"tools"`
}

// ExplainTask tells how one task of a run ended. pack is nil unless it failed; file is where the pack is stored, if it is.
func (s *Screen) ExplainTask(r RunStory, t record.Task, pack *Pack, file string, now time.Time) {
	var b strings.Builder
	b.WriteString(s.runHead(r, now) + "\n")
	switch t.Status {
	case record.Skipped:
		b.WriteString(s.paint(yellow, "–") + " " + s.paint(bold, Harmless(t.Name)) + " was not started: " + skipReason(t) + "\n")
	case record.Passed, record.Cached:
		b.WriteString(s.paint(green, "✓") + " " + s.paint(bold, Harmless(t.Name)) + " " + ended(t) + " after " + ms(t.DurationMS) + "\n")
		if w := r.Waited[t.Name]; len(w) > 0 {
			b.WriteString(s.words("It waited for "+list(w)+".", "  "))
		}
		b.WriteString(s.logOf(r.Dir, t))
	default:
		b.WriteString(s.whyEnded(t, r))
	}
	if pack != nil {
		b.WriteString("\n" + s.packFacts(pack, t, file))
	}
	for _, h := range r.Hooks {
		if h.Task == t.Name {
			b.WriteString("\n" + s.hookStory(h))
		}
	}
	if len(r.Type) > 0 {
		b.WriteString("\n" + s.next(r.Type))
	}
	s.put(b.String())
}

func (s *Screen) packFacts(p *Pack, t record.Task, file string) string {
	var b strings.Builder
	f := facts{s: s, b: &b}
	f.add("about", p.Description)
	var argv []string
	var shell string
	switch {
	case json.Unmarshal(p.Command, &argv) == nil && len(argv) > 0:
		words := make([]pipeline.Text, len(argv))
		for i, a := range argv {
			words[i].Value = a
		}
		f.command(pipeline.Command{Argv: words})
	case json.Unmarshal(p.Command, &shell) == nil && shell != "":
		f.command(pipeline.Command{Shell: pipeline.Text{Value: shell}})
	}
	f.add("in", unless(p.Dir, "."))
	if t.Attempts > 1 {
		f.add("attempts", fmt.Sprint(t.Attempts))
	}
	if p.Git.Commit != nil {
		f.add("commit", *p.Git.Commit)
	}
	if len(p.Git.Dirty) > 0 {
		more := ""
		if p.Git.DirtyMore > 0 {
			more = fmt.Sprintf(" and %d more", p.Git.DirtyMore)
		}
		f.add("changed", strings.Join(p.Git.Dirty, ", ")+more+" (not committed)")
	}
	if p.Changed.Baseline == "none" {
		f.add("last pass", "what changed since is not known: no pass of it is kept to compare with")
	}
	f.add("dependency", prefixed("other outputs than before of ", p.Changed.Dependencies))
	for _, program := range slices.Sorted(maps.Keys(p.Tools)) {
		f.add("tool", program+": "+p.Tools[program])
	}
	if file != "" {
		f.line("context", s.Path(file))
	}
	if tail := tailLines([]byte(p.LogTail), tailOf(1)); len(tail) > 0 {
		b.WriteString("\nThe end of its log:\n")
		for _, line := range tail {
			b.WriteString("  " + s.paint(dim, "│") + " " + clean(line, true, s.Colour) + "\n")
		}
	}
	return b.String()
}
