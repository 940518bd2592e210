package fix

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/advice"
)

// moveAway puts a link in the place of a folder, which stands elsewhere from then on.
func moveAway(t *testing.T, path string) (elsewhere string) {
	t.Helper()
	elsewhere = filepath.Join(tempDir(t), "elsewhere")
	if exists(path) {
		check(t, os.CopyFS(elsewhere, os.DirFS(path)))
		check(t, os.RemoveAll(path))
	} else {
		check(t, os.MkdirAll(elsewhere, 0o700))
		check(t, os.MkdirAll(filepath.Dir(path), 0o700))
	}
	check(t, os.Symlink(elsewhere, path))
	return elsewhere
}

// listing is every path below a folder with its size.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	check(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		check(t, err)
		info, err := e.Info()
		fmt.Fprintln(&b, path, info.Mode(), info.Size())
		return err
	}))
	return b.String()
}

// Nothing is written or read through a link that stands in the place of a folder of the records.
func TestLinkedFolders(t *testing.T) {
	t.Parallel()
	for _, linked := range []string{".async", "runs", "run", "fixes", "name", "apply"} {
		t.Run(linked, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, one)
			p := sealed(t, s, "test", one, two, nil)
			sum := s.verdict(t, runID)
			d, err := Begin(s.runDir(runID), runID, sum, "lint", nil) // a healing that was interrupted
			check(t, err)
			check(t, d.Close())
			link := map[string]string{
				".async": s.Dir, "runs": filepath.Join(s.Dir, "runs"), "run": s.runDir(runID), "fixes": filepath.Join(s.runDir(runID), "fixes"),
				"name": filepath.Join(s.runDir(runID), "fixes", "test"), "apply": s.applyDir(),
			}[linked]
			if linked == "name" { // of the draft too
				moveAway(t, filepath.Join(s.runDir(runID), "fixes", "lint"))
			}
			elsewhere := moveAway(t, link)
			was := listing(t, elsewhere)
			refuses := func(what string, err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), link+" is a link") || !strings.Contains(err.Error(), "never followed through links") || !strings.Contains(err.Error(), "remove it") {
					t.Errorf("%s: %v", what, err)
				}
			}

			for _, dry := range []bool{true, false} {
				if dry && linked == "apply" {
					continue // a dry run does not go there
				}
				_, err = apply(t, s, p, Options{DryRun: dry})
				refuses("Apply", err)
			}
			if linked == ".async" || linked == "apply" {
				_, err = s.Recover(context.Background())
				refuses("Recover", err)
			}
			if linked != "apply" {
				items, errs := s.List()
				if linked != "name" && len(items) > 0 {
					t.Errorf("List: %+v", items)
				}
				if linked != "name" || len(errs) > 0 {
					refuses("List", errors.Join(errs...))
				}
				drafts, err := s.Resume(nil)
				if len(drafts) > 0 || err == nil || !strings.Contains(err.Error(), "is a link") {
					t.Errorf("Resume: %v %v", drafts, err)
				}
			}
			if linked != "apply" && linked != "name" {
				_, err = s.Find(runID, "test")
				refuses("Find", err)
				_, err = Begin(s.runDir(runID), runID, sum, "test", nil)
				refuses("Begin", err)
				_, err = OpenJournal(s.runDir(runID), sum, nil)
				refuses("OpenJournal", err)
				_, _, err = HookLog(s.runDir(runID), "test", 1, nil)
				refuses("HookLog", err)
			}
			if now := listing(t, elsewhere); now != was {
				t.Errorf("written through the link:\n%s\nit was\n%s", now, was)
			}
			if b, err := os.ReadFile(filepath.Join(s.Root, "a.txt")); string(b) != "one\n" {
				t.Errorf("a.txt is %q, %v", b, err)
			}
		})
	}
}

// A second healing does not use a link that has the name of its folder, and a draft that is taken up again writes
// through none.
func TestLinkedFoldersOfADraft(t *testing.T) {
	t.Parallel()
	s := newStore(t, one)
	moveAway(t, filepath.Join(s.runDir(runID), "fixes", "test"))
	d, err := Begin(s.runDir(runID), runID, s.verdict(t, runID), "test", nil)
	check(t, err)
	defer func() { check(t, d.Close()) }()
	if d.name != "test@2" {
		t.Errorf("the draft is %s", d.name)
	}
	for _, suffix := range []string{"/base", "/attempt-1.files"} {
		moveAway(t, d.path(suffix))
	}
	if _, err := d.StoreBase(manifest(t, s.Root), "", nil, nil); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("StoreBase: %v", err)
	}
	if _, err := d.KeepFile(1, "big", strings.NewReader("x")); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("KeepFile: %v", err)
	}
}

// The run's folder may have become a link between a crash and its repair, and so may the one for what is kept.
func TestRecoverThroughLinks(t *testing.T) {
	t.Parallel()
	for at, folder := range map[string]string{"record": "runs/" + runID, "write b.txt": "kept"} {
		s, _ := crashed(t, one, files{"a.txt": "f:two\n", "b.txt": "f:b\n"}, at)
		link := filepath.Join(s.Dir, filepath.FromSlash(folder))
		elsewhere := moveAway(t, link)
		was := listing(t, elsewhere)
		if folder == "kept" {
			put(t, s.Root, "a.txt", "f:mine\n") // so that its original is kept
		}
		if _, err := s.Recover(context.Background()); err == nil || !strings.Contains(err.Error(), link+" is a link") {
			t.Errorf("%s: %v", at, err)
		}
		if now := listing(t, elsewhere); now != was {
			t.Errorf("%s: written through the link:\n%s", at, now)
		}
	}
}

func TestAdvice(t *testing.T) {
	t.Parallel()
	for err, says := range map[error]string{
		syscall.ENOSPC: "writing /x: there is no space left on the disk (or in your quota): free some",
		syscall.EROFS:  "writing /x: the file system is read-only: make it writable",
		syscall.EACCES: "writing /x: permission denied: make its folder writable",
	} {
		got := advice.Writing(advice.Writing(&fs.PathError{Op: "open", Path: "/x/.tmp-1", Err: err}, "/x"), "/y")
		if !errors.Is(got, err) || !strings.HasPrefix(got.Error(), says) {
			t.Errorf("%v", got)
		}
	}
	if advice.Writing(nil, "/x") != nil || !errors.Is(advice.Writing(syscall.EIO, "/x"), syscall.EIO) || advice.Writing(syscall.EIO, "/x").Error() != syscall.EIO.Error() {
		t.Error("advice on what nobody can mend")
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		check(t, err)
		_, err = f.WriteString("x")
		check(t, f.Close())
		if !strings.Contains(advice.Writing(err, "/x").Error(), "free some") {
			t.Errorf("a full disk: %v", err)
		}
	}
}
