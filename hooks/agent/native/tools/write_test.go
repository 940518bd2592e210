package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// B01: a file that is not there is created, and its lines and bytes are counted.
func TestB01CreatesAFile(t *testing.T) {
	t.Parallel()
	w := workIn(t, nil)
	got := w.do(t, "write", o{"path": "a.go", "content": "package a\n\nvar A = 1\n"}, "ok", "a.go: created, 3 lines, 21 bytes", "do not write it again")
	if w.content(t, "a.go") != "package a\n\nvar A = 1\n" || got.Path != "a.go" || len(got.Warnings) != 0 || !slices.Equal(w.paths, []string{"a.go"}) {
		t.Errorf("%+v, wrote %q", got, w.paths)
	}
	info, err := os.Stat(filepath.Join(w.root.Name(), "a.go"))
	if err != nil || info.Mode().Perm()&0o600 != 0o600 || info.Mode()&0o111 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	w.do(t, "write", o{"path": "empty", "content": ""}, "ok", "created, 0 lines, 0 bytes")
	if w.content(t, "empty") != "" {
		t.Error("not empty")
	}
	if entries, _ := os.ReadDir(w.root.Name()); len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}

// B02: what is there already is a success that writes nothing and touches no time.
func TestB02IdenticalIsNotWritten(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a": "same\n", "crlf": "a\r\nb\r\n"})
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	for _, name := range []string{"a", "crlf"} {
		if err := os.Chtimes(filepath.Join(w.root.Name(), name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	w.do(t, "write", o{"path": "a", "content": "same\n"}, "ok", "exactly this content already: nothing was written", "do not write it again")
	w.do(t, "write", o{"path": "crlf", "content": "a\nb\n"}, "ok", "nothing was written")
	for _, name := range []string{"a", "crlf"} {
		if info, err := os.Stat(filepath.Join(w.root.Name(), name)); err != nil || !info.ModTime().Equal(old) {
			t.Errorf("%s was touched: %v", name, info.ModTime())
		}
	}
	if len(w.paths) != 0 {
		t.Errorf("wrote %q", w.paths)
	}
	w.do(t, "write", o{"path": "a", "content": "other\n"}, "ok") // its content is known now
}

// B04: a file that was not read is not written over; the refusal says what to do.
func TestB04NeverRead(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a": "old\n"})
	w.do(t, "write", o{"path": "a", "content": "new\n"}, "no", "a exists and was not read: nothing was written", "use edit, or delete and then write")
	w.do(t, "list", o{}, "ok") // to see a name is not to read a file
	w.do(t, "search", o{"pattern": "old"}, "ok")
	w.do(t, "write", o{"path": "a", "content": "new\n"}, "no", "was not read")
	if w.content(t, "a") != "old\n" || len(w.paths) != 0 {
		t.Error("it was written")
	}
}

// B05: one that was read and has not changed is.
func TestB05ReadAndUnchanged(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a.sh": "old\n"})
	if err := os.Chmod(filepath.Join(w.root.Name(), "a.sh"), 0o750); err != nil {
		t.Fatal(err)
	}
	w.do(t, "read", o{"path": "a.sh"}, "ok", "old")
	w.do(t, "write", o{"path": "a.sh", "content": "new\n"}, "ok", "a.sh: written over")
	info, err := os.Stat(filepath.Join(w.root.Name(), "a.sh"))
	if err != nil || info.Mode().Perm() != 0o750 || w.content(t, "a.sh") != "new\n" {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// B06: one that has changed since it was read is not, until it is read again.
func TestB06ReadThenChanged(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a": "old\n"})
	w.do(t, "read", o{"path": "a"}, "ok")
	put(t, filepath.Join(w.root.Name(), "a"), "theirs\n")
	w.do(t, "write", o{"path": "a", "content": "new\n"}, "no", "has changed since it was read", "Read it again", "delete and then write")
	if w.content(t, "a") != "theirs\n" {
		t.Error("it was written")
	}
	put(t, filepath.Join(w.root.Name(), "a"), "old\n") // the same again, with another time: known
	w.do(t, "write", o{"path": "a", "content": "new\n"}, "ok")
	put(t, filepath.Join(w.root.Name(), "a"), "theirs\n")
	w.do(t, "read", o{"path": "a"}, "ok")
	w.do(t, "write", o{"path": "a", "content": "new\n"}, "ok")
}

// B08: what was written is known: it may be written again.
func TestB08WriteTwice(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"b": "x\n"})
	w.do(t, "write", o{"path": "a", "content": "1\n"}, "ok")
	w.do(t, "write", o{"path": "a", "content": "2\n"}, "ok", "written over")
	w.do(t, "edit", o{"path": "b", "old": "x", "new": "y"}, "ok")
	w.do(t, "write", o{"path": "b", "content": "z\n"}, "ok", "written over")
	if !slices.Equal(w.paths, []string{"a", "b"}) {
		t.Errorf("wrote %q", w.paths)
	}
}

// B09: a file that is deleted first may be written, in one answer too.
func TestB09DeleteThenWrite(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a": "old\n", "b": "old\n"})
	w.do(t, "delete", o{"path": "a"}, "ok", "a: deleted")
	if why := w.refuseEarly("write", `{"path":"a","content":"`); why != "" {
		t.Errorf("refused early: %s", why)
	}
	w.do(t, "write", o{"path": "a", "content": "new\n"}, "ok", "a: created")
	// In one answer the delete has not run yet while the write arrives.
	before := model.Call{Name: "delete", Args: []byte(`{"path":"./b"}`)}
	if why := w.refuseEarly("write", `{"path":"b","content":"`, before); why != "" {
		t.Errorf("refused early: %s", why)
	}
	if why := w.refuseEarly("write", `{"path":"b","content":"`); why == "" {
		t.Error("not refused without the delete")
	}
	w.do(t, "delete", o{"path": "b"}, "ok")
	put(t, filepath.Join(w.root.Name(), "b"), "theirs\n")
	w.do(t, "write", o{"path": "b", "content": "new\n"}, "no", "was not read")
}

// B16: more than 200 lines, or 20 KiB, are written with a warning.
func TestB16LargeWriteWarns(t *testing.T) {
	t.Parallel()
	w := workIn(t, nil)
	for _, c := range []struct {
		content string
		warned  bool
	}{
		{strings.Repeat("x\n", 200), false},
		{strings.Repeat("x\n", 201), true},
		{strings.Repeat("x", 20<<10), false},
		{strings.Repeat("x", 20<<10+1), true},
	} {
		name := fmt.Sprintf("f%d", len(c.content))
		got := w.do(t, "write", o{"path": name, "content": c.content}, "ok", "created")
		if warned := len(got.Warnings) == 1 && strings.Contains(got.Text, "warning: this is a large file"); warned != c.warned {
			t.Errorf("%d bytes: warnings %q", len(c.content), got.Warnings)
		}
	}
}

// B17: a file that cannot be read is not written over.
func TestB17UnreadableIsNotWrittenOver(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a": "x\n"})
	if f, err := os.OpenFile(filepath.Join(w.root.Name(), "huge"), os.O_CREATE|os.O_WRONLY, 0o600); err != nil || f.Truncate(maxWhole+1) != nil || f.Close() != nil {
		t.Fatal("cannot make a large file")
	}
	w.do(t, "write", o{"path": "huge", "content": "x"}, "no", "too large")
	w.do(t, "edit", o{"path": "huge", "old": "x", "new": "y"}, "no", "too large")
	if info, err := os.Stat(filepath.Join(w.root.Name(), "huge")); err != nil || info.Size() != maxWhole+1 {
		t.Error("it was written over")
	}
	if os.Geteuid() == 0 {
		return // root reads everything
	}
	if err := os.Chmod(filepath.Join(w.root.Name(), "a"), 0); err != nil {
		t.Fatal(err)
	}
	w.do(t, "write", o{"path": "a", "content": "new\n"}, "no", "permission denied")
	if err := os.Chmod(filepath.Join(w.root.Name(), "a"), 0o600); err != nil || w.content(t, "a") != "x\n" {
		t.Error("it was written over")
	}
}

// B18: folders on the way are made.
func TestB18MakesFolders(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"file": "x\n"})
	w.do(t, "write", o{"path": "a/b/c.go", "content": "x\n"}, "ok", "a/b/c.go: created")
	w.do(t, "write", o{"path": "file/b", "content": "x\n"}, "no")
	if w.content(t, "a/b/c.go") != "x\n" || !slices.Equal(w.paths, []string{"a/b/c.go"}) {
		t.Errorf("wrote %q", w.paths)
	}
}

func TestShrinkWarns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before, after int
		warned        bool
	}{{120, 59, true}, {120, 60, false}, {102, 51, false}, {103, 51, true}, {60, 20, false}, {300, 0, true}, {100, 400, false}} {
		w := workIn(t, map[string]string{"a": strings.Repeat("x\n", c.before)})
		w.do(t, "read", o{"path": "a"}, "ok")
		got := w.do(t, "write", o{"path": "a", "content": strings.Repeat("y\n", c.after)}, "ok")
		if warned := strings.Contains(got.Text, fmt.Sprintf("it had %d lines and has %d lines now", c.before, c.after)); warned != c.warned {
			t.Errorf("%d to %d lines: %q", c.before, c.after, got.Text)
		}
	}
}

func TestLineEndsAreKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, content, want string }{
		{"CRLF stays", "a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"},
		{"CRLF as the model wrote it", "a\r\nb\r\n", "a\r\nc\r\n", "a\r\nc\r\n"},
		{"CRLF into a new file", "", "a\r\nc\r\n", "a\r\nc\r\n"},
		{"mixed is as the model wrote it", "a\r\nb\n", "a\nc\n", "a\nc\n"},
		{"the model's own mix", "a\r\nb\r\n", "a\nc\r\n", "a\nc\r\n"},
		{"LF stays", "a\nb\n", "c\n", "c\n"},
		{"a byte order mark stays", bom + "a\n", "c\n", bom + "c\n"},
		{"no final line end is added", "a\n", "c", "c"},
		{"white space is content", "a\n", "  c  \n\n\n", "  c  \n\n\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := workIn(t, map[string]string{"other": ""})
			if c.before != "" {
				put(t, filepath.Join(w.root.Name(), "a"), c.before)
				w.do(t, "read", o{"path": "a"}, "ok")
			}
			got := w.do(t, "write", o{"path": "a", "content": c.content}, "ok")
			if w.content(t, "a") != c.want {
				t.Errorf("got %q, want %q", w.content(t, "a"), c.want)
			}
			if (c.content != c.want) != (len(got.Warnings) > 0) {
				t.Errorf("what was changed is not said: %q", got.Text)
			}
		})
	}
}

// A write is whole or not at all, and a read-only folder is told of.
func TestWriteCannot(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"d/a": "old\n"})
	if os.Geteuid() == 0 {
		t.Skip("root writes everywhere")
	}
	dir := filepath.Join(w.root.Name(), "d")
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	w.do(t, "read", o{"path": "d/a"}, "ok")
	w.do(t, "write", o{"path": "d/a", "content": "new\n"}, "no", "d/a could not be written: permission denied")
	if w.content(t, "d/a") != "old\n" || len(w.paths) != 0 {
		t.Error("half a write")
	}
}

func TestRefuseEarly(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a": "old\n", "read": "old\n", `we"ird`: "old\n", "d/x": "x\n"}, func(r *agent.Request) { r.Run = []string{"x"} })
	w.do(t, "read", o{"path": "read"}, "ok")
	for _, c := range []struct {
		name, tool, args string
		before           []model.Call
		want             string // empty: not refused
	}{
		{"not read", "write", `{"path":"a"`, nil, "a exists and was not read"},
		{"with blanks", "write", " {\n \"path\" : \"a\",", nil, "a exists and was not read"},
		{"escaped", "write", `{"path":"we\"ird","con`, nil, "exists and was not read"},
		{"as unicode", "write", `{"path":"\u0061"`, nil, "a exists and was not read"},
		{"the path is not whole", "write", `{"path":"a`, nil, ""},
		{"it ends in an escape", "write", `{"path":"a\"`, nil, ""},
		{"nothing yet", "write", ``, nil, ""},
		{"only the name", "write", `{"path"`, nil, ""},
		{"content comes first", "write", `{"content":"x","path":"a"`, nil, ""},
		{"no string", "write", `{"path":1,`, nil, ""},
		{"new", "write", `{"path":"new","content":"`, nil, ""},
		{"read", "write", `{"path":"read","content":"`, nil, ""},
		{"outside", "write", `{"path":"../x"`, nil, "outside of the copy"},
		{"a folder", "write", `{"path":"d"`, nil, "is a folder"},
		{"git's", "write", `{"path":".git/config"`, nil, "git's own"},
		{"another tool", "edit", `{"path":"../x"`, nil, ""},
		{"deleted before", "write", `{"path":"a"`, []model.Call{{Name: "delete", Args: []byte(`{"path":"a"}`)}}, ""},
		{"another deleted before", "write", `{"path":"a"`, []model.Call{{Name: "delete", Args: []byte(`{"path":"b"}`)}}, "was not read"},
		{"read before", "write", `{"path":"a"`, []model.Call{{Name: "read", Args: []byte(`{"path":"a"}`)}}, ""},
		{"listed before", "write", `{"path":"a"`, []model.Call{{Name: "list", Args: []byte(`{"path":"a"}`)}}, "was not read"},
		{"a command before", "write", `{"path":"a"`, []model.Call{{Name: "run", Args: []byte(`{"argv":["x"]}`)}}, ""},
		{"a command before, outside all the same", "write", `{"path":"../a"`, []model.Call{{Name: "run", Args: []byte(`{"argv":["x"]}`)}}, "outside"},
	} {
		got := w.refuseEarly(c.tool, c.args, c.before...)
		if (got != "") != (c.want != "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	put(t, filepath.Join(w.root.Name(), "read"), "theirs\n")
	if why := w.refuseEarly("write", `{"path":"read","content":"`); !strings.Contains(why, "has changed since") {
		t.Errorf("%q", why)
	}
}

// refuseEarly returns what Early says of one call.
func (w *Toolset) refuseEarly(name, partialArgs string, before ...model.Call) string {
	why, _ := w.Early()(before, name, partialArgs)
	return why
}

// Each call of an answer is looked at once, however many writes follow it.
func TestEarlyLooksAtEachCallOnce(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a": "old\n", "b": "old\n"})
	e := &early{w: w, places: map[string]bool{}}
	var before []model.Call
	for i := range 100 {
		before = append(before, model.Call{Name: "delete", Args: fmt.Appendf(nil, `{"path":"f%d"}`, i)})
		why := e.refuse(before, "write", fmt.Sprintf(`{"path":"f%d","content":"`, i))
		if why != "" || e.seen != i+1 || len(e.places) != i+1 {
			t.Fatalf("call %d: %q, %d looked at, %d places", i, why, e.seen, len(e.places))
		}
	}
	if why := e.refuse(before, "write", `{"path":"a","content":"`); why == "" {
		t.Error("a file that nothing in front touches is not refused")
	}
	before = append(before, model.Call{Name: "delete", Args: []byte(`{"path":"a"}`)})
	if why := e.refuse(before, "write", `{"path":"a","content":"`); why != "" {
		t.Error("refused, though it is deleted in front")
	}
	before = append(before, model.Call{Name: "check", Args: []byte(`{}`)})
	if why := e.refuse(before, "write", `{"path":"b","content":"`); why != "" {
		t.Error("refused, though a command in front may change it")
	}
}
