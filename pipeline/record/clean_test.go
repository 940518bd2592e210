package record

import (
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A secret that is spelled like a status or a reason hides none.
func TestStatusesAndReasonsAreWordsOfTheFormat(t *testing.T) {
	t.Parallel()
	for _, word := range []string{
		Passed, Cached, Failed, TimedOut, Skipped, Cancelled, Interrupted, NotNeeded, RunEnded, AgentsOff,
		string(pipeline.FailFast), string(pipeline.Dependency), string(pipeline.Signal),
	} {
		if !redact.FormatWord(word) {
			t.Errorf("%s is no word of the format", word)
		}
	}
}
