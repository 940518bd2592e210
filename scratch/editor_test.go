package scratch

import (
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// An editor changes a tree as people and tools do.
type editor struct {
	t   *testing.T
	r   *rand.Rand
	top string
	n   int
}

func (e *editor) some() string {
	var files []string
	must(e.t, filepath.WalkDir(e.top, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".git" && d.IsDir():
			return fs.SkipDir
		case d.Type().IsRegular() && d.Name() != ".git":
			files = append(files, p)
		}
		return nil
	}))
	if len(files) == 0 {
		return e.fresh()
	}
	return files[e.r.Intn(len(files))]
}

func (e *editor) fresh() string {
	e.n++
	p := filepath.Join(e.top, fmt.Sprintf("d%d", e.r.Intn(4)), fmt.Sprintf("n%d", e.n))
	if info, err := os.Lstat(filepath.Dir(p)); err == nil && !info.IsDir() {
		must(e.t, os.Remove(filepath.Dir(p)))
	}
	must(e.t, os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, e.bytes(1+e.r.Intn(40)), 0o644))
	return p
}

func (e *editor) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + e.r.Intn(26))
	}
	return b
}

// inPlace writes the same number of bytes into the same inode.
func (e *editor) inPlace(p string) {
	info, err := os.Lstat(p)
	must(e.t, err)
	f, err := os.OpenFile(p, os.O_WRONLY, 0)
	must(e.t, err)
	_, err = f.Write(e.bytes(int(info.Size())))
	must(e.t, err, f.Close())
}

func (e *editor) edit() string {
	if os.Geteuid() != 0 { // root is not kept out of a closed folder
		e.open()
	}
	p := e.some()
	info, err := os.Lstat(p)
	must(e.t, err)
	must(e.t, os.Chmod(p, info.Mode().Perm()|0o600), os.Chmod(filepath.Dir(p), 0o755))
	switch kind := e.r.Intn(15); kind {
	case 0:
		e.inPlace(p)
		return "the same size"
	case 1:
		e.inPlace(p)
		must(e.t, os.Chtimes(p, info.ModTime(), info.ModTime()))
		return "the same size and time"
	case 2:
		must(e.t, os.Rename(e.some(), p))
		return "rename over"
	case 3:
		q := e.some()
		must(e.t, os.Rename(p, e.top+"/swap"))
		if q != p {
			must(e.t, os.Rename(q, p))
		}
		must(e.t, os.MkdirAll(filepath.Dir(q), 0o755), os.Rename(e.top+"/swap", q))
		return "swap two files"
	case 4:
		a, b := e.top+"/d0", e.top+"/d1"
		_, aerr := os.Lstat(a)
		_, berr := os.Lstat(b)
		if aerr == nil && berr == nil {
			must(e.t, os.Rename(a, e.top+"/swap"), os.Rename(b, a), os.Rename(e.top+"/swap", b))
		}
		return "swap two folders"
	case 5:
		must(e.t, os.Remove(p), os.MkdirAll(p+"/in", 0o755), os.WriteFile(p+"/in/f", e.bytes(5), 0o600))
		return "file to folder"
	case 6:
		if dir := filepath.Dir(p); dir != e.top {
			must(e.t, os.RemoveAll(dir), os.Symlink("nowhere", dir))
		}
		return "folder to symlink"
	case 7:
		must(e.t, os.Remove(p), os.Symlink(fmt.Sprint("to", e.r.Intn(3)), p))
		return "file to symlink"
	case 8:
		must(e.t, os.Chmod(p, []fs.FileMode{0o644, 0o755, 0o400, 0o600}[e.r.Intn(4)]))
		return "chmod"
	case 9:
		must(e.t, os.Chmod(filepath.Dir(p), 0o555))
		return "closed folder"
	case 10:
		q := e.fresh()
		must(e.t, os.Remove(q), os.Link(p, q))
		e.inPlace(q)
		return "hard link"
	case 11:
		must(e.t, os.Remove(p))
		return "delete"
	case 12:
		must(e.t, os.RemoveAll(e.top+"/d2"), os.MkdirAll(e.top+"/empty/"+strconv.Itoa(e.r.Intn(3)), 0o755))
		return "delete a folder, make an empty one"
	case 13:
		f, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0)
		must(e.t, err)
		_, err = f.Write(e.bytes(3))
		must(e.t, err, f.Close(), os.Truncate(p, max(0, info.Size()-2)))
		return "append and truncate"
	default:
		e.fresh()
		return "a new file"
	}
}

// open makes every folder removable again.
func (e *editor) open() {
	_ = filepath.WalkDir(e.top, func(p string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(p, 0o755)
		}
		return nil
	})
}
