package reapi

// What a task made: the ActionResult.

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
)

// A Result is an ActionResult: what a task that passed made and printed.
type Result struct {
	Files  []File // sorted by path
	Closed []File // folders, with files or without, that keep something from their group or others, sorted by path: Mode is theirs
	Beside []File // what goes with it and is no output, by name: execution_metadata.auxiliary_metadata, an OutputFile in each Any
	Log    Digest // stdout_digest: what it printed, without its secrets
	Run    string // execution_metadata.worker: the run that made it
	Took   int64  // milliseconds that the task took then: execution_metadata.virtual_execution_duration
	Made   int64  // when it ended, in seconds since 1970: execution_metadata.worker_completed_timestamp
}

// Encode writes output_files = 2 (node_properties = 7, there unix_mode = 3, where not everybody may read it, and
// the properties found and unstored), output_directories = 3 (for empty folders, and for those of Closed), stdout_digest = 6, execution_metadata = 9,
// output_symlinks = 12 (node_properties = 4).
func (r Result) Encode() []byte {
	var files, folders, links []byte
	trees := map[string]Digest{}
	for _, f := range r.Files {
		at := appendText(nil, 1, f.Path)
		switch {
		case f.Folder:
			trees[f.Path] = DigestOf(appendBytes(nil, 1, nil)) // a Tree with an empty root
		case f.Link != "":
			at = appendText(at, 2, f.Link)
			if f.Found {
				at = appendBytes(at, 4, properties(0, foundProperty))
			}
			links = appendBytes(links, 12, at)
		default:
			at = appendDigest(at, 2, f.Digest)
			if f.Executable {
				at = appendNumber(at, 4, 1)
			}
			var names []string
			if f.Found {
				names = append(names, foundProperty)
			}
			if f.Unstored {
				names = append(names, unstoredProperty)
			}
			if f.Mode != 0 || len(names) > 0 {
				at = appendBytes(at, 7, properties(f.Mode, names...))
			}
			files = appendBytes(files, 2, at)
		}
	}
	for _, f := range r.Closed {
		trees[f.Path] = closedTree(f.Mode)
	}
	for _, p := range slices.Sorted(maps.Keys(trees)) {
		folders = appendBytes(folders, 3, appendDigest(appendText(nil, 1, p), 3, trees[p]))
	}
	b := append(files, folders...)
	b = appendDigest(b, 6, r.Log)
	meta := appendText(nil, 1, r.Run)
	var took []byte                                                   // a google.protobuf.Duration
	took = appendNumber(took, 1, uint64(r.Took/1000))                 //nolint:gosec // not negative
	took = appendNumber(took, 2, uint64(r.Took%1000*1_000_000))       //nolint:gosec // not negative
	meta = appendBytes(meta, 4, appendNumber(nil, 1, uint64(r.Made))) //nolint:gosec // not negative
	for _, f := range r.Beside {
		meta = appendBytes(meta, 11, appendBytes(appendText(nil, 1, outputFile), 2, appendDigest(appendText(nil, 1, f.Path), 2, f.Digest)))
	}
	meta = appendBytes(meta, 12, took)
	b = appendBytes(b, 9, meta)
	return append(b, links...)
}

// DecodeResult reads what Encode writes. Paths that lead out of the root are an error.
func DecodeResult(b []byte) (Result, error) {
	var r Result
	var folders []File
	err := fields(b, func(number uint64, v value) (err error) {
		switch number {
		case 2, 3, 12:
			f := File{Folder: number == 3}
			err = fields(v.bytes, func(inner uint64, v value) (err error) {
				switch {
				case inner == 1:
					f.Path = string(v.bytes)
				case inner == 2 && number == 2, inner == 3 && number == 3:
					f.Digest, err = decodeDigest(v.bytes)
				case inner == 2 && number == 12:
					f.Link = string(v.bytes)
				case inner == 4 && number == 2:
					f.Executable = v.number != 0
				case inner == 7 && number == 2:
					f.Mode, f.Found, f.Unstored, err = decodeProperties(v.bytes)
				case inner == 4 && number == 12:
					_, f.Found, _, err = decodeProperties(v.bytes)
				}
				return err
			})
			if err == nil && !IsLocal(f.Path) {
				err = fmt.Errorf("%q is not a path in the root", f.Path)
			}
			if f.Folder {
				folders = append(folders, f)
			} else {
				r.Files = append(r.Files, f)
			}
		case 6:
			r.Log, err = decodeDigest(v.bytes)
		case 9:
			err = fields(v.bytes, func(inner uint64, v value) error {
				switch inner {
				case 1:
					r.Run = string(v.bytes)
				case 4:
					return fields(v.bytes, func(n uint64, v value) error {
						if n == 1 {
							r.Made = int64(v.number) //nolint:gosec // we wrote it
						}
						return nil
					})
				case 11:
					f, err := decodeBeside(v.bytes)
					if err == nil && f.Path != "" {
						r.Beside = append(r.Beside, f)
					}
					return err
				case 12:
					return fields(v.bytes, func(n uint64, v value) error {
						switch n {
						case 1:
							r.Took += int64(v.number) * 1000 //nolint:gosec // we wrote it
						case 2:
							r.Took += int64(v.number) / 1_000_000 //nolint:gosec // we wrote it
						}
						return nil
					})
				}
				return nil
			})
		}
		return err
	})
	byPath := func(a, b File) int { return strings.Compare(a.Path, b.Path) }
	slices.SortFunc(r.Files, byPath)
	slices.SortFunc(folders, byPath)
	made := r.Files
	for _, f := range folders {
		if mode, ok := closedModes()[f.Digest]; ok {
			r.Closed = append(r.Closed, File{Path: f.Path, Mode: mode})
		}
		i, _ := slices.BinarySearchFunc(made, File{Path: f.Path + "/"}, byPath)
		if i == len(made) || !strings.HasPrefix(made[i].Path, f.Path+"/") {
			r.Files = append(r.Files, File{Path: f.Path, Folder: true})
		}
	}
	slices.SortFunc(r.Files, byPath)
	return r, err
}

// properties returns NodeProperties: properties = 1, one of each name, and unix_mode = 3, a UInt32Value.
func properties(mode fs.FileMode, names ...string) (b []byte) {
	for _, name := range names {
		b = appendBytes(b, 1, appendText(nil, 1, name))
	}
	if mode != 0 || len(names) == 0 {
		b = appendBytes(b, 3, appendNumber(nil, 1, uint64(mode)))
	}
	return b
}

// Names of properties; see File.
const (
	foundProperty    = "found"
	unstoredProperty = "unstored"
)

// closedTree returns the digest of a Tree whose root, a Directory, has nothing but node_properties = 5 with a mode. What
// is in the folder is listed by itself.
func closedTree(mode fs.FileMode) Digest {
	return DigestOf(appendBytes(nil, 1, appendBytes(nil, 5, properties(mode))))
}

// closedModes returns the modes of closedTree. They are so few that the digest tells the mode, and nobody needs the blob.
var closedModes = sync.OnceValue(func() map[Digest]fs.FileMode {
	modes := map[Digest]fs.FileMode{}
	for mode := range fs.ModePerm + 1 {
		if IsClosed(mode) {
			modes[closedTree(mode)] = mode
		}
	}
	return modes
})

// IsClosed reports whether a folder of a mode keeps anything from its group or others that new folders give them.
func IsClosed(mode fs.FileMode) bool { return mode&0o055 != 0o055 }

// decodeProperties returns the unix_mode of NodeProperties, if they have one and not everybody may read, and whether there
// are properties that are called found and unstored.
func decodeProperties(b []byte) (mode fs.FileMode, found, unstored bool, err error) {
	err = fields(b, func(number uint64, v value) error {
		if number != 1 && number != 3 {
			return nil
		}
		return fields(v.bytes, func(inner uint64, v value) error {
			switch {
			case inner == 1 && number == 3:
				mode = Restricted(fs.FileMode(v.number & 0o777))
			case inner == 1:
				found = found || string(v.bytes) == foundProperty
				unstored = unstored || string(v.bytes) == unstoredProperty
			}
			return nil
		})
	})
	return mode, found, unstored, err
}

// Restricted returns the permissions of a mode if not everybody may read, else 0.
func Restricted(mode fs.FileMode) fs.FileMode {
	if mode&0o044 == 0o044 {
		return 0
	}
	return mode.Perm()
}

// decodeBeside reads a google.protobuf.Any of auxiliary_metadata. The path is empty where it is not ours.
func decodeBeside(b []byte) (f File, err error) {
	var kind string
	var inside []byte
	err = fields(b, func(number uint64, v value) error {
		switch number {
		case 1:
			kind = string(v.bytes)
		case 2:
			inside = v.bytes
		}
		return nil
	})
	if err != nil || kind != outputFile {
		return f, err
	}
	err = fields(inside, func(number uint64, v value) (err error) {
		switch number {
		case 1:
			f.Path = string(v.bytes)
		case 2:
			f.Digest, err = decodeDigest(v.bytes)
		}
		return err
	})
	return f, err
}
