package journal

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/async-pipeline/async-pipeline/internal/digest"
)

// A Fault is one place where a record differs from what it, or another record, says.
type Fault struct {
	File     string `json:"file"`     // relative to the run's folder, slash-separated
	Where    string `json:"where"`    // the line, the field, or who says what is expected
	Expected string `json:"expected"` // in words where there is no value
	Found    string `json:"found"`
}

// A Chain is a journal as Audit found it.
type Chain struct {
	Lines [][]byte // that follow from each other, without their ends; the first faults end them
	Ends  []string // of each line, its hash: what the next one carries as prev
	Fault *Fault   // File is empty; nil: all of it is true
}

// Audit reads a journal and finds the first line that is not as it was written. prev is the expected prev of the first
// line, nil for null. end is where the journal ends, or ended once (later lines may follow). It is nil if that is not
// known; then neither a change of the last line nor its absence is noticed.
func Audit(r io.Reader, prev *string, end *End) (Chain, error) {
	var c Chain
	var links []link
	torn, err := eachLine(r, func(line []byte) error {
		l := link{line: line}
		l.faulty = json.Unmarshal(line, &l) != nil
		links = append(links, l)
		return nil
	})
	if err != nil {
		return c, err
	}
	if torn {
		links = append(links, link{torn: true})
	}
	c.follow(links, prev, end)
	if c.Fault == nil && end != nil && int64(len(c.Lines)) < end.Lines {
		c.fault(len(c.Lines)+1, fmt.Sprintf("%d lines", end.Lines),
			fmt.Sprintf("%d: what stood behind them is gone", len(c.Lines)))
	}
	return c, nil
}

// A link is one line of a chain that is to be checked.
type link struct {
	Seq  int64   `json:"seq"`
	Prev *string `json:"prev"`

	line         []byte
	torn, faulty bool
}

// follow checks line after line, up to the first that is not as it was written.
func (c *Chain) follow(links []link, prev *string, end *End) {
	var at chain
	if prev != nil {
		at.head = *prev
	}
	for i, l := range links {
		n := i + 1
		switch {
		case l.torn:
			c.fault(n, "a whole line", "a line without its end")
			return
		case l.faulty:
			c.fault(n, "a JSON object", "what cannot be read")
			return
		case l.Seq != int64(n):
			c.fault(n, fmt.Sprintf("seq %d", n),
				fmt.Sprintf("seq %d: it was changed, or a line before it is gone", l.Seq))
			return
		case value(l.Prev) != value(known(at.head)):
			c.fault(n, "prev "+value(known(at.head)), "prev "+value(l.Prev))
			return
		}
		at.add(l.line)
		want, who := "", ""
		switch {
		case end != nil && end.Lines == int64(n):
			want, who = value(end.Head), "the end that is recorded"
		case n < len(links) && !links[i+1].torn && !links[i+1].faulty && links[i+1].Seq == int64(n+1):
			want, who = value(links[i+1].Prev), fmt.Sprintf("line %d", n+1)
		}
		if want != "" && want != at.head && (n == len(links) || end != nil && end.Lines == int64(n) ||
			c.blame(links[i+1:], end)) {
			c.fault(n, "sha256 "+want+", says "+who, "sha256 "+at.head)
			return
		}
		c.Lines, c.Ends = append(c.Lines, l.line), append(c.Ends, at.head)
	}
}

// blame reports whether the next line is itself as it was written, by what follows it: then the line before it was
// changed.
func (c *Chain) blame(next []link, end *End) bool {
	var at chain
	at.add(next[0].line)
	switch {
	case end != nil && end.Lines == next[0].Seq:
		return value(end.Head) == at.head
	case len(next) > 1:
		return value(next[1].Prev) == at.head
	}
	return false
}

func (c *Chain) fault(line int, expected, found string) {
	c.Fault = &Fault{Where: fmt.Sprintf("line %d", line), Expected: expected, Found: found}
}

// value returns a hash for a message.
func value(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

// Read returns the complete lines of a journal, without their ends, and checks them. prev is the expected prev of the
// first line. torn reports whether an incomplete last line was left out. A line that does not follow from the one
// before is an error that names it.
func Read(r io.Reader, prev *string) (lines [][]byte, torn bool, err error) {
	var c chain
	if prev != nil {
		c.head = *prev
	}
	torn, err = c.read(r, func(line []byte) { lines = append(lines, line) })
	if err != nil {
		return nil, torn, err
	}
	return lines, torn, nil
}

// A chain is the state after some lines of a journal.
type chain struct {
	seq  int64  // of the last line
	head string // what the next line carries as prev; empty for null
	size int64  // bytes of the complete lines, with their ends
}

// end returns the End after the lines that were read.
func (c *chain) end() End {
	if c.seq == 0 {
		return End{} // head is the prev of the first line
	}
	return End{c.seq, known(c.head)}
}

// add adds a line.
func (c *chain) add(line []byte) {
	c.seq, c.head, c.size = c.seq+1, digest.Of(line), c.size+int64(len(line))+1
}

// read continues the chain with r. It calls each, which may be nil, for every line, and reports whether r ends within
// a line.
func (c *chain) read(r io.Reader, each func(line []byte)) (torn bool, err error) {
	return eachLine(r, func(line []byte) error {
		var l link
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("line %d is damaged: %w", c.seq+1, err)
		}
		if l.Seq != c.seq+1 || c.head != "" && (l.Prev == nil || *l.Prev != c.head) || c.head == "" && l.Prev != nil {
			return fmt.Errorf("line %d does not follow from what stands before it: "+
				"it was changed, or something before it was", c.seq+1)
		}
		c.add(line)
		if each != nil {
			each(line)
		}
		return nil
	})
}

// eachLine calls each for every line of r, without its end, and reports whether r ends within a line.
func eachLine(r io.Reader, each func(line []byte) error) (torn bool, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return len(line) > 0, nil
		}
		if err != nil {
			return false, err
		}
		if err := each(line[:len(line)-1]); err != nil {
			return false, err
		}
	}
}

// known returns a pointer to s, or nil for the empty string.
func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
