// Package doctor examines a project, its records and the machine for what is wrong. It changes nothing, so it
// settles nothing either.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/cachedir"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/project"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/hooks/leftovers"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

// A checkup is one examination.
type checkup struct {
	*project.Project
	path  func(string) string               // how a path is shown
	cache func(root string) (string, error) // the folder of the results of tasks, and why it cannot be one
	dir   string                            // the root, else where the verb started
	store *record.Store                     // nil: there is neither a PIPELINE.hcl nor a record
	audit *auditing                         // nil: no run was examined
	found []view.Finding
}

// Examine returns what it finds, in the order of the checks. path returns a path as it is shown, cache the folder in which
// the results of tasks of a root are stored, or why they cannot be.
func Examine(p *project.Project, version string, path func(string) string, cache func(root string) (string, error)) ([]view.Finding, error) {
	d := &checkup{Project: p, path: path, cache: cache}
	err := d.examine(version)
	return d.found, err
}

func (d *checkup) examine(version string) error {
	dir, err := d.Start()
	if err != nil {
		return err
	}
	d.dir = dir
	d.fine("program", "async-pipeline %s", version)
	if root, err := d.Root(); err == nil {
		d.dir, d.store = root, record.At(root)
		if c := d.pipelineFile(); c != nil {
			d.agents(c)
		}
		if d.folder() {
			d.runs()
			d.fixes()
			d.unsettled()
			d.locks()
			d.copies()
		}
	} else {
		d.noted("project", d.Typed("init")+" drafts a PIPELINE.hcl",
			"neither a PIPELINE.hcl nor recorded runs in %s or a folder above: only the machine was looked at", dir)
	}
	d.processes()
	d.git()
	d.sandbox()
	d.disk()
	if d.store != nil {
		d.results()
	}
	d.kept()
	return nil
}

func (d *checkup) add(check, state, remedy, format string, args ...any) {
	f := view.Finding{Check: check, State: state, What: fmt.Sprintf(format, args...)}
	if remedy != "" {
		f.Remedy = &remedy
	}
	d.found = append(d.found, f)
}

func (d *checkup) fine(check, format string, args ...any) {
	d.add(check, view.Fine, "", format, args...)
}

func (d *checkup) noted(check, remedy, format string, args ...any) {
	d.add(check, view.Noted, remedy, format, args...)
}

func (d *checkup) trouble(check, remedy, format string, args ...any) {
	d.add(check, view.Trouble, remedy, format, args...)
}

// most is how many findings of a kind are listed.
const most = 10

// first returns those of a list that are listed.
func first[T any](list []T) []T { return list[:min(len(list), most)] }

// andMore adds how many findings of a kind are not listed.
func (d *checkup) andMore(check, state string, n int, what string) {
	if n > most {
		d.add(check, state, "", "and %d more %s", n-most, what)
	}
}

func (d *checkup) locks() {
	held := d.store.Held()
	for _, l := range held {
		d.noted("locks", "", "%s", l.Sentence())
	}
	if len(held) == 0 {
		d.fine("locks", "no lock is held")
	}
}

func (d *checkup) processes() {
	left, err := run.LastingOrphans()
	ours := func(sandbox.Process) bool { return false }
	if d.store != nil {
		ours = run.OrphansOf(d.store)
	}
	switch {
	case err != nil:
		d.noted("processes", "", "%v", err)
	case len(left) == 0:
		d.fine("processes", "no process of a killed run is left")
	}
	for _, p := range first(left) {
		of := ""
		if p.Hook != "" {
			of = ", of the hook of " + p.Hook
		}
		if !ours(p) {
			d.noted("processes", "gc or the next run there ends it",
				"process %d was left by a killed run elsewhere%s%s", p.PID, view.StartedIn(p.Dir, d.path), of)
			continue
		}
		d.trouble("processes", d.Typed("gc")+" ends it, the next run does too",
			"process %d was left by a killed run%s", p.PID, of)
	}
	d.andMore("processes", view.Trouble, len(left), "processes of killed runs")
}

// copies checks for what killed runners left of fixes in progress.
func (d *checkup) copies() {
	caches := cachedir.Existing(d.Env)
	if len(caches) == 0 {
		return
	}
	// Damaged fixes are reported by fixes.
	left, err := leftovers.Find(context.Background(), d.store, caches...)
	if err != nil && !errors.Is(err, fix.ErrDamaged) {
		d.trouble("copies", "", "what killed runs left cannot be seen: %v", err)
	}
	for _, a := range first(left.Fixes) {
		if a.AgentTask {
			d.trouble("copies", d.Typed("gc")+" stores what the agent had changed as a patch beside the run; the next run does too",
				"the agent task %s of run %s was interrupted", view.TaskName(a.Task), a.Run)
			continue
		}
		d.trouble("copies", d.Typed("gc")+" records that, with a rescue patch of what an agent had changed, if any; the next run does too",
			"the fix for %s of run %s has no record: it was interrupted, or the disk was full", view.TaskName(a.Task), a.Run)
	}
	d.andMore("copies", view.Trouble, len(left.Fixes), "interrupted fixes")
	if n := len(left.Copies); n > 0 {
		d.trouble("copies", d.Typed("gc")+" removes them, the next run does too", "%s of killed runs in %s",
			english.Count(n, "scratch folder"), d.path(filepath.Dir(left.Copies[0].Dir)))
	}
	if n := len(left.Rescued); n > 0 {
		d.noted("copies", "take what you need from them, then remove them",
			"%s whose changes could not be stored as a patch: %s", english.Count(n, "copy"),
			strings.Join(left.Rescued[:min(n, 3)], ", "))
	}
	if err == nil && len(left.Fixes) == 0 && len(left.Copies) == 0 {
		d.fine("copies", "no scratch copy of a killed run is left")
	}
}

// short returns a path with ~ for the person's home, as a shell takes it.
func (d *checkup) short(path string) string {
	home := d.Env("HOME")
	if rel, err := filepath.Rel(home, path); err == nil && home != "" && filepath.IsLocal(rel) {
		return d.path(filepath.Join("~", rel))
	}
	return d.path(path)
}

// kept reports what is kept for later fixes, where, and its size.
func (d *checkup) kept() {
	caches, bases, n, surplus := int64(0), int64(0), 0, 0
	var places []string // one of each cache folder
	for _, cache := range cachedir.Existing(d.Env) {
		all, err := homes.AllKept(cache)
		if err != nil {
			d.noted("caches", "", "kept copies and build caches: %v", err)
		}
		place := ""
		for _, k := range all {
			n, caches, bases = n+1, caches+k.Bytes-k.BaseBytes, bases+k.BaseBytes
			if d.store != nil && k.Root == d.store.Root {
				place = fmt.Sprintf("of this root %s in %s", english.Size(k.Bytes), d.short(k.Dir))
			}
		}
		surplus += len(homes.SurplusOf(all, "", time.Now()))
		if place == "" && len(all) > 0 {
			place = "in " + d.short(filepath.Dir(all[0].Dir))
		}
		if place != "" {
			places = append(places, place)
		}
	}
	text := fmt.Sprintf("kept for %s: base copies %s, build caches %s; %s", english.Count(n, "root"), english.Size(bases),
		english.Size(caches), strings.Join(places, ", and "))
	switch {
	case surplus > 0:
		d.noted("caches", d.Typed("gc")+" removes those", "%s; those of %s are no longer used", text,
			english.Count(surplus, "root"))
	case n > 0:
		d.fine("caches", "%s", text)
	}
}

func (d *checkup) fixStore() *fix.Store { return &fix.Store{Root: d.dir, Dir: d.store.Dir} }
