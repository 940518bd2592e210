package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// An interruption is SIGINT, SIGTERM, SIGHUP (the terminal is closed) or SIGQUIT while work goes on: the first ends ctx, the
// second says "at once" on again.
// Neither waits for whoever reads the output: the work ends, and is recorded, also when nobody does.
type interruption struct {
	h      *hall
	ctx    context.Context
	cancel context.CancelFunc
	again  chan struct{} // closed by the second signal, after the outlets were hurried
	ch     chan os.Signal
	done   chan struct{}
	work   sync.WaitGroup // wait, and the one that tells of the first signal

	mu    sync.Mutex
	first syscall.Signal // 0: none came
	told  func(syscall.Signal)
}

// How long one write may take after the first signal, and after the second: a reader that is alive has read by then.
const (
	readerTime = time.Second
	lastWords  = 100 * time.Millisecond
)

// listen begins to take signals, until stop. told hears of the first one.
func (h *hall) listen(told func(syscall.Signal)) *interruption {
	i := &interruption{h: h, told: told, again: make(chan struct{}), ch: make(chan os.Signal, 2), done: make(chan struct{})}
	i.ctx, i.cancel = context.WithCancel(context.Background())
	// A program that was started in the background with SIGINT ignored, or by nohup, keeps ignoring it.
	signals := []os.Signal{syscall.SIGTERM, syscall.SIGQUIT}
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signals = append(signals, s)
		}
	}
	signal.Notify(i.ch, signals...)
	i.work.Go(i.wait)
	return i
}

func (i *interruption) wait() {
	for n := 0; ; {
		select {
		case <-i.done:
			return
		case s := <-i.ch:
			if n++; n > 1 {
				i.h.out.hurry(lastWords) // which run it was is still to be said, and what is drawn to be taken away
				i.h.err.hurry(lastWords) // and why the record could not be written
				close(i.again)
				return
			}
			sig, _ := s.(syscall.Signal)
			i.mu.Lock()
			i.first = sig
			told := i.told
			i.mu.Unlock()
			i.cancel()
			i.h.out.hurry(readerTime)
			i.h.err.hurry(readerTime)
			i.work.Go(func() { told(sig) }) // it may have to wait for a reader, and the second signal may not
		}
	}
}

// signal is the first signal that came, 0 when none did.
func (i *interruption) signal() syscall.Signal {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.first
}

// next ends one phase of the work and begins another: it gives the signal that came so far, and a later one is told to
// told.
func (i *interruption) next(told func(syscall.Signal)) syscall.Signal {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.told = told
	return i.first
}

// unread ends ctx when nobody reads the output any more. Any other trouble with it is no reason to stop.
func (i *interruption) unread(err error) {
	if errors.Is(err, syscall.EPIPE) {
		i.cancel()
	}
}

// now says whether the second signal came.
func (i *interruption) now() bool {
	select {
	case <-i.again:
		return true
	default:
		return false
	}
}

// stop gives the signals back, when what was to be said of them has been said.
func (i *interruption) stop() {
	signal.Stop(i.ch)
	close(i.done)
	i.cancel()
	i.work.Wait()
}

// unreadEvery is how often it is looked whether anybody reads still.
const unreadEvery = time.Second

// await waits for over, or for the second signal. While an agent works nothing may be printed for long, so that no write says that
// nobody reads any more: then it is not worked, and paid for, to its end.
func (i *interruption) await(over <-chan struct{}) {
	tick := time.NewTicker(unreadEvery)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-i.again:
			return
		case <-tick.C:
			if _, ok := terminalOf(i.h.stdout); !ok && readerGone(i.h.stdout) {
				i.h.out.fail(syscall.EPIPE)
			}
		}
	}
}

// untilStopped waits for do, or for the second signal: then it goes on alone, and the process is about to end. A signal is a fault
// with its exit code, whatever do came to.
func untilStopped[T any](stop *interruption, do func() (T, error)) (T, error) {
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
	stop.await(over)
	var done end
	select {
	case done = <-ends:
	default:
	}
	if sig := stop.signal(); sig != 0 {
		return done.got, &fault{code: exitSignal + int(sig)}
	}
	return done.got, done.err
}
