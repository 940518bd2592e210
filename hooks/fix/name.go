// Names of tasks as names of files.

package fix

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// nameMax is the longest escaped name, in bytes; with every suffix it stays below what file systems take.
const nameMax = 120

// pathName is a task's name as one path element. Two names never share a file: every byte outside [A-Za-z0-9._-] is
// %XX, a dot too where it would hide the file or look like the end of one of our own file names ("a.json" would be
// the folder of one task and the record of another).
func pathName(task string) string {
	dot := -1
	for _, end := range []string{".json", ".jsonl", ".patch"} {
		if strings.HasSuffix(task, end) {
			dot = len(task) - len(end)
		}
	}
	var b strings.Builder
	for i := range len(task) { // bytes, not runes
		switch c := task[i]; {
		case c == '.' && i != 0 && i != dot, c == '-', c == '_',
			'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	name := b.String()
	if len(name) > nameMax {
		sum := sha256.Sum256([]byte(task))
		name = name[:nameMax] + "-" + hex.EncodeToString(sum[:8])
	}
	return name
}

// numbered is the name of the n-th healing of a task in one run, counted from 1.
func numbered(base string, n int) string {
	if n < 2 {
		return base
	}
	return base + "@" + strconv.Itoa(n)
}

// number is the n of a numbered name.
func number(name string) int {
	_, after, ok := strings.Cut(name, "@")
	if !ok {
		return 1
	}
	n, err := strconv.Atoi(after)
	if err != nil || n < 2 {
		return 1
	}
	return n
}
