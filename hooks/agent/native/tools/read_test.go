package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/model"
)

func TestRead(t *testing.T) {
	t.Parallel()
	var numbered strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&numbered, "line %d\n", i+1)
	}
	files := map[string]string{
		"three": "one\ntwo\nthree\n", "open": "one\ntwo", "empty": "", "blank": "\n", "blanks": "\n\n\n", "crlf": "a\r\nb\r\n",
		"long": numbered.String(), "wide": strings.Repeat("x", 100_000) + "\nnext\n", "fat": strings.Repeat(strings.Repeat("y", 999)+"\n", 100),
		"bin": "a\x00b", "latin": "caf\xe9\n", "utf8": strings.Repeat("é", 40_000) + "\n", "cut": "é\n\xc3",
	}
	for _, c := range []struct {
		path        string
		from, lines int
		ending      string
		want        string // the whole text; …: what lies between does not matter
	}{
		{"three", 0, 0, "ok", "three: lines 1–3 of 3\none\ntwo\nthree\n"},
		{"three", 2, 0, "ok", "three: lines 2–3 of 3\ntwo\nthree\n"},
		{"three", 2, 1, "ok", "three: lines 2–2 of 3 (go on with from: 3)\ntwo\n"},
		{"three", 1, 5000, "ok", "three: lines 1–3 of 3\none\ntwo\nthree\n"},
		{"three", 3, 1, "ok", "three: lines 3–3 of 3\nthree\n"},
		{"three", 4, 1, "no", "three: it has only 3 lines"},
		{"open", 0, 0, "ok", "open: lines 1–2 of 2 (the last one has no line end)\none\ntwo\n"},
		{"empty", 0, 0, "ok", "empty: it is empty"},
		{"blank", 0, 0, "ok", "blank: lines 1–1 of 1\n\n"},
		{"blanks", 3, 0, "ok", "blanks: lines 3–3 of 3\n\n"},
		{"crlf", 0, 0, "ok", "crlf: lines 1–2 of 2\na\r\nb\r\n"},
		{"long", 0, 0, "ok", "long: lines 1–2000 of 3000 (go on with from: 2001)\nline 1\n…line 2000\n"},
		{"long", 2001, 0, "ok", "long: lines 2001–3000 of 3000\nline 2001\n…line 3000\n"},
		{"wide", 0, 0, "ok", "wide: lines 1–2 of 2\nxxx…x … 91808 bytes of this line are left out\nnext\n"},
		{"fat", 0, 0, "ok", "fat: lines 1–33 of 100 (go on with from: 34)\n…"},
		{"fat", 99, 0, "ok", "fat: lines 99–100 of 100\n…"},
		{"bin", 0, 0, "no", "bin is binary, 3 bytes: it cannot be shown"},
		{"latin", 0, 0, "ok", "latin: lines 1–1 of 1 (not UTF-8: what cannot be shown stands as \uFFFD)\ncaf\uFFFD\n"},
		{"cut", 0, 0, "ok", "cut: lines 1–2 of 2 (the last one has no line end) (not UTF-8: what cannot be shown stands as \uFFFD)\né\n\uFFFD\n"},
		{"utf8", 0, 0, "ok", "utf8: lines 1–1 of 1\né…"},
		{"output:1", 0, 0, "no", "there is no output:1: no output was left out so far"},
		{"output:x", 0, 0, "no", "output:x: no such file or directory"},
	} {
		w := workIn(t, files)
		args := o{"path": c.path}
		if c.from > 0 {
			args["from"] = c.from
		}
		if c.lines > 0 {
			args["lines"] = c.lines
		}
		got := w.do(t, "read", args, c.ending).Text
		begins, ends, gap := strings.Cut(c.want, "…")
		if strings.Count(c.want, "…") > 1 { // one stands for itself
			begins, ends, gap = "wide: lines 1–2 of 2\nxxx", "x … 91808 bytes of this line are left out\nnext\n", true
		}
		if !gap && got != c.want || !strings.HasPrefix(got, begins) || !strings.HasSuffix(got, ends) {
			t.Errorf("%s from %d: got %q, want %q", c.path, c.from, got[:min(len(got), 300)], c.want)
		}
		if len(got) > maxBytes+500 {
			t.Errorf("%s: %d bytes", c.path, len(got))
		}
		if c.path == "utf8" && strings.Contains(strings.TrimSuffix(got, "\n"), "\uFFFD\uFFFD") {
			t.Errorf("a character was cut in two")
		}
	}
}

// A file that is longer than it is looked at is still read in no more memory than is shown.
func TestReadStreams(t *testing.T) {
	t.Parallel()
	w := workIn(t, nil)
	f, err := os.Create(filepath.Join(w.top, "big"))
	check(t, err)
	line := strings.Repeat("z", 1023) + "\n"
	for range 20 << 10 { // 20 MiB
		if _, err := f.WriteString(line); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	w.do(t, "read", o{"path": "big", "from": 20480}, "ok", "lines 20480–20480 of 20480\nzzz")
	check(t, os.Truncate(filepath.Join(w.top, "big"), maxStream+1))
	w.do(t, "read", o{"path": "big"}, "no", "read shows files of up to 256.0 MiB, search one of up to 16.0 MiB")
	w.do(t, "search", o{"path": "big", "pattern": "x"}, "no", "search looks through one file of up to 16.0 MiB")
}

func TestList(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{
		"b.txt": "", "a/x": "", "B/y": "", ".git/config": "", ".GIT2/x": "", ".Async/x": "", "a/.git/config": "", ".hidden": "", "new\nline": "", "z z": "",
	})
	check(t, w.opened(t).Symlink("b.txt", "link"))
	w.do(t, "list", o{}, "ok")
	if got, want := w.do(t, "list", o{"path": "."}, "ok").Text, ".: 8 entries\n.GIT2/\n.hidden\nB/\na/\nb.txt\nlink -> b.txt\n\"new\\nline\"\nz z\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := w.do(t, "list", o{"path": "a/"}, "ok").Text, "a: 1 entry\nx\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for i := range maxEntries + 5 {
		w.put(t, fmt.Sprintf("many/f%04d", i), "")
	}
	got := w.do(t, "list", o{"path": "many"}, "ok", "many: 1005 entries, the first 1000\nf0000\n").Text
	if !strings.HasSuffix(got, "f0999\n") {
		t.Errorf("it ends with %q", got[len(got)-20:])
	}
	for i := range 300 {
		w.put(t, fmt.Sprintf("wide/%03d%s", i, strings.Repeat("x", 240)), "")
	}
	if got := w.do(t, "list", o{"path": "wide"}, "ok", "300 entries, the first 134"); len(got.Text) > maxBytes+100 {
		t.Errorf("%d bytes", len(got.Text))
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"a.go": "package a\n\nfunc A() {}\n", "b/b.go": "func B() {}\r\nfunc C() {}", ".git/config": "func git\n", "b/.ASYNC/x": "func x\n",
		"bin": "func \x00", "large": "func large\n" + strings.Repeat("x", maxSearched), "z": strings.Repeat("-", 500) + "func" + strings.Repeat("+", 500) + "\n",
	}
	w := workIn(t, files)
	check(t, w.opened(t).Symlink("a.go", "link.go"))
	want := "4 lines (1 file of more than 2.0 MiB left out: name one to search it)\na.go:3:func A() {}\nb/b.go:1:func B() {}\nb/b.go:2:func C() {}\nz:1:…" + strings.Repeat("-", 100) + "func" + strings.Repeat("+", 196) + "…\n"
	if got := w.do(t, "search", o{"pattern": "func"}, "ok").Text; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, c := range []struct{ pattern, path, ending, want string }{
		{`^func [BC]\(\) \{\}$`, "", "ok", "2 lines (1 file of more than 2.0 MiB left out: name one to search it)\nb/b.go:1:func B() {}\nb/b.go:2:func C() {}\n"},
		{`(?i)PACKAGE`, "", "ok", "1 line (1 file of more than 2.0 MiB left out: name one to search it)\na.go:1:package a\n"},
		{"func", "b", "ok", "2 lines\nb/b.go:1:func B() {}\nb/b.go:2:func C() {}\n"},
		{"func", "b/b.go", "ok", "2 lines\nb/b.go:1:func B() {}\nb/b.go:2:func C() {}\n"},
		{"func", "link.go", "ok", "1 line\na.go:3:func A() {}\n"},
		{"nowhere", "b", "ok", "nothing matches\n"},
		{"(", "", "no", "the pattern cannot be read: error parsing regexp: missing closing )"},
		{"(?=x)", "", "no", "the pattern cannot be read"},
		{strings.Repeat("x", 1001), "", "no", "the pattern is longer than 1,000 bytes"},
		{"x", "nothing", "no", "nothing: no such file or directory"},
		{"x", "output:1", "no", "there is no output:1"},
	} {
		args := o{"pattern": c.pattern}
		if c.path != "" {
			args["path"] = c.path
		}
		if got := w.do(t, "search", args, c.ending).Text; !strings.HasPrefix(got, c.want) || c.ending == "ok" && got != c.want {
			t.Errorf("%s in %s: got %q, want %q", c.pattern, c.path, got, c.want)
		}
	}
	w.put(t, "hits", strings.Repeat("hit\n", maxHits+1))
	got := w.do(t, "search", o{"pattern": "hit", "path": "hits"}, "ok", "the first 200 lines; there are more: name a smaller folder").Text
	if strings.Count(got, "hits:") != maxHits {
		t.Errorf("%d hits", strings.Count(got, "hits:"))
	}
	w.put(t, "hits", strings.Repeat("hit\n", maxHits))
	w.do(t, "search", o{"pattern": "hit", "path": "hits"}, "ok", "200 lines\n")
	if entries, more, err := w.entries(t.Context(), "."); err != nil || more || len(entries) == 0 {
		t.Errorf("%v %v", more, err)
	}
}

// A search ends when the turn does, however much there is to search.
func TestSearchIsEnded(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a": strings.Repeat("aaaaaaaaaaaaaaaaaaaaaaaa\n", 80_000)})
	for i := range 20 {
		w.put(t, fmt.Sprintf("d%d/a", i), "x\n")
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := &searching{w: w}
	cancel()
	s.folder(ctx, ".")
	if s.files != 0 {
		t.Errorf("%d files were looked at", s.files)
	}
	if got := s.outcome(ctx); !got.Code.Failed() || !strings.Contains(got.Text, "the turn is ending") {
		t.Errorf("%+v", got)
	}
	late, stop := context.WithTimeoutCause(t.Context(), 0, errSearchLimit)
	defer stop()
	if got := s.outcome(late); got.Code.Failed() || !strings.Contains(got.Text, "within 30s, then the search was ended: name a smaller folder") {
		t.Errorf("%+v", got)
	}
	if got := w.Call(ctx, model.Call{Name: "search", Args: json.RawMessage(`{"pattern":"x"}`)}); !got.Code.Failed() {
		t.Errorf("%+v", got)
	}
}

// What the tools themselves say when they find nothing is known as that.
func TestFoundNothingInTheToolsOwnWords(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"d/a": "old\n"})
	check(t, w.root.Mkdir("empty", 0o700))
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
		if (got.Code == Empty) != tt.want {
			t.Errorf("%s %v: %q has code %q", tt.tool, tt.args, got.Text, got.Code)
		}
	}
	refused := w.do(t, "run", o{"argv": []string{"nothing-of-the-kind"}}, "no")
	if refused.Code != NotRun {
		t.Errorf("%q has code %q", refused.Text, refused.Code)
	}
}
