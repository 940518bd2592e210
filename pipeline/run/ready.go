package run

// When a service is ready.

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// askAgain is how long is waited between two looks whether a service is ready.
const askAgain = 50 * time.Millisecond

// settled is how long a service without a ready block must run to be ready: one that fails at once has ended by then.
const settled = 200 * time.Millisecond

// watch waits until a service is ready, and reports whether it is. One that is not in time is ended.
func (w *walker) watch(ctx context.Context, s *service, out *listener) bool {
	rule := s.t.Service
	late := time.After(rule.Timeout)
	if rule.Command == nil && rule.Port == 0 && rule.Log == "" {
		after := time.After(settled)
		if !w.startable(s.t) {
			after = nil // it ends, which says why
		}
		select {
		case <-after:
			return true
		case <-ctx.Done():
			return false
		}
	}
	limited, done := context.WithTimeout(ctx, rule.Timeout)
	defer done()
	said := ""
	for {
		ready := false
		switch {
		case rule.Command != nil:
			var now string
			if ready, now = w.asks(limited, s.t); said == "" || limited.Err() == nil { // not what the timeout cut off
				said = now
			}
		case rule.Port != 0:
			ready = listens(limited, rule.Port)
		}
		if ready {
			return ctx.Err() == nil
		}
		select {
		case <-out.heard:
			return true
		case <-ctx.Done():
			return false
		case <-late:
			s.stop(neverReady{fmt.Errorf("it was not ready within %v: %s", rule.Timeout, unready(rule, said))})
			return false
		case <-time.After(askAgain):
		}
	}
}

// startable reports whether the program of a service is there.
func (w *walker) startable(t *pipeline.Task) bool {
	d, err := w.r.Tasks.Describe(t)
	return err == nil && len(d.Programs) > 0
}

// unready says what a service has not done. said is of its ready command.
func unready(rule *pipeline.Service, said string) string {
	switch {
	case rule.Command != nil:
		return "the command of its ready block did not exit with 0" + said
	case rule.Port != 0:
		return fmt.Sprintf("nothing listens on port %d", rule.Port)
	}
	return fmt.Sprintf("no line of its output matches %q", rule.Log)
}

// asks reports whether the command that tells whether a service is ready exits with 0, and if not, how it ended.
func (w *walker) asks(ctx context.Context, t *pipeline.Task) (ready bool, said string) {
	probe := *t
	probe.Run, probe.Service = *t.Service.Command, nil
	var out lastLine
	got, err := w.r.Tasks.RunTask(ctx, w.r.Config.Root, &probe, sandbox.Box{Tier: sandbox.None, Secrets: true}, &out)
	switch {
	case err == nil && got.Status == record.Passed:
		return true, ""
	case got.Error != nil:
		return false, ": " + *got.Error
	case got.Status == record.Cancelled:
		return false, ": it was still running"
	}
	if line := out.last(); line != "" {
		return false, howEnded(got) + ": " + line
	}
	return false, howEnded(got)
}

// A lastLine keeps the end of what is written to it.
type lastLine struct{ end []byte }

func (l *lastLine) Write(p []byte) (int, error) {
	const most = 4 << 10
	l.end = append(l.end, p[max(0, len(p)-most):]...)
	l.end = l.end[max(0, len(l.end)-most):]
	return len(p), nil
}

// last returns the last line, at most 200 bytes of it.
func (l *lastLine) last() string {
	text := bytes.TrimSpace(l.end)
	text = plain(text[bytes.LastIndexByte(text, '\n')+1:])
	return strings.ToValidUTF8(string(text[:min(len(text), 200)]), "")
}

// listens reports whether something accepts connections on a port of this machine.
func listens(ctx context.Context, port int) bool {
	for _, host := range []string{"127.0.0.1", "::1"} {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			_ = conn.Close()
			return true
		}
	}
	return false
}

// A listener waits for a line in the output of a service. heard is closed when it has come.
type listener struct {
	to    io.Writer
	line  *regexp.Regexp // nil: there is none to wait for, or it has come
	heard chan struct{}
	begun []byte // of a line that has not ended
}

// mostOfLine is how much of a line is compared.
const mostOfLine = 64 << 10

func (l *listener) Write(p []byte) (int, error) {
	n, err := l.to.Write(p)
	for rest := p; l.line != nil; {
		part, more, ended := bytes.Cut(rest, []byte("\n"))
		l.begun = append(l.begun, part[:min(len(part), mostOfLine-len(l.begun))]...)
		if l.line.Match(plain(l.begun)) { // also of a line that has not ended: a prompt may wait behind it
			l.line, l.begun = nil, nil
			close(l.heard)
			break
		}
		if !ended {
			break
		}
		l.begun, rest = l.begun[:0], more
	}
	return n, err
}

// escapes are sequences that give a terminal colours and the like.
var escapes = lazily.Regexp(`\x1b\[[0-?]*[ -/]*[@-~]`)

// plain returns a line as a terminal shows it: without colours and the carriage return at its end.
func plain(line []byte) []byte {
	line = bytes.TrimRight(line, "\r")
	if bytes.IndexByte(line, '\x1b') >= 0 {
		line = escapes().ReplaceAll(line, nil)
	}
	return line
}
