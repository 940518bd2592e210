package draft

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// OfTask opens a draft of what an agent task leaves, below runDir/agents. It has one attempt, number 1, and no journal,
// and it is not sealed: run.json names its files. clean removes secrets and may be nil. The caller finishes the draft
// when all is stored, and closes it.
func OfTask(runDir, runID, task string, clean func([]byte) []byte) (*Draft, error) {
	d := &Draft{Run: runID, Task: task, Name: filename.Of(task), runDir: runDir, task: true, clean: orNothing(clean)}
	folder := filepath.Join(runDir, fix.AgentsFolder)
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, advice.Writing(err, folder)
	}
	if err := recordfile.NoLinks(runDir, folder); err != nil {
		return nil, err
	}
	if err := os.Mkdir(d.path(""), 0o700); err != nil {
		return nil, advice.Writing(err, d.path(""))
	}
	if err := d.hold(); err != nil {
		return nil, errors.Join(fmt.Errorf("agent task %q: %w", task, err), d.Close())
	}
	return d, nil
}

func (d *Draft) folder() string {
	if d.task {
		return fix.AgentsFolder
	}
	return "fixes"
}

// of returns the name of a file of one attempt, without that of the draft. An agent task has one attempt.
func (d *Draft) of(attempt int, suffix string) string {
	if d.task {
		return suffix
	}
	return fmt.Sprintf("/attempt-%d%s", attempt, suffix)
}

// IsTask reports whether the draft is one of OfTask.
func (d *Draft) IsTask() bool { return d.task }

// Finish removes what tells that the agent task is under way. Nothing may be written to the draft after that.
func (d *Draft) Finish() error {
	err := errors.Join(d.forgetWorkplaces(), os.Remove(d.path("/draft.json")))
	return errors.Join(err, os.Remove(d.path("")))
}

// Files returns what an agent task has left, sorted by path.
func (d *Draft) Files() ([]fix.Evidence, error) {
	var all []fix.Evidence
	folder := filepath.Join(d.runDir, fix.AgentsFolder)
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(folder, path)
		own := strings.HasPrefix(filepath.ToSlash(rel), d.Name+".")
		switch {
		case err != nil:
			return err
		case e.IsDir() && rel != "." && !own: // of another task, which may remove it at this moment
			return fs.SkipDir
		case !e.Type().IsRegular() || !own:
			return nil
		}
		found, err := fix.EvidenceOf(d.runDir, fix.AgentsFolder+"/"+filepath.ToSlash(rel))
		all = append(all, found)
		return err
	})
	slices.SortFunc(all, func(a, b fix.Evidence) int { return strings.Compare(a.Path, b.Path) })
	return all, err
}

// resumeTasks takes over the drafts of the agent tasks of one run whose maker is gone.
func resumeTasks(dir, run string, clean func([]byte) []byte) (drafts []*Draft, err error) {
	names, err := fix.UnfinishedTasks(dir)
	for _, name := range names {
		p, fault := fix.AbandonedTask(dir, name)
		if p == nil || fault != nil {
			err = errors.Join(err, fault)
			continue
		}
		d := &Draft{Run: run, Task: p.Task, Name: name, runDir: dir, task: true, clean: orNothing(clean)}
		d.alive, fault = os.OpenFile(d.path("/draft.json"), os.O_RDWR|unix.O_NOFOLLOW, 0)
		if fault == nil {
			if fault = unix.Flock(int(d.alive.Fd()), unix.LOCK_EX|unix.LOCK_NB); fault != nil {
				fault = d.alive.Close() // somebody else was quicker
				d = nil
			}
		}
		if err = errors.Join(err, fault); d != nil && fault == nil {
			drafts = append(drafts, d)
		}
	}
	return drafts, err
}

// RunDir returns the folder of the run.
func (d *Draft) RunDir() string { return d.runDir }
