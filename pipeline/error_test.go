package pipeline_test

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	words := []string{"depends_on", "on_fail", "outputs", "inputs", "run", "dir"}
	for word, want := range map[string]string{
		"dependsOn":                "depends_on",
		"depend_on":                "depends_on",
		"onFail":                   "on_fail",
		"on-fail":                  "on_fail",
		"ouptuts":                  "outputs",
		"input":                    "inputs",
		"rnu":                      "run",
		"dri":                      "dir",
		"x":                        "",
		"":                         "",
		"__":                       "",
		"steps":                    "",
		"environment":              "",
		strings.Repeat("run", 1e5): "",
	} {
		if got := pipeline.Nearest(word, words); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", word, got, want)
		}
	}
	if got := pipeline.Nearest("tent", []string{"test", "tens"}); got != "test" {
		t.Errorf("of two equally near it takes the first, got %q", got)
	}
}

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
