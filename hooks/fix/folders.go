// Folders of the records: what is written and read goes through real ones only.

package fix

import (
	"path/filepath"
)

// realRun is realFolders for .async, runs, the run and its fixes. runDir is .async/runs/<run>.
func realRun(runDir string) error {
	runs := filepath.Dir(runDir)
	return realFolders(filepath.Dir(runs), runs, runDir, filepath.Join(runDir, "fixes"))
}

// real is realRun for a fix that was found, with its own folder.
func (p *Proposal) real() error {
	if err := realRun(p.Dir); err != nil {
		return err
	}
	return realFolders(filepath.Join(p.Dir, "fixes", p.name))
}
