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
	info, err := w.opened(t).Stat("a.go")
	if err != nil || info.Mode().Perm()&0o600 != 0o600 || info.Mode()&0o111 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	w.do(t, "write", o{"path": "empty", "content": ""}, "ok", "created, 0 lines, 0 bytes")
	if w.content(t, "empty") != "" {
		t.Error("not empty")
	}
	if entries, _ := os.ReadDir(w.top); len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}

// An argument that is only more than was asked for does not cost the content: it is left out, with a warning.
func TestSpareArguments(t *testing.T) {
	t.Parallel()
	w := workIn(t, nil)
	got := w.do(t, "write", o{"path": "a", "content": "x\n", "description": "a new file", "\nlang": nil}, "ok", "a: created", `there is no argument "description": it was left out`)
	if len(got.Warnings) != 2 || w.content(t, "a") != "x\n" {
		t.Errorf("%q", got.Warnings)
	}
}

// B02: what is there already is a success that writes nothing and touches no time.
func TestB02IdenticalIsNotWritten(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a": "same\n", "crlf": "a\r\nb\r\n"})
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	for _, name := range []string{"a", "crlf"} {
		check(t, w.opened(t).Chtimes(name, old, old))
	}
	w.do(t, "write", o{"path": "a", "content": "same\n"}, "ok", "exactly this content already: nothing was written", "do not write it again")
	w.do(t, "write", o{"path": "crlf", "content": "a\nb\n"}, "ok", "nothing was written", "(CRLF) were kept; for others delete it and then write")
	for _, name := range []string{"a", "crlf"} {
		if info, err := w.opened(t).Stat(name); err != nil || !info.ModTime().Equal(old) {
			t.Errorf("%s was touched: %v", name, info.ModTime())
		}
	}
	if len(w.paths) != 0 {
		t.Errorf("wrote %q", w.paths)
	}
	w.do(t, "write", o{"path": "a", "content": "other\n"}, "ok") // its content is known now
	w.do(t, "delete", o{"path": "crlf"}, "ok")
	w.do(t, "write", o{"path": "crlf", "content": "a\nb\n"}, "ok", "created")
	if got := w.content(t, "crlf"); got != "a\nb\n" {
		t.Errorf("%q", got)
	}
}

// B04: a file that was not read is not written over; the refusal says what to do.
func TestB04NeverRead(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a": "old\n", "b": "one\ntwo\n"})
	w.do(t, "write", o{"path": "a", "content": "new\n"}, "no", "a exists and was not read: nothing was written", "use edit, or delete and then write")
	w.do(t, "list", o{}, "ok") // to see a name is not to read a file
	w.do(t, "search", o{"pattern": "old"}, "ok")
	w.do(t, "write", o{"path": "a", "content": "new\n"}, "no", "was not read")
	w.do(t, "read", o{"path": "a", "from": 99}, "no", "it has only 1 line") // nothing of it was shown
	w.do(t, "write", o{"path": "a", "content": "new\n"}, "no", "was not read")
	if w.content(t, "a") != "old\n" || len(w.paths) != 0 {
		t.Error("it was written")
	}
	w.do(t, "edit", o{"path": "b", "old": "one", "new": "uno"}, "ok") // a line of it is not all of it
	w.do(t, "write", o{"path": "b", "content": "uno\n"}, "no", "b exists and was not read")
	if w.content(t, "b") != "uno\ntwo\n" {
		t.Error("it was written")
	}
}

// B05: one that was read and has not changed is.
func TestB05ReadAndUnchanged(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a.sh": "old\n"})
	check(t, w.opened(t).Chmod("a.sh", 0o750))
	w.do(t, "read", o{"path": "a.sh"}, "ok", "old")
	w.do(t, "write", o{"path": "a.sh", "content": "new\n"}, "ok", "a.sh: written over")
	info, err := w.opened(t).Stat("a.sh")
	if err != nil || info.Mode().Perm() != 0o750 || w.content(t, "a.sh") != "new\n" {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// B06: one that has changed since it was read is not, until it is read again.
func TestB06ReadThenChanged(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a": "old\n"})
	w.do(t, "read", o{"path": "a"}, "ok")
	w.put(t, "a", "theirs\n")
	w.do(t, "write", o{"path": "a", "content": "new\n"}, "no", "has changed since it was read", "Read it again", "delete and then write")
	if w.content(t, "a") != "theirs\n" {
		t.Error("it was written")
	}
	w.put(t, "a", "old\n") // the same again, with another time: known
	w.do(t, "write", o{"path": "a", "content": "new\n"}, "ok")
	w.put(t, "a", "theirs\n")
	w.do(t, "read", o{"path": "a"}, "ok")
	w.do(t, "write", o{"path": "a", "content": "new\n"}, "ok")

	w.put(t, "a", "new\ntheirs\n") // an edit shows nothing of what else has changed
	w.do(t, "edit", o{"path": "a", "old": "new", "new": "newer"}, "ok")
	w.do(t, "write", o{"path": "a", "content": "newer\n"}, "no", "has changed since it was read")
	w.do(t, "read", o{"path": "a"}, "ok")
	w.do(t, "write", o{"path": "a", "content": "newer\n"}, "ok")
}

// B08: what was written is known, by whatever tool: it may be written again.
func TestB08WriteTwice(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"b": "x\n"})
	w.do(t, "write", o{"path": "a", "content": "1\n"}, "ok")
	w.do(t, "write", o{"path": "a", "content": "2\n"}, "ok", "written over")
	w.do(t, "read", o{"path": "b"}, "ok")
	w.do(t, "edit", o{"path": "b", "old": "x", "new": "y"}, "ok")
	w.do(t, "write", o{"path": "b", "content": "z\n"}, "ok", "written over")
	w.do(t, "edit", o{"path": "b", "old": "z", "new": "w"}, "ok")
	w.do(t, "write", o{"path": "b", "content": "v\n"}, "ok", "written over")
	if !slices.Equal(w.paths, []string{"a", "b"}) {
		t.Errorf("wrote %q", w.paths)
	}
}

// B09: a file that is deleted first may be written, in one answer too.
func TestB09DeleteThenWrite(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a": "old\n", "b": "old\n"})
	w.do(t, "delete", o{"path": "a"}, "ok", "a: deleted")
	if why := w.refuseEarly("write", `{"path":"a","content":"n`); why != "" {
		t.Errorf("refused early: %s", why)
	}
	w.do(t, "write", o{"path": "a", "content": "new\n"}, "ok", "a: created")
	// In one answer the delete has not run yet while the write arrives.
	before := model.Call{Name: "delete", Args: []byte(`{"path":"./b"}`)}
	if why := w.refuseEarly("write", `{"path":"b","content":"n`, before); why != "" {
		t.Errorf("refused early: %s", why)
	}
	if why := w.refuseEarly("write", `{"path":"b","content":"n`); why == "" {
		t.Error("not refused without the delete")
	}
	w.do(t, "delete", o{"path": "b"}, "ok")
	w.put(t, "b", "theirs\n")
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
	if f, err := os.OpenFile(filepath.Join(w.top, "huge"), os.O_CREATE|os.O_WRONLY, 0o600); err != nil || f.Truncate(maxWhole+1) != nil || f.Close() != nil {
		t.Fatal("cannot make a large file")
	}
	w.do(t, "write", o{"path": "huge", "content": "x"}, "no", "too large")
	w.do(t, "edit", o{"path": "huge", "old": "x", "new": "y"}, "no", "too large")
	if info, err := w.opened(t).Stat("huge"); err != nil || info.Size() != maxWhole+1 {
		t.Error("it was written over")
	}
	if os.Geteuid() == 0 {
		return // root reads everything
	}
	check(t, w.opened(t).Chmod("a", 0))
	w.do(t, "write", o{"path": "a", "content": "new\n"}, "no", "permission denied")
	if err := w.opened(t).Chmod("a", 0o600); err != nil || w.content(t, "a") != "x\n" {
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
				put(t, filepath.Join(w.top, "a"), c.before)
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
	dir := filepath.Join(w.top, "d")
	check(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	w.do(t, "read", o{"path": "d/a"}, "ok")
	w.do(t, "write", o{"path": "d/a", "content": "new\n"}, "no", "d/a could not be written: permission denied")
	if w.content(t, "d/a") != "old\n" || len(w.paths) != 0 {
		t.Error("half a write")
	}
}

// B02 B09 B12: a write over a file that was not read is refused as soon as its content is another than the file's. The
// calls in front of it run first.
func TestRefuseEarly(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a": "old\n", "read": "old\n", `we"ird`: "old\n", "d/x": "x\n", "long": "package a\n\nvar A = \"\u00fc\"\n", "crlf": bom + "a\r\nb\r\n", "empty": ""}, func(r *agent.Request) { r.Run = []string{"x"} })
	check(t, os.Symlink("/etc/hostname", filepath.Join(w.top, "out")))
	w.do(t, "read", o{"path": "read"}, "ok")
	del := func(paths ...string) (all []model.Call) {
		for _, p := range paths {
			all = append(all, model.Call{Name: "delete", Args: fmt.Appendf(nil, `{"path":%q}`, p)})
		}
		return all
	}
	for _, c := range []struct {
		name, tool, args string
		before           []model.Call
		want             string // empty: not refused
	}{
		{"B12 not read", "write", `{"path":"a","content":"n`, nil, "a exists and was not read"},
		{"with blanks", "write", " {\n \"path\" : \"a\",\r\n\t\"content\" :\"n", nil, "a exists and was not read"},
		{"escaped", "write", `{"path":"we\"ird","content":"n`, nil, "exists and was not read"},
		{"as unicode", "write", `{"path":"\u0061","content":"n`, nil, "a exists and was not read"},
		{"B02 no content yet", "write", `{"path":"a"`, nil, ""},
		{"B02 nothing of it", "write", `{"path":"a","content":"`, nil, ""},
		{"B02 the same so far", "write", `{"path":"a","content":"ol`, nil, ""},
		{"B02 the same", "write", `{"path":"a","content":"old\n"`, nil, ""},
		{"B02 within an escape", "write", `{"path":"long","content":"package a\n\`, nil, ""},
		{"B02 within a rune", "write", `{"path":"long","content":"package a\n\nvar A = \"\u00f`, nil, ""},
		{"B02 within bytes of a rune", "write", "{\"path\":\"long\",\"content\":\"package a\\n\\nvar A = \\\"\xc3", nil, ""},
		{"B02 the file's own line ends are left out", "write", `{"path":"crlf","content":"a\nb`, nil, ""},
		{"B02 and other lines", "write", `{"path":"crlf","content":"a\nc`, nil, "was not read"},
		{"B12 more than the file holds", "write", `{"path":"a","content":"old\nmore`, nil, "was not read"},
		{"B12 late in the file", "write", `{"path":"long","content":"package a\n\nvar B`, nil, "was not read"},
		{"B12 the file is empty", "write", `{"path":"empty","content":"x`, nil, "was not read"},
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
		{"B09 deleted before", "write", `{"path":"a","content":"n`, del("a"), ""},
		{"B09 another deleted before", "write", `{"path":"a","content":"n`, del("b"), "was not read"},
		{"B09 a file makes room for a folder", "write", `{"path":"a/b","content":"n`, del("./a"), ""},
		{"B09 a file is no folder", "write", `{"path":"a/b","content":"n`, del("read"), "not a directory"},
		{"B09 a link that leads out is deleted", "write", `{"path":"out","content":"n`, del(w.top + "/out"), ""},
		{"B09 a link leads out", "write", `{"path":"out","content":"n`, del("a"), "leads out"},
		{"B09 outside all the same", "write", `{"path":"../x","content":"n`, del("../x"), "outside"},
		{"B09 git's all the same", "write", `{"path":".git/x","content":"n`, del(".git/x", ".git"), "git's own"},
		{"read before", "write", `{"path":"a","content":"n`, []model.Call{{Name: "read", Args: []byte(`{"path":"a"}`)}}, ""},
		{"listed before", "write", `{"path":"a","content":"n`, []model.Call{{Name: "list", Args: []byte(`{"path":"a"}`)}}, "was not read"},
		{"a command before", "write", `{"path":"a","content":"n`, []model.Call{{Name: "run", Args: []byte(`{"argv":["x"]}`)}}, ""},
		{"a command before, outside all the same", "write", `{"path":"../a"`, []model.Call{{Name: "run", Args: []byte(`{"argv":["x"]}`)}}, "outside"},
	} {
		got := w.refuseEarly(c.tool, c.args, c.before...)
		if (got != "") != (c.want != "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	w.put(t, "read", "theirs\n")
	if why := w.refuseEarly("write", `{"path":"read","content":"n`); !strings.Contains(why, "has changed since") {
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
		why, _ := e.refuse(before, "write", fmt.Sprintf(`{"path":"f%d","content":"`, i))
		if why != "" || e.seen != i+1 || len(e.places) != i+1 {
			t.Fatalf("call %d: %q, %d looked at, %d places", i, why, e.seen, len(e.places))
		}
	}
	if why, _ := e.refuse(before, "write", `{"path":"a","content":"n`); why == "" {
		t.Error("a file that nothing in front touches is not refused")
	}
	before = append(before, model.Call{Name: "delete", Args: []byte(`{"path":"a"}`)})
	if why, _ := e.refuse(before, "write", `{"path":"a","content":"n`); why != "" {
		t.Error("refused, though it is deleted in front")
	}
	before = append(before, model.Call{Name: "check", Args: []byte(`{}`)})
	if why, _ := e.refuse(before, "write", `{"path":"b","content":"n`); why != "" {
		t.Error("refused, though a command in front may change it")
	}
}

func TestStripWrapping(t *testing.T) {
	t.Parallel()
	const xml = "<analysis>\n  <mode>fast</mode>\n</analysis>\n"
	const readme = "```sh\nmake\n```\n"
	for _, c := range []struct{ name, file, content, want string }{
		{"B68 the body is an XML configuration", "a.xml", xml, xml},
		{"B68 also where the name does not say so", "config", xml, xml},
		{"B68 with more behind it", "a.xml", "<analysis>\n</analysis>\n<other/>\n", "<analysis>\n</analysis>\n<other/>\n"},
		{"B69 a tag that only begins alike", "a.go", "<analysisResult>\nx\n</analysisResult>\ny\n", "<analysisResult>\nx\n</analysisResult>\ny\n"},
		{"B69 another", "a.go", "<thinkpad>x</thinkpad>\ny\n", "<thinkpad>x</thinkpad>\ny\n"},
		{"B70 Markdown that is one fence", "README.md", readme, readme},
		{"B70 in capitals", "README.MD", readme, readme},
		{"B72 bare three backticks", "a.go", "```", ""},
		{"B72 with a line end", "a.go", "```\n", ""},
		{"B72 an empty fence", "a.go", "```go\n```", ""},

		{"a fence", "a.go", "```go\npackage a\n```", "package a\n"},
		{"a fence without a language", "a.go", "```\npackage a\n```\n", "package a\n"},
		{"a longer fence", "a.go", "````go\na := \"```\"\n````\n", "a := \"```\"\n"},
		{"a fence with a blank line inside", "a.go", "```go\n\na\n\n```\n\n", "\na\n"},
		{"a fence with CRLF", "a.go", "```go\r\na\r\n```\r\n", "a\r\n"},
		{"two fences", "a.go", "```go\na\n```\ntext\n```\nb\n```\n", "```go\na\n```\ntext\n```\nb\n```\n"},
		{"text in front", "a.go", "Here:\n```go\na\n```\n", "Here:\n```go\na\n```\n"},
		{"text behind", "a.go", "```go\na\n```\nDone.\n", "```go\na\n```\nDone.\n"},
		{"an open fence", "a.go", "```go\na\n", "```go\na\n"},
		{"a fence that is a sentence", "a.go", "``` is a fence\na\n```\n", "``` is a fence\na\n```\n"},
		{"backticks of Go", "a.go", "var a = `\n```\nx\n```\n`\n", "var a = `\n```\nx\n```\n`\n"},

		{"B64 tags without their ends", "a.go", "<think\nI should\nwrite\n</think\npackage a\n", "package a\n"},
		{"B64 only the last one", "a.go", "<think>I should write</think\npackage a\n", "package a\n"},
		{"B64 a name that only begins alike", "a.go", "<think>x</thinker>\npackage a\n", "<think>x</thinker>\npackage a\n"},
		{"thinking", "a.go", "<think>I should\nwrite</think>\npackage a\n", "package a\n"},
		{"B65 thinking with attributes", "a.go", "<thinking level=\"2\">x</thinking>\n\n  indented\n", "  indented\n"},
		{"B66 reasoning, and blank lines in front", "a.go", "\n <reasoning>x</reasoning>package a", "package a\n"},
		{"a block that is not closed", "a.go", "<think>I should\npackage a\n", "<think>I should\npackage a\n"},
		{"nothing but a block", "a.go", "<think>x</think>\n", "<think>x</think>\n"},
		{"only the first", "a.go", "<think>x</think>\n<think>y</think>\nz\n", "<think>y</think>\nz\n"},
		{"not in the middle", "a.go", "package a\n// <think>x</think>\n", "package a\n// <think>x</think>\n"},
		{"an element of a page", "a.html", "<reflection>x</reflection>\n<p>y</p>\n", "<reflection>x</reflection>\n<p>y</p>\n"},
		{"B64 B66 in Markdown", "README.md", "<think>\nI should write.\n</think>\n# A\n", "# A\n"},
		{"B64 in a page, without ends", "a.html", "<think\nx\n</think\n<p>y</p>\n", "<p>y</p>\n"},
		{"B65 in text", "a.txt", "<reasoning effort=\"high\">x</reasoning>\ny\n", "y\n"},
		{"B66 in capitals", "a.go", "<Think>x</Think>\npackage a\n", "package a\n"},
		{"B66 in two cases", "a.tsx", "<THINKING>x</thinking>\ny\n", "y\n"},
		{"B68 a reflection in Markdown", "a.md", "<Reflection>x</Reflection>\ny\n", "<Reflection>x</Reflection>\ny\n"},
		{"B68 one element and no more", "a.xml", "<reasoning>\n<a/>\n</reasoning>\n", "<reasoning>\n<a/>\n</reasoning>\n"},
		{"B70 behind a thought", "README.md", "<think>x</think>\n" + readme, readme},
		{"thinking and a fence", "a.py", "<think>x</think>\n```python\nprint(1)\n```\n", "print(1)\n"},
		{"B61 nothing to take off", "a.go", "  x  \n\n\n", "  x  \n\n\n"},
		{"empty", "a.go", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, said := stripWrapping(c.file, c.content)
			if got != c.want || (said != "") != (c.content != c.want) {
				t.Errorf("got %q (%s), want %q", got, said, c.want)
			}
		})
	}
}

// What was taken off is said, and the file is compared without it.
func TestWriteSaysWhatWasStripped(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"same.go": "package a\n"})
	got := w.do(t, "write", o{"path": "a.go", "content": "<think>hm</think>\n```go\npackage a\n```"}, "ok", "a.go: created, 1 line, 10 bytes",
		"warning: a <think> block at its start and the fence around it was taken off")
	if w.content(t, "a.go") != "package a\n" || len(got.Warnings) != 1 {
		t.Errorf("%q %q", w.content(t, "a.go"), got.Warnings)
	}
	w.do(t, "write", o{"path": "same.go", "content": "```go\npackage a\n```\n"}, "ok", "nothing was written", "taken off")
	w.do(t, "write", o{"path": "doc.md", "content": "```go\npackage a\n```\n"}, "ok")
	if w.content(t, "doc.md") != "```go\npackage a\n```\n" {
		t.Error("Markdown lost its fence")
	}
}

// B72: a fence with nothing in it empties no file, whatever the model knows of the file.
func TestB72EmptyFenceKeepsTheFile(t *testing.T) {
	t.Parallel()
	for _, fence := range []string{"```", "```\n", "```go\n```", "```go\n\n```\n", "<think>x</think>\n```\n```\n"} {
		w := workIn(t, map[string]string{"a.go": "package a\n", "empty.go": ""})
		w.do(t, "read", o{"path": "a.go"}, "ok")
		w.do(t, "write", o{"path": "a.go", "content": fence}, "no", "content is an empty fence", "a.go is not empty", "nothing was written")
		w.do(t, "write", o{"path": "empty.go", "content": fence}, "ok", "nothing was written")
		w.do(t, "write", o{"path": "new.go", "content": fence}, "ok", "0 lines")
		w.do(t, "write", o{"path": "a.go", "content": ""}, "ok", "0 lines") // it says so itself
		if got := w.content(t, "a.go"); got != "" {
			t.Errorf("%q", got)
		}
	}
}

// B13, B14: a write without a path writes nothing, and the line ends of what is written stay.
func TestB13B14WithoutPathAndWithCRLF(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a": "old\n"})
	for _, args := range []o{{"content": "a\n\nnew\n"}, {"path": "", "content": "new\n"}, {"path": " ", "content": "new\n"}, {"path": nil, "content": "new\n"}} {
		w.do(t, "write", args, "no", "path")
	}
	w.doRaw(t, "write", `"a\nnew\n"`, "no", "not a JSON object")
	entries, err := os.ReadDir(w.top)
	if err != nil || len(entries) != 1 || w.content(t, "a") != "old\n" || len(w.paths) != 0 {
		t.Errorf("%q was written, there are %v", w.paths, entries)
	}
	w.do(t, "write", o{"path": "crlf.txt", "content": "one\r\ntwo\r\n"}, "ok", "created")
	if got := w.content(t, "crlf.txt"); got != "one\r\ntwo\r\n" {
		t.Errorf("%q", got)
	}
}

func FuzzStripWrapping(f *testing.F) {
	for _, s := range []string{"```", "```go\na\n```", "<think>a</think>\nb", "<think>", "\r\n```\r\n", "````\n```\n````"} {
		f.Add("a.go", s)
		f.Add("a.md", s)
	}
	f.Fuzz(func(t *testing.T, name, content string) {
		got, said := stripWrapping(name, content)
		if said == "" && got != content {
			t.Fatalf("%q became %q and nothing was said", content, got)
		}
		body := strings.TrimRight(got, "\r\n")
		if !strings.Contains(content, body) {
			t.Fatalf("%q became %q, which was not in it", content, got)
		}
	})
}

// An unfinished file is where nothing counts as a change, so that a process that is killed leaves nothing in a
// patch.
func TestUnfinishedIsNoChange(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"d/a": "old\n"})
	top := w.top
	apart, err := w.apart("a.txt", []byte("half"), nil) // and no more: it was killed here
	if err != nil || !strings.HasPrefix(apart, ".async/") || w.content(t, apart) != "half" {
		t.Fatalf("%q, %v", apart, err)
	}
	w.do(t, "list", o{}, "ok", ".: 1 entry\nd/\n")
	w.do(t, "list", o{"path": "d"}, "ok", "d: 1 entry\na\n")
	w.do(t, "write", o{"path": "d/new", "content": "x\n"}, "ok")
	if w.content(t, apart) != "half" {
		t.Error("what another left was taken")
	}
	w.tidy(apart)
	w.do(t, "edit", o{"path": "d/a", "old": "old", "new": "new"}, "ok")
	if _, err := os.Lstat(filepath.Join(top, ".async")); !os.IsNotExist(err) {
		t.Errorf("the folder stays: %v", err)
	}
}

// The agent's commands may have put something else where our folder belongs.
func TestUnfinishedIsNotLedAway(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(at, top string) error{
		"link": func(at, top string) error { return os.Symlink("d", at) },
		"out":  func(at, top string) error { return os.Symlink(filepath.Dir(top), at) },
		"file": func(at, top string) error { return os.WriteFile(at, []byte("x"), 0o600) },
	} {
		w := workIn(t, map[string]string{"d/a": "old\n"})
		check(t, make(filepath.Join(w.top, ".async"), w.top))
		apart, err := w.apart("a.txt", []byte("half"), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if info, err := w.root.Lstat(".async"); err != nil || !info.IsDir() {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		w.tidy(apart)
		w.do(t, "list", o{"path": "d"}, "ok", "d: 1 entry\na\n")
	}
}

// A write that cannot end leaves nothing.
func TestSaveThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"d/a": "x\n"})
	if err := w.save("d", []byte("x"), nil); err == nil || !strings.Contains(err.Error(), "d could not be written") {
		t.Errorf("%v", err)
	}
	w.do(t, "list", o{}, "ok", ".: 1 entry\nd/\n")
	if _, err := w.root.Lstat(".async"); !os.IsNotExist(err) {
		t.Errorf("the folder stays: %v", err)
	}
}

// Python tells a source from the one it compiled by whole seconds and size: what is edited twice in a second is run
// as it is.
func TestSaveIsSeenByPython(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"calc.py": "a - b\n", "calc.txt": "a - b\n"})
	for _, name := range []string{"calc.py", "calc.txt"} {
		before := w.second(t, name)
		w.do(t, "edit", o{"path": name, "old": "-", "new": "+"}, "ok")
		w.do(t, "edit", o{"path": name, "old": "+", "new": "*"}, "ok")
		if after := w.second(t, name); name == "calc.py" && after < before+2 {
			t.Errorf("%s was written in second %d and edited twice in %d", name, before, after)
		}
		if text := w.content(t, name); text != "a * b\n" {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// second is the one in which a file changed last.
func (w *Toolset) second(t *testing.T, name string) int64 {
	t.Helper()
	info, err := w.opened(t).Stat(name)
	check(t, err)
	return info.ModTime().Unix()
}
