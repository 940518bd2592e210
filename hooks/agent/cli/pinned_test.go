package cli

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// CI installs the CLIs that we say were tested.
func TestPinned(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(text), "\npinned=")
	line, _, _ = strings.Cut(line, "\n")
	installed := strings.Fields(strings.Trim(line, `"`))
	for _, p := range programs {
		if want := p.pack + "@" + p.seen; !slices.Contains(installed, want) {
			t.Errorf(".ci/run does not install %s", want)
		}
	}
}
