package fix

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// AgentsFolder is the folder of a run with what its agent tasks left.
const AgentsFolder = "agents"

// UnfinishedTasks returns the names, in the agents folder of a run, of the agent tasks that were begun and not
// finished, also while their maker lives. A link is an error.
func UnfinishedTasks(runDir string) (names []string, err error) {
	runs, folder := filepath.Dir(runDir), filepath.Join(runDir, AgentsFolder)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) { // as in most runs
		return nil, nil
	}
	if err := errors.Join(err, recordfile.NoLinks(filepath.Dir(runs), runs, runDir, folder)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	for _, e := range entries {
		if e.IsDir() && recordfile.Exists(taskDraft(runDir, e.Name())) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func taskDraft(runDir, name string) string {
	return filepath.Join(runDir, AgentsFolder, name, "draft.json")
}

// AbandonedTask returns the agent task whose maker is gone; nil while the maker is at work, or if it was finished.
func AbandonedTask(runDir, name string) (*DraftFile, error) {
	return abandonedDraft(taskDraft(runDir, name))
}

// abandonedTasks returns the agent tasks of a run that were begun and not finished, and whose maker is gone.
func abandonedTasks(dir, run string) (all []Abandoned, err error) {
	names, err := UnfinishedTasks(dir)
	for _, name := range names {
		d, fault := AbandonedTask(dir, name)
		if d != nil {
			all = append(all, Abandoned{Run: run, Task: d.Task, AgentTask: true})
		}
		err = errors.Join(err, fault)
	}
	return all, err
}
