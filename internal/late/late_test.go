package late

import "testing"

func TestRegexp(t *testing.T) {
	t.Parallel()
	broken := Regexp("(")
	re := Regexp("^a+$")
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
