package resume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

// Left is what is left to do of an earlier run. A task that passed there and is not run again is in Taken.Passed.
type Left struct {
	Past    *Past
	Names   []string          // the tasks that are to be selected, with their services and nothing else; none: nothing is left
	Again   map[string]Reason // those of Names that have a reason to run; the cache has the others, which are there for their outputs
	Taken   record.Resumed    // what the record of the new run says
	Unknown int               // of Taken.Passed: whether they would pass now is not known
}

// A Reason is why a task runs.
type Reason struct {
	Passed bool   // it passed there, and runs all the same
	After  string // a task that it depends on, which runs; empty: see Text
	Text   string
}

// Left decides which tasks run. k is a cache of p.Config that only looks (cache.Cache.Peek). The error is a
// pipeline.Errors where the configuration has no order of the tasks.
func (p *Past) Left(ctx context.Context, k *cache.Cache, secrets *redact.Set) (*Left, error) {
	g, err := pipeline.Select(p.Config, p.names, false)
	if err != nil {
		return nil, err
	}
	changed, err := p.changed(g, secrets)
	if err != nil {
		return nil, err
	}
	added := p.added(g, changed)
	needed := map[string]bool{} // services that a task starts
	for _, t := range g.Tasks() {
		for _, s := range p.Config.Services(t) {
			needed[s.Name] = true
		}
	}
	l := &Left{Past: p, Again: map[string]Reason{}, Taken: record.Resumed{Run: p.Run, Passed: []string{}}}
	for _, t := range g.Tasks() { // dependencies first
		then, was := p.ended[t.Name]
		if t.Service != nil {
			if !needed[t.Name] && hasFailed(then) {
				l.Again[t.Name] = Reason{Text: p.recorded(t, false)}
				l.Names = append(l.Names, t.Name)
			}
			continue
		}
		if !was && !added[t.Name] { // it was left out then, too
			continue
		}
		why := Reason{Passed: hasPassed(then), Text: p.recorded(t, changed[t.Name])}
		if why.Text == "" {
			why.After = l.runsBefore(t)
		}
		if why.Text == "" && why.After == "" {
			if why.Text, err = p.stale(ctx, k, secrets, t); err != nil {
				return nil, err
			}
		}
		switch {
		case why.After != "" || why.Text != "":
			l.Again[t.Name] = why
			l.Names = append(l.Names, t.Name)
		case isStored(ctx, k, t):
			l.Names = append(l.Names, t.Name)
		default:
			l.Taken.Passed = append(l.Taken.Passed, t.Name)
			if !isCompared(t) {
				l.Unknown++
			}
		}
	}
	l.Names = p.Config.WithServices(l.Names)
	return l, nil
}

// changed returns the tasks whose definition is not the one that they had in the earlier run.
func (p *Past) changed(g *pipeline.Graph, secrets *redact.Set) (map[string]bool, error) {
	changed := map[string]bool{}
	for _, t := range g.Tasks() {
		then, was := p.ended[t.Name]
		if !was {
			continue
		}
		print, err := run.Fingerprint(t, secrets)
		if err != nil {
			return nil, err
		}
		changed[t.Name] = print != then.print
	}
	return changed, nil
}

// added returns the tasks that were not in the earlier run and that a changed task needs.
func (p *Past) added(g *pipeline.Graph, changed map[string]bool) map[string]bool {
	added := map[string]bool{}
	var need func(t *pipeline.Task)
	need = func(t *pipeline.Task) {
		for _, name := range t.DependsOn {
			if _, was := p.ended[name]; !was && !added[name] {
				added[name] = true
				need(p.Config.Task(name))
			}
		}
	}
	for _, t := range g.Tasks() {
		if changed[t.Name] {
			need(t)
		}
	}
	return added
}

// recorded returns why a task runs by what is recorded of it alone, or "".
func (p *Past) recorded(t *pipeline.Task, changed bool) string {
	then, was := p.ended[t.Name]
	switch {
	case !was:
		return "new"
	case then.Status == "":
		return "its run is gone"
	case !hasPassed(then):
		return strings.ReplaceAll(then.Status, "_", " ") + " there"
	case changed:
		return "its definition changed"
	}
	for _, s := range p.Config.Services(t) {
		if hasFailed(p.ended[s.Name]) { // what it passed with was no service
			return fmt.Sprintf("service %s failed there", pipeline.ShownName(s.Name))
		}
	}
	return ""
}

func hasPassed(t ended) bool { return t.Status == record.Passed || t.Status == record.Cached }

func hasFailed(t ended) bool { return t.Status == record.Failed || t.Status == record.TimedOut }

// runsBefore returns the first task that t depends on and that has a reason to run, or "".
func (l *Left) runsBefore(t *pipeline.Task) string {
	for _, name := range t.DependsOn {
		if _, again := l.Again[name]; again {
			return name
		}
	}
	return ""
}

// stale returns why a task runs again that passed and is defined as it was, or "".
func (p *Past) stale(ctx context.Context, k *cache.Cache, secrets *redact.Set, t *pipeline.Task) (string, error) {
	switch missing, err := run.MissingOutput(p.Config.Root, t); {
	case err != nil:
		return "", err
	case missing != "":
		return fmt.Sprintf("output %s missing", missing), nil
	case !isCompared(t):
		return "", nil
	}
	r, err := record.ReadReceipt(p.ended[t.Name].dir, t.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && r.MadeOf == nil:
		return "what it was made of is not recorded", nil
	case err != nil:
		return err.Error(), nil //nolint:nilerr // a reason to run again
	case r.Unchanged != nil && !*r.Unchanged:
		return "what it was made of changed while it ran, or may have", nil
	}
	changed, err := k.Against(ctx, t, r.MadeOf)
	if err != nil {
		return err.Error(), nil //nolint:nilerr // a reason to run again
	}
	if len(changed) == 0 && t.Cache.NoOutputs && len(t.Outputs) > 0 { // only the cache knows whether they are as it made them
		if e := k.Look(ctx, t); e != nil && e.Result == cache.Miss {
			changed = e.Why
		}
	}
	return secrets.String((&cache.Entry{Why: changed}).Reason()), nil
}

// isCompared reports whether records of a task tell what it was made of.
func isCompared(t *pipeline.Task) bool { return t.HasInputs() && !t.Cache.Disabled }

// isStored reports whether the cache has the result of a task with outputs: those of the tree may be of another run.
func isStored(ctx context.Context, k *cache.Cache, t *pipeline.Task) bool {
	if !isCompared(t) || len(t.Outputs) == 0 {
		return false
	}
	e := k.Look(ctx, t)
	return e != nil && e.Result == cache.Hit
}
