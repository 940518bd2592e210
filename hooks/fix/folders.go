// Folders of the records: what is written and read goes through real ones only.

package fix

import (
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"path/filepath"
)

// realRun is realFolders for .async, runs, the run and its fixes. runDir is .async/runs/<run>.
func CheckRunFolders(runDir string) error {
	runs := filepath.Dir(runDir)
	return recordfile.NoLinks(filepath.Dir(runs), runs, runDir, filepath.Join(runDir, "fixes"))
}

// real is realRun for a fix that was found, with its own folder.
func (p *Proposal) CheckFolders() error {
	if err := CheckRunFolders(p.Dir); err != nil {
		return err
	}
	return recordfile.NoLinks(filepath.Join(p.Dir, "fixes", p.Name))
}
