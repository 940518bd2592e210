package run

// What a run does with the cache of results: a task whose result is there is not run, and one that passed is stored.

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
	"github.com/async-pipeline/async-pipeline/pipeline/flake"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// cached replaces a task by its stored result. ok is false if it must be run. The entry is nil for a task that has no
// inputs, and without a cache.
func (w *walker) cached(ctx context.Context, t *pipeline.Task, out *output) (_ record.Task, ok bool, _ *cache.Entry) {
	if err := w.answerable(ctx, t); err != nil {
		return record.Task{Name: t.Name, Status: record.Failed, Error: new(w.r.Tasks.Redact.String(err.Error()))}, true, nil
	}
	c := w.r.Cache
	if c == nil || ctx.Err() != nil {
		return record.Task{}, false, nil
	}
	if w.serves {
		if e := WithoutService(w.r.Config, w.r.Graph, t); e != nil {
			return record.Task{}, false, e
		}
	}
	started := time.Now()
	e := c.Look(ctx, t)
	if e == nil || e.Result != cache.Hit {
		return w.missed(ctx, t, e)
	}
	log, run, took, err := c.Restore(ctx, e)
	if err != nil {
		return w.missed(ctx, t, e)
	}
	var agent *record.Agent
	if t.Agent != nil {
		if name, found := w.r.Tasks.Redact.Find(e.Given[patchKept]); found { // it is a secret now, and was none then
			c.Refuse(ctx, e, fmt.Errorf("its patch has the value of the secret %s in it", name))
			return w.missed(ctx, t, e)
		}
		if agent, err = w.replay(t, e); err != nil {
			return record.Task{Name: t.Name, Status: record.Failed, Error: new(err.Error())}, true, e
		}
	}
	if len(log) > 0 {
		// There may be secrets now that there were not then.
		out.all(append(fmt.Appendf(nil, "[async-pipeline: what it printed in run %s]\n", run), w.r.Tasks.Redact.Bytes(log)...))
	}
	return record.Task{
		Name: t.Name, Status: record.Cached, StartedAt: &record.Time{Time: started},
		DurationMS: new(time.Since(started).Milliseconds()),
		Agent:      agent,
		Cache:      &record.Cache{Run: &run, SavedMS: new(took.Milliseconds())},
	}, true, e
}

// missed makes the tree ready for a task that must be run. Its results are those of cached.
func (w *walker) missed(ctx context.Context, t *pipeline.Task, e *cache.Entry) (record.Task, bool, *cache.Entry) {
	if e != nil && t.Cache.CleanOutputs {
		if err := w.r.Cache.Clean(ctx, e); err != nil {
			why := fmt.Sprintf("clean_outputs: %v", err)
			return record.Task{Name: t.Name, Status: record.Failed, Error: &why}, true, e
		}
	}
	return record.Task{}, false, e
}

// store stores the result of a task that has passed. One that did not make what it declares has failed.
func (w *walker) store(ctx context.Context, t *pipeline.Task, e *cache.Entry, got *record.Task) {
	if w.r.Cache == nil {
		return
	}
	w.r.Cache.Ran(t)
	dead := w.failedService(t)
	switch {
	case e != nil && dead != nil: // the key does not tell what it was made of
		if got.Status == record.Passed {
			e.NotStored = fmt.Sprintf("the service %s, which it needs, has failed", pipeline.ShownName(dead.t.Name))
		}
		w.r.Cache.Left(ctx, e)
		return
	case e != nil && got.Status == record.Failed && ctx.Err() == nil:
		w.r.Cache.Compare(ctx, e)
		return
	case e == nil || got.Status != record.Passed:
		w.r.Cache.Left(ctx, e)
		return
	case got.ProcessesLeft != nil && *got.ProcessesLeft > 0:
		e.NotStored = "it left processes behind"
		w.r.Cache.Compare(ctx, e)
		return
	}
	w.keepPatch(e, got)
	var took time.Duration
	if got.DurationMS != nil {
		took = time.Duration(*got.DurationMS) * time.Millisecond
	}
	var missing *cache.MissingOutput
	if err := w.r.Cache.Store(ctx, e, filepath.Join(w.d.Dir, got.Log.Path), took); errors.As(err, &missing) {
		got.Status = record.Failed
		got.Error = new(fmt.Sprintf("it passed and did not make its output %s: repair the command, or outputs in PIPELINE.hcl",
			missing.Pattern))
	}
}

// flaky notes in the record of a task that has just run that an earlier run had the other outcome with the same key.
func (w *walker) flaky(ctx context.Context, e *cache.Entry, got *record.Task) {
	if e == nil || ctx.Err() != nil {
		return
	}
	key, passed, ok := flake.Proves(got)
	if !ok {
		return
	}
	other := ""
	if passed {
		other = w.history.Failed(key)
	} else if other = w.r.Cache.PassedIn(e); record.Began(other).IsZero() {
		other = w.history.Passed(key)
	}
	if other != "" && other != w.d.ID {
		got.Cache.Flaky = &other
	}
}

// put writes the receipt of a task, if the cache had something to say about it.
func (w *walker) put(t *pipeline.Task, e *cache.Entry, got *record.Task) error {
	if got.Cache == nil {
		return nil
	}
	r := record.Receipt{Task: t.Name, Cache: *got.Cache, Reasons: []string{}}
	if e != nil {
		r.MadeOf = e.MadeOf()
		if e.Result == cache.Miss {
			r.Reasons = e.Why
		}
	}
	digest, err := w.d.PutReceipt(&r)
	if err == nil {
		got.ReceiptDigest = &digest
	}
	return err
}

// receipt returns what the record says of the cache about a task.
func receipt(r *Run, t *pipeline.Task, e *cache.Entry, of *record.Cache) *record.Cache {
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		s = r.Tasks.Redact.String(s)
		return &s
	}
	if e == nil {
		if r.CacheOff != "" && t.HasInputs() && (t.Agent == nil || !t.Cache.Disabled) {
			return &record.Cache{Result: cache.Off, Reason: &r.CacheOff}
		}
		return nil
	}
	if of == nil {
		of = &record.Cache{}
	}
	of.Result, of.NotStored, of.Unchanged = e.Result, text(e.NotStored), e.Unchanged
	if u := e.Undeclared; u != nil {
		of.Undeclared = &record.Undeclared{Paths: []string{}, More: u.More}
		for _, p := range u.Paths {
			of.Undeclared.Paths = append(of.Undeclared.Paths, r.Tasks.Redact.String(p))
		}
		if u.Reason != nil {
			of.Undeclared.Reason = text(*u.Reason)
		}
	}
	if e.Key != "" {
		of.Key = new("sha256:" + e.Key)
	}
	if e.Result == cache.Miss || e.Result == cache.Off {
		of.Reason = text(e.Reason())
	}
	return of
}
