// Package packed writes and reads Go values in a compact binary form. A type describes itself once, for
// both directions:
//
//	func (m *mount) pack(f *packed.Form) {
//		f.Text(&m.From)
//		f.Texts(&m.Lower)
//		f.Bool(&m.ReadOnly)
//	}
//
// Numbers are varints, texts have their length in front of them and may be any bytes. There are no names and no
// types in what is written: who reads must be the same version, or compare a version first. Unlike encoding/gob it
// needs no preparation when the program starts, and reads large lists several times as fast.
package packed

import (
	"encoding/binary"
	"errors"
)

// A Form writes or reads a sequence of values. It is broken when the bytes are not what was written: what its methods
// set is then meaningless.
type Form struct {
	b       []byte
	text    string // b, when it is read
	at      int
	reading bool
	broken  bool
}

// Append appends the values that fill gives to b.
func Append(b []byte, fill func(*Form)) []byte {
	f := Form{b: b}
	fill(&f)
	return f.b
}

// ErrBroken means that something else is read than was written.
var ErrBroken = errors.New("the stored values are damaged")

// Read lets fill read all of b. The texts that it gets share one copy of b.
func Read(b []byte, fill func(*Form)) error {
	f := Form{b: b, text: string(b), reading: true}
	fill(&f)
	if f.broken || f.at != len(b) {
		return ErrBroken
	}
	return nil
}

// Break makes Read return ErrBroken, for a value that cannot be right.
func (f *Form) Break() { f.broken = true }

// Reading reports whether values are read.
func (f *Form) Reading() bool { return f.reading }

// Number writes or reads a number of any kind of integer.
func Number[T ~int | ~int64 | ~uint32 | ~uint64](f *Form, n *T) {
	v := int64(*n) //nolint:gosec // the bits are kept
	f.Int64(&v)
	if *n = T(v); int64(*n) != v { //nolint:gosec // the same
		f.broken = true
	}
}

// Int64 is Number for the commonest kind.
func (f *Form) Int64(n *int64) {
	if f.reading {
		*n = f.number()
	} else {
		f.b = binary.AppendVarint(f.b, *n)
	}
}

func (f *Form) number() int64 {
	v, n := binary.Varint(f.b[f.at:])
	if n <= 0 {
		f.broken = true
		return 0
	}
	f.at += n
	return v
}

// Bool writes or reads a bool.
func (f *Form) Bool(v *bool) {
	n := 0
	if *v {
		n = 1
	}
	Number(f, &n)
	*v = n == 1
	f.broken = f.broken || n != 0 && n != 1
}

// Text writes or reads a text of any bytes.
func (f *Form) Text(s *string) {
	if !f.reading {
		f.b = append(binary.AppendVarint(f.b, int64(len(*s))), *s...)
		return
	}
	*s = f.take(f.number())
}

// Literal writes s, or reads it: the form is broken where something else is.
func (f *Form) Literal(s string) {
	if !f.reading {
		f.b = append(f.b, s...)
		return
	}
	if f.take(int64(len(s))) != s {
		f.broken = true
	}
}

// take returns the next n bytes.
func (f *Form) take(n int64) string {
	if n < 0 || n > int64(len(f.b)-f.at) {
		f.broken = true
		return ""
	}
	from := f.at
	f.at += int(n)
	return f.text[from:f.at]
}

// Texts writes or reads a list of texts.
func (f *Form) Texts(list *[]string) { List(f, list, func(f *Form, s *string) { f.Text(s) }) }

// Count writes n, the number of elements that follow, or reads and returns it. An element takes at least least bytes: a
// count that cannot fit in the rest breaks the form.
func (f *Form) Count(n, least int) int {
	Number(f, &n)
	if f.reading && (f.broken || n < 0 || n > (len(f.b)-f.at)/least) {
		f.broken = true
		return 0
	}
	return n
}

// List writes or reads a list, each element by each, which must write something. An empty list is read as nil.
func List[T any](f *Form, list *[]T, each func(*Form, *T)) {
	n := f.Count(len(*list), 1)
	if f.reading {
		*list = nil
		if n > 0 {
			*list = make([]T, n)
		}
	}
	for i := range *list {
		if f.broken {
			return
		}
		each(f, &(*list)[i])
	}
}
