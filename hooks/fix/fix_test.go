package fix

import (
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// A secret that is spelled like what became of a fix does not hide that.
func TestStatesAreWordsOfTheFormat(t *testing.T) {
	t.Parallel()
	for _, word := range append([]string{
		Skipped, NotReproduced, Flaky, NoFix, Failed, Cancelled, Interrupted, Proposed,
		Open, Applied, Rejected, Superseded, Reverted, None,
	}, verdicts...) {
		if !redact.FormatWord(word) {
			t.Errorf("%s is no word of the format", word)
		}
	}
}
