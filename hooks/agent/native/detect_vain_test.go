package native

import "testing"

// What the tools themselves say when they find nothing is known as that.
func TestFoundNothingInTheToolsOwnWords(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"d/a": "old\n"})
	if err := w.root.Mkdir("empty", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		tool string
		args o
		want bool
	}{
		{"search", o{"pattern": "new"}, true},
		{"search", o{"pattern": "old"}, false},
		{"list", o{"path": "empty"}, true},
		{"list", o{"path": "d"}, false},
		{"read", o{"path": "d/a"}, false},
	} {
		got := w.do(t, tt.tool, tt.args, "ok")
		if (got.code == codeEmpty) != tt.want {
			t.Errorf("%s %v: %q has code %q", tt.tool, tt.args, got.text, got.code)
		}
	}
	refused := w.do(t, "run", o{"argv": []string{"nothing-of-the-kind"}}, "no")
	if refused.code != codeNotRun {
		t.Errorf("%q has code %q", refused.text, refused.code)
	}
}
