package view

import (
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// Does returns in one line what a task does: its command, or what its agent is asked.
func Does(t *pipeline.Task) string {
	if t.Agent == nil {
		return Command(t.Run)
	}
	first, _, more := strings.Cut(strings.TrimSpace(t.Agent.Prompt), "\n")
	text := "agent " + Harmless(t.Agent.Use) + ": " + Harmless(first)
	if more {
		text += " …"
	}
	return text
}

// does is Does with the mark of a command before it.
func does(t *pipeline.Task) string {
	if t.Agent != nil {
		return Does(t)
	}
	return "$ " + Command(t.Run)
}

// agentTask adds who does a task, and what it is asked.
func (f facts) agentTask(w *pipeline.AgentWork) {
	text := "agent " + w.Use + ", for at most " + Duration(w.Budget.WallClock)
	if w.Budget.Tokens > 0 {
		text += fmt.Sprintf(", %d tokens", w.Budget.Tokens)
	}
	if w.Budget.CostUSD > 0 {
		text += fmt.Sprintf(", $%.2f", w.Budget.CostUSD)
	}
	f.add("done by", text+"; its patch is stored, never applied")
	f.add("asked", w.Prompt)
	f.add("answer to", w.StdoutTo)
}

// agentWorked adds what is recorded of the agent of a task.
func (f facts) agentWorked(a *record.Agent) {
	if a == nil {
		return
	}
	who := a.Agent
	for _, part := range []*string{a.CLI, a.CLIVersion, a.Model} {
		if part != nil {
			who += ", " + *part
		}
	}
	if a.Turns != nil {
		who += ", " + english.Count(*a.Turns, "turn")
	}
	f.add("agent", who)
	if a.DurationMS != nil {
		f.add("spent", spent(fix.Tokens(a.Tokens), a.CostUSD, a.CostAtLeast))
	}
	if a.Kind != nil {
		f.add("ended", *a.Kind+": "+*a.Evidence)
	}
	if a.Patch != nil {
		f.add("patch", fmt.Sprintf("%s, %s", a.Patch.Path, english.Count(a.Patch.Changed, "file")))
	}
	var left []string
	for _, o := range a.Omitted {
		left = append(left, o.Path+" ("+o.Why+")")
	}
	if len(left) > 0 {
		f.add("not in it", english.List(left, 5))
	}
	if a.Answer != nil {
		f.add("answer", a.Answer.Path)
	}
	for _, file := range a.Files {
		if strings.HasSuffix(file.Path, ".transcript.jsonl") {
			f.add("transcript", file.Path)
		}
	}
	if a.Note != nil {
		f.add("note", *a.Note)
	}
}
