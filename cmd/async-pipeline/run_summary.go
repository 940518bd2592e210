package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/person"
	"github.com/async-pipeline/async-pipeline/internal/testreport"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// tailBytes is how much of a log's end is read for the summary.
const tailBytes = 32 << 10

// summary prints how the run ended and what to type next.
func (p *runCall) summary(s *record.Sealed) {
	failed := failedTasks(s)
	// the first cause first
	slices.SortStableFunc(failed, func(a, b *record.Task) int { return endOf(a).Compare(endOf(b)) })
	var failures []view.Failure
	for _, t := range failed[:min(len(failed), view.MostFailures)] {
		failures = append(failures, p.failure(s, t, min(len(failed), view.MostFailures)))
	}
	next, note := p.next(s, failed)
	next = append(takePatches(p.prog, p.config.Root, s.Dir, s.Tasks), next...)
	p.screen.Summary(s.Run, failures, criticalPath(s.Tasks, p.graph.DependsOn), next, note)
}

// failedTasks returns the tasks of a run that failed, in its order.
func failedTasks(s *record.Sealed) (all []*record.Task) {
	for i := range s.Tasks {
		if failed(s.Tasks[i]) {
			all = append(all, &s.Tasks[i])
		}
	}
	return all
}

// endOf returns when a task ended; zero for a task that was not started.
func endOf(t *record.Task) time.Time {
	if t.StartedAt == nil || t.DurationMS == nil {
		return time.Time{}
	}
	return t.StartedAt.Add(time.Duration(*t.DurationMS) * time.Millisecond)
}

// failure returns one of several failures that are shown.
func (p *runCall) failure(s *record.Sealed, t *record.Task, of int) view.Failure {
	f := view.Failure{Task: *t}
	if task := p.config.Task(t.Name); task != nil {
		f.Command, f.Dir = view.Does(task), task.Dir
	}
	if t.Log != nil {
		f.Log = filepath.Join(s.Dir, filepath.FromSlash(t.Log.Path))
		if !p.progress.Shown(t.Name) {
			tail, err := s.Tail(t.Name, tailBytes)
			if err != nil {
				tail = []byte("(the log cannot be read: " + err.Error() + ")")
			}
			f.Tail = tail
		}
		f.Failing = failingOf(s, t, of)
	}
	return f
}

// criticalPath returns the chain of tasks that took as long as the run, with their times.
func criticalPath(tasks []record.Task, after func(task string) []string) []view.Stretch {
	took := map[string]time.Duration{}
	for _, t := range tasks {
		took[t.Name], _ = t.Delayed()
	}
	var path []view.Stretch
	for _, name := range record.CriticalPath(tasks, after) {
		path = append(path, view.Stretch{Task: name, Took: took[name]})
	}
	return path
}

// namesBytes is how much of the ends of logs, in bytes, is searched for failing tests, of all failed tasks together:
// reading takes some tenths of a second.
const namesBytes = 1 << 20

// failingOf returns the tests that the end of a failed task's log names. of is how many failed tasks share the
// budget.
func failingOf(s *record.Sealed, t *record.Task, of int) view.Failing {
	limit := max(namesBytes/of, tailBytes)
	log, err := s.Tail(t.Name, limit)
	if err != nil {
		return view.Failing{} // said where the end of the log is shown
	}
	cut := len(log) == limit
	if cut {
		log = log[bytes.IndexByte(log, '\n')+1:] // the first line is torn
	}
	return view.Failing{Names: testreport.Tests(log), MayBeMore: cut || t.Log.LeftOutBytes > 0}
}

// failingIn returns the failing tests of as many failed tasks as a summary shows.
func failingIn(s *record.Sealed) map[string]view.Failing {
	failed := slices.DeleteFunc(failedTasks(s), func(t *record.Task) bool { return t.Log == nil })
	failed = failed[:min(len(failed), view.MostFailures)]
	all := map[string]view.Failing{}
	for _, t := range failed {
		all[t.Name] = failingOf(s, t, len(failed))
	}
	return all
}

// noteInterrupted names the runs since the newest verdict that were ended without one. After the next verdict they
// are old, so each is noted once.
func noteInterrupted(prog *program, store *record.Store) {
	ids, _ := store.Unfinished() // a store that cannot be read is said by what needs it
	for _, id := range ids {
		prog.Messages().Note("run " + id + " was ended before its verdict; what it recorded is in " +
			prog.Messages().Path(filepath.Join(store.Dir, "runs", id)))
	}
}

// next returns the commands about the failed tasks that a person may want: they do the same as this run did, and no
// more. The note says what to fill in first.
func (p *runCall) next(s *record.Sealed, failed []*record.Task) (next []view.Next, note string) {
	const most = 10 // names on a command line that anybody would type
	if len(failed) == 0 {
		return nil, ""
	}
	var names, healed []string
	for _, t := range failed {
		names = append(names, t.Name)
		if s.Healing.Mode != "on" && p.heals(t) {
			healed = append(healed, t.Name)
		}
	}
	vars := repeatedVars(p.prog, p.config)
	behind := ""
	for _, t := range failed {
		if len(t.Args) == 0 {
			continue
		}
		if len(failed) > 1 { // arguments are for one name
			names = p.names
		}
		behind = behindTask(t.Args)
		if t.ArgsHidden {
			vars.hidden = append(vars.hidden, "a secret among the arguments")
			behind = behindHidden(p.config.Task(t.Name))
		}
	}
	does := "run it again"
	if len(names) > 1 {
		does = "run them again"
		if len(names) > most {
			does, names = "run all again", p.names
		}
	}
	if slices.ContainsFunc(failed, func(t *record.Task) bool { return t.Service != nil }) { // alone it would run until it is interrupted
		does, names = "run all again", p.names
	}
	next = []view.Next{{Does: does, Type: vars.typed(p.prog, p.again(names, vars, len(failed) > 1)...) + behind}}
	heal := func(does string, task ...string) {
		args := append([]string{"heal"}, append(p.flags.heal.typed(), vars.words...)...)
		next = append(next, view.Next{Does: does, Type: vars.typed(p.prog, append(append(args, s.ID), task...)...)})
	}
	switch {
	case len(healed) == 1:
		heal("have a fix proposed", healed[0])
	case len(healed) > 1:
		heal("have fixes proposed")
	}
	return next, vars.note()
}

// again returns a run with the flags of this one that change what is carried out. It keeps --no-heal, so that the
// command starts no agent that this run did not.
func (p *runCall) again(names []string, vars variableFlags, several bool) []string {
	args := []string{"run"}
	for _, f := range []struct {
		typed bool
		word  string
	}{
		{p.flags.only, "--only"},
		{p.flags.keepGoing && several, "--keep-going"},
		{p.flags.noHeal, "--no-heal"},
		{p.flags.heal.asked, "--heal"},
	} {
		if f.typed {
			args = append(args, f.word)
		}
	}
	args = append(args, p.flags.heal.typed()...)
	args = append(args, vars.words...)
	return append(args, names...)
}

// heals reports whether `heal` would let an agent answer a failure of a task here.
func (p *runCall) heals(t *record.Task) bool {
	task := p.config.Task(t.Name)
	if task == nil || person.Hook(p.prog.Env) != "" {
		return false
	}
	return slices.ContainsFunc(task.OnFail, func(h pipeline.Hook) bool { return h.Agent != nil && (!p.flags.heal.ci || h.Agent.CI) })
}

// What was typed besides the names, for a command that is to do the same.

// hiddenValue replaces a value that is not shown.
const hiddenValue = "…"

// longValue is the longest value, in bytes, that is repeated in a command.
const longValue = 1000

// variableFlags are the flags --var and --var-file of this call as they are typed again.
type variableFlags struct {
	words  []string // not quoted
	hidden []string // which values are not among them, and why
}

// repeatedVars returns the variables of this call for another command. Sensitive values, and those that could not be
// copied from a screen, are replaced.
func repeatedVars(prog *program, c *pipeline.Config) variableFlags {
	var g variableFlags
	for _, file := range prog.VarFiles {
		g.words = append(g.words, "--var-file", file)
	}
	for _, v := range prog.Vars {
		name, value, _ := strings.Cut(v, "=")
		why := ""
		switch {
		case sensitive(c, name, value):
			why = "sensitive"
		case len(value) > longValue:
			why = "long"
		case view.Harmless(value) != value:
			why = "not all of it can be shown"
		}
		if why != "" {
			value = hiddenValue
			g.hidden = append(g.hidden, name+" ("+why+")")
		}
		g.words = append(g.words, "--var", name+"="+value)
	}
	return g
}

// sensitive reports whether a value is declared sensitive or contains a secret.
func sensitive(c *pipeline.Config, name, value string) bool {
	for _, s := range c.Secrets {
		if s.Name == "var."+name || s.Value != "" && strings.Contains(value, s.Value) {
			return true
		}
	}
	return false
}

// typed returns a command with these variables. A replaced value is not quoted, so that a person sees that something
// is to be filled in.
func (g variableFlags) typed(prog *program, args ...string) string {
	text := prog.Typed(args...)
	for i, w := range g.words {
		if i > 0 && g.words[i-1] == "--var" && strings.HasSuffix(w, "="+hiddenValue) {
			text = strings.ReplaceAll(text, " "+view.Quote(w), " "+w)
		}
	}
	return text
}

// note returns a sentence on the replaced values, or "".
func (g variableFlags) note() string {
	if len(g.hidden) == 0 {
		return ""
	}
	what := "the value of " + g.hidden[0]
	if len(g.hidden) > 1 {
		what = "the values of " + strings.Join(g.hidden, ", ")
	}
	return fmt.Sprintf("%s stands for %s: put it in.", hiddenValue, what)
}
