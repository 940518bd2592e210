package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/reset"
)

const (
	claudeSays  = `{"type":"assistant","message":{"content":[{"type":"text","text":"looking"}]}}` + "\n"
	claudeGood  = `{"type":"result","subtype":"success","is_error":false,"result":"done"}` + "\n"
	claudeLimit = `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":4102444800}}` + "\n"
	codexStart  = `{"type":"thread.started","thread_id":"t"}` + "\n"
)

// What no captured stream has. The ids are those of docs/conformance.md.
// What CLIs say of errors in their own words.
func TestKindOfWords(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]failure.Kind{
		"You're out of extra usage · resets 3pm (UTC)":                                                           failure.QuotaExhausted,
		"You’ve reached your Opus limit · resets Dec 1, 9am (UTC)":                                               failure.QuotaExhausted,
		"You've hit your Nextmodel limit · resets 3pm (UTC)":                                                     failure.QuotaExhausted,
		"Claude AI usage limit reached|1795823600":                                                               failure.QuotaExhausted,
		"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.":   failure.QuotaExhausted,
		"You've hit your rate limit, try again in 5s":                                                            failure.RateLimited,
		"API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy": failure.ContentPolicy,
		"API Error (m): 404 model: m not_found_error":                                                            failure.ModelNotFound,
		"The 'gpt-x' model is not supported when using Codex with a ChatGPT account.":                            failure.ModelNotFound,
		"OAuth token has expired. Please obtain a new token or refresh your existing token.":                     failure.AuthInvalid,
		"the limit of lines is reached":                                                                          failure.Unknown,
	} {
		if got := kindOf(0, nil, words); got != want {
			t.Errorf("%q: %s, want %s", words, got, want)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	later := reset.Reset{At: time.Unix(4102444800, 0).UTC()} // as in claudeLimit
	for _, c := range []struct {
		id, cli, stdout, stderr string
		given                   string
		exit                    agent.Exit
		want                    failure.Kind
		text                    string      // in the evidence
		reset                   reset.Reset // zero: any
	}{
		{id: "E01 a success that is an error", cli: "claude", stdout: `{"type":"result","subtype":"success","is_error":true,"result":"API Error: Rate limit reached"}`, want: failure.RateLimited, text: "Rate limit reached"},
		{id: "E02 ended by us after its success", cli: "claude", stdout: claudeSays + claudeGood, exit: agent.Exit{Code: 143}, want: ""},
		{id: "E04 a failed turn, exit 0", cli: "codex", stdout: codexStart + `{"type":"error","message":"unexpected status 401 Unauthorized: no"}` + "\n" + `{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: no"}}`, want: failure.AuthInvalid},
		{id: "E05 reconnected", cli: "codex", stdout: codexStart + `{"type":"error","message":"Reconnecting... 2/5 (stream disconnected before completion: x)"}` + "\n" + `{"type":"item.completed","item":{"type":"agent_message","text":"done"}}` + "\n" + `{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}`, want: ""},
		{id: "E06 no word, no token", cli: "codex", stdout: codexStart + `{"type":"turn.completed","usage":{"input_tokens":0,"output_tokens":0}}`, want: failure.QuotaExhausted, text: "seems"},
		{id: "E08 exit 41", cli: "gemini", exit: agent.Exit{Code: 41}, want: failure.AuthInvalid},
		{id: "E08 exit 42", cli: "gemini", exit: agent.Exit{Code: 42}, want: failure.CLIConfig},
		{id: "E08 exit 53", cli: "gemini", exit: agent.Exit{Code: 53}, want: failure.AgentMaxTurns},
		{id: "E08 exit 130", cli: "gemini", exit: agent.Exit{Code: 130}, want: failure.Cancelled},
		{id: "E17 a signal of somebody else", cli: "gemini", exit: agent.Exit{Code: 130, Signal: "SIGINT"}, want: failure.KilledExternally},
		{id: "E17 exit 130 of another", cli: "claude", stdout: claudeSays, exit: agent.Exit{Code: 130}, want: failure.KilledExternally},
		{id: "E09 noise of retries", cli: "gemini", stdout: `{"type":"message","role":"assistant","content":"done"}` + "\n" + `{"type":"result","status":"success"}`, stderr: "Error: Attempt 1 failed with status 429. Retrying with backoff", want: ""},
		{id: "E10 nothing at all", cli: "gemini", want: failure.NoOutput},
		{id: "E12 an error, exit 0", cli: "opencode", stdout: `{"type":"error","error":{"name":"APIError","data":{"message":"overloaded","statusCode":529}}}`, want: failure.ServerOverload},
		{id: "E13 a refused permission, then nothing", cli: "opencode", stderr: "! permission requested: bash (rm *); auto-rejecting", want: failure.PermissionDenied},
		{id: "E13 a refused permission, then no end", cli: "opencode", stdout: `{"type":"step_start"}`, stderr: "! permission requested: bash (rm *); auto-rejecting", want: failure.PermissionDenied},
		{id: "E13 a refused permission, then a success", cli: "opencode", stderr: "! permission requested: bash (rm *); auto-rejecting", stdout: `{"type":"text","part":{"text":"done"}}` + "\n" + `{"type":"step_finish","part":{"reason":"stop"}}`, want: ""},
		{id: "E12 a lost connection", cli: "opencode", stdout: `{"type":"error","error":{"name":"UnknownError","data":{"message":"Cannot connect to API: The socket connection was closed unexpectedly."}}}`, exit: agent.Exit{Code: 1}, want: failure.TransportDisconnect},
		{id: "E14 nothing at all", cli: "copilot", want: failure.NoOutput},
		{id: "E14 not signed in", cli: "copilot", stderr: "Error: No authentication information found.", want: failure.AuthMissing},
		{id: "E14 not signed in, without a mark", cli: "copilot", stderr: "No authentication information found.", exit: agent.Exit{Code: 1}, want: failure.AuthMissing},
		{id: "E14 another that is not signed in", cli: "gemini", stderr: "Please set an Auth method in your /h/.gemini/settings.json or specify one of the following environment variables before running: GEMINI_API_KEY", exit: agent.Exit{Code: 1}, want: failure.AuthMissing},
		{id: "words, exit 0, and no last event", cli: "copilot", stdout: `{"type":"assistant.message","data":{"content":"done"}}`, want: ""},
		{id: "words before a call", cli: "copilot", stdout: `{"type":"assistant.message","data":{"content":"on"}}` + "\n" + `{"type":"tool.execution_start","data":{"toolName":"bash"}}`, want: failure.StreamFailure},
		{id: "words, then an error", cli: "copilot", stdout: `{"type":"assistant.message","data":{"content":"on"}}` + "\n" + `{"type":"session.error","data":{"message":"x","statusCode":429}}`, want: failure.RateLimited},
		{id: "words, then a signal", cli: "copilot", stdout: `{"type":"assistant.message","data":{"content":"on"}}` + "\n" + `{"type":"abort"}`, want: failure.StreamFailure},
		{id: "words of another", cli: "codex", stdout: codexStart + `{"type":"item.completed","item":{"type":"agent_message","text":"done"}}`, want: failure.StreamFailure},
		{id: "E16 an echo of the prompt", cli: "codex", stderr: "user: repair this\nERROR: 401 unauthorized", given: "repair this\nERROR: 401 unauthorized\n", exit: agent.Exit{Code: 1}, want: failure.CLIError},
		{id: "E16 an echo inside a line", cli: "claude", stderr: "prompt: error: 401 unauthorized", given: "repair this\nerror: 401 unauthorized", exit: agent.Exit{Code: 1}, want: failure.CLIError},
		{id: "E16 an echo inside an error", cli: "claude", stderr: "Error: cannot run prompt 'fix the 401 unauthorized'", given: "fix the 401 unauthorized", exit: agent.Exit{Code: 1}, want: failure.CLIError},
		{id: "E16 an echo beside an error", cli: "claude", stderr: "Error: 429 Too Many Requests for 'fix the 401 unauthorized'", given: "fix the 401 unauthorized", exit: agent.Exit{Code: 1}, want: failure.RateLimited},
		{id: "E16 an echo about a token", cli: "codex", stdout: codexStart, stderr: "user\nERROR: the refresh token is rejected", given: "\x1b[31mERROR\x1b[0m: the refresh token is rejected", exit: agent.Exit{Code: 1}, want: failure.CLIError},
		{id: "E16 words about a token without a mark", cli: "codex", stdout: codexStart, stderr: "the refresh token is rejected", exit: agent.Exit{Code: 1}, want: failure.CLIError},
		{id: "E16 words without a mark", cli: "claude", stderr: "the log said 401 unauthorized", exit: agent.Exit{Code: 1}, want: failure.CLIError},
		{
			id: "E18 killed for want of memory", cli: "pi", stdout: `{"type":"agent_start"}`,
			exit: agent.Exit{Code: 137, OutOfMemory: true}, want: failure.KilledExternally,
		},
		{id: "E17 killed from outside", cli: "pi", stdout: `{"type":"agent_start"}`, exit: agent.Exit{Code: 137, Signal: "SIGKILL"}, want: failure.KilledExternally},
		{id: "E20 vague, then specific", cli: "copilot", stdout: `{"type":"session.error","data":{"message":"it went wrong"}}` + "\n" + `{"type":"session.error","data":{"message":"x","statusCode":429}}` + "\n" + `{"type":"result","exitCode":1}`, want: failure.RateLimited},
		{id: "E20 specific, then vague", cli: "copilot", stdout: `{"type":"session.error","data":{"message":"x","statusCode":429}}` + "\n" + `{"type":"session.error","data":{"message":"it went wrong"}}` + "\n" + `{"type":"result","exitCode":1}`, want: failure.RateLimited},
		{id: "G80 refused, then allowed", cli: "claude", stdout: claudeLimit + `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}` + "\n", exit: agent.Exit{Code: 1}, want: failure.CLIError},
		{id: "G81 refused, and a success", cli: "claude", stdout: claudeLimit + claudeGood, want: ""},
		{id: "G82 refused until later", cli: "claude", stdout: claudeLimit, exit: agent.Exit{Code: 1}, want: failure.RateLimited, text: "limit is reached", reset: later},
		{id: "G82 refused, and an error", cli: "claude", stdout: claudeLimit + `{"type":"result","subtype":"success","is_error":true,"result":"You've hit your limit · resets 3pm"}`, exit: agent.Exit{Code: 1}, want: failure.RateLimited, reset: later},
		{id: "G84 no credit, on stderr", cli: "claude", stderr: "API Error: Credit balance is too low", exit: agent.Exit{Code: 1}, want: failure.Billing},
		{id: "G84 no credit, without a mark", cli: "claude", stderr: "Credit balance is too low", exit: agent.Exit{Code: 1}, want: failure.Billing},
		{id: "G84 no credit, in another sentence", cli: "claude", stderr: "expected: Credit balance is too low", exit: agent.Exit{Code: 1}, want: failure.CLIError},
		{id: "G84 no credit, in the prompt", cli: "claude", stderr: "Credit balance is too low", given: "FAIL: got\nCredit balance is too low", exit: agent.Exit{Code: 1}, want: failure.CLIError},
		{id: "G84 no credit, on stdout", cli: "claude", stdout: "Credit balance is too low", exit: agent.Exit{Code: 1}, want: failure.CLIError},
		{id: "G84 no credit, in what it says", cli: "claude", stdout: `{"type":"assistant","message":{"content":[{"type":"text","text":"API Error: Credit balance is too low"}]}}` + "\n", exit: agent.Exit{Code: 1}, want: failure.CLIError},
		{id: "G86 a later result without words", cli: "claude", stdout: claudeGood + `{"type":"result","subtype":"success","is_error":false,"result":null}` + "\n" + `{"type":"result","subtype":"error_during_execution","is_error":true}`, want: ""},
		{id: "C33 stays what it was", cli: "opencode", stdout: `{"type":"text","part":{"text":"prose"}}`, want: failure.StreamFailure},
		{id: "C38 a line of 9 MB", cli: "codex", stdout: codexStart + `{"type":"item.completed","item":{"type":"command_execution","aggregated_output":"` + strings.Repeat("x", 9<<20) + `"}}` + "\n" + `{"type":"item.completed","item":{"type":"agent_message","text":"done"}}` + "\n" + `{"type":"turn.completed","usage":{"input_tokens":1}}`, want: ""},
		{id: "C40 a limit with a date", cli: "codex", stderr: "ERROR: You've hit your usage limit. Try again at Apr 28th, 2026 10:03 PM.", exit: agent.Exit{Code: 1}, want: failure.QuotaExhausted, reset: reset.Reset{At: time.Date(2026, 4, 28, 22, 3, 0, 0, time.Local).UTC()}},
		{id: "C40 a limit with a date in an event", cli: "codex", stdout: codexStart + `{"type":"error","message":"You've hit your usage limit."}` + "\n" + `{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again at Apr 28th, 2026 10:03 PM."}}`, exit: agent.Exit{Code: 1}, want: failure.QuotaExhausted, reset: reset.Reset{At: time.Date(2026, 4, 28, 22, 3, 0, 0, time.Local).UTC()}},
		{id: "C40 a limit with a span on stderr", cli: "gemini", stdout: `{"type":"result","status":"error","error":{"message":"You have exhausted your daily quota on this model."}}`, stderr: "TerminalQuotaError: You have exhausted your capacity on this model. Your quota will reset after 3h12m.", exit: agent.Exit{Code: 1}, want: failure.QuotaExhausted, reset: reset.Reset{After: 3*time.Hour + 12*time.Minute}},
		{id: "C40 a limit in a whole sentence", cli: "claude", stderr: "You've hit your session limit · resets Apr 28, 3:50pm (UTC)", exit: agent.Exit{Code: 1}, want: failure.QuotaExhausted},
		{id: "C40 a limit in a whole sentence of another form", cli: "claude", stderr: "You're out of extra usage · resets 3pm (UTC)", exit: agent.Exit{Code: 1}, want: failure.QuotaExhausted},
		{id: "a limit inside another sentence", cli: "claude", stderr: "FAIL: got You're out of extra usage", exit: agent.Exit{Code: 1}, want: failure.CLIError},
		{id: "a limit in what it says", cli: "claude", stdout: claudeSays + `{"type":"assistant","message":{"content":[{"type":"text","text":"You've reached your Opus limit · resets 3pm (UTC)"}]}}` + "\n", exit: agent.Exit{Code: 1}, want: failure.CLIError},
		{id: "a busy server is no used-up limit", cli: "codex", stderr: "ERROR: API Error: Server is temporarily limiting requests (not your usage limit) · Rate limited", exit: agent.Exit{Code: 1}, want: failure.ServerOverload},
		{id: "C41 the same beside a success", cli: "codex", stdout: codexStart + `{"type":"item.completed","item":{"type":"agent_message","text":"done"}}` + "\n" + `{"type":"turn.completed","usage":{"input_tokens":1}}`, stderr: "ERROR: You've hit your usage limit.", want: ""},
		{id: "C41 the same beside exit 0 and events", cli: "codex", stdout: codexStart, stderr: "ERROR: You've hit your usage limit.", want: failure.StreamFailure},
		{id: "C41 the same beside exit 0 and other output", cli: "codex", stdout: "hello", stderr: "ERROR: You've hit your usage limit.", want: failure.ParseError},
		{id: "C41 the same, exit 0 and no output", cli: "codex", stderr: "ERROR: You've hit your usage limit.", want: failure.QuotaExhausted},
		{id: "C41 the same beside our clock", cli: "codex", stdout: codexStart, stderr: "ERROR: You've hit your usage limit.", exit: agent.Exit{IdledOut: true}, want: failure.QuotaExhausted},
		{id: "C42 no tools", cli: "codex", stdout: codexStart, stderr: "2026-01-01T00:00:00Z ERROR codex_core: handshaking with MCP server failed: x", exit: agent.Exit{Code: 143, Signal: "SIGTERM"}, want: failure.MCPHandshakeFailed},
		{id: "C44 no program", cli: "pi", stderr: "pi: not found", exit: agent.Exit{Code: 127}, want: failure.CLINotInPath},
		{id: "C45 a vague end, and a limit on stderr", cli: "gemini", stdout: `{"type":"result","status":"error","error":{"message":"it went wrong"}}`, stderr: "Error: got status: 429 Too Many Requests", exit: agent.Exit{Code: 1}, want: failure.RateLimited},
		{id: "C45 a vague end, and the last of its own retries", cli: "gemini", stdout: `{"type":"result","status":"error","error":{"message":"it went wrong"}}`, stderr: "Attempt 3 failed with status 429. Max attempts reached", exit: agent.Exit{Code: 1}, want: failure.RateLimited},
		{id: "C45 a vague end, and one of its own retries", cli: "gemini", stdout: `{"type":"result","status":"error","error":{"message":"it went wrong"}}`, stderr: "Attempt 1 failed with status 429. Retrying with backoff...", exit: agent.Exit{Code: 1}, want: failure.Unknown},
		{id: "C45 its own name of an error", cli: "gemini", stderr: "TerminalQuotaError: You have exhausted your capacity on this model. Your quota will reset after 3h12m.", exit: agent.Exit{Code: 1}, want: failure.QuotaExhausted},
		{id: "C45 its own sentence", cli: "gemini", stderr: "You have exhausted your daily quota on this model.", exit: agent.Exit{Code: 1}, want: failure.QuotaExhausted},
		{id: "C46 a quota, then a vague end", cli: "gemini", stdout: `{"type":"error","severity":"error","message":"You have exhausted your daily quota on this model."}` + "\n" + `{"type":"result","status":"error"}`, exit: agent.Exit{Code: 1}, want: failure.QuotaExhausted},
		{id: "C46 a quota, then its consequences", cli: "codex", stdout: codexStart + `{"type":"error","message":"You've hit your usage limit."}` + "\n" + `{"type":"turn.failed","error":{"message":"stream disconnected before completion: x"}}`, exit: agent.Exit{Code: 1}, want: failure.QuotaExhausted, text: "usage limit"},
		{id: "C46 asked again, then a quota", cli: "codex", stdout: codexStart + `{"type":"error","message":"Reconnecting... 1/5 (stream disconnected before completion: x)"}` + "\n" + `{"type":"error","message":"You've hit your usage limit."}` + "\n" + `{"type":"turn.failed","error":{"message":"You've hit your usage limit."}}`, exit: agent.Exit{Code: 1}, want: failure.QuotaExhausted},
		{id: "C46 asked again, then no more", cli: "codex", stdout: codexStart + `{"type":"error","message":"Reconnecting… 1/5 (stream disconnected before completion: x)"}` + "\n", exit: agent.Exit{Code: 1}, want: failure.StreamFailure},
		{id: "C46 a quota, work, then another error", cli: "codex", stdout: codexStart + `{"type":"error","message":"You've hit your usage limit."}` + "\n" + `{"type":"item.completed","item":{"type":"agent_message","text":"on"}}` + "\n" + `{"type":"turn.failed","error":{"message":"stream disconnected before completion: x"}}`, exit: agent.Exit{Code: 1}, want: failure.StreamFailure},
		{id: "C46 a quota, then an end that names its error", cli: "gemini", stdout: `{"type":"error","severity":"error","message":"You have exhausted your daily quota on this model."}` + "\n" + `{"type":"result","status":"error","error":{"message":"it went wrong"}}`, exit: agent.Exit{Code: 1}, want: failure.QuotaExhausted},
		{id: "C46 an end that was none does not count", cli: "pi", stdout: `{"type":"message_end","message":{"role":"assistant","stopReason":"error","errorMessage":"429 slow down"}}` + "\n" + `{"type":"agent_end"}` + "\n" + `{"type":"auto_retry_start"}` + "\n" + `{"type":"message_end","message":{"role":"assistant","stopReason":"error","errorMessage":"401 no"}}` + "\n" + `{"type":"agent_end"}`, want: failure.AuthInvalid},
		{id: "E04 a last event without a reason", cli: "copilot", stdout: `{"type":"result","exitCode":1}`, want: failure.AgentError},
		{id: "a refusal", cli: "claude", stdout: `{"type":"result","subtype":"success","is_error":true,"stop_reason":"refusal","result":"API Error: no"}`, exit: agent.Exit{Code: 1}, want: failure.ContentPolicy},
		{id: "an answer that cannot be read", cli: "copilot", stdout: `{"type":"session.error","data":{"message":"Failed to get response from the AI model; retried 5 times (total retry wait time: 5.00 seconds) Last error: Failed to parse chat-completions stream chunk: expected value at line 1 column 1"}}` + "\n" + `{"type":"result","exitCode":1}`, exit: agent.Exit{Code: 1}, want: failure.StreamFailure},
		{id: "another that cannot be read", cli: "pi", stdout: `{"type":"message_end","message":{"role":"assistant","stopReason":"error","errorMessage":"Unexpected token '<', \"<!-- th\"... is not valid JSON"}}` + "\n" + `{"type":"agent_end","messages":[]}` + "\n", want: failure.StreamFailure},
		{id: "and one of gemini", cli: "gemini", stdout: `{"type":"result","status":"error","error":{"type":"Error","message":"[API Error: Unexpected token '<', \"<!-- th\"... is not valid JSON]"}}`, exit: agent.Exit{Code: 1}, want: failure.StreamFailure},
		{id: "a refusal in words", cli: "claude", stdout: `{"type":"result","subtype":"success","is_error":true,"result":"API Error: Sonnet 4.5 can't help with this. Start a new session to continue."}`, exit: agent.Exit{Code: 1}, want: failure.ContentPolicy},
		{id: "a success on our signal", cli: "copilot", stdout: `{"type":"assistant.message","data":{"content":"working"}}` + "\n" + `{"type":"abort"}` + "\n" + `{"type":"result","exitCode":0}`, exit: agent.Exit{IdledOut: true}, want: failure.IdleTimeout},
		{id: "no events", cli: "codex", stdout: "Welcome!\n", want: failure.ParseError},
		{id: "the last line has no end", cli: "claude", stdout: claudeSays + strings.TrimSpace(claudeGood), want: ""},
		{id: "half of the last line", cli: "claude", stdout: claudeSays + claudeGood[:30], want: failure.StreamFailure},
		{id: "a limit of a pi that ends in a long line", cli: "pi", stdout: `{"type":"message_end","message":{"role":"assistant","stopReason":"stop","content":[{"type":"text","text":"done"}]}}` + "\n" + `{"type":"agent_end","messages":["` + strings.Repeat("x", 9<<20) + `"]}` + "\n", want: ""},
	} {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			rep := &report{}
			s := newReading(find(c.cli), agent.Request{Prompt: c.given}, rep)
			_, _ = s.stderr().Write([]byte(c.stderr))
			_, _ = s.stdout().Write([]byte(c.stdout))
			s.close()
			f := judge(rep, closing{exit: c.exit, said: s.said, lines: s.lines, given: s.given, prog: s.prog})
			if f.kind != c.want || !strings.Contains(f.text, c.text) || (f.kind != "") != (f.text != "") {
				t.Errorf("%q: %s, want %q", f.kind, f.text, c.want)
			}
			if c.reset != (reset.Reset{}) && f.reset != c.reset {
				t.Errorf("%v, want %v", f.reset, c.reset)
			}
		})
	}
}

// A success event after we told the CLI to end is none.
func TestSuccessAfterOurSignal(t *testing.T) {
	t.Parallel()
	over := false
	rep := &report{over: func() bool { return over }}
	read := readClaude(rep)
	read([]byte(claudeSays))
	over = true
	read([]byte(claudeGood))
	if f := judge(rep, closing{exit: agent.Exit{TimedOut: true}}); f.kind != failure.WallTimeout {
		t.Errorf("%v", f)
	}
}

// Streams of any length take little memory, and what only repeats is not kept.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: little of it runs at once, so the race detector finds little")
	}
	var raw, lines int
	s := newReading(pi, agent.Request{
		Raw:  writer(func(p []byte) { raw += len(p) }, new(nopLock)),
		Note: func(agent.Line) { lines++ },
	}, &report{})
	out := s.stdout()
	update := []byte(`{"type":"message_update","x":"` + strings.Repeat("y", 1<<16) + `"}` + "\n")
	for range 500 {
		_, _ = out.Write(update)
	}
	if raw != 0 || s.leftOut == 0 {
		t.Errorf("%d bytes of repetition were kept", raw)
	}
	other := []byte(`{"type":"tool_execution_start","toolName":"read","args":{"path":"` + strings.Repeat("y", 1<<16) + `"}}` + "\n")
	for range 500 {
		_, _ = out.Write(other)
	}
	if raw > maxTotal+1<<17 || raw < maxTotal-1<<17 {
		t.Errorf("%d bytes were kept", raw)
	}
	for range maxLines {
		_, _ = out.Write([]byte(`{"type":"tool_execution_start","toolName":"read"}` + "\n"))
	}
	if lines > maxLines {
		t.Errorf("%d lines", lines)
	}
}

type nopLock struct{}

func (*nopLock) Lock()   {}
func (*nopLock) Unlock() {}
