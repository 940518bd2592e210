// Package reapi encodes the messages of the Remote Execution API v2 (build.bazel.remote.execution.v2) that describe a
// task and its result: Digest, Directory, Command, Action, ActionResult. Only the fields that we use are written, in the
// order of their numbers and with sorted lists, so that equal messages have equal bytes, as that protocol asks for. What
// others wrote in further fields is skipped.
package reapi

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
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

	// Found is true of a file or link of a Result that was there before the task ran, and that it did not make.
	Found bool
	// Unstored is true of a file of a Result whose contents are not stored, because the task does not want it.
	Unstored bool
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

// outputFile is the type of the messages in auxiliary_metadata that are ours.
const outputFile = "type.googleapis.com/build.bazel.remote.execution.v2.OutputFile"

// IsLocal reports whether p is a clean path below a root.
func IsLocal(p string) bool {
	return p != "" && p != "." && p != ".." && !path.IsAbs(p) && path.Clean(p) == p && !strings.HasPrefix(p, "../")
}

// IsHash reports whether s is a sha256 in hexadecimal: it becomes the name of a file.
func IsHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

var errDamaged = errors.New("it is damaged")
