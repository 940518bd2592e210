// One task of a run, and the context pack of a failed one.
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

// A Pack has the parts of a context pack that are shown to a person. `context` prints all of it.
type Pack struct {
	Description string          `json:"description"`
	Command     json.RawMessage `json:"command"` // a list is argv, a string is shell text
	Dir         string          `json:"dir"`
	RunAgain    string          `json:"run_again"`
	LogTail     string          `json:"log_tail"`
	Changed     struct {
		Baseline string  `json:"baseline"` // a run; "none": it never passed; empty: not known
		Commit   *string `json:"commit"`
		Dirty    *bool   `json:"dirty"`
		Paths    []struct {
			Path   string `json:"path"`
			Change string `json:"change"`
		} `json:"paths"` // nil: not known
		More         int      `json:"more"`
		Dependencies []string `json:"dependencies"`
	} `json:"changed"`
	Git struct {
		Commit    *string  `json:"commit"`
		Dirty     []string `json:"dirty"`
		DirtyMore int      `json:"dirty_more"`
	} `json:"git"`
	Tools map[string]string `json:"tools"`
}

// ExplainTask shows how one task of a run ended. pack is nil unless it failed; file is where the pack is stored, if
// it is.
func (s *Screen) ExplainTask(r RunStory, t record.Task, pack *Pack, file string, now time.Time) {
	var b strings.Builder
	b.WriteString(s.runHead(r, now) + "\n")
	name := s.paint(bold, taskName(t.Name))
	switch t.Status {
	case record.Skipped:
		b.WriteString(s.paint(yellow, "–") + " " + name + " was not started: " + skipReason(t) + "\n")
	case record.Passed, record.Cached:
		b.WriteString(s.paint(green, "✓") + " " + name + " " + ended(t) + " after " + ms(t.DurationMS) + "\n")
		b.WriteString(s.wasFlaky(t))
		b.WriteString(s.waited(r, t))
		b.WriteString(s.logOf(r.Dir, t))
	default:
		b.WriteString(s.whyEnded(t, r))
	}
	if t.Agent != nil {
		b.WriteString("\n")
		facts{s: s, b: &b}.agentWorked(t.Agent)
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
	case t.Agent != nil: // who did it is said above
	case json.Unmarshal(p.Command, &argv) == nil && len(argv) > 0:
		words := make([]pipeline.Text, len(argv))
		for i, a := range argv {
			words[i].Value = a
		}
		f.command(pipeline.Command{Argv: words})
	case json.Unmarshal(p.Command, &shell) == nil && shell != "":
		f.command(pipeline.Command{Shell: pipeline.Text{Value: shell}})
	}
	if t.Agent == nil { // an agent works at the top of a copy
		f.add("in", unless(p.Dir, "."))
	}
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
		f.add("changed", strings.Join(p.Git.Dirty, ", ")+more+" (uncommitted)")
	}
	f.add("last pass", p.lastPass())
	f.add("since then", p.sinceThen())
	f.add("dependency", prefixed("different outputs than before: ", p.Changed.Dependencies))
	for _, program := range slices.Sorted(maps.Keys(p.Tools)) {
		f.add("tool", program+": "+p.Tools[program])
	}
	if file != "" {
		f.line("context", s.Path(file))
	}
	if tail := s.tail([]byte(p.LogTail), tailOf(1)); tail != "" {
		b.WriteString("\nThe end of its log:\n")
		b.WriteString(tail)
	}
	return b.String()
}

// lastPass returns when the task last passed.
func (p *Pack) lastPass() string {
	c := p.Changed
	switch {
	case c.Baseline == "none":
		return "never, in the runs that are kept"
	case c.Baseline == "":
		return ""
	case c.Commit == nil:
		return "run " + c.Baseline
	}
	with := ""
	if c.Dirty != nil && *c.Dirty {
		with = " with uncommitted changes"
	}
	return "run " + c.Baseline + ", at commit " + (*c.Commit)[:min(12, len(*c.Commit))] + with
}

// sinceThen returns what has changed since that commit.
func (p *Pack) sinceThen() string {
	c := p.Changed
	switch {
	case c.Baseline == "" || c.Baseline == "none":
		return ""
	case c.Paths == nil:
		return "not known: git could not tell"
	case len(c.Paths) == 0 && c.More == 0:
		return "no file changed"
	}
	const most = 20
	var words []string
	for _, d := range c.Paths[:min(most, len(c.Paths))] {
		words = append(words, d.Change+" "+d.Path)
	}
	if more := len(c.Paths) - len(words) + c.More; more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}
