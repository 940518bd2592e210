package main

import (
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
)

// A terminal draws a live view on stdout, at most ten times a second, and only when something changed or the seconds did. Of
// a terminal that stands still, frames are left out; nobody else waits for it. No mode of the terminal is changed: ^C and ^Z
// are its own, and what a program in the background writes stops nothing.
type terminal struct {
	h    *hall
	live *view.Live
	done chan struct{}
	gone chan struct{} // closed when nothing is drawn any more

	closed atomic.Bool

	mu   sync.Mutex // held while something is written to the terminal, which may take as long as it likes
	away bool       // the program is being stopped: nothing is drawn
}

const (
	frameTime = 100 * time.Millisecond
	tickTime  = time.Second
)

// draw begins to draw live, until close. What others write to stdout and stderr meanwhile stands above it.
func (h *hall) draw(live *view.Live) *terminal {
	t := &terminal{h: h, live: live, done: make(chan struct{}), gone: make(chan struct{})}
	h.out.drawnIn(t.above)
	if _, ok := terminalOf(h.err.w); ok {
		h.err.drawnIn(t.above)
	}
	h.terminal.Store(t)
	go t.run()
	return t
}

func (t *terminal) run() {
	defer close(t.gone)
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	for {
		select {
		case <-t.done:
			return
		case <-time.After(frameTime): // what is over by then is drawn once, or not at all
		}
		t.frame()
		select {
		case <-t.done:
			return
		case <-t.live.Changed():
		case <-resized:
		case <-time.After(tickTime - frameTime):
		}
	}
}

func (t *terminal) frame() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.away {
		return
	}
	columns, rows := t.h.size()
	t.write(t.live.Frame(columns, rows, t.h.inFront()))
}

// write writes to the terminal and waits until it is there; the caller holds mu.
func (t *terminal) write(frame []byte) {
	if len(frame) > 0 {
		t.h.out.write(t.h.secrets.Bytes(frame))
		t.h.out.flush()
	}
}

// erase takes away what stands below what has scrolled by; the caller holds mu.
func (t *terminal) erase() {
	columns, _ := t.h.size()
	t.write(t.live.Erase(columns))
}

// above does a Write above what is drawn.
func (t *terminal) above(write func()) {
	t.mu.Lock()
	if !t.closed.Load() {
		t.erase()
	}
	write()
	t.mu.Unlock()
	t.live.Touch()
}

// Write lets lines scroll by without waiting for the terminal; after close they are written.
func (t *terminal) Write(p []byte) (int, error) {
	if t.closed.Load() {
		return t.h.out.Write(p)
	}
	return t.live.Write(p)
}

// leave settles what is drawn before the program is stopped, and draws nothing until back.
func (t *terminal) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed.Load() {
		t.away = true
		t.erase()
	}
}

// back goes on drawing below whatever the terminal shows by now.
func (t *terminal) back() {
	t.mu.Lock()
	t.away = false
	t.mu.Unlock()
	t.live.Forget()
}

// close ends the drawing: what stands below is taken away, and the cursor is where the next line begins.
func (t *terminal) close() {
	close(t.done)
	<-t.gone
	t.h.terminal.Store(nil)
	t.mu.Lock()
	t.closed.Store(true)
	t.erase()
	t.mu.Unlock()
	t.h.out.drawnIn(nil)
	t.h.err.drawnIn(nil)
}

// terminalOf gives the descriptor of a writer that is a terminal.
func terminalOf(w io.Writer) (int, bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	return int(f.Fd()), true
}

// size is what stdout's terminal says of itself, in characters; where it says nothing, what most are.
func (h *hall) size() (columns, rows int) {
	if fd, ok := terminalOf(h.stdout); ok {
		if columns, rows, err := term.GetSize(fd); err == nil && columns > 0 && rows > 0 {
			return columns, rows
		}
	}
	return view.Width, 24
}

// inFront says whether the program is in the foreground of stdout's terminal: behind somebody else's prompt nothing is drawn.
func (h *hall) inFront() bool {
	fd, ok := terminalOf(h.stdout)
	if !ok {
		return false
	}
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// canDraw says whether stdout is a terminal that can be drawn in.
func (h *hall) canDraw() bool {
	_, ok := terminalOf(h.stdout)
	return ok && h.env("TERM") != "" && h.env("TERM") != "dumb"
}
