package fix

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

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
	s := &SavedBase{Manifest: m, Content: func(sum string) ([]byte, bool) {
		name, ok := strings.CutPrefix(sum, "sha256:")
		if !ok || !filepath.IsLocal(name) || filepath.Base(name) != name || recordfile.NoLinks(p.Folder("base")) != nil {
			return nil, false
		}
		b, err := recordfile.Read(filepath.Join(p.Folder("base"), name), recordfile.MaxPatch)
		return b, err == nil && recordfile.Digest(b) == sum
	}}
	if b.Commit != nil {
		s.Commit = *b.Commit
	}
	if p.Base.Sub != nil {
		s.Sub = *p.Base.Sub
	}
	return s, nil
}
