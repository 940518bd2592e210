package journal

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
)

// Read gives the complete lines of a journal, without their ends, and checks them. prev is what the first line must
// carry as prev. torn says that an incomplete last line was left out. A line that does not follow from the one before is
// an error that names it.
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

// A chain is how far a journal was read.
type chain struct {
	seq  int64  // of the last line
	head string // what the next line carries as prev; empty for null
	size int64  // bytes of the complete lines, with their ends
}

// add goes one line on.
func (c *chain) add(line []byte) {
	sum := sha256.Sum256(line)
	c.seq, c.head, c.size = c.seq+1, "sha256:"+hex.EncodeToString(sum[:]), c.size+int64(len(line))+1
}

// read goes on with r, which begins where the chain ends, and gives each (may be nil) every line. torn says that r ends
// within a line.
func (c *chain) read(r io.Reader, each func(line []byte)) (torn bool, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return len(line) > 0, nil
		}
		if err != nil {
			return false, err
		}
		line = line[:len(line)-1]
		var l struct {
			Seq  int64   `json:"seq"`
			Prev *string `json:"prev"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return false, fmt.Errorf("line %d is damaged: %w", c.seq+1, err)
		}
		if l.Seq != c.seq+1 || c.head != "" && (l.Prev == nil || *l.Prev != c.head) || c.head == "" && l.Prev != nil {
			return false, fmt.Errorf("line %d does not follow from what stands before it: it was changed, or something before it was", c.seq+1)
		}
		c.add(line)
		if each != nil {
			each(line)
		}
	}
}

// known is s, or nil for the empty string.
func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
