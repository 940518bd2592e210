package record

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/process"
)

// Interrupted lists the ids of runs without run.json whose maker is no longer alive, oldest first.
func (s *Store) Interrupted() ([]string, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, id := range ids {
		dir := filepath.Join(s.runs(), id)
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || s.hasVerdict(id) {
			continue
		}
		b, err := readFile(dir, "maker.json", 4096)
		var maker process.Stamp
		switch {
		case errors.Is(err, fs.ErrNotExist):
			// Between the folder and the stamp there are a few microseconds.
			if time.Since(info.ModTime()) < 10*time.Second {
				continue
			}
		case err == nil && json.Unmarshal(b, &maker) == nil && maker.Alive():
			continue
		}
		// The maker may have sealed the run and ended while we looked.
		if !s.hasVerdict(id) {
			out = append(out, id)
		}
	}
	return out, nil
}
