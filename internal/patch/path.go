// Which paths a patch may name.

package patch

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// CheckPath refuses, with ErrUnsafePath, a path that a patch must not name: one that is absolute, leaves the tree or is not in its shortest form,
// and one with .git or .async anywhere on it, also in spellings that some file system takes for the same (other case, characters that HFS+ ignores,
// trailing dots and spaces, streams and short names of NTFS). git refuses most of these as well (core.protectHFS, core.protectNTFS).
func CheckPath(p string) error {
	bad := func(why string) error { return fmt.Errorf("%w: %s: %s", ErrUnsafePath, quote(p), why) }
	switch {
	case p == "" || p == "." || path.IsAbs(p) || !filepath.IsLocal(p) || path.Clean(p) != p:
		return bad("want a path inside the tree, without . or ..")
	case strings.IndexByte(p, 0) >= 0:
		return bad("a name cannot hold NUL")
	case len(p) >= 4096:
		return bad("longer than a path can be")
	}
	for _, name := range strings.Split(p, "/") {
		if len(name) > 255 {
			return bad("a name longer than 255 bytes")
		}
		for _, part := range strings.Split(name, `\`) { // a separator elsewhere
			switch plain := plainName(part); {
			case plain == ".git" || plain == "git~1":
				return bad("it is git's own")
			case plain == ".async":
				return bad("it is async-pipeline's own")
			case part == "..":
				return bad("want a path inside the tree, without . or ..")
			}
		}
	}
	return nil
}

// checkLink refuses what git never takes as a symlink: .gitmodules anywhere on the path (also by its short names).
func checkLink(p string) error {
	for _, name := range strings.Split(p, "/") {
		if n := plainName(name); n == ".gitmodules" || strings.HasPrefix(n, "gitmod~") || strings.HasPrefix(n, "gi7eba~") {
			return fmt.Errorf("%w: %s: git takes no symlink of that name", ErrUnsafePath, quote(p))
		}
	}
	return nil
}

// plainName is a name as the most forgiving file systems see it.
func plainName(name string) string {
	name, _, _ = strings.Cut(name, ":") // NTFS: name of a stream
	name = strings.Map(func(r rune) rune {
		// HFS+ ignores these: git's utf8.c, next_hfs_char.
		if r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff {
			return -1
		}
		return r
	}, name)
	return strings.ToLower(strings.TrimRight(name, ". "))
}
