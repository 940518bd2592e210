package lazily

import (
	"slices"
	"testing"
)

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

func TestWords(t *testing.T) {
	t.Parallel()
	words := Words(" a b\n\tc ")
	if got := words(); !slices.Equal(got, []string{"a", "b", "c"}) || &got[0] != &words()[0] {
		t.Errorf("%q", got)
	}
}
