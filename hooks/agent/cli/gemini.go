package cli

// Gemini CLI, @google/gemini-cli. Measured with 0.61.0.

import (
	"encoding/json"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

var gemini = &program{
	name: "gemini", pack: "@google/gemini-cli", sessions: ".gemini/tmp",
	wordsOnly: true, // it repeats the results of tools in a resumed session, which Gemini refuses
	version:   []string{"--version"}, seen: "0.61.0",
	signIn:   []signIn{{path: ".gemini/oauth_creds.json"}, {path: ".gemini/google_accounts.json"}},
	endpoint: at("https://cloudcode-pa.googleapis.com"),
	launch:   launchGemini, read: readGemini,
	exit: func(code int) failure.Kind {
		switch code {
		case 41:
			return failure.AuthInvalid
		case 42, 52:
			return failure.CLIConfig
		case 44:
			return failure.SandboxUnsupported
		case 53:
			return failure.AgentMaxTurns
		case 54:
			return failure.AgentError
		case 130:
			return failure.Cancelled
		}
		if code >= 400-256 && code < 432-256 { // the status of HTTP, of which an exit code has the lowest byte
			return kindOf(code+256, nil, "")
		}
		return ""
	},
}

func launchGemini(s setup) launch {
	auth := "oauth-personal"
	// In a folder that it does not trust it reads no settings of the checkout, which can run commands and name another
	// provider. It asks before each tool there, and is told by a policy of ours that it may use all.
	const policy = ".gemini/allow.toml"
	env := []string{"GEMINI_CLI_TRUST_WORKSPACE=false"}
	if s.url != "" {
		auth = "gemini-api-key"
		env = append(env, "GOOGLE_GEMINI_BASE_URL="+s.url, "GEMINI_API_KEY="+s.key)
	}
	settings, _ := json.Marshal(map[string]any{ // strings and numbers
		"security": map[string]any{
			"auth":        map[string]any{"selectedType": auth},
			"folderTrust": map[string]any{"enabled": false}, // else it ends: nobody can be asked whether it trusts the folder
		},
		"general": map[string]any{"enableAutoUpdate": false, "maxAttempts": 3},
		"privacy": map[string]any{"usageStatisticsEnabled": false},
	})
	// What stands on stdin comes before the prompt of -p, which must not be empty.
	args := []string{
		"-p", "Do what is asked above.", "-o", "stream-json", "--policy", s.home + "/" + policy,
	}
	if s.model != "" {
		args = append(args, "-m", s.model)
	}
	if s.resume != "" {
		args = append(args, "--resume", s.resume)
	}
	return launch{
		args: append(args, s.args...), env: env, stdin: s.prompt,
		files: map[string]string{
			".gemini/settings.json": string(settings),
			policy:                  "[[rule]]\ntoolName = \"*\"\ndecision = \"allow\"\npriority = 999\nallowRedirection = true\n",
		},
	}
}

func readGemini(r *report) func([]byte) {
	var hidden fault // an error that the end does not name; the first that tells something
	return func(line []byte) {
		var e struct {
			Type     string         `json:"type"`
			Session  string         `json:"session_id"`
			Model    string         `json:"model"`
			Role     string         `json:"role"`
			Content  string         `json:"content"`
			Delta    bool           `json:"delta"`
			Tool     string         `json:"tool_name"`
			ID       string         `json:"tool_id"`
			Input    map[string]any `json:"parameters"`
			Status   string         `json:"status"`
			Output   string         `json:"output"`
			Severity string         `json:"severity"`
			Message  string         `json:"message"`
			Error    *struct {
				Message string `json:"message"`
			} `json:"error"`
			Stats *struct {
				Input  int64 `json:"input_tokens"` // those of the cache among them
				Output int64 `json:"output_tokens"`
				Cached int64 `json:"cached"`
			} `json:"stats"`
		}
		if json.Unmarshal(line, &e) != nil {
			return
		}
		r.events++
		switch e.Type {
		case "init":
			r.session, r.model = e.Session, e.Model
		case "message":
			switch {
			case e.Role != "assistant":
			case e.Delta:
				r.delta(e.Content)
			default:
				r.text(e.Content)
			}
		case "tool_use":
			r.call(e.ID, e.Tool, e.Input)
		case "tool_result":
			r.result(e.ID, "", e.Output, e.Status == "error")
		case "error":
			kind := kindOf(0, nil, e.Message)
			if strings.Contains(e.Message, "Loop detected") {
				kind = failure.LoopDetected
			}
			r.line("notice", map[string]any{"text": short(e.Message), "kind": string(kind)})
			if e.Severity == "error" || kind == failure.LoopDetected {
				hidden = hidden.or(newFault(kind, e.Message))
			}
		case "result":
			if u := e.Stats; u != nil {
				r.tokens.Input, r.tokens.Output, r.tokens.Cached = new(u.Input), new(u.Output), new(u.Cached)
			}
			if e.Status == "success" && (hidden.kind == "" || hidden.kind == failure.LoopDetected && r.final != "") {
				r.succeed()
				return
			}
			r.fault = r.fault.or(hidden)
			kind, text := failure.AgentError, "status "+e.Status
			if e.Error != nil {
				kind, text = kindOf(0, nil, strings.TrimPrefix(e.Error.Message, "[API Error: ")), e.Error.Message
			}
			r.fail(kind, text)
		}
	}
}
