package reapi

// Protocol buffers, field by field. The package protowire does the same; only to import it costs each start of the
// program a tenth of a millisecond, because a package that it needs digests the program then. The tests compare.

import (
	"encoding/binary"
	"fmt"
)

// How the value of a field is written, https://protobuf.dev/programming-guides/encoding/#structure. There are no groups
// in this protocol.
const (
	kindVarint  = 0
	kindFixed64 = 1
	kindBytes   = 2
	kindFixed32 = 5
)

// maxField is the largest field number that is read, as in protowire. The specification allows 1<<29 - 1.
const maxField = 1<<31 - 1

func decodeDigest(b []byte) (d Digest, err error) {
	err = fields(b, func(number uint64, v value) error {
		switch number {
		case 1:
			d.Hash = string(v.bytes)
		case 2:
			d.Size = int64(v.number) //nolint:gosec // a negative one matches no blob
		}
		return nil
	})
	if err == nil && !IsHash(d.Hash) {
		err = fmt.Errorf("%q is not a sha256", d.Hash)
	}
	return d, err
}

// A value is one field of a message: bytes, or a number.
type value struct {
	bytes  []byte
	number uint64
}

// fields calls each for the fields of a message that are bytes or numbers.
func fields(b []byte, each func(number uint64, v value) error) error {
	for len(b) > 0 {
		tag, rest, ok := takeVarint(b)
		number, kind := tag>>3, tag&7
		if !ok || number == 0 || number > maxField {
			return errDamaged
		}
		var v value
		switch b = rest; kind {
		case kindVarint:
			v.number, b, ok = takeVarint(b)
		case kindBytes:
			var size uint64
			if size, b, ok = takeVarint(b); ok {
				v.bytes, b, ok = take(b, size)
			}
		case kindFixed64:
			_, b, ok = take(b, 8)
		case kindFixed32:
			_, b, ok = take(b, 4)
		default:
			ok = false
		}
		if !ok {
			return errDamaged
		}
		if kind != kindBytes && kind != kindVarint {
			continue
		}
		if err := each(number, v); err != nil {
			return err
		}
	}
	return nil
}

func takeVarint(b []byte) (v uint64, rest []byte, ok bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, false
	}
	return v, b[n:], true
}

func take(b []byte, n uint64) (v, rest []byte, ok bool) {
	if n > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}

func appendNumber(b []byte, number, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, number<<3|kindVarint), v)
}

func appendBytes(b []byte, number uint64, v []byte) []byte {
	return append(appendSize(b, number, len(v)), v...)
}

func appendText(b []byte, number uint64, v string) []byte {
	return append(appendSize(b, number, len(v)), v...)
}

func appendSize(b []byte, number uint64, size int) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, number<<3|kindBytes), uint64(size)) //nolint:gosec // a length
}

// appendSet appends a text unless it is empty, as protobuf does with fields of their default.
func appendSet(b []byte, number uint64, v string) []byte {
	if v == "" {
		return b
	}
	return appendText(b, number, v)
}

func appendPair(b []byte, number uint64, p Pair) []byte {
	return appendBytes(b, number, appendSet(appendSet(nil, 1, p.Name), 2, p.Value))
}

func appendDigest(b []byte, number uint64, d Digest) []byte {
	var room [96]byte
	m := appendSet(room[:0], 1, d.Hash)
	if d.Size != 0 {
		m = appendNumber(m, 2, uint64(d.Size)) //nolint:gosec // a length
	}
	return appendBytes(b, number, m)
}
