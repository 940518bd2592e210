// Package filename turns names of tasks into names of files.
package filename

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// most is the largest result, in bytes. It leaves room for suffixes below the 255 bytes that file systems allow.
const most = 120

// OfPack returns the file of a task's context pack, relative to the folder of its run.
func OfPack(task string) string { return "context/" + Of(task) + ".json" }

// Of returns name as one path element. Two names never give the same element. ASCII letters, digits, "_" and (not
// in front) "-" stand for themselves, every other byte becomes %XX. So there is no dot, no slash and no "@" in it,
// which file names put behind a task's name. A name that gets too long ends in "%h" and a hash instead.
func Of(name string) string {
	if name == "" {
		return "%"
	}
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	cut := 0 // where a long name may be cut: never within an escape
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-' && i > 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
		if b.Len() <= most-34 {
			cut = b.Len()
		}
	}
	if b.Len() <= most {
		return b.String()
	}
	sum := sha256.Sum256([]byte(name))
	return b.String()[:cut] + "%h" + hex.EncodeToString(sum[:16])
}
