package reproduce

import (
	"testing"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

func TestAsksWhatDiffers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"go generate ./... && git diff --exit-code":       true,
		"env X=1 git -C a -c core.pager= --no-pager diff": true,
		"test -z \"$(git status --porcelain)\"":           true,
		"git diff-index --quiet HEAD":                     true,
		"git log diff":                                    false,
		"git ls-files '*.go' | xargs gofmt -l":            false,
		"diff a b":                                        false,
		"git":                                             false,
		"git -C":                                          false,
	} {
		if got := asksWhatDiffers(pipeline.Command{Shell: pipeline.Text{Value: text}}); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	argv := []pipeline.Text{{Value: "git"}, {Value: "diff"}, {Value: "--quiet"}}
	if !asksWhatDiffers(pipeline.Command{Argv: argv}) {
		t.Error("an argv is not seen")
	}
}
