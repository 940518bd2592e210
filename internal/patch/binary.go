// git's binary patches: literal contents, deflated, in base 85. And the object names that stand in index lines.

package patch

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // git's object names are SHA-1; nothing is protected by it
	"encoding/hex"
	"strconv"
)

const (
	nullBlob  = "0000000000000000000000000000000000000000"
	emptyBlob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"

	// in a repository of SHA-256 names
	emptyBlob256 = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
)

// blobOf is the object name git gives to a content; zeros for a file that is not there.
func blobOf(f *File) string {
	if f == nil {
		return nullBlob
	}
	h := sha1.New() //nolint:gosec // as above
	_, _ = h.Write([]byte("blob " + strconv.Itoa(len(f.Data)) + "\x00"))
	_, _ = h.Write(f.Data)
	return hex.EncodeToString(h.Sum(nil))
}

// binary writes both directions, as git does.
func (w *writer) binary(forward, reverse []byte) error {
	for _, data := range [][]byte{forward, reverse} {
		var deflated bytes.Buffer
		z := zlib.NewWriter(&deflated)
		if _, err := z.Write(data); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		w.line("literal ", strconv.Itoa(len(data)))
		w.base85(deflated.Bytes())
		w.line("")
	}
	return nil
}

// digits85 is git's alphabet (base85.c).
const digits85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// base85 writes lines of at most 52 bytes, each led by a letter for its length (A = 1 … Z = 26, a = 27 … z = 52).
func (w *writer) base85(data []byte) {
	for len(data) > 0 {
		part := data[:min(52, len(data))]
		data = data[len(part):]
		if n := byte(len(part)); n <= 26 { //nolint:gosec // at most 52
			w.WriteByte('A' + n - 1)
		} else {
			w.WriteByte('a' + n - 27)
		}
		for len(part) > 0 {
			var v uint32
			for i := range 4 { // missing bytes at the end are zeros
				v <<= 8
				if i < len(part) {
					v |= uint32(part[i])
				}
			}
			part = part[min(4, len(part)):]
			var five [5]byte
			for i := 4; i >= 0; i-- {
				five[i] = digits85[v%85]
				v /= 85
			}
			w.Write(five[:])
		}
		w.line("")
	}
}
