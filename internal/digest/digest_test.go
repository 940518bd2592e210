package digest

import "testing"

func TestOf(t *testing.T) {
	t.Parallel()
	if got := Of(nil); got != "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Error(got)
	}
}
