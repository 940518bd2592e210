package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
)

// A stand is a program that can be stopped with ^Z and continued: what it runs stands still with it, and what it draws is
// settled before.
type stand struct {
	h    *hall
	done chan struct{}
	gone chan struct{}
}

// How long the output may take to be written before the program stops, and how long the system may take to stop it.
const (
	settleTime = 100 * time.Millisecond
	stopTime   = 500 * time.Millisecond
)

// stands begins to take SIGTSTP and SIGCONT, until end. A program that was started with SIGTSTP ignored keeps ignoring it.
func (h *hall) stands() *stand {
	s := &stand{h: h, done: make(chan struct{}), gone: make(chan struct{})}
	stops, goes := make(chan os.Signal, 1), make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGTSTP) {
		signal.Notify(stops, syscall.SIGTSTP)
	}
	signal.Notify(goes, syscall.SIGCONT)
	go func() {
		defer close(s.gone)
		defer signal.Stop(stops)
		defer signal.Stop(goes)
		for {
			select {
			case <-s.done:
				return
			case <-goes: // stopped by SIGSTOP, which nobody is told of
				s.back()
			case <-stops:
				s.stop(goes)
			}
		}
	}()
	return s
}

func (s *stand) end() {
	close(s.done)
	<-s.gone
}

// stop stops everything that runs and then this program, as the terminal would have, and returns when it goes on.
func (s *stand) stop(goes chan os.Signal) {
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		if t := s.h.terminal.Load(); t != nil {
			t.leave()
		}
		s.h.out.flush()
	}()
	select {
	case <-settled:
	case <-time.After(settleTime): // nobody reads: it stops all the same
	}
	sandbox.Suspend()
	select { // an older one does not count
	case <-goes:
	default:
	}
	if err := syscall.Kill(os.Getpid(), stopSignal()); err == nil {
		select {
		case <-goes:
		case <-time.After(stopTime): // time passes while the program stands
			select {
			case <-goes:
			case <-time.After(settleTime):
			}
		}
	}
	sandbox.Resume()
	select {
	case <-settled:
		s.back()
	default:
		go func() { // the other order would leave it settled for good
			<-settled
			s.back()
		}()
	}
}

// stopSignal is what stops this program, and no other. (Once SIGTSTP was caught the Go runtime never gives it back its own
// action.) SIGSTOP is what shells have the plain word for; where no shell is seen to wait for us, it is a signal that the
// system ignores in a group that nobody could continue.
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

func (s *stand) back() {
	if t := s.h.terminal.Load(); t != nil {
		t.back()
	}
}
