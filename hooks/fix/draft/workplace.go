package draft

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

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

	Ended bool `json:"ended,omitempty"` // its agent has ended, and what it left is stored

	Keyed bool `json:"keyed"` // the agent was given secrets that only its runner knew: no patch is made of the copy
}

// BeginWork notes where an attempt works, before its agent starts. Seal and Finish remove the notes.
func (d *Draft) BeginWork(attempt int, w Workplace) error {
	return recordfile.WriteJSON(d.path(workplace(attempt)), w, false)
}

// EndWork notes that the agent of an attempt has ended, and that what it left is stored. Where BeginWork noted nothing it
// does nothing.
func (d *Draft) EndWork(attempt int) error {
	w, err := d.workplace(attempt)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	w.Ended = true
	return d.BeginWork(attempt, w)
}

// workplace reads one note.
func (d *Draft) workplace(attempt int) (w Workplace, err error) {
	text, err := recordfile.Read(d.path(workplace(attempt)), recordfile.MaxJSON)
	if err != nil {
		return w, err
	}
	if err := json.Unmarshal(text, &w); err != nil {
		return w, fmt.Errorf("%w: %s: %w", fix.ErrDamaged, d.path(workplace(attempt)), err)
	}
	return w, nil
}

// forgetWorkplaces removes the notes.
func (d *Draft) forgetWorkplaces() error {
	attempts, err := d.noted()
	for _, attempt := range attempts {
		err = errors.Join(err, os.Remove(d.path(workplace(attempt))))
	}
	return err
}

// noted returns the attempts that have a note, sorted.
func (d *Draft) noted() (attempts []int, err error) {
	entries, err := os.ReadDir(d.path(""))
	for _, e := range entries {
		if attempt := fix.AttemptOf(e.Name(), ".copy.json"); attempt != 0 {
			attempts = append(attempts, attempt)
		}
	}
	slices.Sort(attempts)
	return attempts, err
}

func workplace(attempt int) string { return fmt.Sprintf("/attempt-%d.copy.json", attempt) }

// Workplaces returns the notes, by attempt.
func (d *Draft) Workplaces() (map[int]Workplace, error) {
	attempts, err := d.noted()
	places := map[int]Workplace{}
	for _, attempt := range attempts {
		w, fault := d.workplace(attempt)
		if fault != nil {
			return places, fault
		}
		places[attempt] = w
	}
	return places, err
}

// Rescued returns the path of the rescue patch of an attempt, relative to the run's folder; empty: there is none.
func (d *Draft) Rescued(attempt int) string {
	for _, suffix := range []string{".patch", ".redacted.patch"} {
		if suffix = d.of(attempt, suffix); recordfile.Exists(d.path(suffix)) {
			return d.rel(suffix)
		}
	}
	return ""
}
