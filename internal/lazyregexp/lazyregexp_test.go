package lazyregexp

import "testing"

func TestNew(t *testing.T) {
	t.Parallel()
	broken := New("(")
	re := New("^a+$")
	if first := re(); first != re() || !first.MatchString("aa") || first.MatchString("b") {
		t.Error("the pattern is not what was written")
	}
	defer func() {
		if recover() == nil {
			t.Error("a broken pattern was compiled")
		}
	}()
	broken()
}
