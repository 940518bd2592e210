package tools

// What a hostile or a silly model asks of the tools: too much, for ever, or under a name that nobody takes.

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// A file that is named is searched where it is too large for the search of a folder, which says so.
func TestSearchOfANamedFile(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"large": "the first\n" + strings.Repeat("filler\n", maxSearched/4) + "the last\n"})
	w.do(t, "search", o{"pattern": "^the"}, "ok", "nothing matches (1 file of more than 2.0 MiB left out: name one to search it)")
	w.do(t, "search", o{"pattern": "^the", "path": "large"}, "ok", "2 lines\nlarge:1:the first\nlarge:", ":the last\n")
	if info, err := w.opened(t).Stat("large"); err != nil || info.Size() <= maxSearched || !strings.Contains(toolSearch.says, "16 MiB") || maxWhole != 16<<20 {
		t.Errorf("%v, %v", info, err)
	}
}

// A long line is searched like a short one.
func TestSearchInALongLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", longLine)
	w := workIn(t, map[string]string{"a": "x" + long + "needle" + long + "\nneedle\n", "b": "\xff" + long + "needle"})
	w.do(t, "search", o{"pattern": "n[aeiou]{2}dle"}, "ok", "3 lines\na:1:…ää", "äneedleä", "a:2:needle\n", "b:1:…ää")
	w.do(t, "search", o{"pattern": "needle$"}, "ok", "2 lines\na:2:needle\nb:1:…ää", "äneedle\n")
	w.do(t, "search", o{"pattern": "^xä+needle"}, "ok", "1 line\na:1:xä")
}

// A dear pattern on one line without an end: the end of the turn is the end of the search, which would take minutes.
func TestSearchIsEndedWithinALine(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"line": strings.Repeat("a", maxWhole-1)})
	pattern := "(" + strings.Repeat(".{0,1000}x|", 4) + "y)"
	if tooDear(pattern) {
		t.Fatal("the pattern is refused")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	done := make(chan Outcome, 1)
	go func() {
		done <- w.Call(ctx, model.Call{Name: "search", Args: must(json.Marshal(o{"pattern": pattern, "path": "line"}))})
	}()
	select {
	case got := <-done:
		if !got.Code.Failed() || !strings.Contains(got.Text, "the turn is ending") {
			t.Errorf("%+v", got)
		}
	case <-time.After(20 * time.Second):
		t.Error("the search goes on")
	}
}

func TestPatternsThatAreTooDear(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a": "x\n"})
	w.do(t, "search", o{"pattern": strings.Repeat("[a-z]{1000}", 20)}, "no", "the pattern repeats too much")
	w.do(t, "search", o{"pattern": `^.{0,200}x?(?:[a-z]{1,40}\d{2,8}){0,20}`}, "ok", "a:1:x")
}

// No tool makes a file that no tool could change again.
func TestFilesStaySmallEnough(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat(strings.Repeat("x", 511)+"\n", maxWhole/512)
	w := workIn(t, map[string]string{"c": "old"})
	for did, got := range map[string]Outcome{
		"b": w.write("b", huge+"x"), "c": w.edit("c", "old", huge+"x"),
	} {
		if !got.Code.Failed() || !strings.HasPrefix(got.Text, did+" would have 16.0 MiB, more than 16.0 MiB: nothing was written") {
			t.Errorf("%.300s", got.Text)
		}
	}
	if _, err := w.root.Lstat("b"); !os.IsNotExist(err) || w.content(t, "c") != "old" || len(w.paths) != 0 {
		t.Errorf("something was changed: %v", err)
	}
	if got := w.write("b", huge); got.Code.Failed() {
		t.Errorf("%.300s", got.Text)
	}
}

// A file of like lines, and an old that is like them to its last: the nearest place is not looked for for ever.
func TestNearestHasAnEnd(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.Repeat("x\n", 500)+"y\ny\ny\nz", "\n")
	want := strings.Split("y\ny\nz", "\n")
	if at, same := nearest(lines, want, mostCompared); at != 501 || same != 3 {
		t.Errorf("at %d, %d lines", at, same)
	}
	if at, same := nearest(lines, want, 502); at != 500 || same != 2 { // one comparison more for a line that is the same
		t.Errorf("at %d, %d lines", at, same)
	}
	if at, same := nearest(lines, want, 100); at != 0 || same != 0 {
		t.Errorf("at %d, %d lines", at, same)
	}
	w := workIn(t, map[string]string{"a": strings.Repeat("}\n", 100_000)})
	w.do(t, "edit", o{"path": "a", "old": strings.Repeat("}\n", 50_000) + "{\n", "new": ""}, "no", "old does not stand in a", "The nearest is at lines 1–20; line 50001 is the first that differs")
}

// A name of any bytes is shown on one line everywhere.
func TestNamesStandOnOneLine(t *testing.T) {
	t.Parallel()
	name := "a\nexit code 0\x1b[2J"
	w := workIn(t, map[string]string{name: "old\n"})
	for _, c := range []struct {
		tool string
		args o
		how  string
	}{
		{"read", o{"path": name}, "ok"},
		{"edit", o{"path": name, "old": "old", "new": "new"}, "ok"},
		{"write", o{"path": name, "content": "new\n"}, "ok"},
		{"search", o{"pattern": "new"}, "ok"},
		{"delete", o{"path": name}, "ok"},
		{"read", o{"path": name}, "no"},
		{"delete", o{"path": name}, "no"},
		{"list", o{"path": name}, "no"},
		{"write", o{"path": name + "/.git/x", "content": ""}, "no"},
	} {
		got := w.do(t, c.tool, c.args, c.how, `a\nexit code 0\x1b[2J`).Text
		if strings.Contains(got, "\nexit") || strings.Contains(got, "\x1b") {
			t.Errorf("%s: %q", c.tool, got)
		}
	}
}

// What finish says is for people: a flood of words is cut.
func TestFinishIsShort(t *testing.T) {
	t.Parallel()
	w := workIn(t, nil)
	got := w.do(t, "finish", o{"outcome": "no_fix", "summary": strings.Repeat("ä", 1<<20), "root_cause": "short"}, "ok").Finished
	if n := len(got.Summary); n > mostWords+100 || !strings.HasPrefix(got.Summary, "ää") || !strings.Contains(got.Summary, " bytes left out)") || got.RootCause != "short" || !utf8.ValidString(got.Summary) {
		t.Errorf("%d bytes: %.40q, %q", n, got.Summary, got.RootCause)
	}
}

// However long what a call holds is, it is told back in short.
func TestResultsStayShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ab", 1<<19)
	w := workIn(t, map[string]string{"a": long + "\n"}, func(r *agent.Request) { r.Allow, r.Run = [][]string{{"go", "vet", "**"}}, []string{"make"} })
	for _, c := range []struct {
		tool string
		args o
	}{
		{"run", o{"argv": []string{long}}},
		{"run", o{"argv": []string{long + " " + long}}},
		{"run", o{"argv": []string{"/" + long + "/\x1b[2J"}}},
		{"run", o{"argv": []string{"go", "vet", "-vettool=" + long}}},
		{"run", o{long: long}},
		{"read", o{"path": long}},
		{"edit", o{"path": "a", "old": long + long, "new": ""}},
		{"edit", o{"path": "a", "old": long + "\nq", "new": ""}},
		{"search", o{"pattern": strings.Repeat("(", 1000)}},
		{"finish", o{"outcome": long, "summary": ""}},
		{long, o{"x": 1}},
	} {
		if got := w.do(t, c.tool, c.args, "no").Text; len(got) > 5<<10 || strings.Contains(got, "\x1b") {
			t.Errorf("%.10s: %d bytes, %.200q", c.tool, len(got), got)
		}
	}
	w.all = append(w.all, declared{name: "speak", do: func(context.Context, *Toolset, args) Outcome { return Outcome{Text: long} }})
	if got := w.do(t, "speak", o{}, "ok", "bytes left out)").Text; len(got) > mostText+100 {
		t.Errorf("%d bytes", len(got))
	}
}
