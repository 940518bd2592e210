package pipeline_test

import (
	"testing"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

func TestIsEnvName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"A": true, "_": true, "a_1": true, "PATH": true, "discovery.type": true,
		"": false, "1A": false, ".A": false, "A B": false, "A-B": false, "A=B": false, "é": false, "A\n": false, "A\x00": false,
	} {
		if pipeline.IsEnvName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
