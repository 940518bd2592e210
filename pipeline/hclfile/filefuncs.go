package hclfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/async-pipeline/async-pipeline/internal/unixat"
)

const (
	maxText    = 1 << 20  // bytes of one file that file() reads
	maxTexts   = 16 << 20 // bytes of all of them
	maxHashed  = 4 << 30  // bytes of all files that filesha256() reads
	maxMatches = 10_000   // files that fileset() finds
	maxWalked  = 200_000  // names that all calls of fileset() look at
)

// files reads files for the functions of the language, each of them once, also in a loop. All names are relative to
// the root and slash-separated. Nothing outside the root is opened, wherever a link leads.
type files struct {
	root   string
	fetch  func(at string, pattern bool) // see Options.Fetch
	texts  map[string]string
	hashes map[string]string
	sets   map[string][]string
	*readTotals
}

// readTotals are what the functions of all PIPELINE.hcl files of a reading have read together.
type readTotals struct {
	size   int // of texts
	hashed int64
	walked int
}

func newFiles(root string, t *readTotals, fetch func(at string, pattern bool)) *files {
	if fetch == nil {
		fetch = func(string, bool) {}
	}
	return &files{root: root, fetch: fetch, readTotals: t, texts: make(map[string]string), hashes: make(map[string]string), sets: make(map[string][]string)}
}

// once returns what an earlier call for the same name found, or finds it. Errors are not kept: they end the reading.
func once[T any](seen map[string]T, name string, find func(string) (T, error)) (T, error) {
	if v, ok := seen[name]; ok {
		return v, nil
	}
	v, err := find(name)
	if err == nil {
		seen[name] = v
	}
	return v, err
}

// readFunc makes file("PATH") or filesha256("PATH"). The file becomes an input of the task that called it.
func (r *evaluator) readFunc(
	f *files, doc string, seen map[string]string, find func(string) (string, error),
) function.Function {
	return function.New(&function.Spec{
		Description: doc + " The path is relative to the folder of PIPELINE.hcl, and inside it.",
		Params:      []function.Parameter{{Name: "path", Type: cty.String, AllowMarked: true}},
		Type:        function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if args[0].IsMarked() {
				return cty.NilVal, function.NewArgErrorf(0,
					"the name of a file cannot be secret: it is recorded as an input")
			}
			name, err := inside(args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			r.touched.asked[name], r.ever.asked[name] = true, true
			v, err := once(seen, name, func(name string) (string, error) {
				f.fetch(filepath.Join(f.root, filepath.FromSlash(name)), false)
				return find(name)
			})
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			r.touched.files[name], r.ever.files[name] = true, true
			if to := f.behind(name); to != name { // a link: what it leads to is read as well
				r.touched.files[to] = true
				r.touched.asked[to], r.ever.asked[to] = true, true
			}
			return cty.StringVal(v), nil
		},
	})
}

// fileSetFunc is fileset("PATTERN"). It returns a list, which can be concatenated and is converted to a set where one
// is wanted.
func (r *evaluator) fileSetFunc(f *files) function.Function {
	return function.New(&function.Spec{
		Description: "The files that match a pattern relative to the folder of PIPELINE.hcl: ** is any folders, {a,b} either; sorted. Folders called .git and .async are left out.",
		Params:      []function.Parameter{{Name: "pattern", Type: cty.String, AllowMarked: true}},
		Type:        function.StaticReturnType(cty.List(cty.String)),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if args[0].IsMarked() {
				return cty.NilVal, function.NewArgErrorf(0,
					"the pattern cannot be secret: what it finds is recorded as input")
			}
			pattern := args[0].AsString()
			names, err := once(f.sets, pattern, f.match)
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			for _, pattern := range f.patterns(pattern) {
				r.touched.sets[pattern], r.ever.sets[pattern] = true, true
			}
			all := make([]cty.Value, 0, len(names))
			for _, name := range names {
				r.touched.files[name], r.ever.files[name] = true, true
				all = append(all, cty.StringVal(name))
			}
			if len(all) == 0 {
				return cty.ListValEmpty(cty.String), nil
			}
			return cty.ListVal(all), nil
		},
	})
}

// inside cleans the name of a file, which must be inside the root.
func inside(name string) (string, error) {
	clean := path.Clean(name)
	switch {
	case strings.TrimSpace(name) == "":
		return "", errors.New("it is empty: write the name of a file, relative to the folder of PIPELINE.hcl")
	case strings.ContainsRune(name, 0):
		return "", errors.New("it contains a NUL byte, which no name of a file can")
	case path.IsAbs(name):
		return "", fmt.Errorf("%s is an absolute path: write it relative to the folder of PIPELINE.hcl, and inside it", name)
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return "", fmt.Errorf("%s leaves the folder of PIPELINE.hcl: only files inside it can be read", name)
	}
	return clean, nil
}

// open opens a regular file for reading.
func (f *files) open(name string) (*os.File, error) {
	root, err := os.OpenRoot(f.root)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // only read
	// O_NONBLOCK: opening a FIFO must not wait for somebody to write to it. It means nothing to a regular file.
	file, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, f.why(name, err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		err = f.why(name, err)
	case info.IsDir():
		err = fmt.Errorf("%s is a folder: name a file, or find those in it with fileset(%q)", name,
			path.Join(name, "**"))
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file, and no other can be read", name)
	}
	if err != nil {
		_ = file.Close() // only read
		return nil, err
	}
	return file, nil
}

// why explains an error and says what to do.
func (f *files) why(name string, err error) error {
	switch {
	case unixat.IsNotExist(err):
		return fmt.Errorf("there is no file %s in the folder of PIPELINE.hcl: correct the path, or write try(file(…), \"…\") if it may be absent", name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s may not be read: change its permissions", name)
	}
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		// what os.Root says of a way out is no error number
		if _, system := p.Err.(syscall.Errno); !system { //nolint:errorlint
			return fmt.Errorf("%s is a link that leads out of the folder of PIPELINE.hcl: only files inside it can be read", name)
		}
		err = p.Err
	}
	return fmt.Errorf("%s cannot be read: %w", name, err)
}

// text reads a file of text.
func (f *files) text(name string) (string, error) {
	file, err := f.open(name)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // only read
	b, err := io.ReadAll(io.LimitReader(file, maxText+1))
	switch {
	case err != nil:
		return "", f.why(name, err)
	case len(b) > maxText:
		return "", fmt.Errorf("%s is larger than 1 MiB: let the task read it", name)
	case f.size+len(b) > maxTexts:
		return "", fmt.Errorf("with %s, more than 16 MiB of files are read: let the tasks read them", name)
	case !utf8.Valid(b):
		return "", fmt.Errorf("%s is not UTF-8 text: let the task read it, or take filesha256(%q)", name, name)
	}
	f.size += len(b)
	return string(b), nil
}

// hash returns the SHA-256 of a file, up to the size that it has when it is opened.
func (f *files) hash(name string) (string, error) {
	file, err := f.open(name)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	if err != nil {
		return "", f.why(name, err)
	}
	if f.hashed += info.Size(); f.hashed > maxHashed {
		return "", fmt.Errorf("%s: filesha256() reads at most %d GiB in all: name the file in inputs, and let the task look at it", name, maxHashed>>30)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(file, info.Size())); err != nil {
		return "", f.why(name, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// behind returns the file that a name leads to through links, or the name itself.
func (f *files) behind(name string) string {
	root, err := filepath.EvalSymlinks(f.root)
	if err != nil {
		return name
	}
	to, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return name
	}
	rel, err := filepath.Rel(root, to)
	if err != nil || !filepath.IsLocal(rel) {
		return name
	}
	return filepath.ToSlash(rel)
}

// match finds the files that match a pattern, sorted.
func (f *files) match(pattern string) ([]string, error) {
	clean, wrong, do := cleanGlob(pattern)
	if wrong != "" {
		if strings.TrimSpace(pattern) == "" {
			pattern = "it"
		}
		return nil, fmt.Errorf("%s %s: %s", pattern, wrong, strings.ToLower(do[:1])+strings.TrimSuffix(do[1:], "."))
	}
	pattern = clean
	root, err := os.OpenRoot(f.root)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // only read
	f.fetch(f.root+string(filepath.Separator)+filepath.FromSlash(pattern), true)
	base, _ := doublestar.SplitPattern(pattern)
	base = path.Clean(base)
	var found []string
	if slices.ContainsFunc(strings.Split(base, "/"), isOurs) {
		return nil, nil
	}
	err = fs.WalkDir(root.FS(), base, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == base && !errors.Is(err, fs.ErrPermission):
			return fs.SkipAll // there is no such folder, or a link is in the way: nothing matches
		case err != nil:
			return f.why(name, err)
		case isOurs(d.Name()):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if f.walked++; f.walked > maxWalked {
			return fmt.Errorf("%s looks through more than %d files and folders: begin it with a folder",
				pattern, maxWalked)
		}
		if d.IsDir() || !doublestar.MatchUnvalidated(pattern, name) {
			return nil
		}
		if info, err := root.Stat(filepath.FromSlash(name)); err != nil || !info.Mode().IsRegular() {
			return nil //nolint:nilerr // a broken link, or one that leads out: no file of the root
		}
		if cty.NormalizeString(name) != name { // the text would be the name of no file
			return fmt.Errorf("%s finds %s, whose name is not in the composed Unicode form (NFC) that values have: "+
				"rename it (now it is %+q), or write a pattern that leaves it out", pattern, name, name)
		}
		if found = append(found, name); len(found) > maxMatches {
			return fmt.Errorf("%s finds more than %d files: write a narrower pattern", pattern, maxMatches)
		}
		return nil
	})
	slices.Sort(found)
	return found, err
}

// patterns returns patterns of what match would find: its own and, where the folder that it begins with is behind a
// link, that of the same files there.
func (f *files) patterns(pattern string) []string {
	pattern, _, _ = cleanGlob(pattern)
	folder, rest := doublestar.SplitPattern(pattern)
	if strings.HasPrefix(pattern, "!") { // which takes away in a list of patterns
		pattern = `\` + pattern
	}
	all := []string{pattern}
	if to := f.behind(folder); to != folder && !strings.ContainsAny(to, `*?[{\`) {
		all = append(all, path.Join(to, rest))
	}
	return all
}

// isOurs reports whether a name belongs to git or to async-pipeline, not to the project.
func isOurs(name string) bool { return name == ".git" || name == ".async" }
