package main

import (
	"slices"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

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
	does := "run it again"
	if len(names) > 1 {
		does = "run them again"
		if len(names) > most {
			does, names = "run all again", p.names
		}
	}
	next = []view.Next{{Does: does, Type: vars.typed(p.prog, p.again(names, vars, len(failed) > 1)...)}}
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
	if task == nil || p.prog.Env(hooks.Mark) != "" {
		return false
	}
	return slices.ContainsFunc(task.OnFail, func(h pipeline.Hook) bool { return h.Agent != nil && (!p.flags.heal.ci || h.Agent.CI) })
}
