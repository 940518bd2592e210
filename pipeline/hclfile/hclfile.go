// Package hclfile turns PIPELINE.hcl into a pipeline.Config. With its guard it is the only package that knows HCL
// and cty. Reading a file runs nothing: no process, no network, no model.
//
// The steps: read the bytes (hclfile.go) → refuse what would hurt the parser (package guard) → parser (syntax.go),
// which turns JSON into native syntax (json.go) → matcher, which compares blocks with the table of words
// (language.go, body.go) → decoder (config.go), with one decoder for each type of block: variables, tasks, hooks,
// agents. They share a reader of attributes (values.go), which has an evaluator (eval.go, names.go), which has the
// report of faults (faults.go) and the secrets. At the end the references between tasks are checked (refs.go).
// A file that another one includes (include.go) is decoded in the same way, then rewritten for that one (embed.go).
package hclfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/async-pipeline/async-pipeline/internal/unixat"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile/guard"
)

// Name is the file's name, in HCL's native syntax.
const Name = "PIPELINE.hcl"

// NameJSON is its name where it is written in JSON.
const NameJSON = Name + ".json"

// ErrNotFound means that neither dir nor a folder above has a PIPELINE.hcl.
var ErrNotFound = errors.New("no PIPELINE.hcl here or in a folder above")

// Options are what a caller passes to Load.
type Options struct {
	// Vars are the values of --var NAME=VALUE.
	Vars map[string]string
	// VarFiles are the paths of --var-file: NAME = VALUE lines in HCL, or a JSON object where the path ends in
	// .json. A later file replaces values of those before it.
	VarFiles []string
	// Env is the environment, for env(), secret() and ASYNC_PIPELINE_VAR_NAME; nil is an empty one.
	Env func(string) (string, bool)
	// Root is the absolute path of the folder that the file is taken to be in, where that is not the one that has it:
	// path.root, and Root and File of the configuration, are of this folder. Files are read where the file is.
	Root string
	// Fetch, if not nil, is called before file() or filesha256() looks for a file, and before fileset() looks for those
	// that a pattern matches: for who makes the folder of the file as far as it is asked for. at is the absolute path.
	Fetch func(at string, pattern bool)
}

// Find returns the absolute path of the nearest PIPELINE.hcl or PIPELINE.hcl.json, from dir upwards, or ErrNotFound.
// A folder with both is an error: nobody could tell which one counts.
func Find(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		var found []string // also a broken link: Load reports what is wrong with it
		for _, path := range []string{filepath.Join(dir, Name), filepath.Join(dir, NameJSON)} {
			switch _, err := os.Lstat(path); {
			case err == nil:
				found = append(found, path)
			case !unixat.IsNotExist(err):
				return "", err
			}
		}
		switch len(found) {
		case 1:
			return found[0], nil
		case 2:
			return "", fmt.Errorf("%s and %s: there are both; keep one of them", found[0], NameJSON)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", ErrNotFound
		}
		dir = up
	}
}

// Load reads the file at path. The error is a pipeline.Errors with every fault of the file, each with its place, or
// an I/O error that names the path.
func Load(path string, o Options) (*pipeline.Config, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	src, err := readFile(path, false)
	if err != nil {
		return nil, err
	}
	return parse(path, abs, src, o)
}

// readFile reads at most one byte more than a file may have, which is enough for the guard to refuse it. pipes
// allows a pipe, such as <(command) of a shell.
func readFile(path string, pipes bool) ([]byte, error) {
	// O_NONBLOCK: opening a FIFO must not wait for somebody to write to it. It means nothing to a regular file.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if to, isLink := os.Readlink(path); err != nil && isLink == nil && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP)) {
		return nil, fmt.Errorf("%s is a link to %s, where no file is: correct the link, or remove it", path, to)
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%s may not be read (%w): change its permissions, or those of the folders above it", path, fs.ErrPermission)
	}
	if err != nil {
		return nil, err // names the path
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return nil, fmt.Errorf("%s is a folder, not a file: name a file, or put one in its place", path)
	case pipes && mode&fs.ModeNamedPipe != 0:
		return readPipe(f, path)
	case !mode.IsRegular():
		return nil, fmt.Errorf("%s is not a regular file: name a file, or put one in its place", path)
	}
	src, err := io.ReadAll(io.LimitReader(f, guard.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return src, nil
}

func parse(path, abs string, src []byte, o Options) (*pipeline.Config, error) {
	if o.Env == nil {
		o.Env = func(string) (string, bool) { return "", false }
	}
	all := newReading(o)
	all.dir = filepath.Dir(abs)
	d := all.decode(&source{path: path, abs: abs, vars: o.Vars}, src)
	if d != nil {
		d.tasks.overlaps()
		d.tasks.sharedAnswers(d.c.Tasks)
	}
	if err := errorsOf(all.reports, all.secrets); err != nil {
		return nil, err
	}
	d.c.Index()
	slices.Sort(d.c.Found)
	d.c.Secrets = all.secrets.all()
	for _, r := range all.reports {
		d.c.Warnings = append(d.c.Warnings, r.list(all.secrets, true)...)
	}
	return d.c, nil
}

// parse reads the syntax, of which there are two.
func (r *parser) parse(src []byte) (*hclsyntax.Body, bool) {
	if strings.HasSuffix(r.path, ".json") {
		return r.json(src)
	}
	if !r.passes(guard.HCL(r.path, src)) {
		return nil, false
	}
	return r.native(src)
}
