package cli

// Codex, @openai/codex. Measured with 0.169.0.

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

var codex = &program{
	name: "codex", pack: "@openai/codex", sessions: ".codex/sessions",
	version: []string{"--version"}, seen: "0.169.0",
	signIn: []signIn{{path: codexAuth}}, endpoint: codexEndpoint,
	launch: launchCodex, read: readCodex,
	early: []failure.Kind{failure.TokenRefreshLost, failure.MCPHandshakeFailed}, // it would go on for minutes
}

// codexAuth is the file below HOME with the sign-in.
const codexAuth = ".codex/auth.json"

func launchCodex(s setup) launch {
	args := []string{"exec"}
	if s.resume != "" {
		args = append(args, "resume")
	}
	// Its own sandbox does not nest in ours.
	args = append(args, "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
	if s.model != "" {
		args = append(args, "--model", s.model)
	}
	args = append(args, s.args...)
	if s.resume != "" {
		args = append(args, s.resume)
	}
	config := "check_for_update_on_startup = false\n"
	if s.url != "" {
		config += fmt.Sprintf(`model_provider = "relay"

[model_providers.relay]
name = "relay"
base_url = %q
wire_api = "responses"
env_key = "RELAY_API_KEY"
request_max_retries = 2
stream_max_retries = 2
`, s.url)
	}
	l := launch{
		args: append(args, "-"), env: []string{"CODEX_HOME=" + s.home + "/.codex"},
		files: map[string]string{".codex/config.toml": config}, stdin: s.prompt,
	}
	if s.url != "" {
		l.env = append(l.env, "RELAY_API_KEY="+s.key)
	}
	return l
}

func readCodex(r *report) func([]byte) {
	return func(line []byte) {
		var e struct {
			Type    string `json:"type"`
			Thread  string `json:"thread_id"`
			Message string `json:"message"`
			Error   struct {
				Message string `json:"message"`
			} `json:"error"`
			Item struct {
				ID      string `json:"id"`
				Type    string `json:"type"`
				Text    string `json:"text"`
				Message string `json:"message"`
				Command string `json:"command"`
				Output  string `json:"aggregated_output"`
				Exit    *int   `json:"exit_code"`
				Query   string `json:"query"`
				Tool    string `json:"tool"`
				Changes []struct {
					Path string `json:"path"`
				} `json:"changes"`
			} `json:"item"`
			Usage struct {
				Input  int64 `json:"input_tokens"` // those of the cache among them
				Cached int64 `json:"cached_input_tokens"`
				Output int64 `json:"output_tokens"`
			} `json:"usage"`
		}
		if json.Unmarshal(line, &e) != nil {
			return
		}
		r.events++
		switch e.Type {
		case "thread.started":
			r.session = e.Thread
		case "item.started", "item.completed":
			done := e.Type == "item.completed"
			switch i := e.Item; {
			case i.Type == "agent_message" && done:
				r.text(i.Text)
			case i.Type == "error" && done:
				r.line("notice", map[string]any{"text": short(i.Message)}) // a warning
			case i.Type == "command_execution" && done:
				r.result(i.ID, "exec", i.Output, i.Exit != nil && *i.Exit != 0)
			case i.Type == "command_execution":
				r.call(i.ID, "exec", map[string]any{"command": i.Command})
			case i.Type == "file_change" && done:
				var paths []any
				for _, c := range i.Changes {
					paths = append(paths, c.Path)
				}
				r.call(i.ID, "edit", map[string]any{"path": paths})
			case (i.Type == "mcp_tool_call" || i.Type == "web_search") && done:
				r.call(i.ID, i.Type, map[string]any{"command": i.Tool, "query": i.Query})
			}
		case "error":
			if why, again := reconnecting(e.Message); again {
				r.retries(kindOf(0, nil, why), e.Message)
			} else {
				r.err(kindOf(0, nil, e.Message), e.Message)
			}
		case "turn.completed":
			u := e.Usage
			add(&r.tokens.Input, u.Input)
			add(&r.tokens.Output, u.Output)
			add(&r.tokens.Cached, u.Cached)
			if r.final == "" && !r.worked && u.Input == 0 && u.Output == 0 {
				r.fail(failure.QuotaExhausted, "it ended without a word and without a token: its limit seems to be reached")
				return
			}
			r.succeed()
		case "turn.failed":
			r.fail(kindOf(0, nil, e.Error.Message), e.Error.Message)
		}
	}
}

// reconnecting reports whether codex says that it asks again, and returns the reason that it gives.
func reconnecting(message string) (why string, again bool) {
	again = strings.HasPrefix(message, "Reconnecting")
	_, why, given := strings.Cut(message, " (")
	if !again || !given || strings.Contains(message, "waiting for network") {
		return message, again
	}
	return strings.TrimSuffix(why, ")"), true
}
