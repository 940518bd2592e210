package packed

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

type part struct {
	Name string
	On   bool
}

type whole struct {
	N     int64
	U     uint64
	S     string
	Texts []string
	Parts []part
}

func (w *whole) pack(f *Form) {
	f.Literal("whole 1\n")
	Number(f, &w.N)
	Number(f, &w.U)
	f.Text(&w.S)
	f.Texts(&w.Texts)
	List(f, &w.Parts, func(f *Form, p *part) {
		f.Text(&p.Name)
		f.Bool(&p.On)
	})
}

// What was written is read again: all numbers, texts that are no UTF-8, and lists.
func TestRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })
		w := whole{
			N: rapid.Int64().Draw(t, "n"), U: rapid.Uint64().Draw(t, "u"), S: text.Draw(t, "s"),
			Texts: rapid.SliceOf(text).Draw(t, "texts"),
			Parts: rapid.SliceOf(rapid.Custom(func(t *rapid.T) part {
				return part{text.Draw(t, "name"), rapid.Bool().Draw(t, "on")}
			})).Draw(t, "parts"),
		}
		if len(w.Texts) == 0 {
			w.Texts = nil
		}
		if len(w.Parts) == 0 {
			w.Parts = nil
		}
		b := Append([]byte("before"), w.pack)
		var got whole
		if err := Read(b[len("before"):], got.pack); err != nil || !reflect.DeepEqual(got, w) {
			t.Fatalf("%v: %+v, want %+v", err, got, w)
		}
	})
}

// Damaged bytes are an error, or other values, and never a panic or a list of a length that memory does not have.
func TestDamaged(t *testing.T) {
	t.Parallel()
	w := whole{N: math.MinInt64, S: "text", Texts: []string{"a", "b"}, Parts: []part{{"p", true}}}
	b := Append(nil, w.pack)
	for i := range b {
		if err := Read(b[:i], new(whole).pack); !errors.Is(err, ErrBroken) {
			t.Errorf("%d of %d bytes: %v", i, len(b), err)
		}
		for _, by := range []byte{0, 1, 0x7f, 0xff} {
			other := append([]byte{}, b...)
			other[i] = by
			_ = Read(other, new(whole).pack)
		}
	}
	if err := Read(append(b, 0), new(whole).pack); !errors.Is(err, ErrBroken) {
		t.Errorf("one byte more: %v", err)
	}
	if err := Read(append([]byte("x"), b[1:]...), new(whole).pack); !errors.Is(err, ErrBroken) {
		t.Errorf("another literal: %v", err)
	}
	huge := Append(nil, func(f *Form) { n := int64(math.MaxInt64); Number(f, &n) })
	if err := Read(huge, func(f *Form) { var list []string; f.Texts(&list) }); !errors.Is(err, ErrBroken) {
		t.Errorf("a list of %d: %v", int64(math.MaxInt64), err)
	}
	two := Append(nil, func(f *Form) { n := int64(2); Number(f, &n) })
	if err := Read(two, func(f *Form) { var v bool; f.Bool(&v) }); !errors.Is(err, ErrBroken) {
		t.Errorf("2 as a bool: %v", err)
	}
	if err := Read(huge, func(f *Form) { var n uint32; Number(f, &n) }); !errors.Is(err, ErrBroken) {
		t.Errorf("%d as 32 bits: %v", int64(math.MaxInt64), err)
	}
	if err := Read(Append(nil, func(*Form) {}), func(f *Form) { f.Break() }); !errors.Is(err, ErrBroken) {
		t.Errorf("Break: %v", err)
	}
}
