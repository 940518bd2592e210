package apply

import (
	"context"
	"errors"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"os"
	"strings"
	"testing"
)

// A patch that a person edited is applied as it was edited, recorded as that, and can be taken back.
func TestApplyEdited(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a.txt": "f:" + numberedLines(nil), "b": "f:b\n"}
	after := fixtest.Files{"a.txt": "f:" + numberedLines(map[int]string{5: "five", 55: "last"}), "b": "f:B\n"}
	s := newTree(t, before)
	p := based(t, s, "test", before, after)
	text, err := s.Selected(context.Background(), p, Options{Hunks: []string{"a.txt:2"}})
	fixtest.Check(t, err)
	if got := string(text); strings.Contains(got, "five") || !strings.Contains(got, "+last\n") ||
		strings.Contains(got, "+B") {
		t.Errorf("%s", got)
	}
	o := Options{Hunks: []string{"a.txt:2"},
		Edited: []byte("# help\n" + strings.Replace(string(text), "+last\n", "+the last\n+of all\n", 1) + "\n\n")}
	got, err := apply(t, s, p, o)
	fixtest.Check(t, err)
	want := fixtest.Files{"a.txt": "f:" + numberedLines(map[int]string{55: "the last\nof all"}), "b": "f:b\n"}
	fixtest.Same(t, "edited", fixtest.Snapshot(t, s.Root), want)
	if !got.Edited || !got.Rest || got.Already {
		t.Errorf("%+v", got)
	}
	state, err := os.ReadFile(p.StatePath())
	fixtest.Check(t, err)
	if !strings.Contains(string(state), `"edited":true,"patch_digest":"sha256:`) ||
		!strings.Contains(string(state), `"files":["a.txt"]`) {
		t.Errorf("%s", state)
	}
	if got, err = apply(t, s, p, o); err != nil || !got.Already {
		t.Errorf("twice: %+v %v", got, err)
	}
	if got, err = apply(t, s, p, Options{Files: []string{"a.txt"}}); err != nil || !got.Already {
		t.Errorf("what was edited out comes back: %+v %v", got, err)
	}
	_, err = apply(t, s, p, Options{})
	fixtest.Check(t, err)
	fixtest.Disposed(t, s.Store, fix.Applied)
	_, err = revert(t, s, Options{})
	fixtest.Check(t, err)
	fixtest.Same(t, "reverted", fixtest.Snapshot(t, s.Root), before)
}

// An edited patch goes into a file that changed since like any other.
func TestApplyEditedThreeWay(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a.txt": "f:" + numberedLines(nil)}
	s := newTree(t, before)
	p := based(t, s, "test", before, fixtest.Files{"a.txt": "f:" + numberedLines(map[int]string{5: "five"})})
	fixtest.Put(t, s.Root, "a.txt", "f:"+numberedLines(map[int]string{30: "mine"}))
	edited := []byte(strings.Replace(string(p.Diff), "+five", "+FIVE", 1))
	if _, err := apply(t, s, p, Options{Edited: edited}); !errors.Is(err, ErrConflict) {
		t.Errorf("%v", err)
	}
	_, err := apply(t, s, p, Options{Edited: edited, ThreeWay: true})
	fixtest.Check(t, err)
	fixtest.Same(t, "merged", fixtest.Snapshot(t, s.Root),
		fixtest.Files{"a.txt": "f:" + numberedLines(map[int]string{5: "FIVE", 30: "mine"})})
	_, err = revert(t, s, Options{})
	fixtest.Check(t, err)
	fixtest.Same(t, "reverted", fixtest.Snapshot(t, s.Root),
		fixtest.Files{"a.txt": "f:" + numberedLines(map[int]string{30: "mine"})})
}

func TestEditedPatchesThatAreRefused(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a.txt": "f:" + numberedLines(nil), "b": "f:b\n"}
	after := fixtest.Files{"a.txt": "f:" + numberedLines(map[int]string{5: "five"}), "b": "f:B\n"}
	s := newTree(t, before)
	p := based(t, s, "test", before, after)
	diff := string(p.Diff)
	for name, c := range map[string]struct{ text, says string }{
		"another path": {strings.ReplaceAll(diff, "a.txt", "c.txt"),
			`the edited patch touches "c.txt", which was not chosen; it may touch: a.txt, b`},
		"out of the tree": {strings.ReplaceAll(diff, "/a.txt", "/../a.txt"), "unsafe path"},
		"into .git":       {strings.ReplaceAll(diff, "/a.txt", "/.git/config"), "unsafe path"},
		"a rename":        {strings.Replace(diff, "b/a.txt", "b/c.txt", 1), "renames are not taken"},
		"not what was found": {strings.Replace(diff, " line 4", " line four", 1),
			"the text is not the one the patch was made for"},
		"nothing": {"# nothing\n", "nothing is left"},
		"no change": {strings.NewReplacer("-line 5\n", " line 5\n", "+five\n", "", "-b\n", " b\n", "+B\n",
			"").Replace(diff), "nothing is left"},
		"words":         {"please\n--- fix it\n", "not a well-formed patch"},
		"a broken line": {strings.Replace(diff, "+five", "five", 1), "not a well-formed patch"},
	} {
		_, err := apply(t, s, p, Options{Edited: []byte(c.text)})
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		fixtest.Same(t, name, fixtest.Snapshot(t, s.Root), before)
	}
	fixtest.Disposed(t, s.Store, fix.Open)
}
