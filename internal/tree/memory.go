package tree

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/async-pipeline/async-pipeline/internal/packed"
)

// The form of a stored walk is memoryForm, what pack writes, and the CRC-32C of all that in four bytes.
const memoryForm = "async-pipeline walk 4\n"

// Save writes m, a walk of root, for Recall. boot identifies the start of the machine. Entries for whose path, or
// text of a link, secret returns true are left out: a digest of a short text gives it away.
func (m *Manifest) Save(w io.Writer, root, boot string, secret func(path string) bool) error {
	var kept []int
	for i := range m.facts {
		if e := &m.Entries[i]; !secret(e.Path) && (e.Link == "" || !secret(e.Link)) {
			kept = append(kept, i)
		}
	}
	b := packed.Append(make([]byte, 0, 160*(len(kept)+1)), func(f *packed.Form) { m.pack(f, root, boot, kept) })
	_, err := w.Write(binary.LittleEndian.AppendUint32(b, checksum(b)))
	return err
}

// pack writes the entries at the places kept, or reads into an empty manifest.
func (m *Manifest) pack(f *packed.Form, root, boot string, kept []int) {
	of, start, own := root, boot, m.starts != nil
	f.Literal(memoryForm)
	f.Text(&of)
	f.Text(&start)
	if of != root || start != boot {
		f.Break()
		return
	}
	f.Int64(&m.start)
	f.Bool(&own)
	const least = 10 // bytes of an entry
	n := f.Count(len(kept), least)
	if f.Reading() {
		m.Entries, m.facts = make([]Entry, n), make([]fact, n)
		if own {
			m.starts = make([]int64, n)
		}
	}
	for i := range n {
		at := i
		if !f.Reading() {
			at = kept[i]
		}
		e, s := &m.Entries[at], &m.facts[at]
		f.Text(&e.Path)
		packed.Number(f, &e.Mode)
		f.Int64(&e.Size)
		f.Text(&e.Digest)
		f.Text(&e.Link)
		packed.Number(f, &s.Dev)
		packed.Number(f, &s.Ino)
		f.Int64(&s.Size)
		f.Int64(&s.Mtime)
		f.Int64(&s.Ctime)
		if own {
			f.Int64(&m.starts[at])
		}
		if f.Reading() && i > 0 && m.Entries[i-1].Path >= e.Path { // a walk relies on the order
			f.Break()
			return
		}
	}
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

var (
	errOtherTree = errors.New("the stored walk is not of this tree")
	errDamaged   = errors.New("the stored walk is damaged")
)

// Recall reads a manifest that Save wrote, for Options.Known. The error is not nil if it is of another root, or of
// another start of the machine: after a power cut the files may be other ones with the same stat data. All texts of the
// manifest share one piece of memory.
func Recall(b []byte, root, boot string) (*Manifest, error) {
	end := len(b) - crc32.Size
	if end < 0 || checksum(b[:end]) != binary.LittleEndian.Uint32(b[end:]) {
		return nil, errDamaged
	}
	m := &Manifest{}
	if packed.Read(b[:end], func(f *packed.Form) { m.pack(f, root, boot, nil) }) != nil {
		return nil, errOtherTree
	}
	return m, nil
}
