package tools

// Outputs of commands. A long one is shown in part and kept for a while, so that the rest can be read by its number.

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	ShownHead = 8 << 10
	shownTail = 8 << 10
	keptHead  = 1 << 20 // of one output
	keptTail  = 1 << 20
	keptAll   = 8 << 20 // of all
)

// An output is kept under its number.
type output struct {
	id   int
	text string
}

// outputID parses "output:3".
func outputID(p string) (int, bool) {
	digits, ok := strings.CutPrefix(p, "output:")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n > 0
}

// A capture keeps the beginning and the end of what is written to it.
type capture struct {
	head  []byte
	tail  []byte // at most twice keptTail, cut now and then
	total int64
}

func (c *capture) Write(p []byte) (int, error) {
	n := len(p)
	c.total += int64(n)
	if room := keptHead - len(c.head); room > 0 {
		take := min(room, len(p))
		c.head = append(c.head, p[:take]...)
		p = p[take:]
	}
	if len(p) > keptTail {
		p = p[len(p)-keptTail:]
	}
	if len(c.tail)+len(p) > 2*keptTail {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-min(len(c.tail), keptTail):]...)
	}
	c.tail = append(c.tail, p...)
	return n, nil
}

// text returns what was kept, with a line where something is missing.
func (c *capture) text() string {
	tail := c.tail[max(0, len(c.tail)-keptTail):]
	if lost := c.total - int64(len(c.head)) - int64(len(tail)); lost > 0 {
		return valid(string(c.head)) + fmt.Sprintf("\n… %d bytes were not kept\n", lost) + valid(string(tail))
	}
	return valid(string(append(bytes.Clone(c.head), tail...)))
}

// show returns the part of an output that the model sees at once. A longer one is kept as a whole under a number.
func (w *Toolset) show(c *capture, head, tail int) string {
	text := c.text()
	if len(text) <= head+tail {
		return text
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs++
	id := w.runs
	w.kept = append(w.kept, output{id, text})
	sum := 0
	for _, o := range w.kept {
		sum += len(o.text)
	}
	for sum > keptAll && len(w.kept) > 1 {
		sum -= len(w.kept[0].text)
		w.kept = append([]output{}, w.kept[1:]...) // a new list: the old one would hold on to the text
	}
	first, last := text[:border(text, head)], text[border(text, len(text)-tail):]
	gap := fmt.Sprintf("… %d bytes left out, read them with read{path:\"output:%d\"}\n",
		len(text)-len(first)-len(last), id)
	if first != "" && !strings.HasSuffix(first, "\n") {
		gap = "\n" + gap
	}
	return first + gap + last
}

// border returns a position near at where text can be cut: after a line end not far before it, else between two
// runes.
func border(text string, at int) int {
	const near = 1 << 10
	if i := strings.LastIndexByte(text[max(0, at-near):at], '\n'); i >= 0 {
		return max(0, at-near) + i + 1
	}
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// output returns the output that is kept under a number.
func (w *Toolset) output(id int) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ids []string
	for _, o := range w.kept {
		if o.id == id {
			return o.text, nil
		}
		ids = append(ids, fmt.Sprintf("output:%d", o.id))
	}
	switch {
	case id <= w.runs:
		return "", fmt.Errorf("output:%d is not kept any more; there are %s", id, strings.Join(ids, ", "))
	case len(ids) == 0:
		return "", fmt.Errorf("there is no output:%d: no output was left out so far", id)
	}
	return "", fmt.Errorf("there is no output:%d; there are %s", id, strings.Join(ids, ", "))
}

func (w *Toolset) readOutput(id int, win *window) Outcome {
	text, err := w.output(id)
	if err != nil {
		return failed("%v", err)
	}
	_, _ = win.Write([]byte(text)) // never fails
	return Outcome{Text: fmt.Sprintf("output:%d: %s", id, win.show()), Code: failedIf(win.from > win.at)}
}
