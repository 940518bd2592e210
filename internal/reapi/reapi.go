// Package reapi encodes the messages of the Remote Execution API v2 (build.bazel.remote.execution.v2) that describe a
// task and its result: Digest, Directory, Command, Action, ActionResult. Only the fields that we use are written, in the
// order of their numbers and with sorted lists, so that equal messages have equal bytes, as that protocol asks for. What
// others wrote in further fields is skipped.
package reapi

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Digest names a blob by its content.
type Digest struct {
	Hash string // sha256, 64 hexadecimal digits
	Size int64  // bytes
}

// DigestOf returns the digest of a blob.
func DigestOf(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest{hex.EncodeToString(sum[:]), int64(len(b))}
}

// String is the form of records: sha256:<hex>.
func (d Digest) String() string { return "sha256:" + d.Hash }

// A File is a file, a symbolic link or an empty folder of an input root or of a result.
type File struct {
	Path       string // slash-separated, relative to the root
	Digest     Digest // of a file
	Executable bool   // of a file
	Link       string // the text of a symbolic link; empty: it is none
	Folder     bool   // an empty folder

	// Mode has the permissions of a file of a Result that not everybody may read; 0: those of a new file. The Directories of
	// an input root have none.
	Mode fs.FileMode
}

// Same reports whether two files of one path are alike. Who may read them does not count.
func (f File) Same(g File) bool {
	return f.Digest == g.Digest && f.Executable == g.Executable && f.Link == g.Link && f.Folder == g.Folder
}

// A Pair is an EnvironmentVariable or a Property: name = 1, value = 2.
type Pair struct{ Name, Value string }

// A Command is what is run, without its inputs.
type Command struct {
	Argv    []string
	Env     []Pair // sorted by name
	Outputs []string
	Dir     string
}

// Encode writes arguments = 1, environment_variables = 2, working_directory = 6, output_paths = 7.
func (c Command) Encode() []byte {
	var b []byte
	for _, a := range c.Argv {
		b = appendText(b, 1, a)
	}
	for _, v := range c.Env {
		b = appendPair(b, 2, v)
	}
	b = appendSet(b, 6, c.Dir)
	for _, o := range slices.Sorted(slices.Values(c.Outputs)) {
		b = appendText(b, 7, o)
	}
	return b
}

// EncodeAction returns an Action: command_digest = 1, input_root_digest = 2, salt = 9, platform = 10.
func EncodeAction(command, root Digest, platform []Pair) []byte {
	b := appendDigest(nil, 1, command)
	b = appendDigest(b, 2, root)
	b = appendText(b, 9, salt)
	var p []byte
	for _, v := range platform {
		p = appendPair(p, 1, v)
	}
	return appendBytes(b, 10, p)
}

// salt tells the keys of this form of a task from those of an earlier or later one.
const salt = "async-pipeline 1"

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
					node = protowire.AppendVarint(protowire.AppendTag(node, 4, protowire.VarintType), 1)
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
	err := fields(b, func(number protowire.Number, v value) error {
		n := Node{}
		err := fields(v.bytes, func(inner protowire.Number, v value) (err error) {
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

// Encode writes output_files = 2 (node_properties = 7, there unix_mode = 3, where not everybody may read it), output_directories = 3 (for empty folders, and for those of
// Closed), stdout_digest = 6, execution_metadata = 9, output_symlinks = 12.
func (r Result) Encode() []byte {
	var files, folders, links []byte
	trees := map[string]Digest{}
	for _, f := range r.Files {
		at := appendText(nil, 1, f.Path)
		switch {
		case f.Folder:
			trees[f.Path] = DigestOf(appendBytes(nil, 1, nil)) // a Tree with an empty root
		case f.Link != "":
			links = appendBytes(links, 12, appendText(at, 2, f.Link))
		default:
			at = appendDigest(at, 2, f.Digest)
			if f.Executable {
				at = protowire.AppendVarint(protowire.AppendTag(at, 4, protowire.VarintType), 1)
			}
			if f.Mode != 0 {
				at = appendBytes(at, 7, properties(f.Mode))
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
	var took []byte                                                                                                        // a google.protobuf.Duration
	took = protowire.AppendVarint(protowire.AppendTag(took, 1, protowire.VarintType), uint64(r.Took/1000))                 //nolint:gosec // not negative
	took = protowire.AppendVarint(protowire.AppendTag(took, 2, protowire.VarintType), uint64(r.Took%1000*1_000_000))       //nolint:gosec // not negative
	meta = appendBytes(meta, 4, protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(r.Made))) //nolint:gosec // not negative
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
	err := fields(b, func(number protowire.Number, v value) (err error) {
		switch number {
		case 2, 3, 12:
			f := File{Folder: number == 3}
			err = fields(v.bytes, func(inner protowire.Number, v value) (err error) {
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
					f.Mode, err = decodeMode(v.bytes)
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
			err = fields(v.bytes, func(inner protowire.Number, v value) error {
				switch inner {
				case 1:
					r.Run = string(v.bytes)
				case 4:
					return fields(v.bytes, func(n protowire.Number, v value) error {
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
					return fields(v.bytes, func(n protowire.Number, v value) error {
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

// properties returns NodeProperties with unix_mode = 3, a UInt32Value.
func properties(mode fs.FileMode) []byte {
	return appendBytes(nil, 3, protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(mode)))
}

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

// decodeMode returns the unix_mode of NodeProperties, if they have one and not everybody may read.
func decodeMode(b []byte) (mode fs.FileMode, err error) {
	return mode, fields(b, func(number protowire.Number, v value) error {
		if number != 3 {
			return nil
		}
		return fields(v.bytes, func(number protowire.Number, v value) error {
			if number == 1 {
				mode = Restricted(fs.FileMode(v.number & 0o777))
			}
			return nil
		})
	})
}

// Restricted returns the permissions of a mode if not everybody may read, else 0.
func Restricted(mode fs.FileMode) fs.FileMode {
	if mode&0o044 == 0o044 {
		return 0
	}
	return mode.Perm()
}

// outputFile is the type of the messages in auxiliary_metadata that are ours.
const outputFile = "type.googleapis.com/build.bazel.remote.execution.v2.OutputFile"

// decodeBeside reads a google.protobuf.Any of auxiliary_metadata. The path is empty where it is not ours.
func decodeBeside(b []byte) (f File, err error) {
	var kind string
	var inside []byte
	err = fields(b, func(number protowire.Number, v value) error {
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
	return f, fields(inside, func(number protowire.Number, v value) (err error) {
		switch number {
		case 1:
			f.Path = string(v.bytes)
		case 2:
			f.Digest, err = decodeDigest(v.bytes)
		}
		return err
	})
}

// IsLocal reports whether p is a clean path below a root.
func IsLocal(p string) bool {
	return p != "" && p != "." && p != ".." && !path.IsAbs(p) && path.Clean(p) == p && !strings.HasPrefix(p, "../")
}

func decodeDigest(b []byte) (d Digest, err error) {
	err = fields(b, func(number protowire.Number, v value) error {
		switch number {
		case 1:
			d.Hash = string(v.bytes)
		case 2:
			d.Size = int64(v.number) //nolint:gosec // a negative one matches no blob
		}
		return nil
	})
	if err == nil && !IsHash(d.Hash) {
		err = fmt.Errorf("%q is not a sha256", d.Hash)
	}
	return d, err
}

// IsHash reports whether s is a sha256 in hexadecimal: it becomes the name of a file.
func IsHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// A value is one field of a message: bytes, or a number.
type value struct {
	bytes  []byte
	number uint64
}

var errDamaged = errors.New("it is damaged")

// fields calls each for the fields of a message that are bytes or numbers.
func fields(b []byte, each func(protowire.Number, value) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errDamaged
		}
		b = b[n:]
		var v value
		switch kind {
		case protowire.BytesType:
			v.bytes, n = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			v.number, n = protowire.ConsumeVarint(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return errDamaged
		}
		b = b[n:]
		if kind != protowire.BytesType && kind != protowire.VarintType {
			continue
		}
		if err := each(number, v); err != nil {
			return err
		}
	}
	return nil
}

func appendBytes(b []byte, number protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), v)
}

func appendText(b []byte, number protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), v)
}

// appendSet appends a text unless it is empty, as protobuf does with fields of their default.
func appendSet(b []byte, number protowire.Number, v string) []byte {
	if v == "" {
		return b
	}
	return appendText(b, number, v)
}

func appendPair(b []byte, number protowire.Number, p Pair) []byte {
	return appendBytes(b, number, appendSet(appendSet(nil, 1, p.Name), 2, p.Value))
}

func appendDigest(b []byte, number protowire.Number, d Digest) []byte {
	var room [96]byte
	m := appendSet(room[:0], 1, d.Hash)
	if d.Size != 0 {
		m = protowire.AppendVarint(protowire.AppendTag(m, 2, protowire.VarintType), uint64(d.Size)) //nolint:gosec // a length
	}
	return appendBytes(b, number, m)
}
