package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

// realAgents names the folders in which the real agent CLIs are looked up, as a PATH. Without it the tests with them
// are skipped: they are large, and are not installed for a test. They must not be below /tmp, which a box does not show.
const realAgents = "ASYNC_PIPELINE_AGENTS"

// realCLIs are the CLIs, and how a model asks each for a command.
var realCLIs = []struct{ name, model, tool, argument string }{
	{"claude", "claude-sonnet-4-5", "Bash", "command"},
	{"codex", "gpt-5", "exec_command", "cmd"},
	{"gemini", "gemini-2.5-pro", "run_shell_command", "command"},
	{"opencode", "scripted", "bash", "command"},
	{"copilot", "scripted", "bash", "command"},
	{"pi", "scripted", "bash", "command"},
}

const (
	realControl = `{"outcome":"fixed","summary":"the greeting was wrong"}`
	realEdited  = "the-edit-is-done" // is in each request after the edit
	realCanary  = "canary-key-0123456789abcdef"
)

// realCells are what the provider does. first is asked before the edit, then after it; nil is the usual answer.
var realCells = []struct {
	name        string
	first, then *modeltest.Turn
	once        bool           // first and then are for one request only
	command     string         // of the model, besides the edit
	wrap        string         // a shell script in the place of the CLI; $REAL is the CLI
	kinds       []failure.Kind // that are right; the empty one is success
	edited      bool           // the copy was changed
	wall        string
}{
	{name: "success", kinds: []failure.Kind{""}, edited: true},
	{
		name: "prose then JSON", then: &modeltest.Turn{Text: "I have changed the greeting.\n\n" + realControl + "\n"},
		kinds: []failure.Kind{""}, edited: true,
	},
	{name: "401", first: &modeltest.Turn{Status: 401, Error: "invalid x-api-key"}, kinds: []failure.Kind{failure.AuthInvalid}},
	{
		name: "429 once", first: &modeltest.Turn{Status: 429, RetryAfter: "1", Error: "slow down"}, once: true,
		kinds: []failure.Kind{""}, edited: true,
	},
	{
		name: "disconnect after the edit", then: &modeltest.Turn{Text: realControl, Fault: modeltest.Fault{Kind: modeltest.Cut, Events: 1}},
		kinds: []failure.Kind{
			failure.TransportDisconnect, failure.StreamFailure, failure.IdleTimeout, failure.WallTimeout, failure.TokenBudget,
		}, edited: true, wall: "3m",
	},
	{
		name: "stall after the edit", then: &modeltest.Turn{Text: realControl, Fault: modeltest.Fault{Kind: modeltest.Stall, Events: 1}},
		kinds: []failure.Kind{failure.IdleTimeout, failure.WallTimeout}, edited: true, wall: "75s",
	},
	{
		name: "garbage", first: &modeltest.Turn{Body: "<html>this is no provider</html>"},
		kinds: []failure.Kind{
			failure.StreamFailure, failure.TransportDisconnect, failure.ParseError, failure.TokenBudget, failure.IdleTimeout,
			failure.ColdStartTimeout,
		}, wall: "4m",
	},
	{name: "a process left behind", command: "(setsid sleep 3000 >/dev/null 2>&1 &);", kinds: []failure.Kind{""}, edited: true},
	{name: "hangs after its end", wrap: "\"$REAL\" \"$@\"\nsleep 3000\n", kinds: []failure.Kind{""}, edited: true},
}

// The real CLIs, as they are installed here, repair a project through the whole program, or fail with the right kind;
// what they had changed by then is kept, nothing of them is left, and the key is nowhere.
func TestRealAgents(t *testing.T) {
	path := os.Getenv(realAgents)
	if path == "" {
		t.Skip("set " + realAgents + " to the folders of installed agent CLIs, as a PATH")
	}
	for n, c := range realCLIs {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			real := ""
			for _, dir := range filepath.SplitList(path) {
				if at, err := exec.LookPath(filepath.Join(dir, c.name)); err == nil {
					real = at
					break
				}
			}
			if real == "" {
				t.Skipf("%s is not installed in %s", c.name, path)
			}
			for i := range realCells {
				if testing.Short() && i > 0 && (n+i)%2 == 1 {
					continue // the CLI before and the one after play it
				}
				t.Run(strings.ReplaceAll(realCells[i].name, " ", "_"), func(t *testing.T) {
					playReal(t, i, real, path, c.name, c.model, c.tool, c.argument)
				})
			}
		})
	}
}

func playReal(t *testing.T, i int, real, path, cli, model, tool, argument string) {
	cell := realCells[i]
	provider := &realProvider{
		t: t, tool: tool, argument: argument, command: cell.command, first: cell.first, then: cell.then, once: cell.once,
	}
	web := httptest.NewServer(provider)
	defer web.Close()
	url := web.URL
	if cli != "claude" && cli != "gemini" {
		url += "/v1"
	}

	top := t.TempDir()
	root, home, bin := filepath.Join(top, "proj"), filepath.Join(top, "home"), filepath.Join(top, "path", "bin")
	for _, dir := range []string{root, home, bin, filepath.Join(home, "tmp")} {
		must(t, os.MkdirAll(dir, 0o700))
	}
	if cell.wrap != "" {
		text := "#!/bin/sh\nREAL='" + real + "'\n[ \"$1\" = --version ] && exec \"$REAL\" \"$@\"\n" + cell.wrap
		must(t, os.WriteFile(filepath.Join(bin, cli), []byte(text), 0o700)) //nolint:gosec // a program
	}
	wall := cell.wall
	if wall == "" {
		wall = "10m"
	}
	must(t, os.WriteFile(filepath.Join(root, "greeting.txt"), []byte("goodbye\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(root, "PIPELINE.hcl"), fmt.Appendf(nil, `task "check" {
  run = ["grep", "-qx", "hello", "greeting.txt"]
  on_fail "agent" {
    use = agent.real
    budget {
      attempts   = 1
      wall_clock = %q
      tokens     = 1000000
    }
  }
}
agent "real" {
  cli      = %q
  model    = %q
  api_key  = secret("REAL_KEY")
  base_url = %q
}
`, wall, cli, model, url), 0o600))
	commitAll(t, root)

	var out bytes.Buffer
	code := process{
		args: []string{"run"}, stdin: strings.NewReader(""), stdout: &out, stderr: &out, dir: root,
		environ: []string{
			"PATH=" + bin + ":" + path + ":" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + filepath.Join(home, "tmp"), "LANG=C.UTF-8",
			"XDG_CACHE_HOME=" + filepath.Join(home, "cache"), "REAL_KEY=" + realCanary,
		},
	}.main()
	defer func() {
		if t.Failed() {
			t.Logf("exit %d\n%s", code, out.String())
		}
	}()
	if code != 1 {
		t.Errorf("exit %d", code)
	}
	records, err := filepath.Glob(filepath.Join(root, ".async", "runs", "*", "fixes", "check.json"))
	if err != nil || len(records) != 1 {
		t.Fatalf("%v, %v", records, err)
	}
	text, err := os.ReadFile(records[0])
	must(t, err)
	var f fix.Fix
	must(t, json.Unmarshal(text, &f))
	if len(f.Attempts) == 0 {
		t.Fatalf("no attempt: %s", text)
	}
	a := f.Attempts[0]
	kind := failure.Kind("")
	if a.Kind != nil {
		kind = failure.Kind(*a.Kind)
	}
	show := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	t.Logf("kind %q, evidence %s, %s %s, state %s, %d requests, %d ms", kind, show(a.Evidence), cli, show(a.CLIVersion), f.State,
		provider.asked, a.DurationMS)
	if !slices.Contains(cell.kinds, kind) {
		t.Errorf("kind %q; one of %q is right", kind, cell.kinds)
	}
	if cell.edited != (a.Rescue != nil) {
		t.Errorf("rescue patch %s", show(a.Rescue))
	}
	if cell.edited && (f.State != fix.Proposed || f.Verdict == nil || *f.Verdict != "verified") {
		t.Errorf("state %s", f.State)
	}
	switch {
	case a.CLIVersion == nil || a.Requests == nil:
		t.Errorf("version %s, requests %v", show(a.CLIVersion), a.Requests)
	case a.Metered == nil || !*a.Metered:
		t.Error("it was not metered")
	}
	requests := 0
	for _, a := range f.Attempts {
		if a.Requests != nil {
			requests += *a.Requests
		}
	}
	if requests < provider.asked {
		t.Errorf("%d requests of %d are in the record", requests, provider.asked)
	}
	if provider.canary {
		t.Error("a command of the model could read the key")
	}
	if text, err := os.ReadFile(filepath.Join(root, "greeting.txt")); err != nil || string(text) != "goodbye\n" {
		t.Errorf("the tree was changed: %q, %v", text, err)
	}
	left, err := processesWith(func(environ, args []byte) bool { return bytes.Contains(environ, []byte("HOME="+top)) })
	if err != nil || len(left) > 0 {
		t.Errorf("processes are left: %v, %v", left, err)
	}
	if found, err := exec.CommandContext(t.Context(), "grep", "-rlF", realCanary, top).CombinedOutput(); err == nil {
		t.Errorf("the key is in %s", found)
	}
}

// A realProvider lets a model edit the greeting by a command, and then answer.
type realProvider struct {
	t              *testing.T
	tool, argument string
	command        string
	first, then    *modeltest.Turn
	once           bool

	mu     sync.Mutex
	asked  int  // requests that were answered, side requests too
	canary bool // a request had the real key in its body
}

func (p *realProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	p.mu.Lock()
	p.asked++
	p.canary = p.canary || bytes.Contains(body, []byte(realCanary))
	turn := p.turn(body)
	p.mu.Unlock()
	turn.Usage = modeltest.Usage{Input: 100, Output: 20}
	server := &modeltest.Server{Scenario: modeltest.Scenario{Turns: []modeltest.Turn{turn}}, Key: realCanary}
	defer server.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	server.ServeHTTP(w, r)
	for _, err := range server.Wrong() {
		p.t.Errorf("a provider would refuse its request: %v", err)
	}
}

func (p *realProvider) turn(body []byte) modeltest.Turn {
	odd := &p.first
	usual := modeltest.Turn{Calls: []modeltest.Call{{Name: p.tool, Args: p.arguments()}}}
	switch {
	case !bytes.Contains(body, []byte(`"tools"`)):
		return modeltest.Turn{Text: "A title"}
	case bytes.Contains(body, []byte(realEdited)):
		odd, usual = &p.then, modeltest.Turn{Text: realControl}
	}
	if *odd == nil {
		return usual
	}
	turn := **odd
	if p.once {
		*odd = nil
	}
	return turn
}

func (p *realProvider) arguments() json.RawMessage {
	text, _ := json.Marshal(map[string]string{ // strings
		p.argument: "echo hello > greeting.txt; env; " + p.command + " echo " + realEdited, "description": "edits the greeting",
	})
	return text
}
