package reapi

// Files as Directory messages.

import (
	"slices"
	"strings"
)

// Directories returns the digest of the Directory that has files, which are sorted by path, and calls each with every
// Directory in it, the deepest first: its path, digest, and contents, which are not to be kept. each may be nil.
func Directories(files []File, each func(dir string, d Digest, b []byte)) Digest {
	if each == nil {
		each = func(string, Digest, []byte) {}
	}
	return (&encoder{each: each}).directory(files, 0)
}

// An encoder encodes Directories.
type encoder struct {
	each func(dir string, d Digest, b []byte)
	free [][]byte // buffers for what is encoded
}

// buffer returns an empty one that was used before, or nil.
func (e *encoder) buffer() []byte {
	if len(e.free) == 0 {
		return nil
	}
	b := e.free[len(e.free)-1]
	e.free = e.free[:len(e.free)-1]
	return b[:0]
}

// directory encodes the folder in which the paths of files begin, all with the same first skip bytes.
func (e *encoder) directory(files []File, skip int) Digest {
	type folder struct {
		name   string
		digest Digest
	}
	var folders []folder
	var links []byte
	b, node := e.buffer(), e.buffer()
	for i := 0; i < len(files); {
		name, _, deeper := strings.Cut(files[i].Path[skip:], "/")
		if !deeper && !files[i].Folder {
			f := &files[i]
			if f.Link != "" {
				links = appendBytes(links, 3, appendText(appendText(nil, 1, name), 2, f.Link))
			} else {
				node = appendDigest(appendText(node[:0], 1, name), 2, f.Digest)
				if f.Executable {
					node = appendNumber(node, 4, 1)
				}
				b = appendBytes(b, 1, node)
			}
			i++
			continue
		}
		end := i + 1
		if !deeper {
			empty := DigestOf(nil)
			e.each(files[i].Path, empty, nil)
			folders = append(folders, folder{name, empty})
			i = end
			continue
		}
		below := skip + len(name) + 1
		for end < len(files) && strings.HasPrefix(files[end].Path, files[i].Path[:below]) {
			end++
		}
		folders = append(folders, folder{name, e.directory(files[i:end], below)})
		i = end
	}
	slices.SortFunc(folders, func(a, b folder) int { return strings.Compare(a.name, b.name) })
	for _, f := range folders {
		node = appendDigest(appendText(node[:0], 1, f.name), 2, f.digest)
		b = appendBytes(b, 2, node)
	}
	b = append(b, links...)
	d := DigestOf(b)
	dir := ""
	if skip > 0 {
		dir = files[0].Path[:skip-1]
	}
	e.each(dir, d, b)
	e.free = append(e.free, b, node)
	return d
}

// A Node is an entry of a Directory.
type Node struct {
	File         // Path is the name alone
	Below Digest // of the Directory below; zero for a file or link
}

// DecodeDirectory returns the entries of a Directory, sorted by name.
func DecodeDirectory(b []byte) ([]Node, error) {
	var all []Node
	err := fields(b, func(number uint64, v value) error {
		n := Node{}
		err := fields(v.bytes, func(inner uint64, v value) (err error) {
			switch {
			case inner == 1:
				n.Path = string(v.bytes)
			case inner == 2 && number == 1:
				n.Digest, err = decodeDigest(v.bytes)
			case inner == 2 && number == 2:
				n.Below, err = decodeDigest(v.bytes)
			case inner == 2 && number == 3:
				n.Link = string(v.bytes)
			case inner == 4 && number == 1:
				n.Executable = v.number != 0
			}
			return err
		})
		if number <= 3 {
			all = append(all, n)
		}
		return err
	})
	slices.SortFunc(all, func(a, b Node) int { return strings.Compare(a.Path, b.Path) })
	return all, err
}
