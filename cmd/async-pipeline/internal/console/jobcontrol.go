package console

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
)

// A JobControl pauses the running tasks and erases the drawing when SIGTSTP (^Z) arrives, stops the program, and
// undoes both on SIGCONT.
type JobControl struct {
	c    *Console
	done chan struct{}
	gone chan struct{}
}

// settleTime is how long the output may take to be written before the program stops, stopTime how long the kernel
// may take to stop it.
const (
	settleTime = 100 * time.Millisecond
	stopTime   = 500 * time.Millisecond
)

// together is within which time the order of two signals is not known: of those that came at once, the Go runtime hands on
// SIGCONT first. That is taken for the later one, since nobody would continue the program again.
const together = 10 * time.Millisecond

// JobControl begins to take SIGTSTP and SIGCONT, in the background, until End. A SIGTSTP that was ignored when the
// program started stays ignored.
func (c *Console) JobControl() *JobControl {
	j := &JobControl{c: c, done: make(chan struct{}), gone: make(chan struct{})}
	came := make(chan os.Signal, 4) // of both, as their order counts
	go func() {
		defer close(j.gone)
		defer Release(came)
		if !signal.Ignored(syscall.SIGTSTP) {
			signal.Notify(came, syscall.SIGTSTP)
		}
		signal.Notify(came, syscall.SIGCONT)
		var went time.Time // when SIGCONT came last
		for {
			select {
			case <-j.done:
				return
			case s := <-came:
				switch {
				case s == syscall.SIGCONT: // after SIGSTOP, which cannot be caught
					went = time.Now()
					j.resume()
				case time.Since(went) > together:
					j.stop(came)
				}
			}
		}
	}()
	return j
}

// End stops taking the signals.
func (j *JobControl) End() {
	close(j.done)
	<-j.gone
}

// stop stops all tasks and then this program, as the terminal would have, and returns when it is continued. Where that
// came before it has stopped, it does not stop: nobody would continue it again.
func (j *JobControl) stop(came <-chan os.Signal) {
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		if d := j.c.drawing.Load(); d != nil {
			d.pause()
		}
		j.c.Out.Flush()
	}()
	select {
	case <-settled:
	case <-time.After(settleTime): // nobody reads: stop all the same
	}
	sandbox.Suspend()
	if !continued(came, 0) && syscall.Kill(os.Getpid(), stopSignal()) == nil {
		_ = continued(came, stopTime) || continued(came, settleTime) // time passes while the program is stopped
	}
	sandbox.Resume()
	select {
	case <-settled:
		j.resume()
	default:
		go func() { // in the other order the drawing would stay erased
			<-settled
			j.resume()
		}()
	}
}

// continued reports whether SIGCONT has come, or comes within d.
func continued(came <-chan os.Signal, d time.Duration) bool {
	late := time.After(d)
	for {
		var s os.Signal
		select {
		case s = <-came:
		default: // now nothing has come
			select {
			case s = <-came:
			case <-late:
				return false
			}
		}
		if s == syscall.SIGCONT {
			return true
		}
	}
}

// stopSignal returns the signal that stops this program only. (Once SIGTSTP was caught, the Go runtime never
// restores its default action.) It is SIGSTOP under a shell with job control; else SIGTTIN, which the kernel
// ignores in an orphaned process group, one that nobody could continue.
func stopSignal() syscall.Signal {
	parent := os.Getppid()
	group, err := syscall.Getpgid(parent)
	session, bad := unix.Getsid(parent)
	own, worse := unix.Getsid(0)
	if errors.Join(err, bad, worse) == nil && session == own && group != syscall.Getpgrp() {
		return syscall.SIGSTOP
	}
	return syscall.SIGTTIN
}

func (j *JobControl) resume() {
	if d := j.c.drawing.Load(); d != nil {
		d.resume()
	}
}
