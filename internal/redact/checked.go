package redact

import (
	"errors"
	"fmt"
	"io"
)

const (
	checkedAtOnce = 1 << 20  // bytes that are searched at once
	checkedTwice  = 64 << 10 // bytes of these that are searched with the next ones too: a value may be on both sides
)

// A Found error means that what was read has a value.
type Found struct{ Name string }

func (f *Found) Error() string { return fmt.Sprintf("it has the value of the secret %s in it", f.Name) }

// Checked returns a reader of what r has, which fails with a *Found before it returns any byte of a chunk with a value
// in it. A value that takes more than 64 KiB where it lies across two chunks is not found. It is r itself if there are no
// values.
func (s *Set) Checked(r io.Reader) io.Reader {
	if s.matcher() == nil {
		return r
	}
	return &checked{set: s, from: r}
}

type checked struct {
	set  *Set
	from io.Reader
	buf  []byte // what was searched last
	next int    // the first byte of buf that was not returned
	err  error  // what comes after buf
}

func (c *checked) Read(p []byte) (int, error) {
	for c.next == len(c.buf) {
		if c.err != nil {
			return 0, c.err
		}
		c.fill()
	}
	n := copy(p, c.buf[c.next:])
	c.next += n
	return n, nil
}

// fill reads and searches more.
func (c *checked) fill() {
	if c.buf == nil {
		c.buf = make([]byte, 0, checkedTwice+checkedAtOnce)
	}
	kept := copy(c.buf[:checkedTwice], c.buf[max(0, len(c.buf)-checkedTwice):])
	n, err := io.ReadFull(c.from, c.buf[kept:kept+checkedAtOnce])
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	c.buf, c.next, c.err = c.buf[:kept+n], kept, err
	if name, found := c.set.Find(c.buf); found {
		c.buf, c.next, c.err = c.buf[:0], 0, &Found{Name: name}
	}
}
