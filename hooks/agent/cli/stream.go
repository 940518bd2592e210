package cli

// What a CLI prints, cut into lines: events for its reader, the raw stream, and the errors that it writes to stderr.

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

const (
	maxEvent = 8 << 20 // a longer line is dropped, but for its type
	keptErr  = 50      // lines of stderr that are kept for the evidence
)

// A reading is the streams of one turn. Its mutex guards all of it and the report: two pipes write to it.
type reading struct {
	mu      sync.Mutex
	prog    *program
	report  *report
	read    func(line []byte)
	noteTo  func(agent.Line)
	secrets *redact.Set
	raw     io.Writer
	given   string // prompt and context pack: what stands on stderr and in them is an echo
	after   func() // called after each event, with the mutex held

	out, err lineSplitter
	rawBytes int64
	notes    int
	said     bool
	lines    []string // the last ones of stderr
	outBytes int64
	errBytes int64
	leftOut  int64 // bytes that are in no raw stream or transcript
}

func newReading(p *program, r agent.Request, rep *report) *reading {
	s := &reading{
		prog: p, report: rep, noteTo: r.Note, secrets: r.Secrets, raw: r.Raw,
		given: agent.Clean(r.Prompt + "\n" + string(r.Pack)),
	}
	rep.note = s.note
	s.read = p.read(rep)
	s.out = lineSplitter{most: maxEvent, line: s.event, long: s.tooLong}
	s.err = lineSplitter{most: maxLine, line: s.complaint, long: func([]byte) {}}
	return s
}

// note writes a line of the transcript; the caller holds the mutex, or is alone.
func (s *reading) note(kind string, data map[string]any) {
	if s.notes++; s.noteTo == nil || s.notes > maxLines && kind != "end" {
		return
	}
	for key, v := range data {
		if text, ok := v.(string); ok {
			data[key] = s.secrets.String(strings.ToValidUTF8(text, "\uFFFD"))
		}
	}
	s.noteTo(agent.Line{Type: kind, Data: data})
}

// stdout and stderr are the writers of the two streams. They never fail.
func (s *reading) stdout() io.Writer {
	return writer(func(p []byte) {
		s.outBytes += int64(len(p))
		s.said = s.said || len(bytes.TrimSpace(p)) > 0
		s.out.write(p)
	}, &s.mu)
}

func (s *reading) stderr() io.Writer {
	return writer(func(p []byte) {
		s.errBytes += int64(len(p))
		s.err.write(p)
	}, &s.mu)
}

// close reads what has no line end: a CLI that was ended writes half a line at times.
func (s *reading) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.close()
	s.err.close()
	s.report.flush()
}

// event reads one line of stdout.
func (s *reading) event(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 || s.prog.noise != nil && s.prog.noise(line) {
		s.leftOut += int64(len(line))
		return
	}
	s.keep(line)
	if bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
		s.read(line)
	}
	if s.after != nil {
		s.after()
	}
}

// keep writes a line to the raw stream.
func (s *reading) keep(line []byte) {
	if s.raw == nil || s.rawBytes+int64(len(line)) > maxTotal {
		s.leftOut += int64(len(line))
		return
	}
	s.rawBytes += int64(len(line)) + 1
	if _, err := s.raw.Write(append(bytes.Clone(line), '\n')); err != nil {
		s.raw = nil
		s.note("notice", map[string]any{"text": "the raw stream cannot be kept: " + err.Error()})
	}
}

// eventType finds the type at the beginning of an event.
var eventType = lazily.Regexp(`^\{"type": ?"([\w.-]+)"`)

// tooLong drops a line that is too long. That an event of its type came still counts.
func (s *reading) tooLong(head []byte) {
	if s.prog.noise != nil && s.prog.noise(head) {
		return
	}
	s.note("notice", map[string]any{"text": fmt.Sprintf("a line of stdout longer than %d bytes was left out", maxEvent)})
	if m := eventType().FindSubmatch(head); m != nil {
		s.read(fmt.Appendf(nil, `{"type":%q}`, m[1]))
		if s.after != nil {
			s.after()
		}
	}
}

// complaint keeps one line of stderr.
func (s *reading) complaint(line []byte) {
	text := strings.TrimSpace(agent.Clean(strings.ToValidUTF8(string(line), "\uFFFD")))
	if text == "" {
		return
	}
	s.note("notice", map[string]any{"text": text, "stream": "stderr"})
	if len(s.lines) == keptErr {
		s.lines = s.lines[1:]
	}
	s.lines = append(s.lines, agent.Tail(text, 2000))
	if s.hopeless(text) {
		s.report.fault, s.report.hopeless = fault{kind: worded(text), text: short(text)}, true
		if s.after != nil {
			s.after()
		}
	}
}

// hopeless reports whether a line of stderr means that waiting for a CLI that works is of no use.
func (s *reading) hopeless(line string) bool {
	if s.report.hopeless || s.report.end != running || !slices.Contains(s.prog.early, worded(line)) {
		return false
	}
	words, marked := markedError(withoutEcho(line, s.given))
	return marked && worded(words) == worded(line)
}

// A lineSplitter cuts a stream into lines.
type lineSplitter struct {
	most    int // a longer line is dropped
	line    func([]byte)
	long    func(head []byte) // is given the beginning of a dropped line
	part    []byte
	dropped bool
}

func (l *lineSplitter) write(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		piece, ended := p, end >= 0
		if ended {
			piece = p[:end]
			p = p[end+1:]
		} else {
			p = nil
		}
		switch {
		case l.dropped:
		case len(l.part)+len(piece) > l.most:
			head := append(l.part, piece[:min(len(piece), 200)]...)
			l.dropped, l.part = true, nil
			l.long(head[:min(len(head), 200)])
		case ended && len(l.part) == 0:
			l.line(piece)
		default:
			l.part = append(l.part, piece...)
			if ended {
				l.line(l.part)
				l.part = l.part[:0]
			}
		}
		if ended {
			l.dropped = false
		}
	}
}

func (l *lineSplitter) close() {
	if len(l.part) > 0 {
		l.line(l.part)
		l.part = nil
	}
}

type locked struct {
	do func([]byte)
	mu sync.Locker
}

func writer(do func([]byte), mu sync.Locker) io.Writer { return &locked{do, mu} }

// Write never fails: a CLI is not to learn from a broken pipe that nobody listens any more.
func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.do(p)
	return len(p), nil
}
