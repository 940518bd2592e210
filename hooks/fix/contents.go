package fix

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// ContentOf returns the entry of a record for a file; nil for none.
func ContentOf(f *patch.File) *Content {
	if f == nil {
		return nil
	}
	mode := "100644"
	switch {
	case f.Mode&fs.ModeSymlink != 0:
		mode = "120000"
	case f.Mode.Perm()&0o100 != 0: // of the permission bits git counts the owner's executable one
		mode = "100755"
	}
	return &Content{Mode: mode, Bytes: int64(len(f.Data)), Digest: recordfile.Digest(f.Data)}
}

// File returns a file of the content's mode that holds data. It does not compare data with the digest.
func (c *Content) File(data []byte) *patch.File {
	f := &patch.File{Mode: 0o644, Data: data}
	switch c.Mode {
	case "100755":
		f.Mode = 0o755
	case "120000":
		f.Mode = fs.ModeSymlink | 0o777
	}
	return f
}

// Folder returns the folder with contents of a kind: base (before the agent) or applied (what nothing else gives
// back).
func (p *Proposal) Folder(kind string) string {
	return filepath.Join(p.Dir, "fixes", p.Name, kind)
}

// Kept returns a content that is stored with the fix and is still what it was.
func (p *Proposal) Kept(c *Content) (*patch.File, bool) {
	for _, kind := range []string{"base", "applied"} {
		if b, ok := p.stored(kind, c.Digest); ok {
			if f := c.File(b); *ContentOf(f) == *c {
				return f, true
			}
		}
	}
	return nil, false
}

// stored returns a content from a folder of a kind, if it is still what it was.
func (p *Proposal) stored(kind, digest string) ([]byte, bool) {
	sum, ok := strings.CutPrefix(digest, "sha256:")
	raw, err := hex.DecodeString(sum)
	if !ok || err != nil || len(raw) != 32 || recordfile.NoLinks(p.Folder(kind)) != nil {
		return nil, false
	}
	b, err := recordfile.Read(filepath.Join(p.Folder(kind), sum), recordfile.MaxPatch)
	return b, err == nil && recordfile.Digest(b) == digest
}

// RawPath returns the bytes of a path that JSON cannot hold, because they are not UTF-8; else nil.
func RawPath(path string) []byte {
	if utf8.ValidString(path) {
		return nil
	}
	return []byte(path)
}

// FullPath returns the path that is stored as a text and, if that is not all of it, as bytes.
func FullPath(text string, raw []byte) string {
	if raw != nil {
		return string(raw)
	}
	return text
}

// FullPath returns the path as the tree has it.
func (f PatchFile) FullPath() string { return FullPath(f.Path, f.PathBytes) }

// AsStored returns a path as it is read back from JSON: each byte that is not UTF-8 became U+FFFD.
func AsStored(path string) string { return string([]rune(path)) }

// A BaseFile is base.json: what the copy held before the agent.
type BaseFile struct {
	SchemaVersion int            `json:"schema_version"`
	Tree          string         `json:"tree"` // digest of the manifest
	Commit        *string        `json:"commit"`
	Complete      bool           `json:"complete"` // nothing is in left_out
	Entries       []tree.Entry   `json:"entries"`
	Omitted       []tree.Omitted `json:"omitted"`
	LeftOut       []LeftOut      `json:"left_out"`
}

// A LeftOut is a content that base/ does not have.
type LeftOut struct {
	Path      string `json:"path"`
	PathBytes []byte `json:"path_b64,omitempty"`
	Why       string `json:"why"` // oversize | secret | unreadable
	Size      *int64 `json:"size_bytes"`
}

// A SavedBase is what was stored of a base, to make it again.
type SavedBase struct {
	Manifest *tree.Manifest
	Commit   string // empty: none
	Sub      string // empty: not known
	Content  func(digest string) ([]byte, bool)
}

// SavedBase reads base.json. The error is fs.ErrNotExist where nothing was stored.
func (p *Proposal) SavedBase() (*SavedBase, error) {
	if err := p.CheckFolders(); err != nil {
		return nil, err
	}
	file := filepath.Join(p.Dir, "fixes", p.Name, "base.json")
	text, err := recordfile.Read(file, recordfile.MaxJSON)
	if err != nil {
		return nil, err
	}
	var b BaseFile
	m := &tree.Manifest{}
	if err := errors.Join(json.Unmarshal(text, &b), json.Unmarshal(text, m)); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, file, err)
	}
	if p.Base == nil || p.Base.Tree != b.Tree {
		return nil, fmt.Errorf("%w: %s is not the base that the fix names", ErrDamaged, file)
	}
	// Most contents are git's: the folder is read once, and not asked for each of them.
	entries, err := os.ReadDir(p.Folder("base"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	here := make(map[string]bool, len(entries))
	for _, e := range entries {
		here["sha256:"+e.Name()] = true
	}
	return &SavedBase{
		Manifest: m, Commit: known(b.Commit), Sub: known(p.Base.Sub),
		Content: func(digest string) ([]byte, bool) {
			if !here[digest] {
				return nil, false
			}
			return p.stored("base", digest)
		},
	}, nil
}

// known returns what a field holds, "" where that is not known.
func known(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
