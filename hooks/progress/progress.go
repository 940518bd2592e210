// Package progress tells what happens in a hook while it happens: to the journal, to the person who watches, and in
// the note of the record.
package progress

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// A Log may be used by several goroutines. Of a zero Log only the note is kept.
type Log struct {
	Clean   func(string) string                          // removes secrets
	Journal func(kind string, data map[string]any) error // nil: there is none
	Watch   func(text string, left time.Duration)        // nil: nobody watches
	Left    func() time.Duration                         // of the wall clock; nil: it has not started

	mu   sync.Mutex
	note []string
}

// Step tells the person and the journal what happens.
func (l *Log) Step(format string, args ...any) {
	text := l.clean(fmt.Sprintf(format, args...))
	l.Event("step", map[string]any{"text": text})
	if l.Watch == nil {
		return
	}
	var left time.Duration
	if l.Left != nil {
		left = l.Left()
	}
	l.Watch(text, left)
}

// Event writes to the journal. Where that fails the note tells it, and the work goes on.
func (l *Log) Event(kind string, data map[string]any) {
	if l.Journal == nil {
		return
	}
	if err := l.Journal(kind, data); err != nil {
		l.Note("journal: " + err.Error())
	}
}

// Note adds words to the note of the record.
func (l *Log) Note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note = append(l.note, l.clean(text))
}

// Tidy removes what is no longer needed, and notes what stays behind.
func (l *Log) Tidy(remove func() error) {
	if err := remove(); err != nil {
		l.Note("left behind: " + err.Error())
	}
}

// Notes returns all that was noted; nil: nothing.
func (l *Log) Notes() *string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.note) == 0 {
		return nil
	}
	return new(strings.Join(l.note, "; "))
}

func (l *Log) clean(text string) string {
	if l.Clean == nil {
		return text
	}
	return l.Clean(text)
}
