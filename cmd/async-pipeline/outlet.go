package main

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// An outlet is stdout or stderr. What goes through is free of secrets, one Write is never mixed with another, and when
// it cannot be written to any more, that is kept for the end instead of stopping whoever writes. A Write waits for a
// reader as long as it takes (a pager that stands still is no fault) until somebody hurries it.
type outlet struct {
	secrets *redact.Set
	w       io.Writer

	turn sync.Mutex // held for one Write: signals and tasks speak at the same time

	mu      sync.Mutex // guards what follows; never held while something is written
	err     error
	lost    func(error)   // told once, when writing fails; may be nil
	limit   time.Duration // how long one write may take; 0: as long as it likes
	changed chan struct{} // closed when err or limit is not what it was
}

// Why an outlet is written to no more, besides errors of the system.
var (
	errUnread = errors.New("nobody read it")
	errLeft   = errors.New("it was left at once")
)

func (o *outlet) Write(p []byte) (int, error) {
	o.turn.Lock()
	defer o.turn.Unlock()
	if o.problem() != nil {
		return len(p), nil
	}
	// A write to a pipe that nobody empties cannot be ended, only abandoned: so it has a goroutine and bytes of its own.
	text := bytes.Clone(o.secrets.Bytes(p))
	done := make(chan error, 1)
	go func() {
		_, err := o.w.Write(text)
		done <- err
	}()
	for {
		limit, changed, err := o.patience()
		if err != nil {
			return len(p), nil
		}
		var late <-chan time.Time
		if limit > 0 {
			late = time.After(limit)
		}
		select {
		case err := <-done:
			if err != nil {
				o.fail(err)
			}
			return len(p), nil
		case <-late:
			o.fail(errUnread)
			return len(p), nil
		case <-changed:
		}
	}
}

// patience is how long a write may still take, what is closed when that changes, and why it is to be given up.
func (o *outlet) patience() (time.Duration, <-chan struct{}, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed == nil {
		o.changed = make(chan struct{})
	}
	return o.limit, o.changed, o.err
}

// hurry gives every write, also one that waits already, so long and no longer; one that takes longer is the last.
func (o *outlet) hurry(limit time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.limit = limit
	o.wake()
}

// leave ends writing at once: a write that waits is abandoned, and nothing more is written.
func (o *outlet) leave() { o.fail(errLeft) }

// fail keeps the first reason why nothing can be written any more.
func (o *outlet) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return
	}
	o.err = err
	o.wake()
	if o.lost != nil {
		o.lost(err)
	}
}

// wake lets a write that waits look again; the caller holds mu.
func (o *outlet) wake() {
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
}

// problem is why the outlet cannot be written to, or nil.
func (o *outlet) problem() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// onLost sets who is told when writing fails; at once when it already did.
func (o *outlet) onLost(f func(error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost = f
	if o.err != nil && f != nil {
		f(o.err)
	}
}
