package cli

// GitHub Copilot CLI, @github/copilot. Measured with 1.0.102.

import (
	"bytes"
	"encoding/json"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

var copilot = &program{
	name: "copilot", pack: "@github/copilot", sessions: ".copilot",
	version: []string{"--version"}, seen: "1.0.102",
	signIn: []signIn{{
		path: ".copilot/config.json", keys: []string{"copilot_tokens", "logged_in_users", "last_logged_in_user"},
	}},
	launch: launchCopilot, read: readCopilot, endless: true,
	noise: func(line []byte) bool {
		return bytes.HasPrefix(line, []byte(`{"type":"assistant.message_delta"`)) ||
			bytes.HasPrefix(line, []byte(`{"type":"assistant.tool_call_delta"`)) ||
			bytes.HasPrefix(line, []byte(`{"type":"tool.execution_partial_result"`))
	},
}

func launchCopilot(s setup) launch {
	l := launch{
		args: []string{
			"--output-format", "json", "--allow-all", "--no-color", "--no-auto-update", "--no-ask-user",
		},
		env: []string{
			"COPILOT_HOME=" + s.home + "/.copilot", "COPILOT_AUTO_UPDATE=false",
			"XDG_CONFIG_HOME=" + s.home + "/.config", "XDG_STATE_HOME=" + s.home + "/.local/state",
		},
		stdin: s.prompt,
	}
	if s.model != "" {
		l.env = append(l.env, "COPILOT_MODEL="+s.model)
	}
	if s.url != "" {
		kind := "openai"
		if s.wire == "anthropic" {
			kind = s.wire
		}
		l.env = append(l.env, "COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL="+s.url, "COPILOT_PROVIDER_TYPE="+kind,
			"COPILOT_PROVIDER_WIRE_API=completions", "COPILOT_PROVIDER_API_KEY="+s.key)
	}
	if s.resume != "" {
		l.args = append(l.args, "--resume="+s.resume)
	}
	l.args = append(l.args, s.args...)
	return l
}

func readCopilot(r *report) func([]byte) {
	return func(line []byte) {
		var e struct {
			Type    string `json:"type"`
			Session string `json:"sessionId"`
			Exit    *int   `json:"exitCode"`
			Data    struct {
				Model   string         `json:"model"`
				Content string         `json:"content"`
				Call    string         `json:"toolCallId"`
				Tool    string         `json:"toolName"`
				Input   map[string]any `json:"arguments"`
				Success *bool          `json:"success"`
				Result  struct {
					Content string `json:"content"`
				} `json:"result"`
				ErrorType string `json:"errorType"`
				Message   string `json:"message"`
				Status    int    `json:"statusCode"`
				Failure   string `json:"errorMessage"`
				Reason    string `json:"reason"`
			} `json:"data"`
		}
		if json.Unmarshal(line, &e) != nil {
			return
		}
		r.events++
		switch d := e.Data; e.Type {
		case "assistant.turn_start":
			add(&r.turns, 1)
		case "assistant.message":
			r.model = d.Model
			r.text(d.Content)
		case "tool.execution_start":
			r.call(d.Call, d.Tool, d.Input)
		case "tool.execution_complete":
			r.result(d.Call, d.Tool, d.Result.Content, d.Success != nil && !*d.Success)
		case "model.call_failure":
			r.retries(kindOf(d.Status, nil, d.Failure), d.Failure)
		case "session.error":
			r.err(kindOf(d.Status, []string{d.ErrorType}, d.Message), d.Message)
		case "abort":
			r.aborted = true
		case "result":
			r.session = e.Session
			switch {
			case r.aborted: // on a signal it writes exit code 0 all the same
			case e.Exit != nil && *e.Exit == 0:
				r.succeed()
			default:
				r.fail(failure.AgentError, "its last event is no success")
			}
		}
	}
}
