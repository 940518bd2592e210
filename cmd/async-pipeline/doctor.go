package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/cachedir"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/hooks/leftovers"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

// A checkup is one `doctor`: it looks and changes nothing, so it settles nothing either.
type checkup struct {
	h     *program
	dir   string        // where it looks from
	store *record.Store // nil: there is neither a PIPELINE.hcl nor a record
	audit *auditing     // nil: no run was looked at
	found []view.Finding
}

func (h *program) doctorCommand() *cobra.Command {
	d := &checkup{h: h}
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong here; nothing is changed",
		Long: `Looks at the project, its records and the machine, and changes nothing: runs
that were killed and what they left, damaged records, patches and logs that are
not as they were written (as fix audit does, newest runs first, 10 seconds long
at most), locks and who holds them, git, the sandbox, disk space, the clock.
Each line says what to do about it.

Exit code: 0 nothing needs you, 1 something does (✗); ! is only to know.`,
		Example: `  async-pipeline doctor
  async-pipeline doctor --json`,
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			if err := d.look(); err != nil {
				return err
			}
			if asJSON {
				if err := h.PrintJSON(findings(d.found)); err != nil {
					return err
				}
			} else {
				h.Results().Doctor(d.found)
			}
			for _, f := range d.found {
				if f.State == view.Trouble {
					return exit.With(exit.Failed)
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the findings as a JSON list")
	h.varFlag(c)
	return c
}

// A finding is one line of doctor --json.
type finding struct {
	Check   string  `json:"check"`
	State   string  `json:"state"` // ok | note | problem
	Summary string  `json:"summary"`
	Remedy  *string `json:"remedy"` // null: nothing is to be done
}

func findings(found []view.Finding) []finding {
	list := []finding{}
	for _, f := range found {
		list = append(list, finding{f.Check, f.State, f.What, orNull(f.Remedy)})
	}
	return list
}

func (d *checkup) look() error {
	dir, err := d.h.Start()
	if err != nil {
		return err
	}
	d.dir = dir
	d.fine("program", "async-pipeline %s", version())
	if root, err := d.h.Root(); err == nil {
		d.dir, d.store = root, record.At(root)
		d.pipelineFile()
		if d.folder() {
			d.runs()
			d.fixes()
			d.unsettled()
			d.locks()
			d.copies()
		}
	} else {
		d.noted("project", "async-pipeline init drafts a PIPELINE.hcl", "neither a PIPELINE.hcl nor recorded runs in %s or a folder above: only the machine was looked at", dir)
	}
	d.processes()
	d.git()
	d.sandbox()
	d.disk()
	d.kept()
	return nil
}

func (d *checkup) add(check, state, remedy, format string, args ...any) {
	d.found = append(d.found, view.Finding{Check: check, State: state, What: fmt.Sprintf(format, args...), Remedy: remedy})
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

// path is a path as it is shown.
func (d *checkup) path(p string) string { return d.h.Messages().Path(p) }

// most is how many of a kind are named.
const most = 10

// andMore says how many of a kind are not named.
func (d *checkup) andMore(check, state string, n int, what string) {
	if n > most {
		d.add(check, state, "", "and %d more %s", n-most, what)
	}
}

func (d *checkup) locks() {
	held := d.store.Held()
	for _, l := range held {
		d.noted("locks", "", "%s", holderText(l))
	}
	if len(held) == 0 {
		d.fine("locks", "no lock is held")
	}
}

// holderText says what a lock means and who holds it.
func holderText(l record.Holder) string {
	text := "a run is at work here"
	if l.Lock == "heal.lock" {
		text = "hooks of a run are at work here"
	}
	if l.PID > 0 {
		text += fmt.Sprintf(" (%s is held by process %d since %s)", l.Lock, l.PID, l.Since.Local().Format("2006-01-02 15:04:05"))
	}
	return text
}

// endTime is how long what a killed run left may take to be ended by its own supervisors: their grace, and some.
const endTime = sandbox.Grace + 2*time.Second

// staying are processes of killed runs that nobody is just ending.
func staying() ([]sandbox.Process, error) {
	left, err := sandbox.Orphans()
	for end := time.Now().Add(endTime); err == nil && len(left) > 0 && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
		var now []sandbox.Process
		now, err = sandbox.Orphans()
		left = slices.DeleteFunc(left, func(p sandbox.Process) bool { return !slices.Contains(now, p) })
	}
	return left, err
}

func (d *checkup) processes() {
	left, err := staying()
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
	for i, p := range left {
		if i == most {
			break
		}
		of := ""
		if p.Hook != "" {
			of = ", of the hook of " + p.Hook
		}
		if !ours(p) {
			d.noted("processes", "gc or the next run there ends it", "process %d was left by a killed run elsewhere%s%s", p.PID, d.h.startedIn(p), of)
			continue
		}
		d.trouble("processes", d.h.Typed("gc")+" ends it, the next run does too", "process %d was left by a killed run%s", p.PID, of)
	}
	d.andMore("processes", view.Trouble, len(left), "processes of killed runs")
}

// copies looks for what killed runners left of healings.
func (d *checkup) copies() {
	caches := cachedir.Existing(d.h.Env)
	if len(caches) == 0 {
		return
	}
	cache := caches[0]
	// What cannot be read of a fix is said by fixes.
	left, err := leftovers.Find(context.Background(), d.store, cache)
	if err != nil && !errors.Is(err, fix.ErrDamaged) {
		d.trouble("copies", "", "what killed healings left cannot be seen: %v", err)
	}
	for i, a := range left.Fixes {
		if i == most {
			break
		}
		d.trouble("copies", d.h.Typed("gc")+" stores what its agent had changed as a rescue patch, the next run does too",
			"the healing of %s of run %s was ended before it was done", a.Task, a.Run)
	}
	d.andMore("copies", view.Trouble, len(left.Fixes), "healings that were ended")
	if n := len(left.Copies); n > 0 {
		d.trouble("copies", d.h.Typed("gc")+" removes them, the next run does too", "%s of killed runs in %s", folders(n, "scratch folder"), d.path(filepath.Dir(left.Copies[0].Dir)))
	}
	if n := len(left.Rescued); n > 0 {
		d.noted("copies", "take what you need from them, then remove them",
			"%s whose changes could not be stored as a patch: %s", folders(n, "copy"), strings.Join(left.Rescued[:min(n, 3)], ", "))
	}
	if err == nil && len(left.Fixes) == 0 && len(left.Copies) == 0 {
		d.fine("copies", "no scratch copy of a killed run is left")
	}
}

// kept says what is kept of healings, and how much it takes.
func (d *checkup) kept() {
	caches, bases, n, forgotten := int64(0), int64(0), 0, 0
	for _, cache := range cachedir.Existing(d.h.Env) {
		all, err := homes.AllKept(cache)
		if err != nil {
			d.noted("caches", "", "kept copies and build caches: %v", err)
		}
		for _, k := range all {
			n, caches, bases = n+1, caches+k.Bytes-k.BaseBytes, bases+k.BaseBytes
			if k.Forgotten(time.Now()) {
				forgotten++
			}
		}
	}
	text := fmt.Sprintf("kept for %s: base copies %s, build caches %s", count(n, "root"), view.Size(bases), view.Size(caches))
	switch {
	case forgotten > 0:
		d.noted("caches", d.h.Typed("gc")+" removes those", "%s; nobody needs those of %s any more", text, count(forgotten, "root"))
	case n > 0:
		d.fine("caches", "%s", text)
	}
}

// startedIn returns where a process was started, as the end of a clause.
func (h *program) startedIn(p sandbox.Process) string {
	if p.Dir == "" {
		return ""
	}
	return ", started in " + h.Messages().Path(p.Dir)
}
