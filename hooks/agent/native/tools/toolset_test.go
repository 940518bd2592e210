package tools

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// workIn makes a copy that holds files, and the work of a turn in it.
func workIn(t *testing.T, files map[string]string, with ...func(*agent.Request)) *Toolset {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	for name, content := range files {
		put(t, filepath.Join(top, name), content)
	}
	r := &agent.Request{Copy: top, Top: top, Dir: "/project"}
	for _, f := range with {
		f(r)
	}
	w, err := Open(r)
	check(t, err)
	t.Cleanup(func() { check(t, w.Close()) })
	return w
}

func check(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644))
}

// opened returns the top of the copy.
func (w *Toolset) opened(t *testing.T) *os.Root {
	t.Helper()
	root, err := w.root.at()
	check(t, err)
	return root
}

// put writes a file of the copy.
func (w *Toolset) put(t *testing.T, name, content string) {
	t.Helper()
	put(t, filepath.Join(w.top, name), content)
}

// content is a file of the copy; "-" where there is none.
func (w *Toolset) content(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(w.top, name))
	if errors.Is(err, os.ErrNotExist) {
		return "-"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// o is short for the arguments of a call.
type o map[string]any

// do makes a call and fails the test when it ends otherwise than the words say: "ok" or "no", and what its text must
// hold.
func (w *Toolset) do(t *testing.T, name string, args o, ending string, holds ...string) Outcome {
	t.Helper()
	return w.doRaw(t, name, string(must(json.Marshal(args))), ending, holds...)
}

func (w *Toolset) doRaw(t *testing.T, name, args, ending string, holds ...string) Outcome {
	t.Helper()
	got := w.Call(t.Context(), model.Call{ID: "1", Name: name, Args: json.RawMessage(args)})
	if got.Code.Failed() != (ending == "no") {
		t.Errorf("%s %s: failed is %v: %s", name, head(args), got.Code.Failed(), head(got.Text))
	}
	for _, s := range holds {
		if !strings.Contains(got.Text, s) {
			t.Errorf("%s %s: %q is not in\n%s", name, head(args), s, head(got.Text))
		}
	}
	return got
}

func head(s string) string { return s[:min(len(s), 2000)] }

// Whatever does not fit a schema is told by name, with the form that does.
func TestArguments(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a": "x\n"})
	for _, c := range []struct{ tool, args, want string }{
		{"read", `{}`, `"path" is missing`},
		{"read", ``, "not a JSON object"},
		{"read", `null`, "not a JSON object"},
		{"read", `[]`, "not a JSON object"},
		{"read", `"a"`, "not a JSON object"},
		{"read", `{"path":"a"`, "not a whole JSON object"},
		{"read", `{"path":"a"}{}`, "more than one"},
		{"read", `{"path":"a"} x`, "more than one"},
		{"read", `{"path":}`, "not a JSON object"},
		{"read", `{"path":"a","path":"b"}`, `"path" is given twice`},
		{"read", `{"file_path":"a"}`, `there is no argument "file_path"`},
		{"read", `{"Path":"a"}`, `there is no argument "Path"`},
		{"read", `{"path":1}`, `"path" must be a string`},
		{"read", `{"path":null}`, `"path" must be a string`},
		{"read", `{"path":["a"]}`, `"path" must be a string`},
		{"read", `{"path":"a","from":"1"}`, `"from" must be a whole number, 1 or more`},
		{"read", `{"path":"a","from":0}`, `"from" must be`},
		{"read", `{"path":"a","from":-1}`, `"from" must be`},
		{"read", `{"path":"a","lines":1.5}`, `"lines" must be`},
		{"read", `{"path":"a","lines":true}`, `"lines" must be`},
		{"read", "{\"path\":\"a\xff\"}", "not UTF-8"},
		{"write", `{"path":"b"}`, `"content" is missing`},
		{"write", `{"path":"b","content":"x","force":true}`, `there is no argument "force"`},
		{"write", `{"path":"b","content":"x","append":true,"description":"y"}`, `there is no argument "append"`},
		{"write", `{"path":"b","content":1,"description":"y"}`, `there is no argument "description"`},
		{"write", `{"file_path":"b","content":"x"}`, `there is no argument "file_path"`},
		{"edit", `{"path":"a","old":"x","new":"y","description":"y"}`, `there is no argument "description"`},
		{"edit", `{"path":"a","old":"x"}`, `"new" is missing`},
		{"run", `{"argv":"go test"}`, `"argv" must be a list of strings`},
		{"run", `{"argv":[]}`, `"argv" is empty`},
		{"run", `{"argv":["go",1]}`, `"argv" must be a list of strings`},
		{"run", `{"command":"ls"}`, `there is no argument "command"`},
		{"run", `{"argv":null}`, `"argv" must be a list`},
		{"check", `{"task":"test"}`, `there is no argument "task"`},
		{"finish", `{"outcome":"done","summary":"x"}`, `"outcome" must be one of fixed, no_fix, needs_human, not "done"`},
		{"finish", `{"outcome":"fixed"}`, `"summary" is missing`},
	} {
		got := w.doRaw(t, c.tool, c.args, "no", c.want)
		if !strings.Contains(got.Text, "Write: {") {
			t.Errorf("%s %s: the right form is not shown: %s", c.tool, c.args, got.Text)
		}
		if !w.Invalid(model.Call{Name: c.tool, Args: json.RawMessage(c.args)}) {
			t.Errorf("%s %s: not said to be invalid", c.tool, c.args)
		}
	}
	if got := w.paths; len(got) != 0 {
		t.Errorf("calls that did not fit wrote %q", got)
	}
	for _, c := range []struct{ tool, args string }{
		{"read", ` {"path": "a", "from": 1.0, "lines": 5e0} `},
		{"read", `{"path":"a","from":null}`},
		{"read", `{"path":"a","lines":99999999999999}`},
		{"list", `{}`},
		{"list", `{"path":null}`},
		{"write", `{"path":"c","content":"x","description":"new"}`},
	} {
		w.doRaw(t, c.tool, c.args, "ok")
		if w.Invalid(model.Call{Name: c.tool, Args: json.RawMessage(c.args)}) {
			t.Errorf("%s %s: said to be invalid", c.tool, c.args)
		}
	}
}

func TestFormShown(t *testing.T) {
	t.Parallel()
	w := workIn(t, nil)
	w.doRaw(t, "read", `{}`, "no", `read was not carried out: "path" is missing. Write: {"path": "…", ("from": 1), ("lines": 1)}`)
	w.doRaw(t, "run", `{}`, "no", `Write: {"argv": ["program", "argument"]}`)
	w.doRaw(t, "finish", `{}`, "no", `Write: {"outcome": "fixed" | "no_fix" | "needs_human", "summary": "…", ("root_cause": "…")}`)
}

// The names and the order of the tools and their fields are pinned.
func TestTools(t *testing.T) {
	t.Parallel()
	want := []string{
		"read path* from lines", "list path", "search pattern* path", "write path* content*", "edit path* old* new*", "delete path*",
		"run argv*", "check", "finish outcome* summary* root_cause",
	}
	var got []string
	for _, tool := range workIn(t, nil).Specs() {
		var s struct {
			Type                 string
			Properties           json.RawMessage
			Required             []string
			AdditionalProperties *bool
		}
		if err := json.Unmarshal(tool.Schema, &s); err != nil {
			t.Fatalf("%s: %v\n%s", tool.Name, err, tool.Schema)
		}
		if s.Type != "object" || s.AdditionalProperties == nil || *s.AdditionalProperties || s.Required == nil {
			t.Errorf("%s: %s", tool.Name, tool.Schema)
		}
		line := tool.Name
		d := json.NewDecoder(strings.NewReader(string(s.Properties)))
		_, _ = d.Token()
		for d.More() {
			name, _ := d.Token()
			var p struct{ Type, Description string }
			if err := d.Decode(&p); err != nil || p.Type == "" || p.Description == "" {
				t.Errorf("%s %v: %v", tool.Name, name, err)
			}
			line += " " + name.(string)
			if slices.Contains(s.Required, name.(string)) {
				line += "*"
			}
		}
		got = append(got, line)
		if tool.Description == "" {
			t.Errorf("%s is not described", tool.Name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a": "x\n"}, func(r *agent.Request) {
		r.ReadOnly, r.Run = true, []string{"x"}
		r.Exec = func(context.Context, agent.Command) (agent.Exit, error) { panic("run") }
		r.Check = func(context.Context, io.Writer) (bool, error) { panic("checked") }
	})
	var names []string
	for _, tool := range w.Specs() {
		names = append(names, tool.Name)
	}
	if !slices.Equal(names, []string{"read", "list", "search", "finish"}) {
		t.Errorf("got %q", names)
	}
	for name, args := range map[string]o{
		"write": {"path": "b", "content": ""}, "edit": {"path": "a", "old": "x", "new": "y"}, "delete": {"path": "a"}, "run": {"argv": []string{"x"}}, "check": {},
	} {
		w.do(t, name, args, "no", "there is no tool", "read, list, search, finish")
	}
	if w.content(t, "a") != "x\n" || w.content(t, "b") != "-" {
		t.Error("something was changed")
	}
	if why := w.refuseEarly("write", `{"path":"a",`); why != "" {
		t.Error("a tool that is not there was refused early")
	}
	w.do(t, "finish", o{"outcome": "fixed", "summary": "s"}, "ok")
}

func TestEffects(t *testing.T) {
	t.Parallel()
	w := workIn(t, nil)
	for name, want := range map[string]Effect{
		"read": Reads, "list": Reads, "search": Reads, "write": Writes, "edit": Writes, "delete": Writes, "run": Runs, "check": Runs, "finish": Ends, "bash": Reads,
	} {
		if got := w.Effect(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	w.do(t, "bash", o{"command": "ls"}, "no", `there is no tool "bash"`, "read, list, search, write")
	if !w.Invalid(model.Call{Name: "bash", Args: json.RawMessage(`{}`)}) {
		t.Error("a tool that there is not has valid arguments")
	}
}

// What the person lends may fail in any way: the turn goes on.
func TestCallNeverPanics(t *testing.T) {
	t.Parallel()
	var notes []agent.Line
	w := workIn(t, nil, func(r *agent.Request) {
		r.Run = []string{"x"}
		r.Exec = func(context.Context, agent.Command) (agent.Exit, error) { panic("no box") }
		r.Note = func(l agent.Line) { notes = append(notes, l) }
	})
	w.do(t, "run", o{"argv": []string{"x"}}, "no", "a fault of async-pipeline: no box")
	if len(notes) != 1 || !strings.Contains(notes[0].Data["text"].(string), "run.go") {
		t.Errorf("the fault is not in the transcript: %v", notes)
	}
}

func TestCallAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := workIn(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := w.Call(ctx, model.Call{Name: "write", Args: json.RawMessage(`{"path":"a","content":"x"}`)}); !got.Code.Failed() || w.content(t, "a") != "-" {
		t.Errorf("%+v", got)
	}
}

func TestNewWork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		r    agent.Request
		want string
	}{
		{agent.Request{}, "not an absolute path"},
		{agent.Request{Copy: "a", Top: dir}, "not an absolute path"},
		{agent.Request{Copy: dir, Top: filepath.Join(dir, "a")}, "does not lie in the copy"},
		{agent.Request{Copy: filepath.Join(dir, "nothing")}, "cannot be opened"},
		{agent.Request{Copy: dir, Allow: [][]string{{"**"}}}, "allow: pattern **: its first word"},
	} {
		w, err := Open(&c.r)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %s", c.r, err, c.want)
		}
		if w != nil {
			_ = w.Close()
		}
	}
}

// No secret gets into what the model is told, wherever it is cut.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2-hunter2"
	set := &redact.Set{}
	set.Add("TOKEN", secret)
	long := strings.Repeat("x", maxLine-10) + secret + strings.Repeat("y", 100)
	encoded := base64.StdEncoding.EncodeToString([]byte(secret))
	w := workIn(t, map[string]string{
		".env": "A=1\nTOKEN=" + secret + "\n", "long": long, "wide": strings.Repeat("a", 95) + secret + strings.Repeat("b", 900),
		"wrapped": "before\n" + encoded[:16] + "\n" + encoded[16:] + "\nbehind\n",
	}, func(r *agent.Request) {
		r.Secrets, r.Run = set, []string{"x"}
		r.Exec = func(_ context.Context, c agent.Command) (agent.Exit, error) {
			_, _ = io.WriteString(c.Stdout, strings.Repeat("z", ShownHead-10)+secret[:9])
			_, _ = io.WriteString(c.Stdout, secret[9:]+strings.Repeat("z", 3*shownTail))
			return agent.Exit{}, nil
		}
	})
	for _, got := range []Outcome{
		w.do(t, "read", o{"path": ".env"}, "ok", "TOKEN="+redact.Mark),
		w.do(t, "read", o{"path": "long"}, "ok"),
		w.do(t, "search", o{"pattern": "TOKEN"}, "ok", ".env:2:TOKEN="+redact.Mark),
		w.do(t, "search", o{"pattern": "aaaaa"}, "ok", redact.Mark),
		w.do(t, "search", o{"pattern": "^TOKEN=hunter"}, "ok", "nothing matches"),
		w.do(t, "search", o{"pattern": `TOKEN=(?:h|\[)`}, "ok", "1 line\n"), // the same, whether the first letter is meant
		w.do(t, "search", o{"pattern": `TOKEN=(?:x|\[)`}, "ok", "1 line\n"), // or another
		w.do(t, "search", o{"pattern": ".", "path": "wrapped"}, "ok", "3 lines\nwrapped:1:before\nwrapped:2:"+redact.Mark, "wrapped:3:behind"),
		w.do(t, "run", o{"argv": []string{"x"}}, "ok"),
		w.do(t, "read", o{"path": "output:1"}, "ok"),
		w.do(t, "edit", o{"path": ".env", "old": "A=1\nTOKEN=x", "new": "y"}, "no", "The nearest"),
		w.do(t, "edit", o{"path": ".env", "old": "TOKEN=" + redact.Mark, "new": "y"}, "no", "stands for a secret"),
		w.do(t, "write", o{"path": ".env", "content": "A=2\nTOKEN=" + redact.Mark + "\n"}, "no", "would lose it"),
	} {
		if strings.Contains(got.Text, "hunter2") || strings.Contains(got.Text, encoded[:10]) || strings.Contains(got.Text, encoded[20:]) {
			t.Errorf("the secret is in %q", got.Text)
		}
	}
	if got := w.content(t, ".env"); got != "A=1\nTOKEN="+secret+"\n" {
		t.Errorf("the secret is lost: %q", got)
	}
	w.do(t, "edit", o{"path": ".env", "old": "A=1", "new": "A=2"}, "ok")
}

// Calls that read may be made side by side.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"a": "x\n", "b/c": "y\n"})
	var all sync.WaitGroup
	for range 8 {
		for _, c := range []model.Call{
			{Name: "read", Args: json.RawMessage(`{"path":"a"}`)},
			{Name: "list", Args: json.RawMessage(`{}`)},
			{Name: "search", Args: json.RawMessage(`{"pattern":"y"}`)},
		} {
			all.Go(func() {
				if got := w.Call(t.Context(), c); got.Code.Failed() {
					t.Error(got.Text)
				}
			})
		}
		all.Go(func() { w.Early()(nil, "write", `{"path":"a","content":"`); w.Commands() })
	}
	all.Wait()
}

func TestFinish(t *testing.T) {
	t.Parallel()
	ok := true
	w := workIn(t, map[string]string{"a": "x\n"}, func(r *agent.Request) {
		r.Check = func(context.Context, io.Writer) (bool, error) { return ok, nil }
		r.Run = []string{"make", "a b"}
		r.Exec = func(context.Context, agent.Command) (agent.Exit, error) {
			return agent.Exit{Duration: time.Second}, nil
		}
	})
	got := w.do(t, "finish", o{"outcome": "no_fix", "summary": "s"}, "ok")
	if c := got.Finished; c == nil || c.Outcome != "no_fix" || c.Summary != "s" || c.RootCause != "" || c.Touched == nil || c.VerifiedCommands == nil {
		t.Errorf("%+v", c)
	}
	w.do(t, "check", o{}, "ok")
	w.do(t, "edit", o{"path": "a", "old": "x", "new": "y"}, "ok")
	got = w.do(t, "finish", o{"outcome": "fixed", "summary": "s", "root_cause": "r"}, "ok")
	if c := got.Finished; !slices.Equal(c.Touched, []string{"a"}) || len(c.VerifiedCommands) != 0 || c.RootCause != "r" {
		t.Errorf("what passed before a change counts: %+v", c)
	}
	w.do(t, "check", o{}, "ok")
	w.do(t, "run", o{"argv": []string{"make", "a b"}}, "ok")
	w.do(t, "check", o{}, "ok")
	got = w.do(t, "finish", o{"outcome": "fixed", "summary": "s"}, "ok")
	if c := got.Finished; !slices.Equal(c.VerifiedCommands, []string{"check", `make "a b"`}) {
		t.Errorf("%+v", c)
	}
}

// FuzzArguments: no arguments make a call panic or change the tree unless they are what the schema says.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"path":"a","content":"x"}`, `{"path":"a","path":"b"}`, `{"path":`, `[1]`, "{\"path\":\"\xff\"}", `{"path":"a","from":1e999}`, `{"argv":[null]}`} {
		f.Add("write", s)
		f.Add("read", s)
		f.Add("run", s)
	}
	top := f.TempDir()
	w, err := Open(&agent.Request{Copy: top, ReadOnly: true})
	check(f, err)
	w.all = declarations(false, false)
	f.Cleanup(func() { _ = w.Close() })
	f.Fuzz(func(t *testing.T, name, raw string) {
		d, ok := w.tool(name)
		if !ok {
			return
		}
		a, err := d.parse(json.RawMessage(raw))
		if err != nil {
			if !strings.Contains(err.Error(), "Write: {") {
				t.Fatalf("%s: %v", raw, err)
			}
			return
		}
		var plain map[string]any
		if err := json.Unmarshal([]byte(raw), &plain); err != nil {
			t.Fatalf("%s is no JSON and was taken: %v", raw, err)
		}
		for _, f := range d.fields {
			if f.must && a.texts[f.name] == "" && a.lists[f.name] == nil && plain[f.name] != "" {
				t.Fatalf("%s: %s was lost", raw, f.name)
			}
		}
		for key := range plain {
			if !slices.ContainsFunc(d.fields, func(f field) bool { return f.name == key }) {
				t.Fatalf("%s: %q was taken", raw, key)
			}
		}
	})
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	of := func(name, args string) model.Call { return model.Call{Name: name, Args: json.RawMessage(args)} }
	for _, c := range []struct {
		calls []model.Call
		want  string
	}{
		{nil, ""},
		{[]model.Call{of("read", `{"path":"src/a.go"}`)}, "reads src/a.go"},
		{[]model.Call{of("read", `{"path":"a"}`), of("edit", `{"path":"a"}`), of("edit", `{"path":"b"}`), of("edit", `{"path":"a"}`)}, "reads a, edits 2 files"},
		{[]model.Call{of("search", `{"pattern":"a b"}`), of("list", `{}`)}, `searches for "a b", lists`},
		{[]model.Call{of("run", `{"argv":["go","vet","./..."]}`), of("check", `{}`)}, "runs go vet ./..., runs the check"},
		{[]model.Call{of("read", `{"path":"a\nb"}`), of("write", `{"pa`)}, `reads "a\nb", writes`},
		{[]model.Call{of("b\x1b", `{}`)}, "calls b_, which does not exist"},
		{[]model.Call{of("read", `{"path":"`+strings.Repeat("x", 99)+`"}`)}, "reads " + strings.Repeat("x", mostNamed) + "…"},
	} {
		if got := Describe(c.calls); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A task that repairs nothing has no commands, no check and no report.
func TestToolsOfATask(t *testing.T) {
	t.Parallel()
	var names []string
	for _, d := range declarations(false, true) {
		names = append(names, d.name)
	}
	if got := strings.Join(names, " "); got != "read list search write edit delete" {
		t.Errorf("tools: %s", got)
	}
}
