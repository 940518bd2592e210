// Package console writes to stdout and stderr, draws in a terminal, and takes the signals that a person sends from
// there.
package console

import (
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// A Console is the stdin, stdout and stderr of the program. Everything but drawing goes through Out and Err.
type Console struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer // as the process has them, for an editor and for questions about the terminal
	Out, Err       *Writer   // a write to Err comes after all that went to Out

	env     func(name string) string
	base    string
	secrets *redact.Set
	drawing atomic.Pointer[Drawing] // what is drawn in now; nil: nothing is
	hurried atomic.Bool             // a second signal came
}

// New returns a Console. env looks up a variable of the environment; paths are shown relative to base.
func New(stdin io.Reader, stdout, stderr io.Writer, env func(string) string, base string, secrets *redact.Set) *Console {
	out := &Writer{to: stdout, secrets: secrets}
	return &Console{
		Stdin: stdin, Stdout: stdout, Stderr: stderr, Out: out,
		Err: &Writer{to: stderr, secrets: secrets, before: out},
		env: env, base: base, secrets: secrets,
	}
}

// Hurried reports whether the person asked twice for the end.
func (c *Console) Hurried() bool { return c.hurried.Load() }

// Results is the screen on stdout, for what a verb was asked for.
func (c *Console) Results() *view.Screen { return c.screen(c.Out) }

// Messages is the screen on stderr, for notes, warnings and errors.
func (c *Console) Messages() *view.Screen { return c.screen(c.Err) }

func (c *Console) screen(w *Writer) *view.Screen {
	s := &view.Screen{W: w, Base: c.base}
	if fd, ok := terminal(w.to); ok {
		s.Colour = c.env("NO_COLOR") == "" && c.env("TERM") != "" && c.env("TERM") != "dumb"
		if columns, _, err := term.GetSize(fd); err == nil {
			s.Columns = columns
		}
	}
	return s
}

// terminal returns the descriptor of a writer that is a terminal.
func terminal(w io.Writer) (int, bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	return int(f.Fd()), true
}

// OnTerminal reports whether stdout is a terminal.
func (c *Console) OnTerminal() bool {
	_, ok := terminal(c.Stdout)
	return ok
}

// CanDraw reports whether stdout is a terminal that can be drawn in.
func (c *Console) CanDraw() bool {
	return c.OnTerminal() && c.env("TERM") != "" && c.env("TERM") != "dumb"
}

// Size returns the size of stdout's terminal in characters; 80 by 24 where it is not known.
func (c *Console) Size() (columns, rows int) {
	if fd, ok := terminal(c.Stdout); ok {
		if columns, rows, err := term.GetSize(fd); err == nil && columns > 0 && rows > 0 {
			return columns, rows
		}
	}
	return view.Width, 24
}

// foreground reports whether the program is in the foreground of stdout's terminal. In the background nothing is
// drawn.
func (c *Console) foreground() bool {
	fd, ok := terminal(c.Stdout)
	if !ok {
		return false
	}
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// ReaderGone reports whether stdout is a pipe that has lost its last reader.
func (c *Console) ReaderGone() bool {
	f, ok := c.Stdout.(*os.File)
	if !ok {
		return false
	}
	polled := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(polled, 0)
	return err == nil && n > 0 && polled[0].Revents&(unix.POLLERR|unix.POLLNVAL) != 0
}
