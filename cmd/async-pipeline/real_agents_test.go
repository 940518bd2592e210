package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/knowncli"
	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

// agentPath names the folders in which the real agent CLIs are looked up, as a PATH. They must not be below /tmp,
// which a box does not show.
const agentPath = "ASYNC_PIPELINE_AGENTS"

// shells are the tools by which the models of each CLI run a command.
var shells = map[string]struct{ tool, arg string }{
	"claude": {"Bash", "command"}, "codex": {"exec_command", "cmd"}, "gemini": {"run_shell_command", "command"},
	"opencode": {"bash", "command"}, "copilot": {"bash", "command"}, "pi": {"bash", "command"},
}

const realKey = "canary-0123456789abcdefghij"

// The real agent CLIs repair a failed task end to end, whatever their provider does meanwhile: what they changed is
// never lost, nothing of theirs goes on, and the key is nowhere.
func TestRealAgents(t *testing.T) {
	t.Parallel()
	path := os.Getenv(agentPath)
	if path == "" {
		t.Skip("set " + agentPath + " to the folders of installed agent CLIs, as a PATH")
	}
	const answer = `{"outcome":"fixed","summary":"It says hello."}`
	for _, name := range knowncli.Names() {
		var at string
		for _, dir := range filepath.SplitList(path) {
			if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil && at == "" {
				at = found
			}
		}
		repair := modeltest.Turn{Calls: []modeltest.Call{call(name, "echo hello > greeting.txt")}, Usage: modeltest.Usage{Input: 1000, Output: 30}}
		done := modeltest.Turn{Text: answer, Usage: modeltest.Usage{Input: 1100, Output: 20}, Times: 100}
		with := func(t modeltest.Turn, change func(*modeltest.Turn)) modeltest.Turn { change(&t); return t }
		for _, cell := range []struct {
			name  string
			turns []modeltest.Turn
			kinds []string // of the attempt; empty: none
			fixed bool
		}{
			{"success", []modeltest.Turn{repair, done}, nil, true},
			{"prose then JSON", []modeltest.Turn{repair, with(done, func(t *modeltest.Turn) { t.Text = "I repaired it.\n```json\n" + answer + "\n```\n" })}, nil, true},
			{"401", []modeltest.Turn{{Status: 401, Times: 100}}, []string{"auth_invalid"}, false},
			{"429 once", []modeltest.Turn{{Status: 429, RetryAfter: "1"}, repair, done}, nil, true},
			{"cut after the repair", []modeltest.Turn{repair, with(done, func(t *modeltest.Turn) { t.Fault = modeltest.Fault{Kind: modeltest.Cut, Events: 2} })}, []string{"transport_disconnect", "stream_failure", "wall_timeout", "server_overload", "loop_detected"}, true},
			{"stall after the repair", []modeltest.Turn{repair, with(done, func(t *modeltest.Turn) { t.Fault = modeltest.Fault{Kind: modeltest.Stall, Events: 2} })}, []string{"wall_timeout", "stream_failure", "transport_disconnect"}, true},
			{"garbage", []modeltest.Turn{repair, {Body: "<html>not a model</html>", Times: 100}}, []string{"stream_failure", "transport_disconnect", "wall_timeout", "loop_detected", "server_overload", "empty_output", "cli_error", "agent_error"}, true},
			{"a process left behind", []modeltest.Turn{{Calls: []modeltest.Call{call(name, "echo hello > greeting.txt; (setsid sleep 1000 >/dev/null 2>&1 &)")}, Usage: modeltest.Usage{Input: 1000, Output: 30}}, done}, nil, true},
		} {
			t.Run(name+"/"+cell.name, func(t *testing.T) {
				t.Parallel()
				if at == "" {
					t.Skipf("%s is not installed in %s", name, path)
				}
				wall := "4m"
				if strings.HasPrefix(cell.name, "stall") {
					wall = "80s"
				}
				f, took := realFix(t, name, path, wall, cell.turns)
				a := f.Attempts[0]
				kind := ""
				if a.Kind != nil {
					kind = *a.Kind
				}
				t.Logf("%s %s: %s %s, kind %q, %d requests, %s", *a.CLI, *a.CLIVersion, f.State, *f.Verdict, kind, *a.Requests, took.Round(time.Second))
				if cell.kinds == nil && kind != "" || cell.kinds != nil && !slices.Contains(cell.kinds, kind) && kind != "" {
					t.Errorf("kind %q, want one of %q", kind, cell.kinds)
				}
				if verdict := *f.Verdict; (verdict == "verified") != cell.fixed || (a.Rescue != nil) != cell.fixed {
					t.Errorf("verdict %q, rescue %v", verdict, a.Rescue)
				}
				if a.Metered == nil || !*a.Metered || *a.Requests == 0 {
					t.Error("it was not metered")
				}
			})
		}
	}
}

// call is a call of the CLI's tool that runs a command.
func call(cli, command string) modeltest.Call {
	s := shells[cli]
	args, _ := json.Marshal(map[string]any{s.arg: command, "description": "as the scenario says"})
	return modeltest.Call{Name: s.tool, Args: args}
}

// realFix lets a real CLI repair a project with a failing task, and returns the record.
func realFix(t *testing.T, name, path, wall string, turns []modeltest.Turn) (*fix.Fix, time.Duration) {
	t.Helper()
	server := &modeltest.Server{Scenario: modeltest.Scenario{Turns: turns}, Key: realKey}
	defer server.Close()
	web := httptest.NewServer(server)
	defer web.Close()
	known, _ := knowncli.Find(name)
	url, model := web.URL, "gpt-5"
	switch known.Wires[0] {
	case "anthropic":
		model = "claude-sonnet-4-5"
	case "gemini":
		model = "gemini-2.5-pro"
	default:
		url += "/v1"
	}
	dir := t.TempDir()
	root := filepath.Join(dir, "proj")
	must(t, os.Mkdir(root, 0o755))
	must(t, os.Mkdir(filepath.Join(dir, "home"), 0o700))
	must(t, os.WriteFile(filepath.Join(root, "greeting.txt"), []byte("hullo\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(root, "PIPELINE.hcl"), fmt.Appendf(nil, `agent "real" {
  cli      = %q
  model    = %q
  base_url = %q
  api_key  = secret("REAL_KEY")
}
task "test" {
  run = ["grep", "-qx", "hello", "greeting.txt"]
  on_fail "agent" {
    use = agent.real
    budget {
      attempts   = 1
      wall_clock = %q
    }
  }
}
`, name, model, url, wall), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "async-pipeline", "run")
	cmd.Dir = root
	cmd.Env = []string{"PATH=" + path + ":" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "REAL_KEY=" + realKey, "LANG=C.UTF-8", "USER=somebody"}
	started := time.Now()
	out, _ := cmd.CombinedOutput() // the run has failed
	took := time.Since(started)
	var f fix.Fix
	found, _ := filepath.Glob(filepath.Join(root, ".async/runs/*/fixes/test.json"))
	if len(found) != 1 {
		t.Fatalf("%d records\n%s", len(found), out)
	}
	text, err := os.ReadFile(found[0])
	must(t, err)
	must(t, json.Unmarshal(text, &f))
	if len(f.Attempts) == 0 || f.Attempts[0].CLI == nil || f.Attempts[0].CLIVersion == nil || f.Attempts[0].Requests == nil {
		t.Fatalf("%s\n%s", text, out)
	}
	if f.Verdict == nil {
		f.Verdict = new("")
	}
	if bytes.Contains(out, []byte(realKey)) {
		t.Error("the key was shown")
	}
	must(t, filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(at)
		if bytes.Contains(text, []byte(realKey)) {
			t.Errorf("the key is in %s", at)
		}
		return err
	}))
	left, err := processesWith(func(environ, _ []byte) bool {
		return bytes.Contains(environ, []byte("ASYNC_PIPELINE_HOOK="+f.Run+"/")) || bytes.Contains(environ, []byte("HOME="+dir))
	})
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %s", strings.Join(left, "; "))
	}
	return &f, took
}
