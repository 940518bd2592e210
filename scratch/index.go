// The stat data in the git index of a copy. git recognizes an unchanged file by inode and times, which differ in a
// copy. Where the index has the stat data of the source, they are replaced by those of the copy. So git need not read
// every file again, and files that came through a filter, which is never run here, look as clean as in the tree. The
// format: gitformat-index(5), versions 2 to 4.

package scratch

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // the checksum of git's index
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Parts of an entry: ten numbers of 32 bits, the object's id, flags.
const (
	statBytes    = 40
	flagValid    = 0x8000 // assume-unchanged
	flagExtended = 0x4000
	flagStage    = 0x3000
	flagSkip     = 0x4000 // of the second flags: skip-worktree
)

// mostStale is how many files git may have to read each time it runs. With more of them the index is refreshed once.
const mostStale = 100

// restat rewrites the index at file, a copy; got returns the file that was copied to a path of its work tree. restat
// returns false if the format is unknown or too many files are stale: then git should read the files once.
func restat(file string, got func(p string) *copied) (bool, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // nothing was ever added
	}
	if err != nil {
		return false, err
	}
	info, err := os.Lstat(file)
	if err != nil {
		return false, err
	}
	sum := newSum(text)
	if sum == nil {
		return false, nil
	}
	changed, stale, whole := patchIndex(text, sum.Size(), info.ModTime(), got)
	whole = whole && stale <= mostStale
	if !changed {
		return whole, nil
	}
	end := len(text) - sum.Size()
	if !bytes.Equal(text[end:], make([]byte, sum.Size())) { // zeros: index.skipHash
		sum.Reset()
		_, _ = sum.Write(text[:end]) // a hash never fails
		copy(text[end:], sum.Sum(nil))
	}
	if err := replace(file, text); err != nil {
		return false, err
	}
	return whole, os.Chtimes(file, info.ModTime(), info.ModTime()) // git compares file times with it
}

// newSum returns the hash function of the checksum at the end of an index, or nil if none matches.
func newSum(text []byte) hash.Hash {
	for _, h := range []hash.Hash{sha1.New(), sha256.New()} { //nolint:gosec // the checksum of git's index
		if end := len(text) - h.Size(); end > 12 {
			_, _ = h.Write(text[:end]) // a hash never fails
			if bytes.Equal(h.Sum(nil), text[end:]) {
				return h
			}
		}
	}
	if len(text) > 12+sha1.Size && bytes.Equal(text[len(text)-sha1.Size:], make([]byte, sha1.Size)) &&
		!bytes.Equal(text[len(text)-sha256.Size:], make([]byte, sha256.Size)) {
		return sha1.New() //nolint:gosec // the checksum of git's index
	}
	return nil
}

// patchIndex writes the stat data of copies into the entries; stale is how many files git has to read as it would
// in the source. whole: every entry was understood, and none is in another file.
func patchIndex(text []byte, idSize int, written time.Time, got func(p string) *copied) (changed bool, stale int, whole bool) {
	whole = eachEntry(text, idSize, func(name string, flags, _ uint16, stat []byte) {
		if flags&flagStage != 0 {
			return
		}
		c := got(name)
		switch {
		case c != nil && updateStat(stat, c, written):
			changed = true
		case c != nil:
			stale++
		}
	})
	return changed, stale, whole
}

// eachEntry calls each for the entries of an index; more are the flags of version 3. It returns false if some could
// not be read or are in another file.
func eachEntry(text []byte, idSize int, each func(name string, flags, more uint16, stat []byte)) bool {
	be := binary.BigEndian
	if string(text[:4]) != "DIRC" {
		return false
	}
	version, count := be.Uint32(text[4:]), be.Uint32(text[8:])
	if version < 2 || version > 4 {
		return false
	}
	rest := text[12 : len(text)-idSize]
	var last []byte // path of the entry before, for version 4
	for range count {
		head := statBytes + idSize + 2
		if len(rest) < head+2 {
			return false
		}
		flags, more := be.Uint16(rest[head-2:]), uint16(0)
		if flags&flagExtended != 0 {
			more = be.Uint16(rest[head:])
			head += 2
		}
		name, size := entryName(rest, head, version, last)
		if size == 0 || size > len(rest) {
			return false
		}
		last = name
		each(string(name), flags, more, rest[:statBytes])
		rest = rest[size:]
	}
	for len(rest) >= 8 { // extensions: a name, a size
		size := int(be.Uint32(rest[4:]))
		if string(rest[:4]) == "link" || size > len(rest)-8 { // link: most entries are in a shared index
			return false
		}
		rest = rest[8+size:]
	}
	return true
}

// unwatched returns the paths that git was told not to check: the index tells nothing about their content.
func unwatched(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []string
	if sum := newSum(text); sum != nil {
		eachEntry(text, sum.Size(), func(name string, flags, more uint16, _ []byte) {
			if flags&flagValid != 0 || more&flagSkip != 0 {
				list = append(list, name)
			}
		})
	}
	return list, nil
}

// entryName returns the path of an entry and the size of the entry in bytes; 0 if it is broken.
func entryName(entry []byte, head int, version uint32, last []byte) (name []byte, size int) {
	if len(entry) <= head {
		return nil, 0
	}
	at := head
	if version == 4 { // how much of the path before to drop, then what is added
		drop := 0
		for first := true; ; first = false {
			if at >= len(entry) || drop > len(last) {
				return nil, 0
			}
			b := entry[at]
			at++
			if !first {
				drop++
			}
			drop = drop<<7 | int(b&0x7f)
			if b&0x80 == 0 {
				break
			}
		}
		if drop > len(last) {
			return nil, 0
		}
		name = bytes.Clone(last[:len(last)-drop])
	}
	end := bytes.IndexByte(entry[at:], 0)
	if end < 0 {
		return nil, 0
	}
	name = append(name, entry[at:at+end]...)
	if version == 4 {
		return name, at + end + 1
	}
	return name, (at + end + 8) / 8 * 8 // at least one NUL, and the next entry at a multiple of eight
}

// updateStat writes the stat data of the copy, if the entry has those of the source and was written later than the
// source.
func updateStat(entry []byte, c *copied, written time.Time) bool {
	if c.From == (facts{}) || c.From.Mtime >= written.UnixNano() || !bytes.Equal(entry, statOf(entry, c.From)) {
		return false
	}
	copy(entry, statOf(entry, c.To))
	return true
}

// statOf returns the stat data of an entry with the facts of f; what git does not compare (the device) and what
// stays the same (the mode) is the entry's.
func statOf(entry []byte, f facts) []byte {
	be := binary.BigEndian
	b := make([]byte, 0, statBytes)
	for _, ns := range []int64{f.Ctime, f.Mtime} {
		t := time.Unix(0, ns)
		b = be.AppendUint32(b, uint32(t.Unix()))       //nolint:gosec // git cuts it off too
		b = be.AppendUint32(b, uint32(t.Nanosecond())) //nolint:gosec // below 10⁹
	}
	b = append(b, entry[16:20]...)
	b = be.AppendUint32(b, uint32(f.Ino)) //nolint:gosec // git cuts it off too
	b = append(b, entry[24:28]...)
	b = be.AppendUint32(b, f.UID)
	b = be.AppendUint32(b, f.GID)
	return be.AppendUint32(b, uint32(f.Size)) //nolint:gosec // git cuts it off too
}

// restatAll calls restat for the index of the repository at top and those of its submodules at links. It returns false
// if one of them did.
func restatAll(top string, got map[string][]copied, links []string) (bool, error) {
	all := true
	for _, link := range append([]string{""}, links...) {
		at := filepath.Join(top, link, ".git")
		if to, err := os.ReadFile(at); err == nil { // a submodule's .git is a file of ours
			at = filepath.Join(top, link, strings.TrimSpace(strings.TrimPrefix(string(to), "gitdir: ")))
		}
		whole, err := restat(filepath.Join(at, "index"), func(p string) *copied {
			if link != "" {
				p = link + "/" + p
			}
			if i := strings.LastIndexByte(p, '/'); i >= 0 {
				return findCopied(got[p[:i]], p[i+1:])
			}
			return findCopied(got["."], p)
		})
		if err != nil {
			return false, err
		}
		all = all && whole
	}
	return all, nil
}

// findCopied returns the file of that name, or nil. files are sorted by name.
func findCopied(files []copied, name string) *copied {
	i, ok := slices.BinarySearchFunc(files, name,
		func(c copied, name string) int { return strings.Compare(c.Name, name) })
	if !ok {
		return nil
	}
	return &files[i]
}
