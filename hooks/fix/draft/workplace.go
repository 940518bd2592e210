package draft

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A Workplace is where an attempt works, for a process that settles what a killed one left.
type Workplace struct {
	Copy string `json:"copy"` // absolute path of the agent's copy
	Base string `json:"base"` // absolute path of the folder that scratch.Reopen takes

	Agent     string `json:"agent"`
	Sandbox   string `json:"sandbox"`
	StartedAt string `json:"started_at"`

	Keyed bool `json:"keyed"` // the agent was given secrets that only its runner knew: no patch is made of the copy
}

// Works notes where an attempt works, before its agent starts. Rested removes the note when the rescue patch is
// stored.
func (d *Draft) Works(attempt int, w Workplace) error {
	return recordfile.WriteJSON(d.path(workplace(attempt)), w, false)
}

// Rested removes what Works noted.
func (d *Draft) Rested(attempt int) error {
	err := os.Remove(d.path(workplace(attempt)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func workplace(attempt int) string { return fmt.Sprintf("/attempt-%d.copy.json", attempt) }

// Workplaces returns the notes that were not removed, by attempt.
func (d *Draft) Workplaces() (map[int]Workplace, error) {
	entries, err := os.ReadDir(d.path(""))
	if err != nil {
		return nil, err
	}
	places := map[int]Workplace{}
	for _, e := range entries {
		attempt := fix.AttemptOf(e.Name(), ".copy.json")
		if attempt == 0 {
			continue
		}
		text, err := recordfile.Read(d.path(workplace(attempt)), recordfile.MaxJSON)
		if err != nil {
			return places, err
		}
		var w Workplace
		if err := json.Unmarshal(text, &w); err != nil {
			return places, fmt.Errorf("%w: %s: %w", fix.ErrDamaged, d.path(workplace(attempt)), err)
		}
		places[attempt] = w
	}
	return places, nil
}
