package native

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// No secret goes to the model, into the transcript or into what a turn gives back, wherever it comes from.
func TestSecretsStayHere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const secret = "ghp_16C7e42F292c6912E771"
		half := call("2", "write", `{"path":"`+secret)
		d := newDesk(t,
			step{
				think: "it is " + secret, text: "I use " + secret,
				calls: []model.Call{call("1", "run", `{"argv":["login","`+secret+`"]}`)},
			},
			step{text: "then " + secret, half: &half, err: fault5("server_overload", 529, "no capacity for "+secret)},
			step{text: `{"outcome":"fixed","summary":"the key is ` + secret + `"}`},
		)
		d.req.Secrets = &redact.Set{}
		d.req.Secrets.Add("TOKEN", secret)
		d.req.Prompt = "The key " + secret
		d.req.Pack = []byte(`{"log":"` + secret + `"}`)
		d.tools.do = func(context.Context, model.Call) tools.Outcome {
			return tools.Outcome{Text: "logged in with " + secret, Warnings: []string{secret}, Path: secret}
		}
		turn := d.turn(context.Background())
		for i, r := range d.script.requests() {
			sent, _ := json.Marshal(r)
			if bytes.Contains(sent, []byte(secret)) {
				t.Errorf("request %d holds it:\n%s", i, sent)
			}
		}
		for _, l := range d.lines {
			line, err := json.Marshal(l.Data)
			if err != nil || bytes.Contains(line, []byte(secret)) {
				t.Errorf("line %s holds it (%v): %s", l.Type, err, line)
			}
		}
		if turn.Kind != "" || turn.Control == nil || strings.Contains(turn.Evidence, secret) {
			t.Errorf("turn %+v", turn)
		}
	})
}

// A crash at any moment leaves what had started by then: a call's line stands before its tool runs, its result's
// after.
func TestJournalOfCalls(t *testing.T) {
	t.Parallel()
	d := newDesk(t, step{calls: []model.Call{call("1", "read", `{"path":"a"}`), call("2", "write", `{"path":"a"}`)}}, step{text: finalText})
	d.tools.do = func(_ context.Context, c model.Call) tools.Outcome {
		calls, results := len(d.of("tool_call")), len(d.of("tool_result"))
		if c.ID == "1" && (calls != 1 || results != 0) || c.ID == "2" && (calls != 2 || results != 1) {
			t.Errorf("while %s runs, %d calls and %d results are written down", c.ID, calls, results)
		}
		return tools.Outcome{Text: "ok", Path: "a", Warnings: []string{"a placeholder"}}
	}
	d.turn(context.Background())
	line := d.of("tool_call")[1].Data
	if line["id"] != "2" || line["name"] != "write" || fmt.Sprintf("%s", line["args"]) != `{"path":"a"}` {
		t.Errorf("line %v", line)
	}
	result := d.of("tool_result")[1].Data
	if result["id"] != "2" || result["name"] != "write" || result["text"] != "ok" || result["failed"] != false || result["path"] != "a" || result["warnings"].([]string)[0] != "a placeholder" {
		t.Errorf("line %v", result)
	}
}

// Tools that run side by side may note lines of their own; whoever writes them down gets one after the other.
func TestLinesComeInTurn(t *testing.T) {
	t.Parallel()
	var calls []model.Call
	for i := range sideBySide {
		calls = append(calls, call(fmt.Sprint(i), "read", fmt.Sprintf(`{"path":"%d"}`, i)))
	}
	d := newDesk(t, step{calls: calls}, step{text: finalText})
	n := 0 // not guarded: the turn does that
	d.req.Note = func(agent.Line) { n++ }
	d.open = func(r agent.Request) (toolset, error) {
		d.tools.do = func(context.Context, model.Call) tools.Outcome {
			for range 100 {
				r.Note(agent.Line{Type: "notice"})
			}
			return tools.Outcome{Text: "ok"}
		}
		return d.tools, nil
	}
	d.turn(context.Background())
	if want := 100*sideBySide + 13; n != want {
		t.Errorf("%d lines, want %d", n, want)
	}
}

// The raw stream has one line of JSON an answer.
func TestRawStream(t *testing.T) {
	t.Parallel()
	d := newDesk(t, step{text: "x", calls: []model.Call{call("1", "read", `{"path":"a"}`)}}, step{text: finalText, usage: usage(3, 4)})
	var raw bytes.Buffer
	d.req.Raw = &raw
	d.turn(context.Background())
	lines := strings.Split(strings.TrimSpace(raw.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines", len(lines))
	}
	var last struct {
		N     int         `json:"n"`
		Stop  string      `json:"stop"`
		Usage model.Usage `json:"usage"`
	}
	if err := json.Unmarshal([]byte(lines[1]), &last); err != nil || last.N != 2 || last.Stop != "end_turn" || *last.Usage.Output != 4 {
		t.Errorf("%v: %s", err, lines[1])
	}
}

// A call that is not run because its answer was too long goes back to the model all the same, and holds no secret
// either.
func TestSecretOfACallThatDidNotRun(t *testing.T) {
	t.Parallel()
	const secret = "ghp_16C7e42F292c6912E771"
	whole := call("1", "write", `{"path":"a","content":"`+secret+`"}`)
	d := newDesk(t, step{half: &whole, stop: model.MaxTokens}, step{text: finalText})
	var raw bytes.Buffer
	d.req.Raw = &raw
	d.req.Secrets = &redact.Set{}
	d.req.Secrets.Add("TOKEN", secret)
	d.turn(t.Context())
	sent, err := json.Marshal(d.script.requests()[1])
	if err != nil || bytes.Contains(sent, []byte(secret)) || !bytes.Contains(sent, []byte(`"path":"a"`)) {
		t.Errorf("the next request (%v):\n%s", err, sent)
	}
}

// Arguments that no model writes in one answer do not fill the transcript: it holds their beginning, their length and
// their digest.
func TestLongArguments(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: little of it runs at once, so the race detector finds little")
	}
	long := call("1", "write", `{"path":"a","content":"`+strings.Repeat("x", mostArgs)+`"}`)
	short := call("2", "write", `{"path":"b","content":"`+strings.Repeat("x", mostArgs/2)+`"}`)
	d := newDesk(t, step{calls: []model.Call{long, short}}, step{text: finalText})
	d.Window = 10_000_000
	d.turn(t.Context())
	lines := d.of("tool_call")
	args := lines[0].Data["args"].(string)
	if !strings.HasPrefix(args, `{"path":"a","content":"xxx`) || len(args) != tools.ShownHead || lines[0].Data["args_bytes"] != len(long.Args) || lines[0].Data["args_digest"] != fmt.Sprintf("sha256:%x", sha256.Sum256(long.Args)) {
		t.Errorf("%d bytes, of %v, %v", len(args), lines[0].Data["args_bytes"], lines[0].Data["args_digest"])
	}
	if got := lines[1].Data["args"].(json.RawMessage); string(got) != string(short.Args) || lines[1].Data["args_digest"] != nil {
		t.Errorf("what a model may write is not all there: %d bytes", len(got))
	}
}
