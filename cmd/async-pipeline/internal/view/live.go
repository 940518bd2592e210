// A run as it happens: output with the task's name before each line, and a line a task when it ends.
package view

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// longLine is how much of a line, in bytes, is held back for its end; a longer one is shown in pieces as it comes.
const longLine = 16 << 10

// A Live shows a run. It is told one thing at a time, as run.Observer promises.
type Live struct {
	screen *Screen
	width  int               // columns of the names
	held   map[string][]byte // by task: an unfinished line
	open   string            // the task whose line stands on the screen without its end
	shown  map[string]bool   // tasks whose end was shown
}

// Live prepares to show a run of these tasks.
func (s *Screen) Live(names []string) *Live {
	l := &Live{screen: s, held: map[string][]byte{}, shown: map[string]bool{}}
	for _, n := range names {
		l.width = max(l.width, min(columns(Harmless(n)), 20))
	}
	return l
}

func (l *Live) prefix(name string) string {
	return l.screen.paint(dim, pad(Harmless(name), l.width)+" │") + " "
}

// Started shows the command.
func (l *Live) Started(t *pipeline.Task) {
	l.line(l.prefix(t.Name) + l.screen.paint(dim, cut("$ "+Command(t.Run), max(Width-l.width-3, 20))))
}

// Output shows whole lines of a task and holds the rest back.
func (l *Live) Output(name string, chunk []byte) {
	buf := append(l.held[name], chunk...)
	var b strings.Builder
	for {
		end, skip := lineEnd(buf)
		if end < 0 {
			break
		}
		l.piece(&b, name, buf[:end], true)
		buf = buf[end+skip:]
	}
	if len(buf) > longLine {
		n := wholePart(buf)
		l.piece(&b, name, buf[:n], false)
		buf = buf[n:]
	}
	l.held[name] = bytes.Clone(buf)
	if b.Len() > 0 {
		l.screen.put(b.String())
	}
}

// lineEnd finds the first line end: \n, \r\n, or a \r of a progress bar, which is shown as a line of its own.
// A \r at the very end of the buffer may be half of \r\n: it waits.
func lineEnd(b []byte) (end, skip int) {
	i := bytes.IndexAny(b, "\r\n")
	switch {
	case i < 0:
		return -1, 0
	case b[i] == '\n':
		return i, 1
	case i+1 == len(b):
		return -1, 0
	case b[i+1] == '\n':
		return i, 2
	}
	return i, 1
}

// wholePart is how much of a long unfinished line may be shown: no character and no colour sequence is torn apart.
func wholePart(b []byte) int {
	n := len(b)
	if b[n-1] == '\r' {
		n--
	}
	if i := bytes.LastIndexByte(b[:n], 0x1b); i >= 0 && n-i < 40 && sgr(string(b[i:n])) == 0 {
		n = i
	}
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

// piece writes a part of a task's line; last ends it.
func (l *Live) piece(b *strings.Builder, name string, text []byte, last bool) {
	if l.open != name {
		if l.open != "" {
			b.WriteByte('\n')
		}
		b.WriteString(l.prefix(name))
	}
	b.WriteString(clean(string(text), true, l.screen.Colour))
	l.open = name
	if last {
		b.WriteByte('\n')
		l.open = ""
	}
}

// flush shows what a task left without a line end.
func (l *Live) flush(name string) {
	rest := bytes.TrimSuffix(l.held[name], []byte("\r"))
	delete(l.held, name)
	var b strings.Builder
	if len(rest) > 0 || l.open == name {
		l.piece(&b, name, rest, true)
		l.screen.put(b.String())
	}
}

// line shows a line of our own, after ending a line that stands open.
func (l *Live) line(text string) {
	if l.open != "" {
		text = "\n" + text
		l.open = ""
	}
	l.screen.put(text + "\n")
}

// Finished shows how a task ended, once.
func (l *Live) Finished(t record.Task) {
	if l.shown[t.Name] {
		return
	}
	l.shown[t.Name] = true
	l.flush(t.Name)
	took := ""
	if t.DurationMS != nil && t.Status != record.Skipped {
		took = " " + Duration(time.Duration(*t.DurationMS)*time.Millisecond)
	}
	mark, colour := "✗", red
	switch t.Status {
	case record.Passed, record.Cached:
		mark, colour = "✓", green
	case record.Skipped, record.Cancelled:
		mark, colour = "–", yellow
	}
	l.line(fmt.Sprintf("%s %s %s%s", l.screen.paint(colour, mark), l.screen.paint(bold, Harmless(t.Name)), ended(t), took))
}

// Interrupted says, once a signal came, what happens now.
func (l *Live) Interrupted(text string) { l.line(l.screen.paint(yellow, text)) }

// End shows what is still held back and the tasks whose end was not told, such as those that were never started.
func (l *Live) End(tasks []record.Task) {
	for _, t := range tasks {
		l.Finished(t)
	}
}
