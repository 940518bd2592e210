package files

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := string(rapid.SliceOf(rapid.ByteRange(1, 255)).Draw(t, "path"))
		b, err := json.Marshal(Text(p))
		if err != nil {
			t.Fatal(err)
		}
		var text string
		if err := json.Unmarshal(b, &text); err != nil || Untext(text) != p {
			t.Errorf("%q became %q by way of %s (%v)", p, Untext(text), b, err)
		}
	})
	for _, list := range [][]string{nil, {"a", "b"}, {"a", "\xff", "b"}} {
		if got := each(each(list, Text), Untext); len(got) != len(list) || len(list) > 1 && got[1] != list[1] {
			t.Errorf("%q became %q", list, got)
		}
	}
}
