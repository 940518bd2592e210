package console

import (
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
)

// A Drawing draws a live view on stdout, at most ten times a second and only when something changed or the seconds
// did. Frames for a terminal that does not read are dropped; nobody else waits for it. No mode of the terminal is
// changed: ^C and ^Z keep their meaning.
type Drawing struct {
	c    *Console
	live *view.Live
	done chan struct{}
	gone chan struct{} // closed when nothing is drawn any more

	closed atomic.Bool

	mu   sync.Mutex // held while something is written to the terminal, which may block
	away bool       // the program is being stopped (^Z): nothing is drawn
}

const (
	frameTime = 100 * time.Millisecond
	tickTime  = time.Second
)

// Draw begins to draw live, until Close. What is written to stdout and stderr meanwhile scrolls by above it.
func (c *Console) Draw(live *view.Live) *Drawing {
	d := &Drawing{c: c, live: live, done: make(chan struct{}), gone: make(chan struct{})}
	c.Out.writeAround(d.above)
	if _, ok := terminal(c.Stderr); ok {
		c.Err.writeAround(d.above)
	}
	c.drawing.Store(d)
	go d.run()
	return d
}

// Drawn returns the live view that is drawn now, or nil.
func (c *Console) Drawn() *view.Live {
	if d := c.drawing.Load(); d != nil {
		return d.live
	}
	return nil
}

func (d *Drawing) run() {
	defer close(d.gone)
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	for {
		select {
		case <-d.done:
			return
		case <-time.After(frameTime): // what is over by then is not drawn
		}
		d.frame()
		select {
		case <-d.done:
			return
		case <-d.live.Changed():
		case <-resized:
		case <-time.After(tickTime - frameTime):
		}
	}
}

func (d *Drawing) frame() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away {
		return
	}
	columns, rows := d.c.Size()
	d.write(d.live.Frame(columns, rows, d.c.foreground()))
}

// write writes to the terminal and waits until it is there; the caller holds mu.
func (d *Drawing) write(frame []byte) {
	if len(frame) > 0 {
		d.c.Out.write(d.c.secrets.Bytes(frame))
		d.c.Out.Flush()
	}
}

// erase removes what is drawn; the caller holds mu.
func (d *Drawing) erase() {
	columns, _ := d.c.Size()
	d.write(d.live.Erase(columns))
}

// above calls write with the drawing erased, so that its text scrolls by above.
func (d *Drawing) above(write func()) {
	d.mu.Lock()
	if !d.closed.Load() {
		d.erase()
	}
	write()
	d.mu.Unlock()
	d.live.Touch()
}

// Write queues lines that scroll by above the drawing, without waiting for the terminal; after Close it writes to
// stdout.
func (d *Drawing) Write(p []byte) (int, error) {
	if d.closed.Load() {
		return d.c.Out.Write(p)
	}
	return d.live.Write(p)
}

// pause erases the drawing before the program is stopped, and draws nothing until resume.
func (d *Drawing) pause() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed.Load() {
		d.away = true
		d.erase()
	}
}

// resume draws again, below whatever the terminal shows by now.
func (d *Drawing) resume() {
	d.mu.Lock()
	d.away = false
	d.mu.Unlock()
	d.live.Forget()
}

// Close ends the drawing and removes it. The cursor is at the beginning of a line.
func (d *Drawing) Close() {
	close(d.done)
	<-d.gone
	d.c.drawing.Store(nil)
	d.mu.Lock()
	d.closed.Store(true)
	d.erase()
	d.mu.Unlock()
	d.c.Out.writeAround(nil)
	d.c.Err.writeAround(nil)
}
