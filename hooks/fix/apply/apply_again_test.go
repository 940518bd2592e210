package apply

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
)

// What was applied and then edited in other places is applied, with and without --3way; where the fix itself was
// edited or taken out by hand, it is not.
func TestApplyTwiceWithEditsBetween(t *testing.T) {
	t.Parallel()
	lines := func(at map[int]string) string {
		var b strings.Builder
		b.WriteString("f:")
		for i := range 30 {
			if v, ok := at[i]; ok {
				b.WriteString(v + "\n")
			} else {
				fmt.Fprintf(&b, "line %d\n", i)
			}
		}
		return b.String()
	}
	before := fixtest.Files{"a.txt": lines(nil), "b.txt": "f:1\n"}
	after := fixtest.Files{"a.txt": lines(map[int]string{3: "fixed"}), "b.txt": "f:2\n"}
	s := newTree(t, before)
	p := based(t, s, "test", before, after)
	_, err := apply(t, s, p, Options{})
	fixtest.Check(t, err)
	state, err := os.ReadFile(p.StatePath())
	fixtest.Check(t, err)

	edited := lines(map[int]string{3: "fixed", 25: "mine"})
	fixtest.Put(t, s.Root, "a.txt", edited)
	for _, o := range []Options{{}, {DryRun: true}, {ThreeWay: true}, {Files: []string{"a.txt"}}} {
		got, err := apply(t, s, p, o)
		if err != nil || !got.Already || !slices.Equal(got.Since, []string{"a.txt"}) ||
			!strings.Contains(string(state), `"at":"`+got.At+`"`) {
			t.Errorf("%+v: %+v %v", o, got, err)
		}
	}
	fixtest.Same(t, "edited elsewhere", fixtest.Snapshot(t, s.Root), fixtest.Files{"a.txt": edited, "b.txt": "f:2\n"})
	if again, _ := os.ReadFile(p.StatePath()); string(again) != string(state) {
		t.Errorf("it is recorded twice: %s", again)
	}
	if got, err := apply(t, s, p, Options{Files: []string{"b.txt"}}); err != nil || !got.Already || got.Since != nil ||
		got.At != "" {
		t.Errorf("a file that nobody edited: %+v %v", got, err)
	}

	for what, text := range map[string]string{
		"the fix edited":                   lines(map[int]string{3: "mine"}),
		"the fix taken out, edited beside": lines(map[int]string{25: "mine"}),
	} {
		fixtest.Put(t, s.Root, "a.txt", text)
		if _, err := apply(t, s, p, Options{}); !errors.Is(err, ErrConflict) ||
			!strings.Contains(err.Error(), "it was applied before; since then: ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	fixtest.Put(t, s.Root, "a.txt", edited)
	fixtest.Check(t, os.Remove(filepath.Join(s.Root, "b.txt")))
	if _, err := apply(t, s, p, Options{}); !errors.Is(err, ErrConflict) ||
		!strings.Contains(err.Error(), "b.txt (gone)") || strings.Contains(err.Error(), "a.txt (") {
		t.Errorf("one of two gone: %v", err)
	}
}
