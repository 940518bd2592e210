package cli

// pi, @earendil-works/pi-coding-agent. Measured with 0.74.2.

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

var pi = &program{
	name: "pi", pack: "@earendil-works/pi-coding-agent", sessions: ".pi/agent/sessions",
	version: []string{"--version"}, seen: "0.74.2",
	signIn: []signIn{{path: ".pi/agent/auth.json"}},
	launch: launchPi, read: readPi,
	// Each of these repeats the whole message so far: the stream would be quadratic.
	noise: func(line []byte) bool {
		return bytes.HasPrefix(line, []byte(`{"type":"message_update"`)) ||
			bytes.HasPrefix(line, []byte(`{"type":"tool_execution_update"`))
	},
}

// piWires are pi's names of the protocols.
var piWires = map[string]string{
	"openai_chat": "openai-completions", "openai": "openai-responses", "anthropic": "anthropic-messages",
}

func launchPi(s setup) launch {
	const folder = ".pi/agent/"
	args := []string{"-p", "--mode", "json", "--no-extensions"}
	l := launch{
		env:   []string{"PI_CODING_AGENT_DIR=" + s.home + "/.pi/agent", "PI_OFFLINE=1"},
		files: map[string]string{folder + "settings.json": `{"retry":{"enabled":true,"maxRetries":2}}`},
		stdin: s.prompt,
	}
	provider, model, named := strings.Cut(s.model, "/")
	if !named {
		provider, model = "", s.model
	}
	if s.url != "" {
		provider, model = relayName, s.model
		models, _ := json.Marshal(map[string]any{"providers": map[string]any{relayName: map[string]any{
			"baseUrl": s.url, "api": piWires[s.wire], "apiKey": "RELAY_API_KEY",
			"models": []map[string]any{{"id": s.model}},
		}}}) // strings and maps of them
		l.files[folder+"models.json"] = string(models)
		l.env = append(l.env, "RELAY_API_KEY="+s.key)
	}
	if provider != "" {
		args = append(args, "--provider", provider)
	}
	if model != "" {
		args = append(args, "--model", model)
	}
	if s.resume != "" {
		args = append(args, "--session", s.resume)
	}
	l.args = append(args, s.args...)
	return l
}

// A piMessage is a message of the conversation.
type piMessage struct {
	Role    string `json:"role"`
	Model   string `json:"model"`
	Stop    string `json:"stopReason"` // stop | length | toolUse | error | aborted
	Error   string `json:"errorMessage"`
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Usage *struct {
		Input  int64 `json:"input"` // neither read from nor written to the cache
		Output int64 `json:"output"`
		Read   int64 `json:"cacheRead"`
		Write  int64 `json:"cacheWrite"`
		Cost   struct {
			Total float64 `json:"total"`
		} `json:"cost"`
	} `json:"usage"`
}

func readPi(r *report) func([]byte) {
	var answer piMessage // the last one of the model
	return func(line []byte) {
		var e struct {
			Type    string          `json:"type"`
			ID      string          `json:"id"`
			Message json.RawMessage `json:"message"`
			Call    string          `json:"toolCallId"`
			Tool    string          `json:"toolName"`
			Args    map[string]any  `json:"args"`
			Result  struct {
				Content json.RawMessage `json:"content"`
			} `json:"result"`
			IsError bool `json:"isError"`
		}
		if json.Unmarshal(line, &e) != nil {
			return
		}
		r.events++
		switch e.Type {
		case "session":
			r.session = e.ID
		case "message_end":
			var m piMessage
			if json.Unmarshal(e.Message, &m) == nil && m.Role == "assistant" {
				answer = m
				piAnswer(r, m)
			}
		case "tool_execution_start":
			r.call(e.Call, e.Tool, e.Args)
		case "tool_execution_end":
			r.result(e.Call, e.Tool, plainText(e.Result.Content), e.IsError)
		case "agent_start", "auto_retry_start":
			r.again()
		case "agent_end": // one comes before each retry, too
			switch answer.Stop {
			case "stop", "length":
				r.succeed()
			case "aborted":
				r.fail(failure.KilledExternally, "aborted by a signal")
			case "error":
				r.fail(kindOf(0, nil, answer.Error), answer.Error)
			}
		}
	}
}

func piAnswer(r *report, m piMessage) {
	r.model = m.Model
	if u := m.Usage; u != nil {
		add(&r.tokens.Input, u.Input+u.Read+u.Write)
		add(&r.tokens.Output, u.Output)
		add(&r.tokens.Cached, u.Read)
		if u.Cost.Total > 0 {
			add(&r.cost, u.Cost.Total)
		}
	}
	add(&r.turns, 1)
	if m.Stop == "error" {
		return
	}
	var text strings.Builder
	for _, c := range m.Content {
		if c.Type == "text" {
			text.WriteString(c.Text)
		}
	}
	r.final = ""
	r.text(text.String())
}
