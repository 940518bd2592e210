// Drafts whose maker was killed: what an agent left in its copy is stored later, and the draft is sealed as interrupted.

package draft

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A Workplace says where an attempt works, for those who come after a killed runner.
type Workplace struct {
	Copy string `json:"copy"` // absolute path of the agent's copy
	Base string `json:"base"` // absolute path of the folder that scratch.Reopen takes

	Agent     string `json:"agent"`
	Sandbox   string `json:"sandbox"`
	StartedAt string `json:"started_at"`
}

// Works notes where an attempt works, before its agent starts. Rested takes the note back once the rescue patch is stored.
func (d *Draft) Works(attempt int, w Workplace) error {
	text, err := recordfile.JSON(w)
	if err != nil {
		return err
	}
	return recordfile.Write(d.Path(workplace(attempt)), append(text, '\n'), false)
}

// Rested see Works.
func (d *Draft) Rested(attempt int) error {
	err := os.Remove(d.Path(workplace(attempt)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func workplace(attempt int) string { return fmt.Sprintf("/attempt-%d.copy.json", attempt) }

// Workplaces are the notes that were not taken back, by attempt.
func (d *Draft) Workplaces() (map[int]Workplace, error) {
	entries, err := os.ReadDir(d.Path(""))
	if err != nil {
		return nil, err
	}
	places := map[int]Workplace{}
	for _, e := range entries {
		n, ok := strings.CutPrefix(e.Name(), "attempt-")
		n, note := strings.CutSuffix(n, ".copy.json")
		attempt, err := strconv.Atoi(n)
		if !ok || !note || err != nil {
			continue
		}
		text, err := recordfile.Read(d.Path(workplace(attempt)), recordfile.MaxJSON)
		if err != nil {
			return places, err
		}
		var w Workplace
		if err := json.Unmarshal(text, &w); err != nil {
			return places, fmt.Errorf("%w: %s: %w", fix.ErrDamaged, d.Path(workplace(attempt)), err)
		}
		places[attempt] = w
	}
	return places, nil
}

// Resume takes over every draft whose maker is gone. The caller seals or closes them. What cannot be read is in the error and
// hides nothing else.
func Resume(s *fix.Store, clean func([]byte) []byte) ([]*Draft, error) {
	var drafts []*Draft
	runs, errs := s.Runs()
	for _, run := range runs {
		dir := filepath.Join(s.Dir, "runs", run)
		if err := fix.CheckRunFolders(dir); err != nil {
			errs = append(errs, err)
			continue
		}
		found, err := filepath.Glob(filepath.Join(escapeGlob(dir), "fixes", "*", "draft.json"))
		if err != nil {
			errs = append(errs, err)
		}
		for _, path := range found {
			name := filepath.Base(filepath.Dir(path))
			if err := recordfile.NoLinks(filepath.Dir(path)); err != nil { // Glob goes through links
				errs = append(errs, err)
				continue
			}
			if recordfile.Exists(filepath.Join(dir, "fixes", name+".json")) {
				continue // sealed, and then killed before the draft's mark was removed
			}
			d, err := resume(dir, run, name, clean)
			if err != nil {
				errs = append(errs, err)
			}
			if d != nil {
				drafts = append(drafts, d)
			}
		}
	}
	return drafts, errors.Join(errs...)
}

// resume takes over one draft; nil while its maker lives.
func resume(dir, run, name string, clean func([]byte) []byte) (*Draft, error) {
	p, err := fix.ReadDraft(dir, run, name)
	if p == nil || err != nil {
		return nil, err
	}
	if clean == nil {
		clean = func(b []byte) []byte { return b }
	}
	f, err := os.OpenFile(filepath.Join(dir, "fixes", name, "draft.json"), os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, f.Close() // somebody else was quicker
	}
	j, err := fix.OpenJournal(dir, p.RunDigest, clean)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Draft{
		Run: run, Task: p.Task, runDir: dir, runDigest: p.RunDigest, Name: name, clean: clean, journal: j, alive: f,
	}, nil
}

// escapeGlob is path with nothing in it that Glob takes for a pattern.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
