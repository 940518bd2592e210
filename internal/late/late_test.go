package late

import "testing"

func TestRegexp(t *testing.T) {
	t.Parallel()
	broken := Regexp("(")
	if re := Regexp("^a+$"); re() != re() || !re().MatchString("aa") || re().MatchString("b") {
		t.Error("the pattern is not what was written")
	}
	defer func() {
		if recover() == nil {
			t.Error("a broken pattern was compiled")
		}
	}()
	broken()
}
