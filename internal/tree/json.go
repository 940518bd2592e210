// How a manifest is stored: JSON that loses no byte of a name.

package tree

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Type bits of a stored mode (POSIX, as git writes them).
const (
	typeMask    = 0o170000
	typeFile    = 0o100000
	typeFolder  = 0o040000
	typeSymlink = 0o120000
)

// EncodeMode writes a mode as six octal digits: 100644, 100755, 040755 with the permission bits as they are; a
// symlink, whose permission bits mean nothing, is always 120000. setuid, setgid and sticky are not kept.
func EncodeMode(m fs.FileMode) string {
	bits := uint32(m.Perm())
	switch {
	case m.IsDir():
		bits |= typeFolder
	case m&fs.ModeSymlink != 0:
		bits = typeSymlink
	default:
		bits |= typeFile
	}
	return fmt.Sprintf("%06o", bits)
}

// DecodeMode reads what EncodeMode writes.
func DecodeMode(s string) (fs.FileMode, error) {
	bits, err := strconv.ParseUint(s, 8, 32)
	if err != nil || len(s) != 6 || bits&^(typeMask|0o777) != 0 {
		return 0, fmt.Errorf("mode %q: want six octal digits like 100644", s)
	}
	perm := fs.FileMode(bits & 0o777)
	switch bits & typeMask {
	case typeFile:
		return perm, nil
	case typeFolder:
		return fs.ModeDir | perm, nil
	case typeSymlink:
		return fs.ModeSymlink | 0o777, nil
	}
	return 0, fmt.Errorf("mode %q: neither file, folder nor symlink", s)
}

// exact returns the bytes of s where JSON text cannot: nil for valid UTF-8. (encoding/json writes []byte as base64.)
func exact(s string) []byte {
	if utf8.ValidString(s) {
		return nil
	}
	return []byte(s)
}

func restore(text string, exact []byte) string {
	if len(exact) > 0 {
		return string(exact)
	}
	return text
}

type storedEntry struct {
	Path    string `json:"path"`               // only for display if path_b64 is present: invalid bytes are U+FFFD
	PathB64 []byte `json:"path_b64,omitempty"` // the exact bytes, only where they are not valid UTF-8
	Mode    string `json:"mode"`
	Size    int64  `json:"size_bytes"`
	Digest  string `json:"digest,omitempty"`
	Link    string `json:"link,omitempty"`
	LinkB64 []byte `json:"link_b64,omitempty"`
}

// MarshalJSON writes {path,path_b64?,mode,size_bytes,digest?,link?,link_b64?}; mode is EncodeMode's text.
func (e Entry) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedEntry{e.Path, exact(e.Path), EncodeMode(e.Mode), e.Size, e.Digest, e.Link, exact(e.Link)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (e *Entry) UnmarshalJSON(b []byte) error {
	var s storedEntry
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	path := restore(s.Path, s.PathB64)
	mode, err := DecodeMode(s.Mode)
	if err != nil {
		return fmt.Errorf("entry %q: %w", path, err)
	}
	*e = Entry{Path: path, Mode: mode, Size: s.Size, Digest: s.Digest, Link: restore(s.Link, s.LinkB64)}
	return nil
}

type storedOmitted struct {
	Path    string `json:"path"`
	PathB64 []byte `json:"path_b64,omitempty"`
	Why     string `json:"why"`
}

// MarshalJSON writes {path,path_b64?,why}.
func (o Omitted) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedOmitted{o.Path, exact(o.Path), o.Why})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (o *Omitted) UnmarshalJSON(b []byte) error {
	var s storedOmitted
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	*o = Omitted{Path: restore(s.Path, s.PathB64), Why: s.Why}
	return nil
}

type storedManifest struct {
	Entries []Entry   `json:"entries"`
	Omitted []Omitted `json:"omitted"`
}

// MarshalJSON writes {entries,omitted}. The stat facts are not stored: they are valid on this machine only.
func (m Manifest) MarshalJSON() ([]byte, error) {
	s := storedManifest{m.Entries, m.Omitted}
	if s.Entries == nil {
		s.Entries = []Entry{}
	}
	if s.Omitted == nil {
		s.Omitted = []Omitted{}
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads what MarshalJSON writes; a path that is listed twice is an error.
func (m *Manifest) UnmarshalJSON(b []byte) error {
	var s storedManifest
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	slices.SortFunc(s.Entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	for i := 1; i < len(s.Entries); i++ {
		if s.Entries[i].Path == s.Entries[i-1].Path {
			return fmt.Errorf("manifest: %q stands there twice", s.Entries[i].Path)
		}
	}
	*m = Manifest{Entries: s.Entries, Omitted: s.Omitted}
	return nil
}
