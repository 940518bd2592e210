// A run as plain lines: output with the task's name before each line, and a line a task when it ends.
package view

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// longLine is how much of a line, in bytes, is held back for its end; a longer one is shown in pieces as it comes.
const longLine = 16 << 10

// A Lines shows a run as it goes. It is told one thing at a time, as run.Observer promises.
type Lines struct {
	screen *Screen
	width  int               // columns of the names
	held   map[string][]byte // by task: an unfinished line
	open   string            // the task whose line is on the screen without its end
	shown  map[string]bool   // tasks whose end was told
	runs   []running         // what was started and has not ended, without services
	left   leftOut           // of them, what was skipped: shown at the end
	buf    []byte            // scratch
	lines  int               // written so far
	last   map[string]int    // by task: lines when it last printed
}

// A running is a task at work.
type running struct {
	name  string
	since time.Time
}

// nearby is how many lines a person probably sees at once.
const nearby = 40

// Shown reports whether the output of a task is still among the last lines.
func (l *Lines) Shown(task string) bool {
	last, ok := l.last[task]
	return ok && l.lines-last < nearby
}

// Lines returns a view of a run of these tasks.
func (s *Screen) Lines(names []string) *Lines {
	return &Lines{screen: s, held: map[string][]byte{}, shown: make(map[string]bool, len(names)), last: map[string]int{}, width: nameColumns(names, 20)}
}

// nameColumns returns the width that names are padded to: that of the widest, at most most.
func nameColumns(names []string, most int) int {
	wide := 0
	for _, n := range names {
		if wide = max(wide, min(columns(taskName(n)), most)); wide == most {
			break
		}
	}
	return wide
}

func (l *Lines) prefix(name string) string {
	return l.screen.paint(dim, pad(taskName(name), l.width)+" │") + " "
}

// Started shows nothing: the cache may have the result.
func (l *Lines) Started(*pipeline.Task) {}

// Runs shows the command.
func (l *Lines) Runs(t *pipeline.Task) {
	if t.Service == nil {
		l.runs = append(l.runs, running{t.Name, time.Now()})
	}
	l.line(l.prefix(t.Name) + l.screen.paint(dim, cut(does(t), max(l.screen.wide()-l.width-3, 20))))
}

// Quiet shows which tasks run, as nothing else was shown for long: a log that ends here tells what it waited for.
func (l *Lines) Quiet() {
	var all []string
	for _, r := range l.runs {
		l.flush(r.name)
		all = append(all, taskName(r.name)+" "+Duration(time.Since(r.since)))
	}
	if len(all) > 0 {
		l.line(strings.Join(Wrap("still running: "+english.List(all, mostNames), l.screen.headRoom()-2), "\n  "))
	}
}

// Output shows whole lines of a task and keeps the rest.
func (l *Lines) Output(name string, chunk []byte) {
	held := l.held[name]
	if len(held) > 0 {
		chunk = append(held, chunk...)
		held = chunk[:0] // its memory is used again below, from where nothing is read any more
	}
	out, prefix := l.buf[:0], l.prefix(name)
	for {
		if l.open == "" {
			out, chunk = appendPlain(out, prefix, chunk)
		}
		end, skip := lineEnd(chunk)
		if end < 0 {
			break
		}
		out = l.piece(out, name, prefix, chunk[:end], true)
		chunk = chunk[end+skip:]
	}
	if len(chunk) > longLine {
		n := wholePart(chunk)
		out = l.piece(out, name, prefix, chunk[:n], false)
		chunk = chunk[n:]
	}
	if len(chunk) > 0 || cap(held) > 0 {
		l.held[name] = append(held[:0], chunk...)
	}
	l.write(out)
	l.last[name] = l.lines
}

// appendPlain appends the whole lines that text begins with to out, each after prefix, as long as they are only
// printable ASCII and tabs, which is the common case. It also returns the rest of text.
func appendPlain(out []byte, prefix string, text []byte) (more, rest []byte) {
	for i := 0; ; {
		i += printable(text[i:])
		switch {
		case i == len(text):
			return out, text
		case text[i] == '\n':
			i++
			out = append(append(out, prefix...), text[:i]...)
			text, i = text[i:], 0
		case text[i] == '\t':
			i++
		default:
			return out, text
		}
	}
}

// write writes out, which was built in buf.
func (l *Lines) write(out []byte) {
	if len(out) > 0 {
		_, _ = l.screen.W.Write(out) // a screen that cannot be written to is its owner's concern
		l.lines += bytes.Count(out, []byte("\n"))
	}
	if l.buf = out; cap(out) > 1<<20 {
		l.buf = nil
	}
}

// lineEnd finds the first line end: \n, \r\n, or a \r of a progress bar, which is shown as a line of its own.
// A \r at the very end of the buffer may be half of \r\n: it waits.
func lineEnd(b []byte) (end, skip int) {
	i := bytes.IndexByte(b, '\n')
	line := b
	if i >= 0 {
		line = b[:i]
	}
	switch r := bytes.IndexByte(line, '\r'); {
	case r < 0:
		return i, 1
	case r+1 == i:
		return r, 2
	case r+1 == len(b):
		return -1, 0
	default:
		return r, 1
	}
}

// wholePart returns how much of a long unfinished line may be shown without breaking a character or an escape
// sequence.
func wholePart(b []byte) int {
	n := len(b)
	if b[n-1] == '\r' {
		n--
	}
	n = wholeEscapes(b[:n])
	for k := 1; k < utf8.UTFMax && k <= n; k++ {
		if utf8.RuneStart(b[n-k]) {
			if !utf8.FullRune(b[n-k : n]) {
				n -= k
			}
			break
		}
	}
	return n
}

// piece appends a part of a task's line to out; last ends the line.
func (l *Lines) piece(out []byte, name, prefix string, text []byte, last bool) []byte {
	if l.open != name {
		if l.open != "" {
			out = append(out, '\n')
		}
		out = append(out, prefix...)
	}
	out = appendTaskText(out, text, l.screen.Colour)
	l.open = name
	if last {
		out = append(out, '\n')
		l.open = ""
	}
	return out
}

// flush shows what a task printed without a line end.
func (l *Lines) flush(name string) {
	rest := bytes.TrimSuffix(l.held[name], []byte("\r"))
	delete(l.held, name)
	if len(rest) > 0 || l.open == name {
		l.write(l.piece(l.buf[:0], name, l.prefix(name), rest, true))
		l.last[name] = l.lines
	}
}

// line shows a line of our own, after ending an open one.
func (l *Lines) line(text string) {
	if l.open != "" {
		text = "\n" + text
		l.open = ""
	}
	l.screen.put(text + "\n")
	l.lines++
}

// Retried shows that a task is run again, and why.
func (l *Lines) Retried(t *pipeline.Task, attempt int, before record.Task) {
	l.flush(t.Name)
	l.line(l.screen.again(t, attempt, before))
}

// again returns the line about a task that is run again.
func (s *Screen) again(t *pipeline.Task, attempt int, before record.Task) string {
	in := ""
	if t.Retry.Delay > 0 {
		in = " in " + Duration(t.Retry.Delay)
	}
	after := strings.TrimPrefix(endedAtLast(before), "failed: ")
	text := fmt.Sprintf("attempt %d of %d%s, after %s", attempt, t.Retry.Attempts, in, after)
	return s.told(s.paint(yellow, "–"), taskName(t.Name), text)
}

// Ready shows that a service is ready for the tasks that need it, or goes on since an earlier run.
func (l *Lines) Ready(t *pipeline.Task, took time.Duration, since string) {
	l.flush(t.Name)
	l.line(l.screen.ready(t, took, since))
}

func (s *Screen) ready(t *pipeline.Task, took time.Duration, since string) string {
	text := "ready " + Duration(took)
	if since != "" {
		text = "goes on"
	}
	return s.told(s.paint(green, "✓"), taskName(t.Name), text)
}

// goesOn reports whether a task is a service that goes on after the run. Of its end nothing is shown.
func goesOn(t record.Task) bool { return t.Service != nil && t.Service.Kept }

// Finished shows how a task ended, once. What was skipped is shown by End.
func (l *Lines) Finished(t record.Task) {
	if l.shown[t.Name] {
		return
	}
	l.shown[t.Name] = true
	if t.Status == record.Skipped {
		l.left.add(t)
		return
	}
	l.runs = slices.DeleteFunc(l.runs, func(r running) bool { return r.name == t.Name })
	l.flush(t.Name)
	if !goesOn(t) {
		l.line(l.screen.end(t))
	}
}

// end returns the line about how a task ended.
func (s *Screen) end(t record.Task) string {
	took := ""
	if t.DurationMS != nil && t.Error == nil && t.Status != record.Skipped {
		took = " " + ms(t.DurationMS)
	}
	mark, colour := "✗", red
	switch t.Status {
	case record.Passed, record.Cached:
		mark, colour = "✓", green
	case record.Skipped, record.Cancelled:
		mark, colour = "–", yellow
	}
	name, text := taskName(t.Name), ended(t)+took+missed(t)
	if t.Error != nil {
		room := s.wide() - 2 - columns(name) - 1
		if room < 30 {
			room = s.wide() - 2 // below the name, in a terminal
		}
		text = cut(text, room) // the summary has the whole of it
	}
	return s.told(s.paint(colour, mark), name, text)
}

// missed returns why a task that passed was not taken from the cache, or not stored there, and what it read besides its
// inputs. Of a first run there is nothing to tell.
func missed(t record.Task) string {
	c := t.Cache
	if c == nil || t.Status != record.Passed {
		return ""
	}
	var all []string
	switch {
	case c.NotStored != nil:
		all = append(all, "not stored: "+*c.NotStored)
	case c.Result == "off" && c.Reason != nil && c.Key == nil && !strings.HasPrefix(*c.Reason, "--") && !strings.HasPrefix(*c.Reason, "cache {"):
		all = append(all, "not cached: "+*c.Reason)
	case c.Result == "miss" && c.Reason != nil && *c.Reason != "first run":
		all = append(all, *c.Reason)
	}
	if u := c.Undeclared; u.String() != "" && (c.NotStored == nil || *c.NotStored != u.String()) {
		if u.Reason != nil {
			all = append(all, "inputs not checked: "+*u.Reason)
		} else {
			all = append(all, u.String())
		}
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + Harmless(strings.Join(all, "; ")) + ")"
}

// told returns a line about tasks. Where it does not fit, the text is put below the name.
func (s *Screen) told(mark, name, text string) string {
	lead := mark + " " + s.paint(bold, name)
	if 2+columns(name)+1+columns(text) <= s.headRoom() {
		return lead + " " + text
	}
	return lead + "\n  " + strings.Join(Wrap(text, s.headRoom()-2), "\n  ")
}

// End shows the tasks whose end was not shown, with the rest of their output, and those that were never started.
func (l *Lines) End(tasks []record.Task) {
	for _, t := range tasks {
		l.Finished(t)
	}
	for _, text := range l.left.take(l.screen) {
		l.line(text)
	}
}
