package doctor

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/runaudit"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// auditTime is how long records are compared with their digests: newest runs first, at least one.
const auditTime = 10 * time.Second

// An auditing compares runs with their digests, as fix audit does.
type auditing struct {
	d       *checkup
	until   time.Time
	bad     []string // ids of runs that were changed since they were written
	audited int
	skipped int  // runs that there was no time for
	busy    bool // hooks are at work: their records are incomplete
}

func (d *checkup) auditing() *auditing {
	return &auditing{
		d: d, until: time.Now().Add(auditTime),
		busy: slices.ContainsFunc(d.store.Held(), func(l record.Holder) bool { return l.Lock == "heal.lock" }),
	}
}

// run audits one run with a verdict.
func (a *auditing) run(id string) {
	switch {
	case a.busy:
		return
	case a.audited > 0 && time.Now().After(a.until):
		a.skipped++
		return
	}
	a.audited++
	found, err := runaudit.Audit(a.d.store, id, "")
	if err != nil {
		a.bad = append(a.bad, id)
		a.d.trouble("audit", "", "run %s could not be audited completely: %v", id, err)
		return
	}
	if len(found.Faults) == 0 {
		return
	}
	a.bad = append(a.bad, id)
	remedy := a.d.Typed("fix", "audit", id) + " tells what was expected"
	for _, f := range first(found.Faults) {
		more := ""
		if strings.HasPrefix(f.File, "fixes/") {
			more = "; do not apply it, run heal again"
		}
		a.d.trouble("audit", remedy+more, "%s is not as it was written",
			a.d.path(filepath.Join(a.d.store.Dir, "runs", id, filepath.FromSlash(f.File))))
	}
	a.d.andMore("audit", view.Trouble, len(found.Faults), "things in run "+id)
}

// reported reports whether a fault is of a run that is in bad already.
func (a *auditing) reported(err error) bool {
	return slices.ContainsFunc(a.bad, func(id string) bool {
		return strings.Contains(err.Error(), string(filepath.Separator)+id+string(filepath.Separator))
	}) &&
		!errors.Is(err, fs.ErrPermission)
}

// claim adds how many of the sealed runs were audited.
func (a *auditing) claim(sealed int) {
	d := a.d
	what := english.Count(sealed, "run") + " with a verdict"
	size := english.Size(tree.Size(d.store.Dir)) + " in " + d.path(d.store.Dir)
	switch {
	case sealed == 0:
	case a.busy:
		d.noted("runs", d.Typed("fix", "audit")+" when they are done",
			"%s (%s); what they hold was not compared with its digests: hooks are at work", what, size)
	case len(a.bad) > 0:
	case a.skipped > 0:
		d.noted("runs", d.Typed("fix", "audit")+" audits all that have fixes",
			"%s (%s): the newest %d are as they were written, for the others there was no time", what, size, a.audited)
	default:
		d.fine("runs", "%s, all as they were written (%s)", what, size)
	}
}
