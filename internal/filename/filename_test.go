package filename

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"build": "build", "unit-test_2": "unit-test_2", `test["linux"]`: "test%5B%22linux%22%5D", "a/b": "a%2Fb",
		"..": "%2E%2E", ".": "%2E", "": "%", "a.log": "a%2Elog", "a@2": "a%402", "%2E": "%252E", "-x": "%2Dx", "ü": "%C3%BC", "a\nb": "a%0Ab",
	} {
		if got := Of(name); got != want {
			t.Errorf("Of(%q) = %q, want %q", name, got, want)
		}
	}
	long := strings.Repeat("a", 300)
	if a, b := Of(long), Of(long+"b"); a == b || len(a) > most || len(b) > most {
		t.Errorf("long names: %q, %q", a, b)
	}
	if Of(Of(long)) == Of(long) {
		t.Error("a long name and what it became share a file")
	}
}

func TestOfIsSafe(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a%2E./@h-]{0,8}`), rapid.StringMatching(`[a./]{80,200}`))
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		x, y := Of(a), Of(b)
		if (a == b) != (x == y) {
			t.Fatalf("%q → %q, %q → %q", a, x, b, y)
		}
		if x == "" || len(x) > most || strings.ContainsAny(x, "/.@\x00\n ") || x[0] == '-' {
			t.Fatalf("%q → %q is no safe name", a, x)
		}
	})
}
