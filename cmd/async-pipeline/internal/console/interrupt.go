package console

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
)

// An Interrupt waits for SIGINT, SIGTERM, SIGHUP (the terminal was closed) and SIGQUIT while work goes on: the
// first ends Ctx, the second closes Again, which means "at once". It does not wait for whoever reads the output, so
// the work ends, and is recorded, also when nobody reads.
type Interrupt struct {
	Ctx   context.Context
	Again chan struct{} // closed by the second signal, after the writers were hurried

	c      *Console
	cancel context.CancelFunc
	ch     chan os.Signal
	taken  chan struct{} // closed when the signals come to ch
	heard  chan struct{} // closed when told has returned
	done   chan struct{}
	work   sync.WaitGroup // wait, and the call of told

	mu    sync.Mutex
	first syscall.Signal // 0: none came
	told  func(syscall.Signal)
}

// ReaderTime is how long one write may take after the first signal: a live reader has read by then. hurryTime is
// the same after the second.
const (
	ReaderTime = time.Second
	hurryTime  = 100 * time.Millisecond
)

// Listen begins to take signals, until Stop. told is called with the first one, in a goroutine of its own.
func (c *Console) Listen(told func(syscall.Signal)) *Interrupt {
	i := c.ListenSoon(told)
	<-i.taken
	return i
}

// ListenSoon is Listen, but does not wait until the signals are taken: each costs two switches between threads, half a
// millisecond in all. Until Heeds returns, a signal may end the program.
func (c *Console) ListenSoon(told func(syscall.Signal)) *Interrupt {
	i := &Interrupt{
		c: c, told: told, Again: make(chan struct{}), ch: make(chan os.Signal, 2), taken: make(chan struct{}),
		heard: make(chan struct{}), done: make(chan struct{}),
	}
	i.Ctx, i.cancel = context.WithCancel(context.Background())
	// A signal that was ignored when the program started (nohup, or SIGINT in the background) stays ignored.
	signals := []os.Signal{syscall.SIGTERM, syscall.SIGQUIT}
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signals = append(signals, s)
		}
	}
	i.work.Go(func() {
		signal.Notify(i.ch, signals...)
		close(i.taken)
		i.wait()
	})
	return i
}

// Heeds waits until all signals are caught, and replaces told. If the first signal has come already, it waits until the
// former told has returned.
func (i *Interrupt) Heeds(told func(syscall.Signal)) {
	<-i.taken
	if i.Next(told) != 0 {
		<-i.heard
	}
}

func (i *Interrupt) wait() {
	for n := 0; ; {
		select {
		case <-i.done:
			return
		case s := <-i.ch:
			if n++; n > 1 {
				i.c.Out.Hurry(hurryTime) // the id of the run is still printed, and the drawing removed
				i.c.Err.Hurry(hurryTime)
				i.c.hurried.Store(true)
				close(i.Again)
				return
			}
			sig, _ := s.(syscall.Signal)
			i.mu.Lock()
			i.first = sig
			told := i.told
			i.mu.Unlock()
			i.cancel()
			i.c.Out.Hurry(ReaderTime)
			i.c.Err.Hurry(ReaderTime)
			i.work.Go(func() { // it may block on a reader, and the second signal must not
				defer close(i.heard)
				told(sig)
			})
		}
	}
}

// First returns the first signal, or 0.
func (i *Interrupt) First() syscall.Signal {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.first
}

// Next begins another phase of the work: it returns the signal that came so far, or 0, and a later one is told to
// told.
func (i *Interrupt) Next(told func(syscall.Signal)) syscall.Signal {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.told = told
	return i.first
}

// Unread ends Ctx when err means that nobody reads the output any more. Other errors of a write do not stop the work.
func (i *Interrupt) Unread(err error) {
	if errors.Is(err, syscall.EPIPE) {
		i.cancel()
	}
}

// Now reports whether the second signal came.
func (i *Interrupt) Now() bool {
	select {
	case <-i.Again:
		return true
	default:
		return false
	}
}

// Stop ends the listening, after told has returned. The signals are restored in the background: one that comes before
// that is lost.
func (i *Interrupt) Stop() {
	<-i.taken
	Release(i.ch)
	close(i.done)
	i.cancel()
	i.work.Wait()
}

// unreadEvery is how often Await checks whether anybody still reads.
const unreadEvery = time.Second

// Await waits for over or for the second signal. An agent may print nothing for long, so no write shows that nobody
// reads any more: Await polls for that, so that no agent works, and is paid for, for nobody.
func (i *Interrupt) Await(over <-chan struct{}) {
	tick := time.NewTicker(unreadEvery)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-i.Again:
			return
		case <-tick.C:
			if !i.c.OnTerminal() && i.c.ReaderGone() {
				i.c.Out.Fail(syscall.EPIPE)
			}
		}
	}
}

// Await runs do and waits for it or for the second signal, after which the process is about to end and do runs on
// alone. After a signal the error is that signal's exit code, whatever do returned.
func Await[T any](stop *Interrupt, do func() (T, error)) (T, error) {
	type end struct {
		got T
		err error
	}
	ends, over := make(chan end, 1), make(chan struct{})
	go func() {
		defer close(over)
		got, err := do()
		ends <- end{got, err}
	}()
	stop.Await(over)
	var done end
	select {
	case done = <-ends:
	default:
	}
	if sig := stop.First(); sig != 0 {
		return done.got, exit.With(exit.Signal + int(sig))
	}
	return done.got, done.err
}

// Release undoes signal.Notify, in the background: each signal costs two switches between threads, and most programs
// that release their signals are about to exit.
func Release(ch chan<- os.Signal) { go signal.Stop(ch) }

// Die ends the program as the signal would if nobody took it: deferred calls do not run.
func Die(s syscall.Signal) {
	signal.Reset(s)
	_ = syscall.Kill(os.Getpid(), s)
}
