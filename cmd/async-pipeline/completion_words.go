// What a shell offers while somebody types: names of tasks, jobs, runs and proposals. It is read from PIPELINE.hcl and the
// records in passing: nothing is settled, swept, started, written or complained about. What takes long is left out.
package main

import (
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/diagram"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

const (
	patience = 100 * time.Millisecond // how long somebody who pressed a key waits for names
	someIDs  = 20                     // runs that are offered, the newest
)

// completing says whether a shell asks what a word could become.
func (h *program) completing() bool {
	return len(h.args) > 0 && (h.args[0] == cobra.ShellCompRequestCmd || h.args[0] == cobra.ShellCompNoDescRequestCmd)
}

// An offer gives the words that the next argument of a verb could be.
type offer func(l *look, args []string) []cobra.Completion

// takeFiles are the verbs whose arguments are files: those the shell knows best.
var takeFiles = []string{"fmt", "fix import", "policy check"}

// offers are the other verbs that take arguments, without the program's name.
var offers = map[string]offer{
	"run":        (*look).names,
	"graph":      (*look).names,
	"explain":    (*look).explained,
	"heal":       (*look).runThenTask,
	"logs":       (*look).runThenTask,
	"context":    (*look).runThenTask,
	"fix show":   (*look).proposals,
	"fix diff":   (*look).proposals,
	"fix apply":  (*look).proposals,
	"fix revert": (*look).proposals,
	"fix reject": (*look).proposals,
	"fix audit":  (*look).proposals,
	"fix replay": (*look).proposals,
	"completion": func(_ *look, args []string) []cobra.Completion { return once(args, shells) },
	"man":        (*look).verbs,
	"help":       (*look).verbs,
}

// values are the words that a flag of a verb could be given, where they can be counted. Other flags complete names of files.
var values = map[string][]string{
	"run --sandbox":        tiers,
	"fix replay --sandbox": tiers,
	"heal --sandbox":       tiers,
	"run --progress":       {progressAuto, "live", "plain", "json"},
	"heal --progress":      {progressAuto, "live", "plain"},
	"graph --format":       diagram.Formats,
}

var tiers = []string{string(sandbox.View), string(sandbox.Fence), string(sandbox.None)}

// offerWords ties offers and values to the verbs of root.
func (h *program) offerWords(root *cobra.Command) {
	root.SetErr(io.Discard)
	var tie func(c *cobra.Command)
	tie = func(c *cobra.Command) {
		verb := verbOf(c)
		c.ValidArgsFunction = func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
			words := offers[verb]
			switch {
			case slices.Contains(takeFiles, verb):
				return nil, cobra.ShellCompDirectiveDefault
			case words == nil:
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			found := inTime(func() []cobra.Completion { return words(&look{h: h, command: c}, args) })
			return begunWith(found, begun), cobra.ShellCompDirectiveNoFileComp
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if known := values[verb+" --"+f.Name]; known != nil {
				offer := cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp)
				_ = c.RegisterFlagCompletionFunc(f.Name, offer) // it exists, and has none yet
			}
		})
		for _, sub := range c.Commands() {
			tie(sub)
		}
	}
	tie(root)
}

// begunWith gives the words that go on with what is typed. Where the shell has taken the quotes out of the name of an instance,
// as in test[linux, the words are without them too, as unquoted understands them.
func begunWith(words []cobra.Completion, begun string) []cobra.Completion {
	var all []cobra.Completion
	_, key, inKey := strings.Cut(begun, "[")
	for _, w := range words {
		if name, what, _ := strings.Cut(w, "\t"); inKey && key != "" && key[0] != '"' {
			bare := strings.Replace(strings.Replace(name, `["`, "[", 1), `"]`, "]", 1)
			if unquoted([]string{bare})[0] == name {
				w = cobra.CompletionWithDesc(bare, what)
			}
		}
		if strings.HasPrefix(w, begun) {
			all = append(all, w)
		}
	}
	return all
}

// verbOf is the verb without the program's name: "fix apply".
func verbOf(c *cobra.Command) string {
	return strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
}

// inTime gives what f finds in patience, else nothing: the program ends before f does.
func inTime(f func() []cobra.Completion) []cobra.Completion {
	found := make(chan []cobra.Completion, 1)
	go func() { found <- f() }()
	select {
	case words := <-found:
		return words
	case <-time.After(patience):
		return nil
	}
}

// A look is one question of a shell. It belongs to the goroutine that inTime started.
type look struct {
	h       *program
	command *cobra.Command // the verb, its flags read
}

// config reads PIPELINE.hcl, or is nil. Its secrets are kept out of what is printed.
func (l *look) config() *pipeline.Config {
	dir, err := l.h.Start()
	if err != nil {
		return nil
	}
	file, err := hclfile.Find(dir)
	if err != nil {
		return nil
	}
	c, err := hclfile.Load(file, l.options())
	if err != nil || c == nil {
		return nil
	}
	l.h.Redact(c)
	return c
}

func (l *look) options() hclfile.Options {
	files, _ := l.h.VarFilePaths() // one that is not there yet gives no names
	o := hclfile.Options{Env: l.h.Lookup, Vars: map[string]string{}, VarFiles: files}
	for _, v := range l.h.Vars {
		if name, value, ok := strings.Cut(v, "="); ok {
			o.Vars[name] = value
		}
	}
	return o
}

func (l *look) store() *record.Store {
	root, err := l.h.Root()
	if err != nil {
		return nil
	}
	return record.At(root)
}

// names are jobs and tasks, without those that are typed already.
func (l *look) names(args []string) []cobra.Completion {
	c := l.config()
	if c == nil {
		return nil
	}
	var words []cobra.Completion
	for _, j := range c.Jobs {
		words = add(words, args, j.Name, "job: "+strings.Join(j.Tasks, ", "))
	}
	for i, t := range c.Tasks {
		if t.Base != "" && t.Base != t.Name && (i == 0 || c.Tasks[i-1].Base != t.Base) {
			words = add(words, args, t.Base, "every "+t.Base+"[…]")
		}
	}
	return append(words, l.tasks(c, args)...)
}

func (l *look) tasks(c *pipeline.Config, args []string) []cobra.Completion {
	var words []cobra.Completion
	for _, t := range c.Tasks {
		words = add(words, args, t.Name, t.Description)
	}
	return words
}

// explained is a task of PIPELINE.hcl or, with --run, a run and a task of it.
func (l *look) explained(args []string) []cobra.Completion {
	if recorded, err := l.command.Flags().GetBool("run"); err == nil && recorded {
		return l.runThenTask(args)
	}
	c := l.config()
	if c == nil || len(args) > 0 {
		return nil
	}
	return l.tasks(c, nil)
}

// runThenTask is RUN and then TASK of it, or TASK of the newest run where that may stand alone. heal and context are for what
// failed.
func (l *look) runThenTask(args []string) []cobra.Completion {
	s := l.store()
	if s == nil || len(args) > 1 {
		return nil
	}
	failed := verbOf(l.command) == "heal" || verbOf(l.command) == "context"
	if len(args) == 1 {
		e, err := s.Look(args[0])
		if err != nil {
			return nil
		}
		return recorded(e.Sealed, failed)
	}
	ids, err := s.IDs()
	if err != nil {
		return nil
	}
	var runs, tasks []cobra.Completion
	newest := true
	for _, id := range ids[:min(len(ids), someIDs)] {
		e := s.Entry(id)
		if e.Sealed == nil {
			if !failed {
				runs = add(runs, nil, id, "no verdict")
			}
			continue
		}
		if newest {
			newest = false
			runs = add(runs, nil, "latest", about(e.Sealed))
			if l.command.Name() != "context" {
				tasks = recorded(e.Sealed, failed)
			}
		}
		runs = add(runs, nil, id, about(e.Sealed))
	}
	return append(tasks, runs...)
}

// about is a run in a few words.
func about(s *record.Sealed) string {
	text := s.Status
	for _, t := range s.Tasks {
		if t.Status == record.Failed || t.Status == record.TimedOut {
			return text + ": " + t.Name
		}
	}
	return text
}

func recorded(s *record.Sealed, failed bool) []cobra.Completion {
	if s == nil {
		return nil
	}
	var words []cobra.Completion
	for _, t := range s.Tasks {
		if !failed || t.Status == record.Failed || t.Status == record.TimedOut {
			words = add(words, nil, t.Name, t.Status)
		}
	}
	return words
}

// proposals are tasks of the newest run that has a proposal, and runs that have one; behind a run, its tasks.
func (l *look) proposals(args []string) []cobra.Completion {
	s := l.store()
	if s == nil || len(args) > 1 {
		return nil
	}
	items, _ := l.h.fixes(s.Root).List() // what cannot be read is not offered
	items = slices.DeleteFunc(items, func(i fix.Item) bool { return i.State != fix.Proposed })
	var words []cobra.Completion
	newest := ""
	for _, i := range items {
		newest = max(newest, i.Run)
	}
	for _, i := range items {
		if len(args) == 1 && strings.HasPrefix(i.Run, args[0]) || (len(args) == 0 || args[0] == "latest") && i.Run == newest {
			words = add(words, nil, i.Name, verdictOf(i))
		}
	}
	if len(args) == 1 {
		return words
	}
	for _, i := range items {
		if !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, i.Run+"\t") }) {
			words = add(words, nil, i.Run, i.Name+" "+verdictOf(i))
		}
	}
	return words
}

func verdictOf(i fix.Item) string {
	text := i.Disposition
	if i.Verdict != nil {
		text = *i.Verdict + ", " + text
	}
	return text
}

// verbs are the verbs below what is typed.
func (l *look) verbs(args []string) []cobra.Completion {
	c := l.command.Root()
	for _, a := range args {
		i := slices.IndexFunc(c.Commands(), func(s *cobra.Command) bool { return s.Name() == a })
		if i < 0 {
			return nil
		}
		c = c.Commands()[i]
	}
	var words []cobra.Completion
	for _, s := range c.Commands() {
		if isVerb(s) {
			words = add(words, nil, s.Name(), s.Short)
		}
	}
	return words
}

func once(args, words []string) []cobra.Completion {
	if len(args) > 0 {
		return nil
	}
	return words
}

// add appends a word with what it is, in one line. A word that is typed already is left out, and one that no shell could be
// given.
func add(words []cobra.Completion, typed []string, word, what string) []cobra.Completion {
	if word == "" || slices.Contains(typed, word) || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return words
	}
	return append(words, cobra.CompletionWithDesc(word, view.Harmless(strings.Join(strings.Fields(what), " "))))
}
