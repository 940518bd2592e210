package cli

// Claude Code, @anthropic-ai/claude-code. Measured with 2.1.329.

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/reset"
)

var claude = &program{
	name: "claude", pack: "@anthropic-ai/claude-code", sessions: ".claude/projects",
	version: []string{"--version"}, seen: "2.1.329",
	signIn:   []signIn{{path: ".claude/.credentials.json", keys: []string{"claudeAiOauth"}}},
	endpoint: at("https://api.anthropic.com"),
	launch:   launchClaude, read: readClaude,
}

func launchClaude(s setup) launch {
	// Of settings only those of the private HOME are read: a .claude folder of the checkout could run hooks and name
	// another provider. Our own sandbox confines what it may do.
	args := []string{
		"-p", "--output-format", "stream-json", "--verbose", "--setting-sources", "user", "--strict-mcp-config",
		"--dangerously-skip-permissions",
	}
	if s.model != "" {
		args = append(args, "--model", s.model)
	}
	if s.resume != "" {
		args = append(args, "--resume", s.resume)
	}
	env := []string{
		"CLAUDE_CONFIG_DIR=" + s.home + "/.claude", "IS_SANDBOX=1", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_MAX_RETRIES=2",
	}
	if s.url != "" {
		env = append(env, "ANTHROPIC_BASE_URL="+s.url, "ANTHROPIC_API_KEY="+s.key)
	}
	return launch{args: append(args, s.args...), env: env, stdin: s.prompt}
}

// A claudeEvent is an event of the stream; which fields it has depends on its type.
type claudeEvent struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Session string `json:"session_id"`
	Parent  string `json:"parent_tool_use_id"` // of what a helper of the agent says

	Model   string `json:"model"` // system/init
	Version string `json:"claude_code_version"`

	Status  *int `json:"error_status"` // system/api_retry
	Error   any  `json:"error"`
	Attempt int  `json:"attempt"`

	Limit struct { // rate_limit_event
		Status string  `json:"status"`
		Type   string  `json:"rateLimitType"`
		Resets float64 `json:"resetsAt"` // seconds since 1970
	} `json:"rate_limit_info"`

	Message struct {
		Content json.RawMessage `json:"content"` // a list of blocks, or a text
	} `json:"message"`

	IsError   bool     `json:"is_error"` // result
	Result    *string  `json:"result"`
	Terminal  string   `json:"terminal_reason"`
	Stop      string   `json:"stop_reason"`
	APIStatus int      `json:"api_error_status"`
	APIType   string   `json:"api_error_type"`
	Errors    []string `json:"errors"`
	Turns     *int     `json:"num_turns"`
	Cost      *float64 `json:"total_cost_usd"`
	Usage     *struct {
		Input   int64 `json:"input_tokens"` // neither read from nor written to the cache
		Written int64 `json:"cache_creation_input_tokens"`
		Cached  int64 `json:"cache_read_input_tokens"`
		Output  int64 `json:"output_tokens"`
	} `json:"usage"`
}

func readClaude(r *report) func([]byte) {
	var limited *fault // the last rate_limit_event, if it was a refusal
	return func(line []byte) {
		var e claudeEvent
		if json.Unmarshal(line, &e) != nil {
			return
		}
		r.events++
		if e.Session != "" {
			r.session = e.Session
		}
		switch e.Type {
		case "system":
			switch e.Subtype {
			case "init":
				r.model, r.version = e.Model, e.Version
			case "api_retry":
				status := 0
				if e.Status != nil {
					status = *e.Status
				}
				word, _ := e.Error.(string)
				r.retries(kindOf(status, []string{word}, word), "asks the provider again: "+word)
			}
		case "assistant", "user":
			claudeBlocks(r, e)
		case "rate_limit_event":
			limited = nil
			if e.Limit.Status == "rejected" {
				kind := failure.RateLimited
				if e.Limit.Type != "" {
					kind = failure.QuotaExhausted // a window of hours or days is used up
				}
				limited = &fault{kind: kind, text: "the plan's limit is reached " + e.Limit.Type}
				if e.Limit.Resets > 0 {
					limited.reset.At = time.Unix(int64(e.Limit.Resets), 0).UTC()
				}
			}
			r.limit = limited
		case "result":
			claudeResult(r, e)
		}
	}
}

// claudeBlocks reads what the model said and did, or what its tools returned.
func claudeBlocks(r *report, e claudeEvent) {
	var blocks []struct {
		Type    string          `json:"type"`
		Text    string          `json:"text"`
		ID      string          `json:"id"`
		Name    string          `json:"name"`
		Input   map[string]any  `json:"input"`
		Call    string          `json:"tool_use_id"`
		Content json.RawMessage `json:"content"`
		IsError bool            `json:"is_error"`
	}
	if json.Unmarshal(e.Message.Content, &blocks) != nil {
		return
	}
	for _, b := range blocks {
		switch b.Type {
		case "text":
			if e.Type == "assistant" && e.Parent == "" {
				r.text(b.Text)
			}
		case "tool_use":
			r.call(b.ID, b.Name, b.Input)
		case "tool_result":
			r.result(b.Call, "", plainText(b.Content), b.IsError)
		}
	}
}

func claudeResult(r *report, e claudeEvent) {
	if u := e.Usage; u != nil && (r.end != succeeded || u.Input+u.Output > 0) {
		r.tokens.Input, r.tokens.Cached = new(u.Input+u.Cached+u.Written), new(u.Cached)
		r.tokens.Output = new(u.Output)
		r.cost, r.turns = e.Cost, e.Turns
	}
	words := strings.Join(e.Errors, "; ")
	if e.Result != nil && *e.Result != "" {
		words = *e.Result
	}
	switch {
	case !e.IsError && e.Subtype == "success":
		if r.end != succeeded || e.Result != nil && *e.Result != "" {
			if e.Result != nil {
				r.final = *e.Result
			}
			r.succeed()
		}
	case strings.HasPrefix(e.Terminal, "aborted"):
		r.fail(failure.KilledExternally, "aborted by a signal")
	case e.Subtype == "error_max_turns":
		r.fail(failure.AgentMaxTurns, "its own limit of turns is reached")
	case strings.HasPrefix(e.Subtype, "error_max_budget"):
		r.fail(failure.AgentBudget, "its own limit of cost is reached")
	case e.Terminal == "prompt_too_long":
		r.fail(failure.ContextOverflow, words)
	case e.Stop == "refusal":
		r.fail(failure.ContentPolicy, words)
	case r.limit != nil && r.end != succeeded:
		r.fail(r.limit.kind, words)
		if r.limit.reset != (reset.Reset{}) {
			r.fault.reset = r.limit.reset // words are less exact
		}
	default:
		kind := kindOf(e.APIStatus, []string{e.APIType}, words)
		if e.Subtype == "error_during_execution" && kind == failure.Unknown {
			kind = failure.AgentError
		}
		r.fail(kind, words)
	}
}

// plainText returns the text of a content that is a text, or a list of blocks with texts.
func plainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &blocks) // what is neither has no text
	var b strings.Builder
	for _, block := range blocks {
		b.WriteString(block.Text)
	}
	return b.String()
}
