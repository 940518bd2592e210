// The folders of the project and the reading of files in them: bounded, and never through a link that leads out.
package detect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

const (
	top         = "."     // the path of the root
	deep        = 2       // levels of folders below the root that are looked at
	maxFile     = 1 << 20 // bytes of a file
	maxEntries  = 5000    // names of a folder
	maxFolders  = 400
	maxNotes    = 40
	maxNote     = 300      // bytes
	maxScanFile = 20 << 20 // bytes of all Go files of a module

	maxScanFolders = 2000
)

// passed are folders without projects of their own: the code of others, what tools made, and test data.
var passed = []string{
	"node_modules", "vendor", "third_party", "testdata", "fixtures", "__fixtures__", "examples", "example", "docs",
	"dist", "build",
	"out", "target", "bin", "obj", "coverage", "venv", "env", "__pycache__", "site-packages", "bower_components",
	"Pods", "tmp",
}

// A tree is the project, as files.
type tree struct {
	root  *os.Root
	notes []string
}

// A folder is one folder and the names in it.
type folder struct {
	path  string          // slash-separated, "." for the root
	files map[string]bool // names of files and links
	dirs  []string        // names of folders, sorted; a link to one is none
}

// note adds a sentence for the person. It may contain text from files: it is cut and made one line.
func (t *tree) note(format string, args ...any) {
	text := line(fmt.Sprintf(format, args...), maxNote)
	switch {
	case slices.Contains(t.notes, text) || len(t.notes) > maxNotes:
	case len(t.notes) == maxNotes:
		t.notes = append(t.notes, "and more that is not listed here")
	default:
		t.notes = append(t.notes, text)
	}
}

// aside adds a note about a file that is of no use, only where it is at the root.
func (t *tree) aside(f *folder, format string, args ...any) {
	if f.path == top {
		t.note(format, args...)
	}
}

// folders lists the root and the folders below it, upper ones first, each level by name.
func (t *tree) folders() ([]*folder, error) {
	first, err := t.folder(top)
	if err != nil {
		return nil, fmt.Errorf("the folder cannot be read: %w", err)
	}
	all := []*folder{first}
	level := all
	for range deep {
		var next []*folder
		for _, f := range level {
			for _, name := range f.dirs {
				if strings.HasPrefix(name, ".") || slices.Contains(passed, name) {
					continue
				}
				if len(all)+len(next) == maxFolders {
					t.note("only the first %d folders were read", maxFolders)
					return append(all, next...), nil
				}
				sub, err := t.folder(path.Join(f.path, name))
				if err == nil { // a folder that cannot be entered is left out
					next = append(next, sub)
				}
			}
		}
		all, level = append(all, next...), next
	}
	return all, nil
}

func (t *tree) folder(p string) (*folder, error) {
	dir, err := t.root.Open(p)
	if err != nil {
		return nil, err
	}
	defer dir.Close() //nolint:errcheck // only read
	entries, err := dir.ReadDir(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	f := &folder{path: p, files: map[string]bool{}}
	for _, e := range entries {
		switch {
		case !speakable(e.Name()):
		case e.IsDir():
			f.dirs = append(f.dirs, e.Name())
		default:
			f.files[e.Name()] = true
		}
	}
	slices.Sort(f.dirs)
	return f, nil
}

// has returns the first of the names that is in the folder, or "".
func (f *folder) has(names ...string) string {
	for _, n := range names {
		if f.files[n] {
			return n
		}
	}
	return ""
}

// read returns the text of a file of the folder. A file that is missing is empty; one that cannot be read adds a
// note.
func (t *tree) read(f *folder, name string) string {
	if !f.files[name] {
		return ""
	}
	p := path.Join(f.path, name)
	text, err := t.open(p, maxFile)
	switch {
	case err == nil:
		return text
	case errors.Is(err, fs.ErrNotExist):
		t.note("%s: not read: it is a link to nothing", p)
	case errors.Is(err, errOdd), errors.Is(err, errLong):
		t.note("%s: not read: %v", p, err)
	case errors.Is(err, fs.ErrPermission):
		t.note("%s: not read: you may not read it", p)
	default:
		t.note("%s: not read: it is a link that leads out of the project or in a circle", p)
	}
	return ""
}

var (
	errOdd  = errors.New("it is no regular file")
	errLong = errors.New("it is too long")
)

// open reads a file of at most so many bytes. O_NONBLOCK: opening a FIFO must not wait for a writer.
func (t *tree) open(p string, most int64) (string, error) {
	file, err := t.root.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errOdd
	case info.Size() > most:
		return "", errLong
	}
	b, err := io.ReadAll(io.LimitReader(file, most+1))
	if int64(len(b)) > most {
		return "", errLong
	}
	return strings.TrimPrefix(string(b), "\ufeff"), err
}

// there reports whether a path exists, without following its last link.
func (t *tree) there(p string) bool {
	_, err := t.root.Lstat(p)
	return err == nil
}

// speakable reports whether a name can be written into a file and shown: one line of valid text.
func speakable(s string) bool {
	return s != "" && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.M, r) || r == '\u2028' ||
			r == '\u2029' || r == utf8.RuneError
	})
}

// line returns text as one line of at most so many bytes.
func line(text string, most int) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
	}), " ")
	if len(text) <= most {
		return text
	}
	cut := most - len("…")
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return strings.TrimRight(text[:cut], " ") + "…"
}

// at names a file of a folder for a person.
func at(dir, name string) string { return path.Join(dir, name) }
