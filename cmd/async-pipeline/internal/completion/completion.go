// Package completion lets a shell complete verbs, flags, tasks, jobs, runs and proposals. It reads PIPELINE.hcl and
// the records; it settles, starts, writes and prints nothing, and leaves out what takes long.
package completion

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/project"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/verb"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/knowncli"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/diagram"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

const (
	patience = 100 * time.Millisecond // how long a person who pressed a key waits
	someRuns = 20                     // how many runs are offered, the newest
)

// An offer returns the words that the next argument of a verb could be.
type offer func(l *lookup, args []string) []cobra.Completion

// takeFiles are the verbs whose arguments are files, which the shell completes itself.
var takeFiles = []string{"fmt", "fix import", "policy check"}

// offers are the other verbs that take arguments, without the program's name.
var offers = map[string]offer{
	"run":          (*lookup).names,
	"graph":        (*lookup).names,
	"explain":      (*lookup).explained,
	"heal":         (*lookup).runThenTask,
	"logs":         (*lookup).runThenTask,
	"context":      (*lookup).runThenTask,
	"fix show":     (*lookup).proposals,
	"fix diff":     (*lookup).proposals,
	"fix apply":    (*lookup).proposals,
	"fix revert":   (*lookup).proposals,
	"fix reject":   (*lookup).proposals,
	"fix audit":    (*lookup).proposals,
	"fix replay":   (*lookup).proposals,
	"agents bench": (*lookup).agents,
	"agents probe": (*lookup).clis,
	"completion":   func(_ *lookup, args []string) []cobra.Completion { return once(args, shells) },
	"man":          (*lookup).verbs,
	"help":         (*lookup).verbs,
}

// Values are the words that a flag can be given, where they can be listed. Other flags complete file names.
var Values = map[string][]string{
	"run --sandbox":          tiers,
	"fix replay --sandbox":   tiers,
	"heal --sandbox":         tiers,
	"agents bench --sandbox": tiers,
	"run --progress":         {"auto", "live", "plain", "json"},
	"heal --progress":        {"auto", "live", "plain"},
	"graph --format":         diagram.Formats,
}

// Verbs returns the names of the verbs whose arguments are completed.
func Verbs() []string { return slices.AppendSeq(slices.Clone(takeFiles), maps.Keys(offers)) }

var tiers = []string{string(sandbox.View), string(sandbox.Fence), string(sandbox.None)}

// Register adds the words to the verbs of root. p says where they are looked up, once the flags are parsed.
func Register(root *cobra.Command, p *project.Project) {
	root.SetErr(io.Discard)
	var tie func(c *cobra.Command)
	tie = func(c *cobra.Command) {
		name := verb.Name(c)
		c.ValidArgsFunction = lookedUp(p, offers[name])
		if slices.Contains(takeFiles, name) {
			c.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
		}
		switch name { // the flags exist and have none yet
		case "policy check":
			_ = c.RegisterFlagCompletionFunc("task", lookedUp(p, (*lookup).explained))
		case "run":
			_ = c.RegisterFlagCompletionFunc("resume", lookedUp(p, (*lookup).runs))
		case "explain":
			_ = c.RegisterFlagCompletionFunc("against", lookedUp(p, (*lookup).runs))
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if known := Values[name+" --"+f.Name]; known != nil {
				offer := cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp)
				_ = c.RegisterFlagCompletionFunc(f.Name, offer) // the flag exists and has none yet
			}
		})
		for _, sub := range c.Commands() {
			tie(sub)
		}
	}
	tie(root)
}

// lookedUp returns a completion with the words of an offer; a nil offer has none.
func lookedUp(p *project.Project, words offer) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if words == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found := inTime(func() []cobra.Completion { return words(&lookup{p: p, command: c}, args) })
		return begunWith(found, begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// begunWith returns the words that begin with what is typed. Where the shell has removed the quotes from the name
// of an instance, as in test[linux, the words are without them too.
func begunWith(words []cobra.Completion, begun string) []cobra.Completion {
	var all []cobra.Completion
	_, key, inKey := strings.Cut(begun, "[")
	for _, w := range words {
		if name, what, _ := strings.Cut(w, "\t"); inKey && key != "" && key[0] != '"' {
			bare := strings.Replace(strings.Replace(name, `["`, "[", 1), `"]`, "]", 1)
			if pipeline.IsNamed(name, bare) {
				w = cobra.CompletionWithDesc(bare, what)
			}
		}
		if strings.HasPrefix(w, begun) {
			all = append(all, w)
		}
	}
	return all
}

// inTime returns what f finds within patience, else nothing; the program ends before f does.
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

// A lookup is one question of a shell. It belongs to the goroutine that inTime started.
type lookup struct {
	p       *project.Project
	command *cobra.Command // the verb, with parsed flags
}

// config reads PIPELINE.hcl, or returns nil. Its secrets are redacted from what is printed.
func (l *lookup) config() *pipeline.Config {
	file, err := l.p.File()
	if err != nil {
		return nil
	}
	c, _, err := l.p.Read(file)
	if err != nil {
		return nil
	}
	return c
}

func (l *lookup) store() *record.Store {
	root, err := l.p.Root()
	if err != nil {
		return nil
	}
	return record.At(root)
}

// names returns jobs and tasks, without those that are typed already.
func (l *lookup) names(args []string) []cobra.Completion {
	c := l.config()
	if c == nil {
		return nil
	}
	var words []cobra.Completion
	for _, j := range c.Jobs {
		words = add(words, args, j.Name, "job: "+strings.Join(j.Tasks, ", "))
	}
	for i, t := range c.Tasks {
		for end, letter := range t.Base {
			if file := t.Base[:end]; letter == ':' && (i == 0 || !strings.HasPrefix(c.Tasks[i-1].Base, file+":")) {
				words = add(words, args, file, "every task of "+file)
			}
		}
		if t.Base != "" && t.Base != t.Name && (i == 0 || c.Tasks[i-1].Base != t.Base) {
			words = add(words, args, t.Base, "every "+t.Base+"[…]")
		}
	}
	return l.tasks(words, c, args)
}

func (l *lookup) tasks(words []cobra.Completion, c *pipeline.Config, args []string) []cobra.Completion {
	for _, t := range c.Tasks {
		words = add(words, args, t.Name, t.Description)
	}
	return words
}

// agents returns the agents, without those that are typed already.
func (l *lookup) agents(args []string) []cobra.Completion {
	c := l.config()
	if c == nil {
		return nil
	}
	var words []cobra.Completion
	for _, a := range c.Agents {
		words = add(words, args, a.Name, "")
	}
	return words
}

// clis returns the agent CLIs, without those that are typed already.
func (l *lookup) clis(args []string) (words []cobra.Completion) {
	for _, name := range knowncli.Names() {
		words = add(words, args, name, "")
	}
	return words
}

// explained returns tasks of PIPELINE.hcl or, with --run, runs and their tasks.
func (l *lookup) explained(args []string) []cobra.Completion {
	if recorded, err := l.command.Flags().GetBool("run"); err == nil && recorded {
		return l.runThenTask(args)
	}
	c := l.config()
	if c == nil || len(args) > 0 {
		return nil
	}
	return l.tasks(nil, c, nil)
}

// runThenTask returns runs, then tasks of the run; also tasks of the newest run where RUN may be left out. heal and
// context take failed tasks only.
func (l *lookup) runThenTask(args []string) []cobra.Completion {
	s := l.store()
	if s == nil || len(args) > 1 {
		return nil
	}
	failed := verb.Name(l.command) == "heal" || verb.Name(l.command) == "context"
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
	for _, id := range ids[:min(len(ids), someRuns)] {
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

// runs returns runs that have a verdict.
func (l *lookup) runs([]string) (words []cobra.Completion) {
	s := l.store()
	if s == nil {
		return nil
	}
	ids, err := s.IDs()
	if err != nil {
		return nil
	}
	for _, id := range ids[:min(len(ids), someRuns)] {
		e := s.Entry(id)
		if e.Sealed == nil {
			continue
		}
		if words == nil {
			words = add(words, nil, "latest", about(e.Sealed))
		}
		words = add(words, nil, id, about(e.Sealed))
	}
	return words
}

// about returns a run in a few words.
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

// proposals returns tasks of the newest run that has a proposal, and runs that have one; after a run, its tasks.
func (l *lookup) proposals(args []string) []cobra.Completion {
	s := l.store()
	if s == nil || len(args) > 1 {
		return nil
	}
	items, _ := (&fix.Store{Root: s.Root, Dir: s.Dir}).List() // what cannot be read is not offered
	items = slices.DeleteFunc(items, func(i fix.Item) bool { return i.State != fix.Proposed })
	var words []cobra.Completion
	newest := ""
	for _, i := range items {
		newest = max(newest, i.Run)
	}
	for _, i := range items {
		if len(args) == 1 && strings.HasPrefix(i.Run, args[0]) ||
			(len(args) == 0 || args[0] == "latest") && i.Run == newest {
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

// verbs returns the verbs below what is typed.
func (l *lookup) verbs(args []string) []cobra.Completion {
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
		if verb.Listed(s) {
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

// add appends a word with its description, in one line. It leaves out words that are typed already and those that
// no shell can be given.
func add(words []cobra.Completion, typed []string, word, what string) []cobra.Completion {
	if word == "" || slices.Contains(typed, word) ||
		strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return words
	}
	return append(words, cobra.CompletionWithDesc(word, view.Harmless(strings.Join(strings.Fields(what), " "))))
}

// shells are the shells that there is a script for.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// Script returns what makes a shell complete the words of root.
func Script(root *cobra.Command, shell string) ([]byte, error) {
	var script bytes.Buffer
	var err error
	switch shell {
	case "bash":
		if err = root.GenBashCompletionV2(&script, true); err == nil {
			script.WriteString(strings.ReplaceAll(bashWords+bashQuotes, "PROGRAM", root.Name()))
		}
	case "zsh":
		err = root.GenZshCompletion(&script)
	case "fish":
		err = root.GenFishCompletion(&script, true)
	case "powershell":
		err = root.GenPowerShellCompletionWithDesc(&script)
	default:
		err = exit.Misused("%q is not a shell with completion\nwrite %s", shell, strings.Join(shells, ", "))
	}
	return script.Bytes(), err
}

// Asked reports whether the arguments of the program are a shell's question for words.
func Asked(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}
