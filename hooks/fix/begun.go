// The mark that a run has a journal of the hooks: beside fixes/, so that a folder that is gone as a whole is missed.

package fix

import (
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"os"
	"path/filepath"
)

// begunFile is its name in the run's folder. Versions before it wrote none: of their runs nothing is missed.
const BegunFile = "hooks.json"

// begunText is what stands in it.
func BegunText(runDigest string) (string, error) {
	text, err := recordfile.JSON(struct {
		SchemaVersion int    `json:"schema_version"`
		Journal       string `json:"journal"`
		RunDigest     string `json:"run_digest"`
	}{SchemaVersion, "fixes/" + EventsFile, runDigest})
	return string(text) + "\n", err
}

// markBegun writes it, once, when the journal is on the disk: there is never a mark without a journal.
func (j *Journal) markBegun(runDir, runDigest string) error {
	path := filepath.Join(runDir, BegunFile)
	if runDigest == "" || recordfile.Exists(path) {
		return nil
	}
	text, err := BegunText(runDigest)
	if err != nil {
		return err
	}
	if err := j.lines.Sync(); err != nil {
		return err
	}
	if err := recordfile.SyncDir(filepath.Join(runDir, "fixes")); err != nil {
		return err
	}
	return recordfile.Write(path, []byte(text), true)
}

// Begun says whether the hooks of a run ever had a journal.
func Begun(runDir string) bool {
	for _, name := range []string{"fixes", BegunFile} {
		if _, err := os.Lstat(filepath.Join(runDir, name)); !os.IsNotExist(err) {
			return true
		}
	}
	return false
}
