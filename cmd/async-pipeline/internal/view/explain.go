// What a task is and would do (explain), and its environment (explain --env).
package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// An Explained is a task with what is known around it.
type Explained struct {
	Task    *pipeline.Task
	Before  []string // tasks that wait for it
	Jobs    []string // jobs that name it
	Receipt record.Cache
	Last    *record.Task // nil: it is in no recorded run that can be read
	LastRun string
	LastAt  time.Time
	Type    []Next
}

// Explain shows a task.
func (s *Screen) Explain(e Explained, now time.Time) {
	t := e.Task
	var b strings.Builder
	head := s.paint(bold, taskName(t.Name))
	switch about := Harmless(t.Description); {
	case about == "":
		b.WriteString(head + "\n")
	case columns(taskName(t.Name))+2+columns(about) <= s.wide():
		b.WriteString(head + "  " + about + "\n")
	default:
		b.WriteString(head + "\n" + strings.Join(s.hung(about, 2), "\n") + "\n")
	}
	f := facts{s: s, b: &b}
	if t.Agent != nil {
		f.agentTask(t.Agent)
	} else {
		f.command(t.Run)
	}
	if t.Agent == nil { // an agent works in the whole tree
		f.add("in", unless(t.Dir, "."))
	}
	f.add("declared", s.place(t.Pos))
	f.add("waits for", strings.Join(TaskNames(t.DependsOn), ", "))
	f.add("before", strings.Join(TaskNames(e.Before), ", "))
	f.add("jobs", strings.Join(e.Jobs, ", "))
	f.add("inputs", inputsText(t))
	f.add("tools", toolsText(t))
	f.add("reads", strings.Join(t.Reads, ", "))
	f.add("outputs", strings.Join(t.Outputs, ", "))
	f.add("dotenv", strings.Join(t.Dotenv, ", "))
	f.add("needs", missingSecrets(t))
	if t.Timeout > 0 {
		f.add("timeout", Duration(t.Timeout))
	}
	f.add("service", serviceText(t.Service))
	f.add("retry", retryText(t.Retry))
	cache := e.Receipt.Result
	switch why := e.Receipt.Reason; {
	case why != nil && cache == "hit": // it is a condition
		cache += ", " + *why
	case why != nil:
		cache += ": " + *why
	}
	f.add("cache", cache)
	for _, h := range t.OnFail {
		f.hook(h)
	}
	if e.Last == nil {
		f.add("last time", "in no recorded run")
	} else {
		f.add("last time", endedAfter(*e.Last)+", "+ago(e.LastAt, now)+", run "+e.LastRun)
	}
	b.WriteString("\n" + s.next(e.Type))
	s.put(b.String())
}

// Against shows what differs between what a task was made of in a run, where it had a status, and what it is made of now.
func (s *Screen) Against(task, run, status string, changed []string) {
	var b strings.Builder
	b.WriteString(s.paint(bold, taskName(task)) + "  against run " + run + " (" + strings.ReplaceAll(status, "_", " ") + " there)\n")
	if len(changed) == 0 {
		b.WriteString("  Nothing that it is made of differs.\n")
	}
	for _, line := range changed {
		b.WriteString(strings.Join(s.hung(Harmless(line), 2), "\n") + "\n")
	}
	s.put(b.String())
}

// facts are lines with a word before each, broken at the screen's width.
type facts struct {
	s *Screen
	b *strings.Builder
}

// wordColumns is the width of the words before facts.
const wordColumns = 10

// add writes one fact; nothing where it is empty.
func (f facts) add(word, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	const indent = wordColumns + 3
	lines := f.s.hung(Harmless(text), indent)
	lead := "  " + f.s.paint(dim, pad(word, wordColumns)) + " "
	if beside, ok := strings.CutPrefix(lines[0], strings.Repeat(" ", indent)); ok {
		lines[0] = lead + beside
	} else {
		f.b.WriteString(strings.TrimRight("  "+f.s.paint(dim, word), " ") + "\n")
	}
	f.b.WriteString(strings.Join(lines, "\n") + "\n")
}

// command shows a command whole, as it was written.
func (f facts) command(c pipeline.Command) {
	if c.Argv != nil {
		f.line("command", Command(c))
		return
	}
	word := "shell"
	for line := range strings.SplitSeq(strings.TrimSpace(harmlessLines(c.Shell.Value)), "\n") {
		f.line(word, untab(line))
		word = ""
	}
}

// line writes one fact that is not broken, so that it can be copied.
func (f facts) line(word, text string) {
	f.b.WriteString(strings.TrimRight("  "+f.s.paint(dim, pad(word, wordColumns))+" "+text, " ") + "\n")
}

func (f facts) hook(h pipeline.Hook) {
	switch {
	case h.Agent != nil:
		a := h.Agent
		where := "not in CI"
		if a.CI {
			where = "in CI with --heal"
		}
		f.add("on_fail", fmt.Sprintf("agent %s proposes a fix: %s, %s in all, %s",
			a.Use, english.Count(a.Budget.Attempts, "attempt"), Duration(a.Budget.WallClock), where))
		f.add("", prefixed("protects ", a.Protect))
		f.add("", prefixed("also verifies ", a.Verify))
		if a.PassSecrets {
			f.add("", "checks in the copy get secret() values")
		}
	case h.Run != nil:
		f.add("on_fail", "run "+Command(h.Run.Run)+timeoutOf(h.Run.Timeout))
	}
}

func timeoutOf(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return ", at most " + Duration(d)
}

func prefixed(with string, items []string) string {
	if len(items) == 0 {
		return ""
	}
	return with + strings.Join(items, ", ")
}

func unless(text, usual string) string {
	if text == usual {
		return ""
	}
	return text
}

func retryText(r pipeline.Retry) string {
	if r.Attempts < 2 {
		return ""
	}
	text := fmt.Sprintf("up to %d attempts", r.Attempts)
	if r.Delay > 0 {
		text += ", " + Duration(r.Delay) + " apart"
	}
	if len(r.OnExit) > 0 {
		codes := make([]string, len(r.OnExit))
		for i, c := range r.OnExit {
			codes[i] = fmt.Sprint(c)
		}
		text += ", only after exit " + strings.Join(codes, ", ")
	}
	return text
}

// missingSecrets returns the names that secret() asks for and that are not set.
func missingSecrets(t *pipeline.Task) string {
	texts := append([]pipeline.Text{t.Run.Shell}, t.Run.Argv...)
	for _, v := range t.Env {
		texts = append(texts, v.Text)
	}
	var names []string
	for _, text := range texts {
		names = append(names, text.Missing...)
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return ""
	}
	return strings.Join(names, ", ") + ": set in no environment variable, so the task cannot start"
}

// An EnvLine is one variable of a task, and an element of explain --env --json.
type EnvLine struct {
	Name   string   `json:"name"`
	Value  *string  `json:"value"`  // nil: it is secret, or another in each run
	From   string   `json:"from"`   // the layer it came from
	Over   []string `json:"over"`   // the layers whose value it replaced
	Secret bool     `json:"secret"` // the value contains a secret
}

// An Environment has the variables that a task would see.
type Environment struct {
	Task    string
	Lines   []EnvLine
	Dotenv  []string // dotenv files that are not there
	Unset   []string // names of pass_env that nobody has set
	Outside []string // names that are set in the shell and not passed
}

// Environ shows the environment of a task.
func (s *Screen) Environ(e Environment) {
	var b strings.Builder
	name, n := s.paint(bold, taskName(e.Task)), english.Count(len(e.Lines), "variable")
	b.WriteString("The environment of " + name + ": " + n + "\n")
	var names, froms []string
	for _, l := range e.Lines {
		names, froms = append(names, l.Name), append(froms, l.From)
	}
	wide, from := nameColumns(names, 28), nameColumns(froms, 18)
	for _, l := range e.Lines {
		value := "(process, start and boot of the run)"
		switch {
		case l.Secret:
			value = s.paint(yellow, "(hidden: contains a secret)")
		case l.Value != nil:
			value = Harmless(*l.Value)
		}
		line := "  " + pad(Harmless(l.Name), wide) + "  " + s.paint(dim, pad(Harmless(l.From), from)) + "  " + value
		if len(l.Over) > 0 {
			line += s.paint(dim, " (instead of "+Harmless(strings.Join(l.Over, ", "))+")")
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	for _, about := range []struct {
		says  string
		names []string
	}{
		{"dotenv files that are not there:", e.Dotenv},
		{"pass_env names that are not set:", e.Unset},
		{"Set in your shell and not passed (pass_env = [\"NAME\"] passes one):", e.Outside},
	} {
		if len(about.names) > 0 {
			b.WriteString("\n" + about.says + "\n" + s.words(strings.Join(about.names, ", "), "  "))
		}
	}
	s.put(b.String())
}

// serviceText says when a service is ready; empty: the task is none.
func serviceText(of *pipeline.Service) string {
	if of == nil {
		return ""
	}
	text := "ready once it has run for 0.2s"
	switch {
	case of.Command != nil:
		text = "ready when this exits with 0: " + Command(*of.Command)
	case of.Port != 0:
		text = fmt.Sprintf("ready when something listens on port %d", of.Port)
	case of.Log != "":
		text = "ready when a line of its output matches " + of.Log
	default:
		return text
	}
	return text + ", within " + Duration(of.Timeout)
}

// inputsText names the inputs of a task.
func inputsText(t *pipeline.Task) string {
	if t.Auto {
		return "what it was seen to read"
	}
	text := strings.Join(t.Inputs, ", ")
	if t.Strict {
		text += ", and it may open nothing else of the tree"
	}
	return text
}

// toolsText names the commands of tools.
func toolsText(t *pipeline.Task) string {
	var all []string
	for _, tool := range t.Tools {
		all = append(all, tool.Name+" by "+strings.Join(tool.Argv, " "))
	}
	return strings.Join(all, ", ")
}
