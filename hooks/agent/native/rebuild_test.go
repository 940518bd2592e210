package native

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// copyOf is a folder that holds files.
func copyOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// lived lets the loop and the real tools work, and gives what they left and the transcript.
func lived(t *testing.T, r agent.Request, answers ...[]model.Call) (map[string]string, string) {
	t.Helper()
	var steps []step
	for _, calls := range answers {
		steps = append(steps, step{calls: calls})
	}
	var out bytes.Buffer
	r.Note = func(l agent.Line) {
		data := maps.Clone(l.Data)
		data["attempt"], data["type"] = r.Attempt, l.Type
		if err := json.NewEncoder(&out).Encode(data); err != nil {
			t.Error(err)
		}
	}
	a := &Agent{ID: "own", Ask: newScript(t, append(steps, step{text: finalText})...).ask, Model: "big-model"}
	if turn, err := a.Turn(t.Context(), r); err != nil || turn.Kind != "" {
		t.Fatalf("the turn ended with %v %s: %s", err, turn.Kind, turn.Evidence)
	}
	return standing(t, r.Top), out.String()
}

// standing returns the files of a folder.
func standing(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := tree(dir)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var rebuildBase = map[string]string{
	"a.go": "package a\n\nfunc F() int { return 1 }\n", "crlf.txt": "one\r\ntwo\r\n", "sub/old.txt": "old\n", "sub/keep.txt": "keep\n",
}

// What the tools did in one copy, Rebuild does in another.
func TestRebuildRepeats(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		dir   string // as the agent's commands see it; empty: where the copy is
		sub   string
		calls [][]model.Call
		made  int
	}{
		{"edit, write and delete", "/project", "", [][]model.Call{
			{call("1", "edit", `{"path":"a.go","old":"return 1","new":"return 2"}`), call("2", "write", `{"path":"new/deep.txt","content":"new\n"}`)},
			{call("3", "delete", `{"path":"sub/old.txt"}`)},
		}, 3},
		{"what is taken off and kept is taken off and kept", "/project", "", [][]model.Call{
			{call("1", "read", `{"path":"crlf.txt"}`)},
			{call("2", "write", `{"path":"crlf.txt","content":"one\nzwei\n"}`), call("3", "write", `{"path":"fenced.go","content":"`+"```go\\npackage b\\n```"+`"}`)},
		}, 2},
		{"what failed is not made", "/project", "", [][]model.Call{
			{call("1", "write", `{"path":"a.go","content":"package b\n"}`), call("2", "edit", `{"path":"a.go","old":"nowhere","new":"x"}`), call("3", "write", `{"path":".git/config","content":"x"}`)},
			{call("4", "edit", `{"path":"a.go","old":"package a","new":"package c"}`)},
		}, 1},
		{"a file more than once", "/project", "", [][]model.Call{
			{call("1", "write", `{"path":"n","content":"1\n"}`), call("2", "edit", `{"path":"n","old":"1","new":"2"}`), call("3", "delete", `{"path":"n"}`), call("4", "write", `{"path":"n","content":"3\n"}`)},
		}, 4},
		{"absolute paths of a place that is still known", "/project", "", [][]model.Call{
			{call("1", "edit", `{"path":"/project/a.go","old":"return 1","new":"return 2"}`)},
		}, 1},
		{"absolute paths of a copy that is gone", "", "", [][]model.Call{
			{call("1", "write", `{"path":"COPY/n.txt","content":"n\n"}`), call("2", "edit", `{"path":"COPY/sub/../a.go","old":"return 1","new":"return 2"}`)},
		}, 2},
		{"below the top", "/project/sub", "sub", [][]model.Call{
			{call("1", "write", `{"path":"old.txt","content":"x"}`), call("2", "edit", `{"path":"old.txt","old":"old","new":"new"}`), call("3", "edit", `{"path":"../a.go","old":"return 1","new":"return 2"}`)},
			{call("4", "delete", `{"path":"/project/sub/keep.txt"}`)},
		}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			top := copyOf(t, rebuildBase)
			for i := range c.calls {
				for j := range c.calls[i] {
					c.calls[i][j].Args = json.RawMessage(strings.ReplaceAll(string(c.calls[i][j].Args), "COPY", top))
				}
			}
			dir := c.dir
			if dir == "" {
				dir = top
			}
			want, transcript := lived(t, agent.Request{Attempt: 3, Top: top, Copy: filepath.Join(top, c.sub), Dir: dir}, c.calls...)
			if maps.Equal(want, rebuildBase) {
				t.Fatal("the calls changed nothing")
			}
			again := copyOf(t, rebuildBase)
			got, err := Rebuild(t.Context(), agent.Request{Attempt: 3, Top: again, Copy: filepath.Join(again, c.sub), Dir: filepath.Join("/project", c.sub)}, strings.NewReader(transcript))
			if err != nil {
				t.Fatal(err)
			}
			if now := standing(t, again); !maps.Equal(now, want) {
				t.Errorf("rebuilt: %q\nwant:    %q", now, want)
			}
			if got.Calls != c.made || got.Commands != 0 || len(got.Open) > 0 || len(got.Wrong) > 0 {
				t.Errorf("got %+v, want %d calls\n%s", got, c.made, transcript)
			}
		})
	}
}

// Commands are not run again; what came after the last of them is known all the same.
func TestRebuildWithCommands(t *testing.T) {
	t.Parallel()
	top := copyOf(t, rebuildBase)
	ran := 0
	r := agent.Request{
		Attempt: 1, Top: top, Copy: top, Dir: "/project", Allow: [][]string{{"fmt"}},
		Exec: func(context.Context, agent.Command) (agent.Exit, error) {
			ran++
			return agent.Exit{}, os.WriteFile(filepath.Join(top, "a.go"), []byte("package a // by the command\n"), 0o644)
		},
		Check: func(context.Context, io.Writer) (bool, error) { ran++; return true, nil },
	}
	_, transcript := lived(t, r,
		[]model.Call{call("1", "run", `{"argv":["rm","-rf","."]}`)}, // refused: it starts nothing
		[]model.Call{call("2", "write", `{"path":"before","content":"1\n"}`)},
		[]model.Call{call("3", "run", `{"argv":["fmt"]}`)},
		[]model.Call{call("4", "edit", `{"path":"a.go","old":"by the command","new":"by the call"}`), call("5", "write", `{"path":"after","content":"1\n"}`)},
		[]model.Call{call("6", "edit", `{"path":"after","old":"1","new":"2"}`), call("7", "edit", `{"path":"before","old":"1","new":"2"}`)},
	)
	again := copyOf(t, rebuildBase)
	got, err := Rebuild(t.Context(), agent.Request{Attempt: 1, Top: again, Copy: again, Dir: "/project"}, strings.NewReader(transcript))
	if err != nil {
		t.Fatal(err)
	}
	if ran != 1 || got.Commands != 1 || got.Calls != 4 || len(got.Wrong) > 0 || !maps.Equal(got.Sure, map[string]bool{"after": true}) {
		t.Errorf("%d commands ran; got %+v\n%s", ran, got, transcript)
	}
	if now := standing(t, again); now["after"] != "2\n" || now["before"] != "2\n" || now["a.go"] != rebuildBase["a.go"] {
		t.Errorf("rebuilt: %q", now)
	}
	_, transcript = lived(t, r, []model.Call{call("1", "check", `{}`)}, []model.Call{call("2", "edit", `{"path":"crlf.txt","old":"two","new":"2"}`)})
	if got, err := Rebuild(t.Context(), agent.Request{Attempt: 1, Top: again, Copy: again}, strings.NewReader(transcript)); err != nil || got.Commands != 1 || len(got.Sure) != 0 {
		t.Errorf("after a check, got %+v %v", got, err)
	}
}

const (
	promptLine = `{"attempt":1,"type":"prompt","text":"x","system":"y"}` + "\n"
	editCall   = `{"attempt":1,"type":"tool_call","id":"1","name":"edit","args":{"path":"a.go","old":"return 1","new":"return 2"}}` + "\n"
	editEnd    = `{"attempt":1,"type":"tool_result","id":"1","name":"edit","text":"ok","failed":false,"path":"a.go"}` + "\n"
	runCall    = `{"attempt":1,"type":"tool_call","id":"r","name":"run","args":{"argv":["x"]}}` + "\n"
	runEnd     = `{"attempt":1,"type":"tool_result","id":"r","name":"run","text":"exit code 1 after 1s","failed":true}` + "\n"
)

// endsWell is a call and its end.
func endsWell(name, args, at, more string) string {
	return fmt.Sprintf(`{"attempt":1,"type":"tool_call","id":"2","name":%q,"args":%s}`+"\n", name, args) +
		fmt.Sprintf(`{"attempt":1,"type":"tool_result","id":"2","name":%q,"text":"ok","failed":false,"path":%q%s}`+"\n", name, at, more)
}

// Transcripts as a crash, a redaction or somebody's hand leaves them.
func TestRebuildOfOddTranscripts(t *testing.T) {
	t.Parallel()
	no := map[string]bool{}
	for _, c := range []struct {
		name     string
		lines    string
		edited   bool // the call of editCall was made
		calls    int
		commands int
		sure     map[string]bool
		open     string
		wrong    string
	}{
		{"one call", editCall + editEnd, true, 1, 0, map[string]bool{"a.go": true}, "", ""},
		{"another attempt", strings.ReplaceAll(editCall+editEnd, `"attempt":1`, `"attempt":2`), false, 0, 0, no, "", ""},
		{"after the question of a finalizer", `{"attempt":1,"type":"finalizer"}` + "\n" + editCall + editEnd, false, 0, 0, no, "", ""},
		{"never started", editCall + strings.Replace(editEnd, `"failed":false`, `"started":false,"failed":true`, 1) + editEnd, true, 1, 0, map[string]bool{"a.go": true}, "", ""},
		{"interrupted", editCall + strings.Replace(editEnd, `"failed":false`, `"failed":true,"interrupted":true`, 1), false, 0, 1, no, "", ""},
		{"without an end", editCall, false, 0, 1, no, "", ""},
		{"an end without a path", editCall + strings.Replace(editEnd, `,"path":"a.go"`, "", 1), false, 0, 1, no, "", ""},
		{"a tool of another version", strings.ReplaceAll(editCall+editEnd, `"edit"`, `"move"`), false, 0, 1, no, "", ""},
		{"a read without an end", strings.Replace(editCall, `"edit"`, `"read"`, 1), false, 0, 0, no, "", ""},
		{"a command that failed", runCall + runEnd, false, 0, 1, no, "", ""},
		{"a command that was refused", runCall + strings.Replace(runEnd, "exit code 1 after 1s", "not run: it is not allowed", 1), false, 0, 0, no, "", ""},
		{"a command with wrong words", runCall + strings.Replace(runEnd, "exit code 1 after 1s", `run was not carried out: \"argv\" is missing`, 1), false, 0, 0, no, "", ""},
		{"a command that prints so", runCall + strings.NewReplacer("exit code 1 after 1s", "not run: ha", `"failed":true`, `"failed":false`).Replace(runEnd), false, 0, 1, no, "", ""},
		{"a command after it", editCall + editEnd + runCall + runEnd, true, 1, 1, no, "", ""},
		{"arguments that are too long", strings.Replace(editCall, `"args":{"path":"a.go","old":"return 1","new":"return 2"}`, `"args":"{\"path\"","args_bytes":2000000,"args_digest":"sha256:0"`, 1) + editEnd, false, 0, 0, no, "a.go: the transcript holds only the beginning", ""},
		{"arguments that are no JSON any more", strings.Replace(editCall, `{"path":"a.go","old":"return 1","new":"return 2"}`, `"[redacted]"`, 1) + editEnd, false, 0, 0, no, "a.go: the transcript does not hold", ""},
		{"a secret in the arguments", editCall + editEnd + endsWell("edit", `{"path":"a.go","old":"[redacted]","new":"x"}`, "a.go", ""), true, 1, 0, no, "a.go: a call that changed it holds [redacted]", ""},
		{"a word that looks like one", endsWell("write", `{"path":"n","content":"[redacted]"}`, "n", ""), false, 1, 0, map[string]bool{"n": true}, "n: a call that changed it holds [redacted]", ""},
		{"a call that cannot have ended well", editCall + editEnd + endsWell("edit", `{"path":"a.go","old":"return 1","new":"x"}`, "a.go", ""), true, 1, 0, map[string]bool{"a.go": true}, "", "line 4 of the transcript says that edit of a.go ended well, and it cannot have: old does not stand in a.go"},
		{"a call out of the copy", endsWell("write", `{"path":"../../x","content":"x"}`, "../../x", ""), false, 0, 0, no, "", "lies outside of the copy"},
		{"a call of another file", editCall + strings.Replace(editEnd, `"path":"a.go"`, `"path":"b.go"`, 1), true, 0, 0, no, "", "line 2 of the transcript says that edit changed b.go, and what it changes is a.go"},
		{"after a command nothing is wrong", runCall + runEnd + endsWell("edit", `{"path":"a.go","old":"nowhere","new":"x"}`, "a.go", ""), false, 0, 1, no, "", ""},
		{"a write after a command", runCall + runEnd + endsWell("write", `{"path":"n","content":"x\n"}`, "n", ""), false, 1, 1, map[string]bool{"n": true}, "", ""},
		{"a write that depends on what the command left", runCall + runEnd + endsWell("write", `{"path":"n","content":"x\n"}`, "n", `,"warnings":["the line ends of the file (CRLF) were kept"]`), false, 1, 1, no, "", ""},
		{"a write over a file, which was read", endsWell("write", `{"path":"sub/old.txt","content":"x\n"}`, "sub/old.txt", ""), false, 1, 0, map[string]bool{"sub/old.txt": true}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			top := copyOf(t, rebuildBase)
			got, err := Rebuild(t.Context(), agent.Request{Attempt: 1, Top: top, Copy: top, Dir: "/project"}, strings.NewReader(promptLine+c.lines))
			if err != nil {
				t.Fatal(err)
			}
			if got.Calls != c.calls || got.Commands != c.commands {
				t.Errorf("%d calls and %d commands, want %d and %d", got.Calls, got.Commands, c.calls, c.commands)
			}
			open := ""
			for at, why := range got.Open {
				open += at + ": " + why
			}
			if (open == "") != (c.open == "") || !strings.HasPrefix(open, c.open) {
				t.Errorf("open are %q, want %q", open, c.open)
			}
			if c.open == "" && !maps.Equal(got.Sure, c.sure) {
				t.Errorf("sure are %v, want %v", got.Sure, c.sure)
			}
			if wrong := strings.Join(got.Wrong, "\n"); (wrong == "") != (c.wrong == "") || !strings.Contains(wrong, c.wrong) {
				t.Errorf("wrong is %q, want %q", wrong, c.wrong)
			}
			if now := standing(t, top)["a.go"]; strings.Contains(now, "return 2") != c.edited {
				t.Errorf("a.go holds %q", now)
			}
		})
	}
}

func TestRebuildRefuses(t *testing.T) {
	t.Parallel()
	top := copyOf(t, rebuildBase)
	r := agent.Request{Attempt: 1, Top: top, Copy: top, Dir: "/project"}
	for lines, want := range map[string]string{
		"": ErrOthers.Error(),
		`{"attempt":1,"type":"prompt","text":"x"}` + "\n" + `{"attempt":1,"type":"tool_call","id":7}`: ErrOthers.Error(),
		promptLine + editCall + "{":                            "line 3 of the transcript cannot be read",
		promptLine + `{"attempt":1,"type":"tool_call","id":7}`: "line 2 of the transcript cannot be read",
	} {
		if _, err := Rebuild(t.Context(), r, strings.NewReader(lines)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", lines, err, want)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Rebuild(over, r, strings.NewReader(promptLine+editCall+editEnd)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
	r.Copy = "elsewhere"
	if _, err := Rebuild(t.Context(), r, strings.NewReader(promptLine)); err == nil {
		t.Error("a relative copy was taken")
	}
}
