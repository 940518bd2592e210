package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
)

// MarkImported writes imported.json into the folder of a run that is about to be imported. by may be empty.
func MarkImported(runDir, from, by string) error {
	sum, err := fix.RunDigest(runDir)
	if err != nil {
		return err
	}
	i := fix.Imported{SchemaVersion: fix.SchemaVersion, At: timestamp.Now(), From: from, RunDigest: sum}
	if by != "" {
		i.By = &by
	}
	c, err := fix.ReadEvents(filepath.Join(runDir, "fixes", fix.EventsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if n := len(c.Ends); n > 0 {
		i.Journal = &journal.End{Lines: int64(n), Head: &c.Ends[n-1]}
	}
	i.Digest = i.Sum()
	return recordfile.WriteJSON(filepath.Join(runDir, fix.ImportedFile), i, true)
}

// Import adds to a report what is wrong with the mark of an imported run, and notes that the run was imported.
func Import(r *journal.Report, dir string) error {
	if !recordfile.Exists(filepath.Join(dir, fix.ImportedFile)) {
		return nil
	}
	text, ok := r.Read(fix.ImportedFile, "the mark of an imported run", 1<<16)
	if !ok {
		return nil
	}
	var i fix.Imported
	err := json.Unmarshal(text, &i)
	again, encErr := recordfile.JSON(i)
	if err != nil || encErr != nil || string(again)+"\n" != string(text) || i.Sum() != i.Digest {
		r.Fault(fix.ImportedFile, "digest", i.Sum(), i.Digest)
		return nil //nolint:nilerr // that it cannot be read is the fault
	}
	if sum, err := fix.RunDigest(dir); err == nil && sum != i.RunDigest {
		r.Fault("run.json", "run_digest of "+fix.ImportedFile, i.RunDigest, sum)
	}
	r.Note(fix.ImportedFile, "imported at %s: what it tells happened elsewhere", i.At)
	return nil
}

// Limits of what is imported: no record of ours has more.
const (
	mostImported      = 2 << 30 // bytes in all
	mostImportedFiles = 20_000
	deepestImported   = 6
)

// importName matches the names of files and folders in records.
var importName = lazily.Regexp(`^[0-9A-Za-z_%@][0-9A-Za-z_.%@+=~-]*$`)

// stays reports whether a file of a run is not imported: it is true of the other machine only, or was decided by
// people there.
func stays(rel string) bool {
	rel = strings.TrimSuffix(rel, journal.EndSuffix)
	return rel == "maker.json" || rel == fix.ImportedFile || strings.HasPrefix(path.Base(rel), ".") ||
		path.Dir(rel) == "fixes" && strings.HasSuffix(rel, ".state.jsonl") ||
		strings.HasPrefix(rel, "fixes/") && path.Base(path.Dir(rel)) == "applied" && strings.Count(rel, "/") == 3
}

// CopyRun copies the folder of a run to a new folder. It refuses what no record of ours has: names of another form,
// links, special files, and more than the limits. hidden are the files with a leading dot, which it does not copy,
// sorted; a hidden folder ends with a slash.
func CopyRun(from, to string) (hidden []string, err error) {
	src, err := os.OpenRoot(from)
	if err != nil {
		return nil, err
	}
	defer func() { _ = src.Close() }() // opened for reading
	if err := os.Mkdir(to, 0o700); err != nil {
		return nil, advice.Writing(err, to)
	}
	left, files := int64(mostImported), 0
	err = fs.WalkDir(src.FS(), ".", func(rel string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case rel == ".":
			return nil
		case stays(rel):
			skip := error(nil)
			if e.IsDir() {
				rel, skip = rel+"/", fs.SkipDir
			}
			if strings.HasPrefix(e.Name(), ".") {
				hidden = append(hidden, rel)
			}
			return skip
		case !importName().MatchString(e.Name()) || len(e.Name()) > 255 || strings.Count(rel, "/") >= deepestImported:
			return fmt.Errorf("%q has a name that no record of ours has", rel)
		case e.IsDir():
			return os.Mkdir(filepath.Join(to, filepath.FromSlash(rel)), 0o700)
		case !e.Type().IsRegular():
			return fmt.Errorf("%q is a link or something else that is no plain file", rel)
		}
		if files++; files > mostImportedFiles {
			return fmt.Errorf("it has more than %d files", mostImportedFiles)
		}
		n, err := copyIn(src, rel, filepath.Join(to, filepath.FromSlash(rel)), left)
		left -= n
		if left < 0 {
			return fmt.Errorf("it has more than %d GiB", mostImported>>30)
		}
		return err
	})
	return hidden, err
}

// copyIn copies one file. It returns more than most for one of more bytes than that.
func copyIn(src *os.Root, rel, to string, most int64) (int64, error) {
	in, err := src.OpenFile(rel, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = in.Close() }() // opened for reading
	info, err := in.Stat()
	switch {
	case err != nil:
		return 0, err
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("%q is no plain file", rel)
	case info.Size() > most:
		return info.Size(), nil
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return 0, advice.Writing(err, to)
	}
	n, err := io.Copy(out, io.LimitReader(in, most+1))
	return n, errors.Join(advice.Writing(err, to), out.Close())
}

// Unsealed returns the files of fixes in a run's folder that were begun and never sealed, relative to it: no record
// tells what they were.
func Unsealed(runDir string) (files []string, err error) {
	names, err := fix.Unsealed(runDir)
	for _, name := range names {
		of, fault := filesOf(runDir, name)
		files, err = append(files, of...), errors.Join(err, fault)
	}
	return files, err
}

// filesOf returns the files of a fix, <name>.* and <name>/…, relative to the run's folder.
func filesOf(runDir, name string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(filepath.Join(runDir, "fixes"), func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(runDir, at)
		rel = filepath.ToSlash(rel)
		if strings.HasPrefix(rel, "fixes/"+name+"/") || strings.HasPrefix(rel, "fixes/"+name+".") {
			files = append(files, rel)
		}
		return err
	})
	return files, err
}

// Importable returns an error if the fixes of a run cannot be imported: one cannot be read or contradicts itself, or
// git has not the commit that it was made on. s is a store with the run; root is the pipeline's folder that it is
// imported to.
func Importable(ctx context.Context, s *fix.Store, run, root string) error {
	fixes, _, faults := s.InRun(run)
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	repo, err := git.Of(ctx, root)
	if err != nil && !errors.Is(err, git.ErrNone) {
		return err
	}
	for _, p := range fixes {
		if p.Patch == nil {
			continue
		}
		if p.Diff, err = p.ReadPatch(); err != nil {
			return err
		}
		if _, _, err := p.ParseDiff(); err != nil {
			return err
		}
		if p.Base == nil || p.Base.Commit == nil {
			continue
		}
		if repo == nil {
			return fmt.Errorf("the fix for task %q was made on commit %s, and %s is in no git work tree: "+
				"import it in a clone of its repository", p.Task, *p.Base.Commit, root)
		}
		here, err := repo.HasCommit(ctx, *p.Base.Commit)
		if err != nil {
			return err
		}
		if !here {
			return fmt.Errorf("the fix for task %q was made on commit %s, which git does not have here: "+
				"git fetch origin %s (or the branch that has it), then import again", p.Task, *p.Base.Commit,
				*p.Base.Commit)
		}
	}
	return nil
}

// SameRun reports whether a run that is here already is the one in the folder from: here is every file of that,
// unchanged. The journal of the hooks may have gone on, and what people decided may differ.
func SameRun(from, here string) (bool, error) {
	same := true
	err := filepath.WalkDir(from, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, at)
		if err != nil || strings.HasSuffix(rel, journal.EndSuffix) || rel == fix.ImportedFile || rel == fix.MarkFile {
			return err
		}
		theirs, err := recordfile.Read(at, mostImported)
		if err != nil {
			return err
		}
		ours, err := recordfile.Read(filepath.Join(here, rel), mostImported)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			same = false
			return fs.SkipAll
		case err != nil:
			return err
		}
		goesOn := filepath.ToSlash(rel) == "fixes/"+fix.EventsFile &&
			bytes.HasPrefix(fix.UpToDecisions(ours), fix.UpToDecisions(theirs))
		if string(ours) != string(theirs) && !goesOn {
			same = false
			return fs.SkipAll
		}
		return nil
	})
	return same, err
}
