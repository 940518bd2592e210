// Context packs: they are written after the verdict, so the journal of the hooks says what they were.

package fix

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/internal/filename"
)

// packed is the type of the event: {task, path, digest}.
const packed = "packed"

// packPath is where the context pack of a task stands in the run's folder.
func packPath(task string) string { return "context/" + filename.Of(task) + ".json" }

// TellPacks tells the journal of the hooks of a run the digests of the context packs of tasks, which are stored.
func TellPacks(runDir, runDigest string, tasks []string) (err error) {
	j, err := OpenJournal(runDir, runDigest, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	for _, task := range tasks {
		e, err := evidenceOf(runDir, packPath(task))
		if err != nil {
			return fmt.Errorf("context pack of task %q: %w", task, err)
		}
		if err := j.Event(packed, map[string]any{"task": task, "path": e.Path, "digest": e.Digest}); err != nil {
			return err
		}
	}
	return nil
}

// A pack is what a line of events.jsonl says of a context pack.
type pack struct {
	digest string
	line   int
}

// packs checks the context packs that the journal tells of; those that a fix spoke of were looked at.
func (a *audit) packs() {
	for file, p := range a.told {
		who := fmt.Sprintf("line %d of fixes/%s", p.line, eventsFile)
		switch {
		case path.Dir(file) != "context" || !filepath.IsLocal(filepath.FromSlash(file)):
			a.Fault("fixes/"+eventsFile, fmt.Sprintf("line %d", p.line), "a file below context", file)
		case !a.Files[file]:
			a.Digest(file, who, -1, p.digest)
		}
	}
}
