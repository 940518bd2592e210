package early

import (
	"strings"
	"testing"
)

func TestRuns(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"async-pipeline run":           true,
		"async-pipeline run test":      true,
		"async-pipeline":               false,
		"async-pipeline list":          false,
		"async-pipeline -C x run":      false, // a little later then
		"async-pipeline logs run":      false,
		"async-pipeline run --dry-run": false,
		"async-pipeline run x --help":  false,
	} {
		if got := runs(strings.Fields(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
