package run

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// Only good runs are counted and removed; the one that just ended stays, whatever the clock said when it began.
func TestPrune(t *testing.T) {
	t.Parallel()
	store := record.At(t.TempDir())
	now := time.Now()
	names := map[string]string{} // the name of a run in the cases, by its id
	begin := func(name string, at time.Duration) *record.Draft {
		d, err := store.Begin(now.Add(at), nil, nil)
		check(t, err)
		names[d.ID] = name
		return d
	}
	ids := map[string]string{}
	seal := func(name string, at time.Duration) string {
		d := begin(name, at)
		if _, err := d.Seal(record.Run{Status: record.Passed}); err != nil {
			t.Fatal(err)
		}
		ids[name] = d.ID
		return filepath.Join(d.Dir, "run.json")
	}
	killed := func(name string, at time.Duration) {
		d := begin(name, at)
		check(t, os.WriteFile(filepath.Join(d.Dir, "maker.json"), []byte(`{"pid": 2147483646, "start": 1, "boot": "another"}`), 0o600))
	}
	killed("dead old", -10*time.Hour)
	seal("oldest", -9*time.Hour)
	for name, verdict := range map[string]string{"damaged": "{", "of a newer version": `{"schema_version": 99}`} {
		check(t, os.WriteFile(seal(name, -8*time.Hour), []byte(verdict), 0o600))
	}
	seal("older", -7*time.Hour)
	seal("old", -6*time.Hour)
	killed("dead", -5*time.Hour)
	seal("last", -4*time.Hour)
	seal("ahead", 4*time.Hour)
	killed("dead ahead", 5*time.Hour)
	check(t, os.WriteFile(seal("damaged last", -3*time.Hour), []byte("{"), 0o600))
	for _, tt := range []struct {
		keep   int
		sealed string
		gone   string
	}{
		{0, "", ""},
		{1, "", "dead old, oldest, older, old, dead"},
		{2, "", "dead old, oldest, older"},
		{2, "last", "dead old, oldest, older"},
		{1, "ahead", "dead old, oldest, older, old, dead"}, // the clock was set back while it went on
		{1, "older", "dead old, oldest, old, dead"},        // or before it began
		{4, "", "dead old"},
		{5, "", ""},
	} {
		p := Prune(store, tt.keep, ids[tt.sealed], func(string) string { return "" })
		all, err := store.IDs()
		check(t, err)
		var gone []string
		for _, id := range slices.Backward(all) {
			if !p.Keeps(id) {
				gone = append(gone, names[id])
			}
		}
		if got := strings.Join(gone, ", "); got != tt.gone {
			t.Errorf("keep %d after %q: %q go, want %q", tt.keep, tt.sealed, got, tt.gone)
		}
	}
}

// Runs that are kept are named in the order they were made, every time.
func TestPruneNamesNeededRunsInOrder(t *testing.T) {
	t.Parallel()
	p := &Pruning{why: map[string]string{}}
	var want []string
	for day := range 20 {
		id := fmt.Sprintf("202611%02dT000000Z-0001", day+1)
		p.why[id] = "of day " + id
		want = append(want, "Run "+id+" is kept: of day "+id+".")
	}
	if got := p.Needed(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
