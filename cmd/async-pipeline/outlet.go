package main

import (
	"io"
	"sync"

	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// An outlet is stdout or stderr. What goes through is free of secrets, one Write is never mixed with another, and when
// it cannot be written to any more, that is kept for the end instead of stopping whoever writes.
type outlet struct {
	secrets *redact.Set
	mu      sync.Mutex // guards what follows: signals and tasks speak at the same time
	w       io.Writer
	err     error
	lost    func(error) // told once, when writing fails; may be nil
}

func (o *outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return len(p), nil
	}
	if _, err := o.w.Write(o.secrets.Bytes(p)); err != nil {
		o.err = err
		if o.lost != nil {
			o.lost(err)
		}
	}
	return len(p), nil
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
