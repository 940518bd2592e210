package tree

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
)

// The form of a stored walk: memoryForm, then numbers as varints and texts with their length in front of them,
//
//	root, boot, start of the walk, number of entries, 1 if each entry has a start of its own, else 0
//	for each entry: path, mode, size, digest, link, the five numbers of its fact, and its start
//	CRC-32C of all that, four bytes
//
// A library's form would take several times as long to read, and each warm run of the cache reads one.
const memoryForm = "async-pipeline walk 3\n"

// Save writes m, a walk of root, for Recall. boot identifies the start of the machine. Entries for which secret
// returns true are left out: a digest of a short text gives it away.
func (m *Manifest) Save(w io.Writer, root, boot string, secret func(path string) bool) error {
	var kept []int
	for i := range m.facts {
		if !secret(m.Entries[i].Path) {
			kept = append(kept, i)
		}
	}
	b := make([]byte, 0, 160*(len(kept)+1))
	b = append(b, memoryForm...)
	b = appendText(appendText(b, root), boot)
	b = binary.AppendVarint(b, m.start)
	b = binary.AppendVarint(b, int64(len(kept)))
	own := int64(0)
	if m.starts != nil {
		own = 1
	}
	b = binary.AppendVarint(b, own)
	for _, i := range kept {
		e, f := &m.Entries[i], &m.facts[i]
		b = appendText(b, e.Path)
		b = binary.AppendVarint(b, int64(e.Mode))
		b = binary.AppendVarint(b, e.Size)
		b = appendText(appendText(b, e.Digest), e.Link)
		for _, n := range []int64{int64(f.Dev), int64(f.Ino), f.Size, f.Mtime, f.Ctime} { //nolint:gosec // their bits are kept
			b = binary.AppendVarint(b, n)
		}
		if own == 1 {
			b = binary.AppendVarint(b, m.starts[i])
		}
	}
	_, err := w.Write(binary.LittleEndian.AppendUint32(b, checksum(b)))
	return err
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func appendText(b []byte, s string) []byte {
	return append(binary.AppendVarint(b, int64(len(s))), s...)
}

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
	b = b[:end]
	d := decoder{b: b, text: string(b)}
	if d.take(int64(len(memoryForm))) != memoryForm || d.word() != root || d.word() != boot {
		return nil, errOtherTree
	}
	m := &Manifest{start: d.number()}
	n, own := d.number(), d.number()
	const least = 10 // bytes of an entry
	if n < 0 || n > int64(len(b))/least {
		return nil, errOtherTree
	}
	m.Entries, m.facts = make([]Entry, n), make([]fact, n)
	if own == 1 {
		m.starts = make([]int64, n)
	}
	for i := range m.Entries {
		//nolint:gosec // the bits are those that were stored
		m.Entries[i] = Entry{Path: d.word(), Mode: fs.FileMode(d.number()), Size: d.number(), Digest: d.word(), Link: d.word()}
		//nolint:gosec // the same
		m.facts[i] = fact{Dev: uint64(d.number()), Ino: uint64(d.number()), Size: d.number(), Mtime: d.number(), Ctime: d.number()}
		if own == 1 {
			m.starts[i] = d.number()
		}
		if i > 0 && m.Entries[i-1].Path >= m.Entries[i].Path { // a walk relies on the order
			return nil, errOtherTree
		}
	}
	if d.broken || d.at != len(b) {
		return nil, errOtherTree
	}
	return m, nil
}

// A decoder reads what Save writes. Where something else is there it is broken, and what it returns means nothing.
type decoder struct {
	b      []byte
	text   string // b
	at     int
	broken bool
}

func (d *decoder) number() int64 {
	n, size := binary.Varint(d.b[d.at:])
	if size <= 0 {
		d.broken = true
		return 0
	}
	d.at += size
	return n
}

// take returns the next n bytes.
func (d *decoder) take(n int64) string {
	if n < 0 || n > int64(len(d.b)-d.at) {
		d.broken = true
		return ""
	}
	from := d.at
	d.at += int(n)
	return d.text[from:d.at]
}

func (d *decoder) word() string { return d.take(d.number()) }
