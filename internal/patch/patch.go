// Package patch encodes the difference of two states as a patch, and parses and applies patches in memory. Plain `git
// apply` accepts the output of Encode, with the same result (in a repository with SHA-1 object names; one with SHA-256
// refuses binary patches).
package patch

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// A File is the content of one path. A symlink's Data is its text. Of the permission bits only the executable one
// (the owner's) counts.
type File struct {
	Mode fs.FileMode
	Data []byte
}

// A Change is one path before and after; nil where it is absent.
type Change struct {
	Path          string // slash-separated
	Before, After *File
}

// Errors to test for.
var (
	ErrUnsafePath = errors.New("unsafe path in patch") // not local, .git or .async anywhere on it; see CheckPath
	ErrConflict   = errors.New("patch does not apply") // the base is not what the patch says
	ErrMalformed  = errors.New("not a well-formed patch")
	// more than Parse takes: MaxBytes, or more lines or inflated bytes than anybody can review
	ErrTooLarge = errors.New("patch too large")
)

// MaxBytes is the largest patch, in bytes, that Parse reads. Encode writes larger ones too: a rescue must not be lost.
const MaxBytes = 64 << 20

// More limits of Parse; they bound its memory.
const (
	maxLines    = 2 << 20   // lines of all hunks
	maxInflated = 256 << 20 // bytes of all binary contents together
)

// A Patch is a parsed patch.
type Patch struct {
	Files []FilePatch
}

// A FilePatch is what a patch does to one path. A change of type is two of them with one path: deleted, then added.
type FilePatch struct {
	Path           string
	Change         string // added | modified | deleted
	Added, Removed int    // lines; 0 for binary
	Binary         bool
	OldMode        fs.FileMode // 0 where absent, and where the patch (not one of ours) does not say
	NewMode        fs.FileMode
	Hunks          []Hunk // nil for binary

	oldBlob, newBlob string        // full object names; only for binary
	file             *gitdiff.File // under another name; nil if there are neither hunks nor a binary block
}

// A Hunk is one hunk of a text, for showing a patch.
type Hunk struct {
	Header           string // "@@ -1,3 +1,4 @@"
	OldLine, NewLine int    // first line, from 1
	Lines            []Line
}

// A Line is one line of a hunk; Op is ' ', '+' or '-'. Text has no line end, but keeps the \r of a CRLF line: else
// a change of line ends would show two equal lines.
type Line struct {
	Op        byte
	Text      string
	NoNewline bool
}

// Same reports whether two lists of changes lead to the same files, in the same order.
func Same(a, b []Change) bool {
	return slices.EqualFunc(a, b, func(x, y Change) bool {
		return x.Path == y.Path && Equal(x.After, y.After)
	})
}
