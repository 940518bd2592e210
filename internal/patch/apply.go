// Applying a patch, in memory.

package patch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

var (
	errLines = fmt.Errorf("%w: more than %d lines", ErrTooLarge, maxLines)
	errBytes = fmt.Errorf("%w: more than %d bytes of binary content", ErrTooLarge, maxInflated)
)

// Changes parses a patch and applies it to a base. Its errors are those of Parse and Apply.
func Changes(patch []byte, base func(path string) (*File, error)) ([]Change, error) {
	p, err := Parse(patch)
	if err != nil {
		return nil, err
	}
	return p.Apply(base)
}

// Apply returns the changes that the patch makes, one for each path, sorted by path. read returns the present content
// of a path, nil if it is absent or a folder. Nothing is written. Lines are not searched for at other places: the
// error is ErrConflict, with path and line, if the base differs from what the patch says (whether the path exists,
// type, executable bit, the lines at their places, a binary file as a whole). A file that stays keeps its other
// permission bits.
func (p *Patch) Apply(read func(path string) (*File, error)) ([]Change, error) {
	made := map[string]*Change{}
	for i := range p.Files {
		f := &p.Files[i]
		c := made[f.Path]
		if c == nil {
			base, err := read(f.Path)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", quote(f.Path), err)
			}
			c = &Change{Path: f.Path, Before: base, After: base}
			made[f.Path] = c
		}
		after, err := f.apply(c.After)
		if err != nil {
			return nil, err
		}
		c.After = after
	}
	if err := p.checkPlaces(made, read); err != nil {
		return nil, err
	}
	changes := make([]Change, 0, len(made))
	for _, name := range slices.Sorted(maps.Keys(made)) {
		changes = append(changes, *made[name])
	}
	return changes, nil
}

// checkPlaces refuses a new file below a path that is a file or symlink and stays one.
func (p *Patch) checkPlaces(made map[string]*Change, read func(path string) (*File, error)) error {
	folders := map[string]bool{}
	for name, c := range made {
		if c.Before != nil || c.After == nil {
			continue
		}
		for dir := path.Dir(name); dir != "." && !folders[dir]; dir = path.Dir(dir) {
			folders[dir] = true
			if c, ok := made[dir]; ok && c.After == nil {
				continue
			}
			f, err := read(dir)
			if err != nil {
				return fmt.Errorf("%s: %w", quote(dir), err)
			}
			if f != nil {
				return conflict(name, 0, quote(dir)+" is there, and is no folder")
			}
		}
	}
	return nil
}

func conflict(path string, line int64, why string) error {
	at := quote(path)
	if line > 0 {
		at = fmt.Sprintf("%s, line %d", at, line)
	}
	return fmt.Errorf("%w: %s: %s", ErrConflict, at, why)
}

// apply returns the file after the patch; nil for a deletion.
func (f *FilePatch) apply(base *File) (*File, error) {
	if f.Change == "added" {
		if base != nil {
			return nil, conflict(f.Path, 0, "it is there already")
		}
		data, err := f.content(nil)
		if err != nil {
			return nil, err
		}
		return f.checked(&File{Mode: f.NewMode, Data: data})
	}
	switch {
	case base == nil:
		return nil, conflict(f.Path, 0, "it is not there")
	case f.OldMode.Type() != base.Mode.Type(): // a patch that does not say the type means a file
		return nil, conflict(f.Path, 0, "it is of another type (file, symlink)")
	case f.OldMode != 0 && gitMode(f.OldMode) != gitMode(base.Mode):
		return nil, conflict(f.Path, 0, "its mode is "+gitMode(base.Mode)+", not "+gitMode(f.OldMode))
	}
	data, err := f.content(base.Data)
	if err != nil {
		return nil, err
	}
	if f.Change == "deleted" {
		if len(data) > 0 {
			return nil, conflict(f.Path, 0, "it has content that the patch does not delete")
		}
		return nil, nil
	}
	return f.checked(&File{Mode: f.modeAfter(base.Mode), Data: data})
}

// modeAfter sets or clears the executable bits, where reading is allowed, and leaves the others.
func (f *FilePatch) modeAfter(m fs.FileMode) fs.FileMode {
	switch {
	case f.NewMode == 0 || gitMode(f.NewMode) == gitMode(m):
		return m
	case f.NewMode&0o100 != 0:
		return m | 0o100 | m&0o444>>2
	}
	return m &^ 0o111
}

// checked refuses a symlink that no system can make.
func (f *FilePatch) checked(after *File) (*File, error) {
	if isLink(after) && (len(after.Data) == 0 || bytes.IndexByte(after.Data, 0) >= 0) {
		return nil, fmt.Errorf("%w: %s: a symlink needs a text without NUL", ErrMalformed, quote(f.Path))
	}
	return after, nil
}

func (f *FilePatch) content(base []byte) ([]byte, error) {
	switch {
	case f.file == nil:
		return base, nil
	case f.Binary:
		return f.binaryContent(base)
	}
	frags := f.file.TextFragments
	last := frags[len(frags)-1]
	if n := int64(countLines(base)); last.TrailingContext == 0 && last.OldPosition+last.OldLines-1 < n &&
		last.OldLines > 0 {
		// Without context below it a hunk speaks of the end of the file; git has the same rule.
		return nil, conflict(f.Path, last.OldPosition+last.OldLines, "the file goes on where the patch says it ends")
	}
	var after bytes.Buffer
	if err := gitdiff.Apply(&after, bytes.NewReader(base), f.file); err != nil {
		line := int64(0)
		if at, ok := errors.AsType[*gitdiff.ApplyError](err); ok {
			line = at.Line
		}
		return nil, conflict(f.Path, line, "the text is not the one the patch was made for ("+err.Error()+")")
	}
	return after.Bytes(), nil
}

func countLines(b []byte) int {
	n := bytes.Count(b, []byte("\n"))
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}

// binaryContent takes the new content as a whole, if the old one is what the index line names.
func (f *FilePatch) binaryContent(base []byte) ([]byte, error) {
	if f.Change != "added" && blobOf(&File{Data: base}) != f.oldBlob {
		return nil, conflict(f.Path, 0, "the content is not the one the patch was made for")
	}
	var after bytes.Buffer
	limit := gitdiff.WithMaxBinaryFragmentBytes(maxInflated)
	if err := gitdiff.Apply(&after, bytes.NewReader(base), f.file, limit); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrMalformed, quote(f.Path), err)
	}
	if want := f.newBlob; f.Change != "deleted" && blobOf(&File{Data: after.Bytes()}) != want {
		return nil, fmt.Errorf("%w: %s: its content is not %s, which its index line names", ErrMalformed,
			quote(f.Path), want)
	}
	return after.Bytes(), nil
}
