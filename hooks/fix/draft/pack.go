package draft

import (
	"errors"
	"fmt"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

// TellPacks writes the digests of the stored context packs of tasks to the journal of the hooks of a run.
func TellPacks(runDir, runDigest string, tasks []string) (err error) {
	j, err := fix.OpenJournal(runDir, runDigest, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	for _, task := range tasks {
		e, err := fix.EvidenceOf(runDir, fix.PackPath(task))
		if err != nil {
			return fmt.Errorf("context pack of task %q: %w", task, err)
		}
		if err := j.Event(fix.Packed, map[string]any{"task": task, "path": e.Path, "digest": e.Digest}); err != nil {
			return err
		}
	}
	return nil
}
