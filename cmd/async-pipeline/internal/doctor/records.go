package doctor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// pipelineFile reads PIPELINE.hcl; nil: there is none, or it cannot be read.
func (d *checkup) pipelineFile() *pipeline.Config {
	file, err := hclfile.Find(d.dir)
	if err != nil {
		d.noted("pipeline", "", "there is no PIPELINE.hcl in %s, only records", d.path(d.dir))
		return nil
	}
	c, warnings, err := d.Read(file)
	for _, w := range warnings {
		d.noted("pipeline", "", "%s", w)
	}
	faults := pipeline.Errors(nil)
	switch {
	case errors.As(err, &faults):
		d.trouble("pipeline", d.Typed("validate")+" shows them", "%s has %s", d.path(file),
			english.Count(faults.Serious(), "error"))
	case err != nil:
		d.trouble("pipeline", "", "%v", err)
	case len(c.Warnings) > 0:
		d.noted("pipeline", d.Typed("validate")+" shows them", "%s is read, with %s", d.path(file),
			english.Count(len(c.Warnings), "warning"))
	default:
		d.fine("pipeline", "%s is read: %s, %s", d.path(file), english.Count(len(c.Tasks), "task"),
			english.Count(len(c.Jobs), "job"))
	}
	if err != nil {
		return nil
	}
	return c
}

// folder checks .async itself: a real folder, writable, ignored by git. It reports whether there are records to check.
func (d *checkup) folder() bool {
	dir := d.store.Dir
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := writable(d.dir); err != nil {
			d.trouble("records", "make it writable, or nothing can be recorded", "%s cannot be written: %v",
				d.path(d.dir), err)
			return false
		}
		d.fine("records", "nothing is recorded here yet")
		return false
	}
	if _, err := d.store.IDs(); err != nil {
		d.trouble("records", advice.Owner(err), "%v", err)
		return false
	}
	if err := writable(dir); err != nil {
		d.trouble("records", cmp.Or(advice.OwnerOf(dir), "make it writable, or nothing can be recorded"), "%s cannot be written: %v",
			d.path(dir), err)
	} else if info.Mode().Perm()&0o022 != 0 {
		d.trouble("records", "chmod 700 "+view.Quote(dir), "others can write %s, and with it what is recorded",
			d.path(dir))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := git.Of(ctx, d.dir); err != nil {
		return true // reported by git
	}
	foreign, err := (apply.Tree{Fixes: d.fixStore()}).Foreign(ctx)
	if err != nil {
		d.noted("records", "", "whether git tracks files in %s could not be found out: %v", d.path(dir), err)
	}
	if foreign {
		d.trouble("records", "git rm -r --cached .async",
			"git tracks files in %s: records that came with a repository are never applied", d.path(dir))
	} else if rules, err := os.ReadFile(filepath.Join(dir, ".gitignore")); err != nil || !ignoresAll(string(rules)) {
		d.trouble("records", "echo '*' > "+view.Quote(filepath.Join(dir, ".gitignore")),
			"git does not ignore %s: its .gitignore was changed or removed", d.path(dir))
	}
	return true
}

func ignoresAll(rules string) bool {
	for line := range strings.Lines(rules) {
		if strings.TrimSpace(line) == "*" {
			return true
		}
	}
	return false
}

// writable returns why a folder cannot be written, without writing into it.
func writable(dir string) error {
	return unix.Access(dir, unix.W_OK|unix.X_OK)
}

// ahead is how far in the future a run may begin before the clock is doubted.
const ahead = time.Minute

// runs checks every record: damaged, interrupted, from the future, or changed since it was written.
func (d *checkup) runs() {
	ids, err := d.store.IDs()
	if err != nil || len(ids) == 0 {
		return // reported by folder
	}
	var damaged []error
	var interrupted []string
	sealed := 0
	d.audit = d.auditing()
	for _, id := range ids {
		e := d.store.Entry(id)
		if e.Err == nil && e.Sealed != nil {
			sealed++
			e.Err = e.Sealed.Check()
			if e.Err == nil {
				d.audit.run(id)
			}
		}
		switch {
		case e.Err != nil:
			damaged = append(damaged, e.Err)
		case e.Sealed == nil && e.Live:
			d.noted("runs", d.Typed("logs", e.ID)+" lists its output so far", "run %s is still running", e.ID)
		case e.Sealed == nil:
			interrupted = append(interrupted, e.ID)
		}
	}
	for _, err := range first(damaged) {
		remedy := "do not trust it; remove the folder of that run if you do not need what is left in it"
		switch {
		case record.Newer(err):
			remedy = ""
		case errors.Is(err, fs.ErrPermission):
			remedy = cmp.Or(advice.Owner(err), "make it readable for you")
		}
		d.trouble("runs", remedy, "%v", err)
	}
	d.andMore("runs", view.Trouble, len(damaged), "damaged records")
	for _, id := range first(interrupted) {
		d.noted("runs", d.Typed("explain", "--run", id)+" tells what is known of it",
			"run %s was ended before its verdict; what it recorded is in %s", id,
			d.path(filepath.Join(d.store.Dir, "runs", id)))
	}
	d.andMore("runs", view.Noted, len(interrupted), "runs that were ended before their verdict")
	d.clock(ids)
	if len(damaged) == 0 {
		d.audit.claim(sealed)
	}
}

// clock lists the runs that begin in the future: this clock is behind, or another was ahead.
func (d *checkup) clock(ids []string) {
	ids = slices.DeleteFunc(ids, func(id string) bool { return time.Until(record.Began(id)) <= ahead })
	for _, id := range first(ids) {
		d.trouble("clock", "if the clock is wrong, set it right; if it is right, remove what you do not need: rm -r "+
			view.Quote(d.path(filepath.Join(d.store.Dir, "runs", id))),
			"run %s is ahead of the clock (%s): it counts as the oldest, and neither keep_runs nor gc removes it", id,
			time.Now().UTC().Format("2006-01-02 15:04 UTC"))
	}
	d.andMore("clock", view.Trouble, len(ids), "runs that are ahead of the clock")
}

// fixes checks the records of fixes.
func (d *checkup) fixes() {
	items, unread := d.fixStore().List()
	if d.audit != nil {
		unread = slices.DeleteFunc(unread, d.audit.reported)
	}
	for _, err := range first(unread) {
		remedy := "do not apply it; run heal again"
		if errors.Is(err, fs.ErrPermission) {
			remedy = cmp.Or(advice.Owner(err), "make it readable for you")
		}
		d.trouble("fixes", remedy, "%v", err)
	}
	d.andMore("fixes", view.Trouble, len(unread), "damaged records of fixes")
	open := 0
	for _, it := range items {
		if it.Disposition == fix.Open {
			open++
		}
	}
	if open > 0 {
		d.noted("fixes", d.Typed("fix", "list")+" lists them", "%s to decide on", english.Count(open, "proposal"))
	}
}

// unsettled reports what the next command will do about an interrupted apply.
func (d *checkup) unsettled() {
	r, err := (apply.Tree{Fixes: d.fixStore()}).Unsettled(context.Background())
	switch {
	case err != nil:
		d.trouble("apply", advice.Owner(err), "%v", err)
	case r != nil:
		d.trouble("apply", "any other command does it: "+d.Typed("fix", "list"),
			"the %s of the fix for %s of run %s was interrupted and will be %s: %s",
			r.What, view.TaskName(r.Task), r.Run, r.To, english.List(r.Files, 8))
	}
}
