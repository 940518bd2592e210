package run

// Services that go on when a run has ended, for the runs after it: the rounds of run --watch.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/task"
)

// Kept has the services that go on when a run has ended. A later run uses those that are made of the same as then, and
// starts the others anew. The zero value has none. Its methods may be called from several goroutines.
type Kept struct {
	// Ended is called, from a goroutine of its own, when a service ends by itself and no run uses it; nil: it is not.
	// how is like " (exit 1)".
	Ended func(service, how string)

	mu   sync.Mutex
	all  []*instance          // that were started; those that need others come after these
	past map[string]*instance // by name: ended because one that they need was replaced; the next run is given what they printed since the last
}

// An instance is a service that was started, apart from the runs that use it.
type instance struct {
	name  string
	made  string      // of what it is made; see walker.made
	since string      // id of the run that started it
	needs []*instance // the services that it needs
	stale bool        // files that it may have read have changed; guarded by Kept.mu

	out    relay
	stop   context.CancelCauseFunc
	once   sync.Once
	exited chan struct{} // closed when its command has ended; processes of it may be left, which are ended then
	alone  bool          // it ended by itself, and no run used it; set before exited is closed
	ended  chan struct{} // closed when all has ended; then got is set
	got    record.Task
}

// errAnew is why a service is ended that a run replaces, or that nothing will need any more.
var errAnew = errors.New("it is not kept")

// start starts the process of t, which writes to out. Only stop ends it, and not the end of a run or of its context. k,
// if it is not nil, has the process until it is ended.
func (p *instance) start(tasks *task.Runner, t *pipeline.Task, out io.Writer, k *Kept) {
	ctx, stop := context.WithCancelCause(context.Background())
	p.stop, p.exited, p.ended = stop, make(chan struct{}), make(chan struct{})
	exit := func() {
		p.once.Do(func() {
			p.alone = p.out.end() && ctx.Err() == nil
			close(p.exited)
		})
	}
	if k != nil {
		k.add(p)
	}
	go func() {
		defer stop(nil)
		// got.Error has the error's text
		p.got, _ = tasks.Watched(ctx, tasks.Config.Root, t, sandbox.Box{Tier: sandbox.None, Secrets: true}, out, task.Watch{Exited: exit})
		exit()
		close(p.ended)
		if k != nil && k.Ended != nil && p.alone {
			k.Ended(p.name, howEnded(p.got))
		}
	}()
}

func (k *Kept) add(p *instance) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, p)
}

// take returns the process of a service if it goes on and is made of the same. exact: made tells all of that; else
// files may have changed that it does not tell of. Another process is ended and returned as old, and so is one that was
// ended before because of another. Both may be nil.
func (k *Kept) take(name, made string, exact bool) (p, old *instance) {
	if k == nil {
		return nil, nil
	}
	k.mu.Lock()
	at := slices.IndexFunc(k.all, func(p *instance) bool { return p.name == name })
	if at >= 0 {
		old = k.all[at]
		if made != "" && made == old.made && (exact || !old.stale) && !old.over() && !slices.ContainsFunc(old.needs, (*instance).over) {
			p, old = old, nil
		}
	}
	past := k.past[name]
	delete(k.past, name)
	k.mu.Unlock()
	switch {
	case old != nil:
		k.end(nil, func(p *instance) bool { return p == old })
	case p == nil:
		old = past
	}
	return p, old
}

// over reports whether the command of a service has ended.
func (p *instance) over() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// Changed tells of services that may have read files that changed since they were started. One of which the cache
// knows no key is started anew by the next run that needs it.
func (k *Kept) Changed(services []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.all {
		p.stale = p.stale || slices.Contains(services, p.name)
	}
}

// Retain ends the services that no other task of g needs. g is of c.
func (k *Kept) Retain(c *pipeline.Config, g *pipeline.Graph) {
	needed := map[string]bool{}
	for _, t := range g.Tasks() {
		if t.Service == nil {
			for _, s := range c.Services(t) {
				needed[s.Name] = true
			}
		}
	}
	k.end(nil, func(p *instance) bool { return !needed[p.name] })
}

// Close ends all services, and waits for that until now is closed: then they are killed.
func (k *Kept) Close(now <-chan struct{}) {
	k.end(now, func(*instance) bool { return true })
}

// end ends the services for which is returns true and those that need them, these first, and waits for that. After now
// was closed it kills them and waits no longer.
func (k *Kept) end(now <-chan struct{}, is func(*instance) bool) {
	k.mu.Lock()
	ends := map[*instance]bool{}
	if k.past == nil {
		k.past = map[string]*instance{}
	}
	var some []*instance
	for _, p := range k.all {
		if asked := is(p); asked || slices.ContainsFunc(p.needs, func(n *instance) bool { return ends[n] }) {
			ends[p] = true
			some = append(some, p)
			if !asked {
				k.past[p.name] = p
			}
		}
	}
	k.mu.Unlock()
	cause := errAnew
	for _, p := range slices.Backward(some) {
		p.stop(cause)
		select {
		case <-p.ended:
		case <-now:
			cause = sandbox.ErrNow
		}
	}
	k.forget(some...)
}

// forget removes processes that have ended.
func (k *Kept) forget(some ...*instance) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = slices.DeleteFunc(k.all, func(p *instance) bool { return slices.Contains(some, p) })
}

// A relay passes what a service prints to the run that uses it. While none does it keeps the end of that.
type relay struct {
	mu   sync.Mutex
	to   io.Writer // nil: no run uses the service
	over bool      // the service has ended
	held []byte    // what no run was given
	lost int       // bytes that were left out before held
}

// mostHeld is how many bytes of what a service prints between two runs are kept.
const mostHeld = 256 << 10

func (r *relay) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.to != nil {
		return r.to.Write(p)
	}
	r.held = append(r.held, p...)
	if len(r.held) > 2*mostHeld { // not each time, which would copy all of it for each line
		r.cut()
	}
	return len(p), nil
}

// cut leaves out what is too much, up to the end of a line. r.mu is locked.
func (r *relay) cut() {
	over := len(r.held) - mostHeld
	if over <= 0 {
		return
	}
	if i := bytes.IndexByte(r.held[over:], '\n'); i >= 0 && i < mostHeld/2 {
		over += i + 1
	}
	r.lost += over
	r.held = append(r.held[:0], r.held[over:]...)
}

// use gives to what no run was given, cleaned, and from now on what the service prints.
func (r *relay) use(to io.Writer, clean func([]byte) []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pour(to, clean)
	r.to = to
}

// rest gives to what no run was given of a service that has ended.
func (r *relay) rest(to io.Writer, clean func([]byte) []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.held) == 0 {
		return
	}
	end := ""
	if !bytes.HasSuffix(r.held, []byte("\n")) {
		end = "\n"
	}
	r.pour(to, clean)
	_, _ = io.WriteString(to, end+"[async-pipeline: started anew]\n")
}

func (r *relay) pour(to io.Writer, clean func([]byte) []byte) {
	r.cut()
	if r.lost > 0 {
		_, _ = fmt.Fprintf(to, "[async-pipeline: %d bytes left out here]\n", r.lost)
	}
	if len(r.held) > 0 {
		_, _ = to.Write(clean(r.held))
	}
	r.held, r.lost = nil, 0
}

// leave ends the use by a run: nothing more is written to its writer. It reports whether the service goes on.
func (r *relay) leave() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = nil
	return !r.over
}

// end notes that the service has ended, and reports whether no run uses it.
func (r *relay) end() (unused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	return r.to == nil
}
