// Contents of files as records name them, and as they keep them.

package fix

import (
	"encoding/hex"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

func ContentOf(f *patch.File) *Content {
	if f == nil {
		return nil
	}
	return &Content{Mode: GitMode(f.Mode), Bytes: int64(len(f.Data)), Digest: recordfile.Digest(f.Data)}
}

// gitMode is a mode as git writes it: of the permission bits the owner's executable one counts.
func GitMode(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "040000"
	case m&fs.ModeSymlink != 0:
		return "120000"
	case m.Perm()&0o100 != 0:
		return "100755"
	}
	return "100644"
}

// folderOf is where contents of a kind are: base (before the agent) or applied (what no other record gives back).
func (p *Proposal) Folder(kind string) string {
	return filepath.Join(p.Dir, "fixes", p.Name, kind)
}

// kept gives a content that is stored with the fix.
func (p *Proposal) Kept(c *Content) (*patch.File, bool) {
	sum := strings.TrimPrefix(c.Digest, "sha256:")
	if raw, err := hex.DecodeString(sum); err != nil || len(raw) != 32 {
		return nil, false
	}
	for _, kind := range []string{"base", "applied"} {
		dir := p.Folder(kind)
		if recordfile.NoLinks(dir) != nil {
			continue
		}
		b, err := recordfile.Read(filepath.Join(dir, sum), recordfile.MaxPatch)
		if err != nil {
			continue
		}
		f := &patch.File{Mode: 0o644, Data: b}
		switch c.Mode {
		case "100755":
			f.Mode = 0o755
		case "120000":
			f.Mode = fs.ModeSymlink | 0o777
		}
		if *ContentOf(f) == *c { // one flipped byte, and it is none
			return f, true
		}
	}
	return nil, false
}

// rawPath is what JSON cannot hold of a path: its bytes, when they are not UTF-8.
func RawPath(path string) []byte {
	if utf8.ValidString(path) {
		return nil
	}
	return []byte(path)
}

// fullPath is the path of a stored pair of text and bytes.
func FullPath(text string, raw []byte) string {
	if raw != nil {
		return string(raw)
	}
	return text
}

// asStored is a path as JSON gives it back: each byte that is not UTF-8 became U+FFFD.
func AsStored(name string) string { return string([]rune(name)) }
