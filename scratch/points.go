// Finds files of a copy that name the tree by its absolute path. They would run the code of the tree, unless the
// sandbox shows the copy at that path.

package scratch

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// mostScript is the size limit of a file that is searched for the path of the tree, in bytes.
const mostScript = 1 << 20

// pointsBack lists symlinks whose text, and well-known small files whose content, names Top, or Top as
// spelled, which may contain symlinks.
func pointsBack(b *Base, spelled string) []string {
	names := []string{b.Top}
	if abs, err := filepath.Abs(spelled); err == nil {
		if b.Sub != "." {
			abs = strings.TrimSuffix(abs, "/"+b.Sub)
		}
		if abs != b.Top {
			names = append(names, abs)
		}
	}
	var found []string
	for _, e := range b.Manifest.Entries {
		switch {
		case e.Mode.Type() == fs.ModeSymlink:
			if !filepath.IsAbs(e.Link) || !namesAny([]byte(filepath.Clean(e.Link)), names) {
				continue
			}
		case !e.Mode.IsRegular() || e.Size > mostScript || !wellKnown(b.Manifest, e.Path):
			continue
		default:
			text, err := os.ReadFile(filepath.Join(b.Dir, e.Path))
			if err != nil || !namesAny(withoutRemarks(e.Path, text), names) {
				continue
			}
		}
		found = append(found, e.Path)
	}
	return found
}

// withoutRemarks removes lines that name the tree without effect: the command that made a virtual environment, and the
// fallback search path of the shims of pnpm.
func withoutRemarks(p string, text []byte) []byte {
	remark := ""
	switch {
	case path.Base(p) == "pyvenv.cfg":
		remark = "command ="
	case path.Base(path.Dir(p)) == ".bin":
		remark = "export NODE_PATH="
	default:
		return text
	}
	var rest []byte
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte(remark)) {
			rest = append(rest, line...)
		}
	}
	return rest
}

// wellKnown reports whether p is a file of a virtual environment, npm or CMake that usually has absolute paths in it.
func wellKnown(m *tree.Manifest, p string) bool {
	name, dir := path.Base(p), path.Dir(p)
	switch path.Ext(name) {
	case ".pth", ".egg-link":
		return true
	case ".py":
		return strings.HasPrefix(name, "__editable__")
	}
	switch {
	case name == "pyvenv.cfg", name == "direct_url.json", name == "CMakeCache.txt":
		return true
	case path.Base(dir) == ".bin":
		return path.Base(path.Dir(dir)) == "node_modules"
	case path.Base(dir) == "bin" && (strings.HasPrefix(name, "activate") || strings.HasPrefix(name, "Activate") ||
		strings.HasPrefix(name, "pip")):
		return false // every venv has them, and no check runs them
	case path.Base(dir) == "bin":
		_, venv := m.Find(path.Join(path.Dir(dir), "pyvenv.cfg"))
		return venv
	}
	return false
}

// namesAny reports whether text contains one of the paths, and not only a longer path that begins with it.
func namesAny(text []byte, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		for rest := text; ; {
			i := bytes.Index(rest, []byte(p))
			if i < 0 {
				return false
			}
			rest = rest[i+len(p):]
			if len(rest) == 0 || !extendsName(rest[0]) {
				return true
			}
		}
	})
}

// extendsName reports whether c after a path makes its last name longer.
func extendsName(c byte) bool {
	return c == '-' || c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' ||
		'A' <= c && c <= 'Z' || c >= 0x80
}
