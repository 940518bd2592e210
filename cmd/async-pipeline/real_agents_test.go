package main

import (
	"os"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/agentprobe"
)

// realAgents names the folders in which the real agent CLIs are looked up, as a PATH. Without it the tests with them
// are skipped: they are large, and are not installed for a test. They must not be below /tmp, which a box does not show.
const realAgents = "ASYNC_PIPELINE_AGENTS"

// The real CLIs, as they are installed here, repair a project through the whole program, or fail with the right kind;
// what they had changed by then is kept, nothing of them is left, and the key is nowhere.
func TestRealAgents(t *testing.T) {
	path := os.Getenv(realAgents)
	if path == "" {
		t.Skip("set " + realAgents + " to the folders of installed agent CLIs, as a PATH")
	}
	for n, c := range agentprobe.CLIs() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if agentprobe.Find(c.Name, path) == "" {
				t.Skipf("%s is not installed in %s", c.Name, path)
			}
			cells := agentprobe.Cells()
			if testing.Short() {
				cells = agentprobe.Smoke()
			}
			for i, cell := range cells {
				if testing.Short() && i > 0 && (n+i)%3 != 0 {
					continue // one of the next two CLIs plays it
				}
				t.Run(strings.ReplaceAll(cell.Name, " ", "_"), func(t *testing.T) {
					stage := agentprobe.Stage{Dir: t.TempDir(), Path: path + ":" + os.Getenv("PATH"), Run: playRun}
					r, err := stage.Play(c, cell)
					t.Logf("kind %q, evidence %s, %s %s, state %s, %d requests, %d ms", r.Kind, r.Evidence, c.Name, r.Version, r.State,
						r.Requests, r.DurationMS)
					if err != nil || len(r.Faults) > 0 || r.Version == "" {
						t.Errorf("%v: %s\n%s", err, strings.Join(r.Faults, "; "), r.Output)
					}
				})
			}
		})
	}
}
