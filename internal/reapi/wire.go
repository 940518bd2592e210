package reapi

// Protocol buffers, field by field.

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

func decodeDigest(b []byte) (d Digest, err error) {
	err = fields(b, func(number protowire.Number, v value) error {
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
func fields(b []byte, each func(protowire.Number, value) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errDamaged
		}
		b = b[n:]
		var v value
		switch kind {
		case protowire.BytesType:
			v.bytes, n = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			v.number, n = protowire.ConsumeVarint(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return errDamaged
		}
		b = b[n:]
		if kind != protowire.BytesType && kind != protowire.VarintType {
			continue
		}
		if err := each(number, v); err != nil {
			return err
		}
	}
	return nil
}

func appendBytes(b []byte, number protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), v)
}

func appendText(b []byte, number protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), v)
}

// appendSet appends a text unless it is empty, as protobuf does with fields of their default.
func appendSet(b []byte, number protowire.Number, v string) []byte {
	if v == "" {
		return b
	}
	return appendText(b, number, v)
}

func appendPair(b []byte, number protowire.Number, p Pair) []byte {
	return appendBytes(b, number, appendSet(appendSet(nil, 1, p.Name), 2, p.Value))
}

func appendDigest(b []byte, number protowire.Number, d Digest) []byte {
	var room [96]byte
	m := appendSet(room[:0], 1, d.Hash)
	if d.Size != 0 {
		m = protowire.AppendVarint(protowire.AppendTag(m, 2, protowire.VarintType), uint64(d.Size)) //nolint:gosec // a length
	}
	return appendBytes(b, number, m)
}
