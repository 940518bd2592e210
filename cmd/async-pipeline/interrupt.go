package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// An interruption is SIGINT and SIGTERM while work goes on: the first ends ctx, the second says "at once" on again.
type interruption struct {
	ctx    context.Context
	cancel context.CancelFunc
	again  chan struct{} // closed by the second signal
	ch     chan os.Signal
	done   chan struct{}

	mu    sync.Mutex
	first syscall.Signal // 0: none came
}

// listen begins to take signals, until stop. told, which may be nil, hears of the first one.
func listen(told func(syscall.Signal)) *interruption {
	i := &interruption{again: make(chan struct{}), ch: make(chan os.Signal, 2), done: make(chan struct{})}
	i.ctx, i.cancel = context.WithCancel(context.Background())
	// A program that was started in the background with SIGINT ignored keeps ignoring it.
	signals := []os.Signal{syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGINT) {
		signals = append(signals, syscall.SIGINT)
	}
	signal.Notify(i.ch, signals...)
	go i.wait(told)
	return i
}

func (i *interruption) wait(told func(syscall.Signal)) {
	for n := 0; ; {
		select {
		case <-i.done:
			return
		case s := <-i.ch:
			if n++; n > 1 {
				close(i.again)
				return
			}
			sig, _ := s.(syscall.Signal)
			i.mu.Lock()
			i.first = sig
			i.mu.Unlock()
			if told != nil {
				told(sig)
			}
			i.cancel()
		}
	}
}

// signal is the first signal that came, 0 when none did.
func (i *interruption) signal() syscall.Signal {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.first
}

// unread ends ctx when nobody reads the output any more. Any other trouble with it is no reason to stop.
func (i *interruption) unread(err error) {
	if errors.Is(err, syscall.EPIPE) {
		i.cancel()
	}
}

// stop gives the signals back.
func (i *interruption) stop() {
	signal.Stop(i.ch)
	close(i.done)
	i.cancel()
}
