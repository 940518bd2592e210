package corpus

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// notPlayed is why a pair is not in the tables that -corpus.collect puts together.
const notPlayed = "not played"

// keep writes what came of the pair to the folder of -corpus.results. What could not be fetched is tried again.
func (one *played) keep(t *testing.T) {
	if *results == "" || *dry || *sample || one.skipped != "" || t.Failed() {
		return
	}
	text, err := json.MarshalIndent(one.patches, "", "  ")
	must(t, err)
	must(t, os.MkdirAll(*results, 0o755))
	must(t, os.WriteFile(filepath.Join(*results, one.name+".json"), text, 0o600))
}

// recall reads what keep wrote, and reports whether there is something.
func (one *played) recall(t *testing.T) bool {
	if *results == "" || *dry || *sample {
		return false
	}
	text, err := os.ReadFile(filepath.Join(*results, one.name+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	must(t, err)
	must(t, json.Unmarshal(text, &one.patches))
	return true
}
