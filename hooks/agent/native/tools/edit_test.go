package tools

import (
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, before, old, new string
		after                  string   // empty: refused
		says                   []string // what the outcome holds
	}{
		{"once", "a\nb\nc\n", "b", "x", "a\nx\nc\n", []string{"f: edited at line 2, 1 line in place of 1 line"}},
		{"several lines", "a\nb\nc\n", "a\nb\n", "x\n", "x\nc\n", []string{"edited at line 1, 1 line in place of 2 lines"}},
		{"taken out", "a\nb\nc\n", "b\n", "", "a\nc\n", []string{"0 lines in place of 1 line"}},
		{"white space counts", "\ta\n", "\ta", "  a", "  a\n", nil},
		{"no final line end", "a\nb", "b", "c", "a\nc", nil},
		{"not UTF-8 around it", "\xff\nb\n\xfe", "b", "c", "\xff\nc\n\xfe", nil},
		{"CRLF", "a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", "x\r\ny\r\nz\r\nc\r\n", nil},
		{"CRLF as the model saw it", "a\r\nb\r\nc\r\n", "a\r\nb", "x", "x\r\nc\r\n", nil},
		{"within a CRLF line", "a\r\nb\r\n", "b", "c", "a\r\nc\r\n", nil},

		{"twice", "a\nb\na\n", "a", "x", "", []string{"old stands in f 2 times, at lines 1, 3: nothing was changed"}},
		{"overlapping", "aaa\n", "aa", "x", "", []string{"2 times, at lines 1, 1"}},
		{"very often", strings.Repeat("a\n", 30), "a", "x", "", []string{"30 times", "19, 20, …: nothing"}},
		{"empty", "a\n", "", "x", "", []string{"old is empty", "use write"}},
		{"the same", "a\n", "a", "a", "", []string{"old and new are the same"}},
		{"nothing alike", "a\nb\n", "zzz", "x", "", []string{"old does not stand in f: nothing was changed. No line of it stands there; read the file."}},
		{"in an empty file", "", "zzz", "x", "", []string{"No line of it stands there"}},
		{"white space differs", "func a() {\n\tb()\n\tc()\n}\n", "    b()\n    c()", "x", "", []string{"These differ from it only in white space, lines 2–3:\n\tb()\n\tc()"}},
		{"one line differs in white space", "if a  {\n}\n", "if a {", "x", "", []string{"only in white space, line 1:\nif a  {"}},
		{"the second line differs", "one\ntwo\nthree\n", "one\n2\nthree", "x", "", []string{"The nearest is at lines 1–3; line 2 is the first that differs:\none\ntwo\nthree"}},
		{"the better of two places", "one\nx\none\ntwo\nthree\n", "one\ntwo\n3", "x", "", []string{"lines 3–5; line 5 is the first"}},
		{"what lies behind it is cut", "one\ntwo", "one\ntwo\nthree\nfour", "x", "", []string{"lines 1–2; line 3 is the first that differs:\none\ntwo"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := workIn(t, map[string]string{"f": c.before})
			ending, after := "ok", c.after
			if c.after == "" {
				ending, after = "no", c.before
			}
			got := w.do(t, "edit", o{"path": "f", "old": c.old, "new": c.new}, ending, c.says...)
			if w.content(t, "f") != after {
				t.Errorf("got %q, want %q", w.content(t, "f"), after)
			}
			if got.Path != "f" || slices.Equal(w.paths, []string{"f"}) != (ending == "ok") {
				t.Errorf("path %q, wrote %q", got.Path, w.paths)
			}
		})
	}
}

func TestEditKeepsTheMode(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"run.sh": "a\n"})
	check(t, w.opened(t).Chmod("run.sh", 0o711))
	w.do(t, "edit", o{"path": "run.sh", "old": "a", "new": "b"}, "ok")
	if info, err := w.opened(t).Stat("run.sh"); err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	w.do(t, "edit", o{"path": "nothing", "old": "a", "new": "b"}, "no", "nothing: no such file")
	w.do(t, "edit", o{"path": ".", "old": "a", "new": "b"}, "no", "the copy itself")
}

// What an edit answers tells nothing of how a secret goes on, and what lies around it can be changed.
func TestEditGuessesNothing(t *testing.T) {
	t.Parallel()
	const secret, before = "hunter2-hunter2", "key = 1\nKEY=hunter2-hunter2\nunder = 2\n"
	set := &redact.Set{}
	set.Add("KEY", secret)
	w := workIn(t, map[string]string{"f": before}, func(r *agent.Request) { r.Secrets = set })
	wrong := w.do(t, "edit", o{"path": "f", "old": "KEY=x", "new": "y"}, "no", "old does not stand in f").Text
	for _, old := range []string{"KEY=h", "KEY=hunter2-hunter2", "hunter2-hunter2", "r2-h", "-hunter2\n"} {
		if got := w.do(t, "edit", o{"path": "f", "old": old, "new": "y"}, "no", "old does not stand in f").Text; got != wrong {
			t.Errorf("%q: %q, and a wrong guess: %q", old, got, wrong)
		}
	}
	if got := w.content(t, "f"); got != before {
		t.Errorf("%q", got)
	}
	w.do(t, "edit", o{"path": "f", "old": "un", "new": "in"}, "ok", "edited at line 3") // it is in the secret too
	w.do(t, "edit", o{"path": "f", "old": "KEY=", "new": "TOKEN="}, "ok")
	if got := w.content(t, "f"); got != "key = 1\nTOKEN=hunter2-hunter2\ninder = 2\n" {
		t.Errorf("%q", got)
	}
}

// Finding the nearest lines must not take long in any file.
func TestEditInALargeFile(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"f": strings.Repeat("x\n", 200_000)})
	w.do(t, "edit", o{"path": "f", "old": strings.Repeat("x\n", 100) + "y", "new": "z"}, "no", "line 101 is the first that differs")
	w.do(t, "edit", o{"path": "f", "old": "x", "new": "z"}, "no", "1000 times or more")
}

func TestDelete(t *testing.T) {
	t.Parallel()
	w := inSub(t, map[string]string{"sub/a": "x\n", "sub/full/b": "x\n", "sub/empty/x/gone": "x\n", "sub/repo/.git/config": "c\n"})
	w.do(t, "delete", o{"path": "a"}, "ok", "a: deleted")
	w.do(t, "delete", o{"path": "a"}, "no", "no such file")
	w.do(t, "delete", o{"path": "full"}, "no", "a folder with 1 entry in it")
	w.do(t, "delete", o{"path": "empty/x/gone"}, "ok")
	w.do(t, "delete", o{"path": "empty/x"}, "ok")
	w.do(t, "delete", o{"path": "empty"}, "ok")
	w.do(t, "delete", o{"path": "."}, "no", "working directory")
	w.do(t, "delete", o{"path": ".."}, "no", "the copy itself")
	w.do(t, "delete", o{"path": "repo"}, "no", "could not be deleted") // there is more in it than list shows
	if w.content(t, "sub/a") != "-" || w.content(t, "sub/full/b") != "x\n" || w.content(t, "sub/repo/.git/config") != "c\n" {
		t.Error("the wrong thing was deleted")
	}
	if want := []string{"sub/a", "sub/empty/x/gone", "sub/empty/x", "sub/empty"}; !slices.Equal(w.paths, want) {
		t.Errorf("wrote %q", w.paths)
	}
}
