// Reading a patch. We read the frame ourselves, because go-gitdiff skips what it does not understand, takes ../evil for a path and stumbles over some
// quoted names; the hunks and binary blocks within the frame are read by go-gitdiff, and both must agree on how many there are.

package patch

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// parsed is what Apply needs of a file's patch.
type parsed struct {
	oldBlob, newBlob string        // full object names, where binary
	file             *gitdiff.File // under another name; nil when there are neither hunks nor a binary block
}

// Parse reads a patch, ours or a plain unified diff (---, +++ with a/ and b/, hunks). It refuses, with ErrUnsafePath, paths that CheckPath refuses; with
// ErrTooLarge what is over its limits; and with ErrMalformed everything else: a path named twice unless it is a change of type (delete then add), a path below one
// that stays a file, renames, copies, submodules, binary deltas, hunks without content or out of order, and anything left over before, between or after.
// No bytes are a patch of no files.
func Parse(b []byte) (*Patch, error) {
	if len(b) > MaxBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are read", ErrTooLarge, len(b), MaxBytes)
	}
	s := &scanner{rest: string(b), inflated: maxInflated, hunkLines: maxLines}
	p := &Patch{}
	for s.rest != "" {
		f, err := s.file()
		if err != nil {
			return nil, err
		}
		p.Files = append(p.Files, *f)
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	return p, nil
}

// check looks at all files together.
func (p *Patch) check() error {
	at := map[string]int{} // path → index of its last file
	for i := range p.Files {
		f := &p.Files[i]
		j, twice := at[f.Path]
		at[f.Path] = i
		if !twice {
			continue
		}
		if first := &p.Files[j]; first.Change != "deleted" || f.Change != "added" || first.OldMode.Type() == f.NewMode.Type() {
			return fmt.Errorf("%w: %s stands there twice", ErrMalformed, quote(f.Path))
		}
		f.Change = typeChange // a third one must not pass
	}
	for i := range p.Files {
		f := &p.Files[i]
		if f.Change == typeChange {
			f.Change = "added"
		}
		if f.Change == "deleted" {
			continue
		}
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			if j, ok := at[dir]; ok && p.Files[j].Change != "deleted" {
				return fmt.Errorf("%w: %s would lie in %s, which is a file", ErrMalformed, quote(f.Path), quote(dir))
			}
		}
	}
	return nil
}

// typeChange marks the second part of a change of type while check works.
const typeChange = "type"

// A scanner goes through a patch line by line.
type scanner struct {
	rest      string
	line      int // number of the line last taken, from 1
	inflated  int64
	hunkLines int
}

// peek gives the next line without its end; more is false at the end of the patch.
func (s *scanner) peek() (line string, more bool) {
	line, _, _ = strings.Cut(s.rest, "\n")
	return line, s.rest != ""
}

func (s *scanner) next() string {
	line, rest, _ := strings.Cut(s.rest, "\n")
	s.rest = rest
	s.line++
	return line
}

// have says whether the next line begins so.
func (s *scanner) have(prefix string) bool { return strings.HasPrefix(s.rest, prefix) }

func (s *scanner) bad(format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %s", ErrMalformed, s.line, fmt.Sprintf(format, args...))
}

// A header is what stands before the hunks of one file.
type header struct {
	path                               string
	oldMode, newMode, added, deleted   string // as written; "" where not
	oldBlob, newBlob, mode             string // of the index line
	plain                              bool   // no "diff --git" line
	oldNull, newNull, namesSeen, index bool
}

func (s *scanner) file() (*FilePatch, error) {
	h, err := s.header()
	if err != nil {
		return nil, err
	}
	f, err := s.filePatch(h)
	if err != nil {
		return nil, err
	}
	switch {
	case s.have("GIT binary patch\n") && !h.namesSeen:
		return f, s.binary(f, h)
	case h.namesSeen:
		return f, s.text(f, h)
	case s.have("Binary files "), s.have("GIT binary patch"):
		s.next()
		return nil, s.bad("a binary patch of %s without its content; write it with git diff --binary --full-index", quote(h.path))
	}
	return f, s.bare(f, h)
}

// bare is a file's patch without content: a mode, or an empty file that comes or goes.
func (s *scanner) bare(f *FilePatch, h *header) error {
	if f.Change == "modified" {
		if h.oldMode == "" || h.oldMode == h.newMode || h.index {
			return s.bad("%s: nothing changes", quote(h.path))
		}
		return nil
	}
	blob, link := h.newBlob, h.added == "120000"
	if f.Change == "deleted" {
		blob, link = h.oldBlob, h.deleted == "120000"
	}
	if link || h.index && !strings.HasPrefix(emptyBlob, blob) && !strings.HasPrefix(emptyBlob256, blob) {
		return s.bad("%s: the content is missing", quote(h.path))
	}
	return nil
}

// filePatch judges the header.
func (s *scanner) filePatch(h *header) (*FilePatch, error) {
	if err := CheckPath(h.path); err != nil {
		return nil, err
	}
	f := &FilePatch{Path: h.path, Change: "modified"}
	isNew, isGone := h.added != "" || h.plain && h.oldNull, h.deleted != "" || h.plain && h.newNull
	switch {
	case isNew && isGone, (isNew || isGone) && (h.oldMode != "" || h.newMode != ""), (h.oldMode == "") != (h.newMode == ""):
		return nil, s.bad("%s: modes that contradict each other", quote(h.path))
	case h.namesSeen && (h.oldNull != isNew || h.newNull != isGone):
		return nil, s.bad("%s: /dev/null stands where a new or deleted file is not said, or the other way round", quote(h.path))
	case isNew:
		f.Change, f.NewMode = "added", fileMode(first(h.added, h.mode, "100644"))
	case isGone:
		f.Change, f.OldMode = "deleted", fileMode(first(h.deleted, h.mode))
	default:
		f.OldMode, f.NewMode = fileMode(first(h.oldMode, h.mode)), fileMode(first(h.newMode, h.mode))
	}
	if f.Change == "modified" && f.OldMode.Type() != f.NewMode.Type() {
		return nil, s.bad("%s: a change of type must be a deletion and an addition", quote(h.path))
	}
	for _, m := range []string{h.oldMode, h.added, h.deleted} {
		if m != "" && h.mode != "" && m != h.mode {
			return nil, s.bad("%s: modes that contradict each other", quote(h.path))
		}
	}
	if (f.OldMode|f.NewMode)&fs.ModeSymlink != 0 {
		if err := checkLink(h.path); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// fileMode is gitMode's inverse; 0 for "".
func fileMode(s string) fs.FileMode {
	switch s {
	case "100644":
		return 0o644
	case "100755":
		return 0o755
	case "120000":
		return fs.ModeSymlink | 0o777
	}
	return 0
}
