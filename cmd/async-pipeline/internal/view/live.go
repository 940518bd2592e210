// A run or a fix in a terminal: what has ended scrolls by; below it, what is at work is drawn again and again.
package view

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A Live collects what happens, and whoever owns the terminal asks it for frames. It is safe for concurrent use, and
// no caller waits for the terminal: calls change the state, and a frame shows the state of its moment. Lines that
// scroll by are kept until the next frame.
type Live struct {
	screen *Screen          // how to paint; what is written to it goes elsewhere
	now    func() time.Time // the clock
	nudge  chan struct{}

	mu      sync.Mutex
	started time.Time
	names   int // columns of the tasks' names
	tasks   int // of the run; 0 while a fix is made
	done    int // ended, whatever came of it
	failed  int
	skipped int
	ending  bool            // a signal came
	rows    []*row          // in the order of place
	place   map[string]int  // of a task in the graph
	shown   map[string]bool // tasks whose end was told
	left    leftOut         // of them, what was skipped: it scrolls by at the end
	hook    *hookRow
	scroll  []byte
	paper   paper
}

// A row is a task that runs.
type row struct {
	name    string
	since   time.Time
	attempt int    // 0: the first
	tail    []byte // the end of what this attempt printed
}

// A hookRow is a hook at work.
type hookRow struct {
	task, what string
	attempts   int
	until      time.Time     // the end of its wall clock, once that runs
	budget     time.Duration // until then
	step       string        // what it does now
	since      time.Time     // for so long
}

// tailBytes is how much of the end of a task's output is kept: for its last line, and for its last lines where it
// fails.
const tailBytes = 4 << 10

// Live returns a view of a run of these tasks, or of a fix where there are none. now is the clock.
func (s *Screen) Live(names []string, now func() time.Time) *Live {
	place := make(map[string]int, len(names))
	for i, name := range names {
		place[name] = i
	}
	return &Live{
		screen: s, now: now, nudge: make(chan struct{}, 1), started: now(), tasks: len(names),
		names: nameColumns(names, 24),
		place: place, shown: make(map[string]bool, len(names)),
	}
}

// Changed gets a value when there is something new to draw.
func (l *Live) Changed() <-chan struct{} { return l.nudge }

// Touch asks for a frame.
func (l *Live) Touch() {
	select {
	case l.nudge <- struct{}{}:
	default:
	}
}

// change calls f with the lock held, and asks for a frame.
func (l *Live) change(f func()) {
	l.mu.Lock()
	f()
	l.mu.Unlock()
	l.Touch()
}

// Write adds whole lines of our own that scroll by.
func (l *Live) Write(p []byte) (int, error) {
	l.change(func() { l.scroll = append(l.scroll, p...) })
	return len(p), nil
}

// Started adds a task to those that run.
func (l *Live) Started(t *pipeline.Task) {
	l.change(func() { l.begin(t) })
}

// Runs changes nothing: the task is among those that run already.
func (l *Live) Runs(*pipeline.Task) {}

// Quiet changes nothing: each frame shows what runs, and for how long.
func (l *Live) Quiet() {}

func (l *Live) begin(t *pipeline.Task) {
	// In the order of the graph: tasks that start at the same moment have no order of their own.
	at, _ := slices.BinarySearchFunc(l.rows, l.place[t.Name],
		func(r *row, place int) int { return l.place[r.name] - place })
	l.rows = slices.Insert(l.rows, at, &row{name: t.Name, since: l.now()})
}

// Retried begins a task's row anew; the reason scrolls by.
func (l *Live) Retried(t *pipeline.Task, attempt int, before record.Task) {
	l.change(func() {
		l.scroll = append(append(l.scroll, l.screen.again(t, attempt, before)...), '\n')
		for _, r := range l.rows {
			if r.name == t.Name {
				r.attempt, r.tail = attempt, r.tail[:0]
			}
		}
	})
}

// Ready tells that a service is ready; it scrolls by, and the service stays among what runs.
func (l *Live) Ready(t *pipeline.Task, took time.Duration, since string) {
	l.change(func() {
		if since != "" {
			l.begin(t)
		}
		l.scroll = append(append(l.scroll, l.screen.ready(t, took, since)...), '\n')
	})
}

// Output keeps the end of what a task printed.
func (l *Live) Output(name string, chunk []byte) {
	l.change(func() {
		for _, r := range l.rows {
			if r.name == name {
				r.print(chunk)
				return
			}
		}
	})
}

func (r *row) print(chunk []byte) {
	if len(chunk) >= tailBytes {
		r.tail = append(r.tail[:0], chunk[len(chunk)-tailBytes:]...)
		return
	}
	if over := len(r.tail) + len(chunk) - tailBytes; over > 0 {
		r.tail = r.tail[:copy(r.tail, r.tail[over:])]
	}
	r.tail = append(r.tail, chunk...)
}

// Shown reports whether the end of a task's output was shown, which happens when the task fails.
func (l *Live) Shown(task string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shown[task]
}

// Finished adds a line about a task's end, once, with the end of its output where it failed. Skipped tasks are only
// counted until End.
func (l *Live) Finished(t record.Task) {
	l.change(func() { l.finished(t) })
}

func (l *Live) finished(t record.Task) {
	if l.shown[t.Name] {
		return
	}
	l.shown[t.Name] = true
	tail := ""
	defer func() { l.rows = slices.DeleteFunc(l.rows, func(r *row) bool { return r.name == t.Name }) }()
	l.done++
	switch t.Status {
	case record.Failed, record.TimedOut:
		l.failed++
		if i := slices.IndexFunc(l.rows, func(r *row) bool { return r.name == t.Name }); i >= 0 {
			tail = l.screen.tail(l.rows[i].lines(), tailOf(l.failed))
		}
	case record.Skipped:
		l.skipped++
		l.left.add(t)
		return
	}
	if !goesOn(t) {
		l.scroll = append(append(append(l.scroll, l.screen.end(t)...), '\n'), tail...)
	}
}

// Interrupted shows that a signal came: nothing new starts.
func (l *Live) Interrupted() { l.change(func() { l.ending = true }) }

// End adds lines about the tasks whose end was not shown, and about those that were never started.
func (l *Live) End(tasks []record.Task) {
	l.change(func() {
		for _, t := range tasks {
			l.finished(t)
		}
		for _, line := range l.left.take(l.screen) {
			l.scroll = append(append(l.scroll, line...), '\n')
		}
	})
}

// HookStarted shows a hook at work: who works on which task, in how many attempts, with what budget; 0 where there
// is none.
func (l *Live) HookStarted(task, what string, attempts int, budget time.Duration) {
	l.change(func() {
		l.hook = &hookRow{task: task, what: what, attempts: attempts, budget: budget, since: l.now()}
	})
}

// HookStep shows what the hook does now; what it did before scrolls by. left is the rest of its wall clock; 0: that
// has not started.
func (l *Live) HookStep(task, text string, left time.Duration) {
	l.change(func() {
		if l.hook == nil || l.hook.task != task {
			l.hook = &hookRow{task: task, what: "a hook works on " + TaskName(task)}
		}
		l.pass()
		l.hook.step, l.hook.since = text, l.now()
		if left > 0 {
			l.hook.until = l.now().Add(left)
		}
	})
}

// HookDone ends what is shown of a hook.
func (l *Live) HookDone() {
	l.change(func() {
		l.pass()
		l.hook = nil
	})
}

// pass adds the hook's present step to the lines that scroll by.
func (l *Live) pass() {
	if l.hook != nil && l.hook.step != "" {
		l.scroll = append(l.scroll, l.screen.step(l.hook.task, l.hook.step, 0)...)
		l.hook.step = ""
	}
}

// Frame returns the bytes that bring a terminal of this size up to date; none where it is. Without below only lines
// scroll by, as for a program in the background.
func (l *Live) Frame(columns, rows int, below bool) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	var region []string
	if below {
		region = l.region(columns, rows)
	}
	frame := l.paper.frame(l.scroll, region, columns)
	l.scroll = l.scroll[:0]
	if cap(l.scroll) > 1<<20 {
		l.scroll = nil
	}
	return frame
}

// Erase returns the bytes that remove what is drawn, so that others can write. The next frame draws it again.
func (l *Live) Erase(columns int) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	frame := l.paper.frame(l.scroll, nil, columns)
	l.scroll = l.scroll[:0]
	return frame
}

// Forget assumes that the terminal shows something else by now: the next frame begins on a fresh line.
func (l *Live) Forget() { l.change(func() { l.paper = paper{} }) }

// last returns the last line that a task printed, without its escape sequences.
func (r *row) last() string {
	text := strings.TrimRight(string(r.tail), "\r\n\t ")
	if i := strings.LastIndexAny(text, "\r\n"); i >= 0 {
		text = text[i+1:]
	} else if len(r.tail) == tailBytes {
		// it was cut where it happened to be
		text = strings.TrimLeftFunc(text, func(c rune) bool { return c == '\ufffd' })
	}
	text = text[:wholeEscapes([]byte(text))]
	return strings.TrimSpace(untab(taskText(text, false)))
}

// lines returns the whole lines of what is kept, and the one that has no end yet.
func (r *row) lines() []byte {
	if i := bytes.IndexByte(r.tail, '\n'); len(r.tail) == tailBytes && i >= 0 {
		return r.tail[i+1:] // the first line is cut
	}
	return r.tail
}

// What a terminal shows of a live view, and the bytes that turn it into what it is to show.
//
// bubbletea is not used for this. It asks the terminal what it can do, and without raw mode (which takes ^C and ^Z
// from the terminal) the answer is typed into the person's next command line; lines that are to scroll by go
// through it one message and one repaint each; and a terminal that does not read stops its event loop, with
// everybody who sends to it.
//
// The cursor is never hidden and is always in the first column of the line below, and no mode outlasts the write
// that sets it: a program that is killed at any moment leaves nothing to restore.

// Control sequences. A terminal that does not know one ignores it.
const (
	beginUpdate = "\x1b[?2026h" // synchronized output: the frame appears at once
	endUpdate   = "\x1b[?2026l"
	noWrap      = "\x1b[?7l" // a line that is wider than we think is cut by the terminal, and stays one line
	wrapAgain   = "\x1b[?7h"
	eraseBelow  = "\x1b[J"
	eraseRight  = "\x1b[K"
)

// A paper is the part of the terminal below the lines that have scrolled by. The zero paper is empty.
type paper struct {
	lines   []string
	columns int // of the terminal when they were drawn
}

// frame returns the bytes that add scroll above and show lines below, in one write; none where nothing has changed.
func (p *paper) frame(scroll []byte, lines []string, columns int) []byte {
	same := columns == p.columns || len(p.lines) == 0
	if len(scroll) == 0 && same && slices.Equal(lines, p.lines) {
		return nil
	}
	var b bytes.Buffer
	b.WriteString(beginUpdate + "\r")
	if up := p.rows(columns); up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	anew := len(scroll) > 0 || !same
	if anew {
		b.WriteString(eraseBelow)
	}
	for line := range bytes.Lines(scroll) {
		b.Write(bytes.TrimSuffix(line, []byte("\n")))
		b.WriteString("\r\n")
	}
	b.WriteString(noWrap)
	for i, line := range lines {
		if anew || i >= len(p.lines) || p.lines[i] != line {
			b.WriteString(line + eraseRight)
		}
		b.WriteString("\r\n")
	}
	b.WriteString(eraseBelow + wrapAgain + endUpdate)
	p.lines, p.columns = lines, columns
	return b.Bytes()
}

// rows returns how many rows the lines take up now. Most terminals break lines in two when they are made narrower;
// with one that cuts them off, a line or two of what has scrolled by is lost.
func (p *paper) rows(now int) int {
	n := 0
	for _, line := range p.lines {
		n++
		if now > 0 && now < p.columns {
			n += max(columns(bare(line))-1, 0) / now
		}
	}
	return n
}
