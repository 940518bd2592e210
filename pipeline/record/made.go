package record

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/process"
)

// Made reports whether a process, alive or not, is known here: it recorded one of the runs, or was the last to hold a
// lock and did not release it.
func (s *Store) Made(by process.Stamp) bool {
	ids, err := s.ids()
	if err != nil {
		return false // nobody is known in what cannot be read
	}
	at := func(dir, name string) bool {
		var stamp process.Stamp
		b, err := readFile(dir, name, 4096)
		return err == nil && json.Unmarshal(b, &stamp) == nil && stamp == by
	}
	for _, id := range slices.Backward(ids) {
		if at(filepath.Join(s.runs(), id), "maker.json") {
			return true
		}
	}
	return len(ids) > 0 && (at(s.Dir, "run.lock") || at(s.Dir, "heal.lock"))
}
