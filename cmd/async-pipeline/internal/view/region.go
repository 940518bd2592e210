// The part of a live view that is drawn: a headline with counts and a line for each running task, cut to the size of
// the terminal.
package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/english"
)

// region returns the lines for a terminal of this size. The last row is for the cursor. The last column stays empty,
// so that a terminal that is made narrower by one column breaks no line.
func (l *Live) region(columns, rows int) []string {
	room := rows - 1
	if rows > 8 {
		room = rows * 2 / 3 // the rest is for what has ended
	}
	if columns < 2 || room < 1 {
		return nil
	}
	width := columns - 1
	if l.hook != nil {
		return l.hookRegion(width)[:min(2, room)]
	}
	if len(l.rows) == 0 && (l.tasks == 0 || l.done == l.tasks) {
		return nil
	}
	lines := []string{l.screen.paint(bold, cut(l.headline(), width))}
	slots := room - 1
	show, more := len(l.rows), 0
	if show > slots {
		show = slots
		if slots > 1 {
			show--
			more = len(l.rows) - show
		}
	}
	names := min(l.names, max(width/3, 6))
	for _, r := range l.rows[:show] {
		lines = append(lines, l.taskLine(r, names, width))
	}
	if more > 0 {
		lines = append(lines, l.screen.paint(dim, cut(fmt.Sprintf("  … and %d more", more), width)))
	}
	return lines
}

// headline returns "3/17 done, 2 running, 1 failed · 12s".
func (l *Live) headline() string {
	parts := []string{fmt.Sprintf("%d/%d done", l.done-l.skipped, l.tasks)}
	for _, c := range []struct {
		n    int
		word string
	}{{len(l.rows), "running"}, {l.failed, "failed"}, {l.skipped, "skipped"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	text := strings.Join(parts, ", ") + " · " + clock(l.now().Sub(l.started))
	if l.ending {
		text += " · being ended"
	}
	return text
}

// attemptLine begins the line that the runner puts into the output of a task between two attempts.
const attemptLine = "[async-pipeline: attempt "

// taskLine returns the name of a task, how long it has run, and its last line where that fits.
func (l *Live) taskLine(r *row, names, width int) string {
	const least = 8 // columns of a last line that says anything
	name := pad(cut(taskName(r.name), names), names)
	took := fmt.Sprintf("%6s", clock(l.now().Sub(r.since)))
	if 2+names+len(took) > width {
		return cut("  "+strings.TrimRight(name, " "), width)
	}
	line := "  " + name + l.screen.paint(dim, took)
	if room := width - 2 - names - len(took) - 2; room >= least {
		last := r.last()
		if r.attempt > 0 {
			if strings.HasPrefix(last, attemptLine) {
				last = ""
			}
			last = strings.TrimSuffix(fmt.Sprintf("attempt %d · ", r.attempt)+last, " · ")
		}
		if last := cut(last, room); last != "" {
			line += "  " + last
		}
	}
	return line
}

// hookRegion returns two lines: who works on what with how much time left, and the step.
func (l *Live) hookRegion(width int) []string {
	h := l.hook
	tail := ""
	switch {
	case !h.until.IsZero():
		tail = " · " + clock(h.until.Sub(l.now())) + " left"
	case h.budget > 0:
		tail = " · " + clock(h.budget) + " left"
	}
	head := Harmless(h.what)
	if more := " · at most " + english.Count(h.attempts, "attempt"); h.attempts > 0 &&
		columns(head)+columns(more)+columns(tail) <= width {
		head += more
	}
	if columns(tail) < width/2 {
		head = cut(head, width-columns(tail)) + tail
	}
	step := Harmless(h.step)
	if step == "" {
		step = "begins"
	}
	took := fmt.Sprintf("%6s", clock(l.now().Sub(h.since)))
	second := cut("  "+step, width)
	if room := width - len(took); room >= 20 {
		second = "  " + cut(step, room-2) + l.screen.paint(dim, took)
	}
	return []string{l.screen.paint(bold, cut(head, width)), second}
}

// clock returns a time that ticks by the second: 0s, 12s, 4m05s, 2h03m.
func clock(d time.Duration) string {
	d = max(d, 0).Truncate(time.Second)
	if d < time.Minute {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	if d < time.Hour {
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}
