package cli

// What a program prints, on its way into the transcript, the raw stream and the tail that is parsed. All three are
// bounded.

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

const (
	maxLine  = 1 << 20  // a longer line stays out of the transcript
	maxTotal = 10 << 20 // of stdout, and of stderr: what comes after stays out of transcript and raw stream
	// lines of the transcript for one stream: many tiny writes must not make it larger than the text
	maxLines  = 10_000
	maxPiece  = 64 << 10 // of one write, handled at a time
	lastChars = 300      // of stderr, as evidence
)

// A recorder is written to by two streams at once. Its mutex also keeps the lines of the transcript in order. Only
// the tail keeps output as it was, because a diff in it must not change; the tail is never written anywhere.
type recorder struct {
	mu       sync.Mutex
	noteFunc func(agent.Line)
	raw      io.Writer
	out, err stream
	tail     []byte // of stdout
	said     bool

	over  func() bool   // reports whether the turn has been ended; nil: never
	idle  time.Duration // of silence, after which the program is ended; 0: none
	heard time.Time     // the last write
	until []byte        // the tail before the first write that came too late; nil: none did

	exited atomic.Int64 // when the program itself had ended and left processes, in nanoseconds since 1970; 0: it has not
	before []byte       // the tail before the first write that came well after that; nil: none did
}

// A stream is one of stdout and stderr. The recorder's mutex guards it.
type stream struct {
	rec      *recorder
	kind     string         // type of its transcript lines
	total    int64          // bytes seen
	clean    io.WriteCloser // removes secrets before the output is cut into lines
	left     int64          // bytes of it that are left after that
	raw      int64          // bytes given to raw
	noted    int64          // bytes in the transcript
	lines    int            // transcript lines
	partial  []byte         // a line that has not ended
	dropping bool           // the line is too long; until it ends
	last     string         // the last line that is not empty
}

func newRecorder(note func(agent.Line), raw io.Writer, secrets *redact.Set) *recorder {
	r := &recorder{noteFunc: note, raw: raw, heard: time.Now()}
	r.out = stream{rec: r, kind: "text"}
	r.err = stream{rec: r, kind: "notice"}
	for _, s := range []*stream{&r.out, &r.err} {
		s.clean = secrets.Writer(cleaned{s})
	}
	return r
}

// cleaned receives what the redactor of a stream lets through.
type cleaned struct{ *stream }

func (c cleaned) Write(p []byte) (int, error) {
	c.left += int64(len(p))
	for piece := range slices.Chunk(p, maxPiece) {
		c.split(piece)
	}
	return len(p), nil
}

func (r *recorder) note(kind string, data map[string]any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.say(kind, data)
}

func (r *recorder) say(kind string, data map[string]any) {
	if r.noteFunc != nil {
		r.noteFunc(agent.Line{Type: kind, Data: data})
	}
}

// close writes lines that have no line end, and what was left out, to the transcript.
func (r *recorder) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range []*stream{&r.out, &r.err} {
		_ = s.clean.Close() // what it writes to never fails
		if len(s.partial) > 0 {
			s.flush(s.partial)
			s.partial = nil
		}
		if left := s.left - s.noted; left > 0 {
			r.say("notice", map[string]any{
				"text":           fmt.Sprintf("%d bytes of %s are not in this transcript", left, s.name()),
				"left_out_bytes": left,
			})
		}
	}
}

// text returns the end of stdout.
func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return endOf(r.tail)
}

// inTime is text without what was printed after we had ended the program.
func (r *recorder) inTime() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until != nil {
		return endOf(r.until)
	}
	return endOf(r.tail)
}

// exitDelay is how long after the end of a program what is read may still be its own: it was in the pipe.
const exitDelay = 100 * time.Millisecond

// exits notes that the program itself has ended. What still writes are processes that it left behind.
func (r *recorder) exits() { r.exited.Store(time.Now().UnixNano()) }

// own is text without what was printed after the program itself had ended.
func (r *recorder) own() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.before != nil {
		return endOf(r.before)
	}
	return endOf(r.tail)
}

func endOf(tail []byte) string {
	return strings.ToValidUTF8(agent.Tail(string(tail), agent.TailLimit), "\uFFFD")
}

// hear notes a write. The first one after the end of the turn, or after a silence that ends it, comes too late.
func (r *recorder) hear() {
	now := time.Now()
	if r.until == nil && (r.over != nil && r.over() || r.idle > 0 && now.Sub(r.heard) >= r.idle) {
		r.until = append([]byte{}, r.tail...)
	}
	if at := r.exited.Load(); r.before == nil && at > 0 && now.UnixNano()-at > exitDelay.Nanoseconds() {
		r.before = append([]byte{}, r.tail...)
	}
	r.heard = now
}

func (r *recorder) lastWords() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err.last
}

func (r *recorder) leftOut() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.left - r.out.noted + r.err.left - r.err.noted
}

func (s *stream) name() string {
	if s.kind == "text" {
		return "stdout"
	}
	return "stderr"
}

// Write never fails: an agent is not to learn from a broken pipe that nobody listens any more.
func (s *stream) Write(p []byte) (int, error) {
	s.rec.mu.Lock()
	defer s.rec.mu.Unlock()
	s.rec.hear()
	size := len(p)
	s.total += int64(size)
	if s == &s.rec.out {
		s.rec.keep(p)
	}
	_, _ = s.clean.Write(p) // as Close
	return size, nil
}

// keep writes stdout to the raw stream and the tail.
func (r *recorder) keep(p []byte) {
	r.said = r.said || len(bytes.TrimSpace(p)) > 0
	if room := maxTotal - r.out.raw; r.raw != nil && room > 0 {
		part := p[:min(int64(len(p)), room)]
		r.out.raw += int64(len(part))
		if _, err := r.raw.Write(part); err != nil {
			r.raw = nil
			r.say("notice", map[string]any{"text": "the raw stream cannot be kept: " + err.Error()})
		}
	}
	if len(p) > agent.TailLimit {
		p = p[len(p)-agent.TailLimit:]
	}
	r.tail = append(r.tail, p...)
	if len(r.tail) > 2*agent.TailLimit {
		r.tail = append(r.tail[:0], r.tail[len(r.tail)-agent.TailLimit:]...)
	}
}

// split notes the whole lines that p completes as one line of the transcript, and keeps the rest.
func (s *stream) split(p []byte) {
	if s.dropping {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			return
		}
		s.dropping = false
		p = p[end+1:]
	}
	end := bytes.LastIndexByte(p, '\n')
	if end < 0 {
		s.grow(p)
		return
	}
	first := bytes.IndexByte(p, '\n')
	if long := len(s.partial)+first > maxLine; long || len(s.partial) > 0 {
		if long {
			s.tooLong()
		} else {
			s.flush(append(s.partial, p[:first+1]...))
		}
		s.partial = nil
		p, end = p[first+1:], end-first-1
	}
	if end >= 0 {
		s.flush(p[:end+1])
	}
	s.grow(p[end+1:])
}

func (s *stream) grow(p []byte) {
	if len(s.partial)+len(p) > maxLine {
		s.partial, s.dropping = nil, true
		s.tooLong()
		return
	}
	s.partial = append(s.partial, p...)
}

func (s *stream) tooLong() {
	if s.lines++; s.lines > maxLines {
		return
	}
	s.rec.say("notice", map[string]any{"text": fmt.Sprintf("a line of %s longer than %d bytes was left out", s.name(),
		maxLine)})
}

// flush notes text, a part of the stream that ends where a line does.
func (s *stream) flush(text []byte) {
	if s == &s.rec.err {
		s.remember(text)
	}
	if s.lines >= maxLines || s.noted >= maxTotal {
		return
	}
	if room := maxTotal - s.noted; int64(len(text)) > room {
		text = text[:room]
	}
	s.lines++
	s.noted += int64(len(text))
	data := map[string]any{"text": strings.ToValidUTF8(string(text), "\uFFFD")}
	if s.kind == "notice" {
		data["stream"] = "stderr"
	}
	s.rec.say(s.kind, data)
}

func (s *stream) remember(text []byte) {
	if len(text) > 8<<10 {
		text = text[len(text)-8<<10:]
	}
	for _, line := range slices.Backward(strings.Split(agent.Clean(string(text)), "\n")) {
		if line = strings.TrimSpace(line); line != "" {
			s.last = agent.Tail(line, lastChars)
			return
		}
	}
}
