package cli

// opencode, opencode-ai. Measured with 1.18.33.

import (
	"encoding/json"
	"fmt"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

var opencode = &program{
	name: "opencode", pack: "opencode-ai", sessions: ".local/share/opencode",
	version: []string{"--version"}, seen: "1.18.33",
	signIn: []signIn{{path: ".local/share/opencode/auth.json"}},
	launch: launchOpencode, read: readOpencode,
}

// relayName is what the relay is called in the configuration of CLIs that name their providers.
const relayName = "relay"

func launchOpencode(s setup) launch {
	config := map[string]any{
		"autoupdate": false, "share": "disabled",
		"agent": map[string]any{"title": map[string]any{"disable": true}}, // nobody reads the session's title
	}
	model := s.model
	if s.url != "" {
		npm, url := "@ai-sdk/openai-compatible", s.url
		if s.wire == "anthropic" {
			npm, url = "@ai-sdk/anthropic", s.url+"/v1"
		}
		model = relayName + "/" + s.model
		config["provider"] = map[string]any{relayName: map[string]any{
			"npm": npm, "options": map[string]any{"baseURL": url, "apiKey": "{env:RELAY_API_KEY}"},
			"models": map[string]any{s.model: map[string]any{"name": s.model}},
		}}
		config["enabled_providers"] = []string{relayName}
	}
	if model != "" {
		config["model"], config["small_model"] = model, model
	}
	text, _ := json.Marshal(config) // strings, booleans and maps of them
	args := []string{"run", "--format", "json", "--auto"}
	if model != "" {
		args = append(args, "--model", model)
	}
	if s.resume != "" {
		args = append(args, "--session", s.resume)
	}
	const at = ".config/opencode/opencode.json"
	env := []string{
		"OPENCODE_CONFIG=" + s.home + "/" + at, "OPENCODE_DISABLE_PROJECT_CONFIG=1", "OPENCODE_DISABLE_AUTOCOMPACT=1",
		"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1",
		"XDG_CONFIG_HOME=" + s.home + "/.config", "XDG_DATA_HOME=" + s.home + "/.local/share",
		"XDG_STATE_HOME=" + s.home + "/.local/state",
	}
	if s.url != "" {
		env = append(env, "RELAY_API_KEY="+s.key)
	}
	return launch{
		args: append(args, s.args...), env: env, files: map[string]string{at: string(text)}, stdin: s.prompt,
	}
}

// mostUnfinished is how many answers in a row may have no end: opencode asks again at once, hundreds of times.
const mostUnfinished = 10

func readOpencode(r *report) func([]byte) {
	unfinished := 0
	return func(line []byte) {
		var e struct {
			Type    string `json:"type"`
			Session string `json:"sessionID"`
			Part    struct {
				ID     string `json:"id"`
				Call   string `json:"callID"`
				Tool   string `json:"tool"`
				Text   string `json:"text"`
				Reason string `json:"reason"`
				Tokens *struct {
					Input  int64 `json:"input"` // neither read from nor written to the cache
					Output int64 `json:"output"`
					Think  int64 `json:"reasoning"`
					Cache  struct {
						Read  int64 `json:"read"`
						Write int64 `json:"write"`
					} `json:"cache"`
				} `json:"tokens"`
				Cost  float64 `json:"cost"`
				State struct {
					Status string         `json:"status"`
					Input  map[string]any `json:"input"`
					Output string         `json:"output"`
					Error  string         `json:"error"`
				} `json:"state"`
			} `json:"part"`
			Error struct {
				Name string `json:"name"`
				Data struct {
					Message string `json:"message"`
					Status  int    `json:"statusCode"`
				} `json:"data"`
			} `json:"error"`
		}
		if json.Unmarshal(line, &e) != nil {
			return
		}
		r.events++
		if e.Session != "" {
			r.session = e.Session
		}
		switch p := e.Part; e.Type {
		case "step_start":
			r.again()
			r.worked = true
		case "text":
			r.text(p.Text)
		case "tool_use":
			r.call(p.Call, p.Tool, p.State.Input)
			r.result(p.Call, p.Tool, p.State.Output+p.State.Error, p.State.Status == "error")
		case "step_finish":
			add(&r.turns, 1)
			if t := p.Tokens; t != nil {
				add(&r.tokens.Input, t.Input+t.Cache.Read+t.Cache.Write)
				add(&r.tokens.Output, t.Output+t.Think)
				add(&r.tokens.Cached, t.Cache.Read)
			}
			if p.Cost > 0 {
				add(&r.cost, p.Cost)
			}
			switch p.Reason {
			case "stop", "length":
				unfinished = 0
				r.succeed()
			case "unknown":
				if unfinished++; unfinished == mostUnfinished {
					r.fault, r.hopeless = fault{
						kind: failure.StreamFailure,
						text: fmt.Sprintf("%d answers of the provider in a row had no end", unfinished),
					}, true
				}
			default:
				unfinished = 0
			}
		case "error":
			d := e.Error.Data
			r.fail(opencodeKind(e.Error.Name, d.Status, d.Message), d.Message)
		}
	}
}

func opencodeKind(name string, status int, message string) failure.Kind {
	switch name {
	case "ContentFilterError":
		return failure.ContentPolicy
	case "ContextOverflowError":
		return failure.ContextOverflow
	case "ProviderAuthError":
		return failure.AuthMissing
	case "ProviderModelNotFoundError":
		return failure.ModelNotFound
	}
	return kindOf(status, nil, message)
}
