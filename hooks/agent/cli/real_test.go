package cli

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/knowncli"
	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

// realPath names the folders in which the real CLIs are looked up, as a PATH. Without it the tests with them are
// skipped: they are large, and are not installed for a test.
const realPath = "ASYNC_PIPELINE_AGENTS"

// The real CLIs, as they are installed here, take the prompt, reach the provider, and are understood. Their session
// can be gone on with.
func TestRealCLIs(t *testing.T) {
	t.Parallel()
	eachReal(t, realTurn)
}

// eachReal calls test for each CLI that is installed.
func eachReal(t *testing.T, test func(t *testing.T, p *program, path string)) {
	path := os.Getenv(realPath)
	if path == "" {
		t.Skip("set " + realPath + " to the folders of installed agent CLIs, as a PATH")
	}
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for _, dir := range filepath.SplitList(path) {
				if _, err := exec.LookPath(filepath.Join(dir, p.name)); err == nil {
					test(t, p, path)
					return
				}
			}
			t.Skipf("%s is not installed in %s", p.name, path)
		})
	}
}

func realTurn(t *testing.T, p *program, path string) {
	server := &modeltest.Server{Scenario: modeltest.Scenario{Turns: []modeltest.Turn{{
		Text: `{"outcome":"no_fix","summary":"nothing to do"}`, Usage: modeltest.Usage{Input: 100, Output: 20}, Times: 50,
	}}}}
	defer server.Close()
	web := httptest.NewServer(server)
	defer web.Close()
	known, _ := knowncli.Find(p.name)
	for _, wire := range known.Wires {
		t.Run(wire, func(t *testing.T) {
			url, models := web.URL, map[string]string{"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro"}
			if strings.HasPrefix(wire, "openai") {
				url += "/v1"
			}
			k := &Known{ID: "real", CLI: p.name, Model: models[wire]}
			if k.Model == "" {
				k.Model = "gpt-5"
			}
			k.Relay = relayTo(wire, url)
			home, work := t.TempDir(), t.TempDir()
			r := agent.Request{
				Prompt: "Say MARK-OF-THE-PROMPT.", Pack: []byte(`{"task":"test"}`), Dir: work, Exec: found, Copy: "elsewhere",
				Env: []string{"PATH=" + path + ":" + os.Getenv("PATH"), "HOME=" + home},
			}
			turn, err := k.Turn(t.Context(), r)
			if err != nil || turn.Control == nil || turn.Control.Outcome != agent.NoFix || turn.CLIVersion == "" {
				t.Fatalf("%v: %+v", err, turn)
			}
			var asked string
			for _, body := range server.Asked() {
				asked += string(body)
			}
			text, _ := json.Marshal("a" + `{"task":"test"}`)
			if !strings.Contains(asked, "MARK-OF-THE-PROMPT") || !strings.Contains(asked, strings.Trim(string(text), `"a`)) {
				t.Errorf("the provider was not asked what the agent was: %.300s", asked)
			}
			if turn.CLIVersion != p.seen {
				t.Logf("version %s, the streams are of %s", turn.CLIVersion, p.seen)
			}
			if turn.Resume == nil {
				t.Fatal("its session cannot be gone on with")
			}
			r.Prompt, r.Pack, r.Env = "And again.", nil, []string{r.Env[0], "HOME=" + t.TempDir()}
			again, err := turn.Resume(t.Context(), r)
			if err != nil || again.Control == nil {
				t.Errorf("resumed: %v: %+v", err, again)
			}
			bodies := server.Asked()
			if !strings.Contains(string(bodies[len(bodies)-1]), "MARK-OF-THE-PROMPT") {
				t.Error("the session does not know what was said before")
			}
		})
	}
}

// found is run with a program that is looked up in the PATH of its own environment, as a box does.
func found(ctx context.Context, c agent.Command) (agent.Exit, error) {
	for _, dir := range filepath.SplitList(value(c.Env, "PATH")) {
		if at := filepath.Join(dir, c.Argv[0]); !strings.Contains(c.Argv[0], "/") {
			if _, err := exec.LookPath(at); err == nil {
				c.Argv = append([]string{at}, c.Argv[1:]...)
			}
		}
	}
	return run(ctx, c)
}
