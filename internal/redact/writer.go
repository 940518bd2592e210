package redact

import (
	"io"
	"sync"
)

// A writer passes a stream on without the values. It keeps the longest end of the stream that may begin a value.
type writer struct {
	mu  sync.Mutex
	set *Set
	to  io.Writer
	err error // of the first write that failed

	m       *matcher
	at      cursor
	word    wordCursor
	dump    dumpCursor
	held    []byte // not passed on yet
	base    int64  // offset in the stream of held[0], and of the next byte when held is empty
	spans   []span // found, not passed on yet; in order, none overlaps another
	covered int64  // the last Mark replaces the stream up to this offset
	out     []byte // scratch
}

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	if m := w.set.matcher(); m != w.m {
		w.renew(m)
	}
	if w.m == nil {
		n, err := w.to.Write(p)
		w.base += int64(n)
		w.err = err
		return n, err
	}
	end := w.base + int64(len(w.held)+len(p))
	w.m.scan(&w.at, p, end-int64(len(p)), w.found)
	held := w.m.words.scan(&w.word, p, end-int64(len(p)), false, w.foundBeside)
	held = max(held, w.m.dumps(&w.dump, p, end-int64(len(p)), false, w.foundBeside))
	w.pass(p, max(held, w.m.held(&w.at, end)))
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// Close passes on what was kept, because it did not become a value.
func (w *writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = cursor{}
	if w.err == nil {
		if w.m != nil {
			end := w.base + int64(len(w.held))
			w.m.words.scan(&w.word, nil, end, true, w.foundBeside)
			w.m.dumps(&w.dump, nil, end, true, w.foundBeside)
		}
		w.pass(nil, 0)
	}
	return w.err
}

func (w *writer) found(sp span, _ int32) bool {
	w.spans = join(w.spans, sp)
	return true
}

// foundBeside adds a place that was not found by the automaton in the stream itself.
func (w *writer) foundBeside(sp span, _ string) bool {
	if sp.from >= w.base { // else it was passed on before it became secret
		w.spans = insert(w.spans, sp)
	}
	return true
}

// renew changes to the automaton of more values, and searches again in what is kept, which includes all spans.
func (w *writer) renew(m *matcher) {
	w.m, w.at, w.spans = m, cursor{}, nil
	if m == nil {
		return
	}
	// Of the bytes before the kept ones the last one matters: it may be in one word with them.
	w.word.seen = w.word.seen[:max(0, len(w.word.seen)-len(w.held))]
	w.word.seen = w.word.seen[max(0, len(w.word.seen)-1):]
	m.scan(&w.at, w.held, w.base, w.found)
	m.words.scan(&w.word, w.held, w.base, false, w.foundBeside)
	m.again(&w.dump, w.base+int64(len(w.held)), w.foundBeside)
}

// pass passes on the held bytes and p, except the last keep bytes, which are held then.
func (w *writer) pass(p []byte, keep int) {
	end := w.base + int64(len(w.held)+len(p)) - int64(keep)
	switch {
	case len(w.spans) == 0 && w.covered <= w.base && len(w.held) == 0:
		w.write(p[:len(p)-keep]) // the usual case copies nothing
	default:
		w.out = w.out[:0]
		pos := w.base
		for len(w.spans) > 0 && w.spans[0].from < end {
			sp := w.spans[0]
			w.spans = w.spans[1:]
			if sp.from >= w.covered {
				w.text(p, pos, sp.from)
				w.out = append(w.out, Mark...)
			}
			w.covered = max(w.covered, sp.to)
			pos = min(w.covered, end)
		}
		w.text(p, pos, end)
		w.write(w.out)
		if cap(w.out) > 1<<20 {
			w.out = nil
		}
	}
	if len(w.spans) == 0 {
		w.spans = nil
	}
	if keep > len(p) { // p is the end of what stays
		w.held = append(w.held[:copy(w.held, w.held[len(w.held)+len(p)-keep:])], p...)
	} else {
		w.held = append(w.held[:0], p[len(p)-keep:]...)
	}
	w.base = end
}

// text adds the bytes of the stream from one offset to another, without those that the last Mark replaces.
func (w *writer) text(p []byte, from, to int64) {
	from = max(from, min(w.covered, to))
	edge := w.base + int64(len(w.held)) // p begins here
	if from < edge {
		w.out = append(w.out, w.held[from-w.base:min(to, edge)-w.base]...)
	}
	if to > edge {
		w.out = append(w.out, p[max(from, edge)-edge:to-edge]...)
	}
}

func (w *writer) write(b []byte) {
	if len(b) == 0 || w.err != nil {
		return
	}
	n, err := w.to.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	w.err = err
}
