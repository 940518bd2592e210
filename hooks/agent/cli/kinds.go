package cli

// The kinds of errors that CLIs report in words. Only fields for errors, and lines of stderr that are the CLI's own
// errors, come here: never what the model said, what a tool printed, or a prompt that is echoed.

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// phrases are the CLIs' own words, in small letters, the more specific first.
var phrases = []struct {
	kind  failure.Kind
	words []string
}{
	{failure.TokenRefreshLost, []string{"could not be refreshed", "refresh token"}},
	{failure.AuthInvalid, []string{"oauth token has expired", "oauth token revoked"}},
	{failure.MCPHandshakeFailed, []string{"handshaking with mcp server failed"}},
	{failure.CLIConfig, []string{
		"no conversation found", "session not found", "no rollout found", "invalid session identifier",
		"no session found", "no session, task, or name matched", "unknown option", "unexpected argument",
		"unknown argument",
	}},
	{failure.AuthMissing, []string{
		"not logged in", "not signed in", "please run /login", "please log in", "no authentication information",
		"set an auth method", "specify one of the following environment variables", "no api key",
		"authentication required",
	}},
	{failure.QuotaExhausted, []string{
		"usage limit", "session limit", "5-hour limit", "weekly limit", "upgrade to plus", "quota_exhausted",
		"terminalquotaerror", "exhausted your daily quota", "out of credits", "out of extra usage", "hit your limit",
		"reached your limit", "opus limit", "sonnet limit", "haiku limit", "limit · resets", "limit ∙ resets",
	}},
	{failure.ModelNotFound, []string{
		"issue with the selected model", "does not exist or you do not have access", "model not found",
		"model is not supported",
	}},
	{failure.ContextOverflow, []string{"prompt is too long", "prompt as too long", "contextoverflowerror"}},
	{failure.RequestTooLarge, []string{"request too large", "exceeds the maximum size"}},
	{failure.AgentError, []string{"output token maximum", "max_output_tokens"}},
	{failure.EmptyOutput, []string{"empty response with no text", "no response was returned"}},
	{failure.ContentPolicy, []string{"can't help with this", "violate our usage policy"}},
	{failure.ServerOverload, []string{"high demand", "temporarily limiting requests"}},
	{failure.DNSNotFound, []string{"enotfound", "getaddrinfo", "dns error"}},
	{failure.TLSError, []string{"certificate", "self-signed", "err_tls"}},
	{failure.TransportDisconnect, []string{
		"econnrefused", "connection refused", "econnreset", "connection to the api was lost", "fetch failed",
		"could not connect", "cannot connect to api", "socket connection was closed", "waiting for network",
		"connection error", "network error",
	}},
	{failure.StreamFailure, []string{
		"stream disconnected", "terminated", "incomplete json", "without finish", "without a finish",
		"json parse error", "mid-response", "malformed response", "missing finish_reason",
		"without sending any chunks", "unexpected eof", "stream closed", "unterminated", "idle timeout",
		"could not parse message", "stream chunk", "is not valid json",
	}},
}

// statusIn finds the status of HTTP that a text begins with or names.
var statusIn = lazily.Regexp(`(?i)(?:^|\bstatus:? |\bhttp |\berror(?: \([^()]{1,60}\))?: |\()([45]\d\d)\b`)

// kindOf returns the kind of an error, failure.Unknown if nothing tells. Status and codes may be missing: a message
// may hold them, also as the body of the provider's answer.
func kindOf(status int, codes []string, message string) failure.Kind {
	if from := strings.IndexByte(message, '{'); from >= 0 {
		var body struct {
			Error struct {
				Code    any    `json:"code"` // a number or a word
				Status  string `json:"status"`
				Type    string `json:"type"`
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.NewDecoder(strings.NewReader(message[from:])).Decode(&body) == nil && body.Error.Message != "" {
			e := body.Error
			switch code := e.Code.(type) {
			case float64:
				status = int(code)
			case string:
				codes = append(codes, code)
			}
			codes, message = append(codes, e.Status, e.Type), e.Message
		}
	}
	message = strings.ReplaceAll(message, "(not your usage limit)", "") // claude, of a server that is busy
	if m := statusIn().FindStringSubmatch(message); status == 0 && m != nil {
		status, _ = strconv.Atoi(m[1])
	}
	kind := model.KindOf(status, codes, message)
	switch kind {
	case failure.Unknown, failure.TransportDisconnect, failure.InvalidRequest, failure.RateLimited, failure.AuthInvalid:
		// words of the CLI itself may tell more
	default:
		return kind
	}
	if own := worded(message); own != "" && (kind != failure.RateLimited || own == failure.QuotaExhausted || own == failure.ServerOverload) &&
		(kind != failure.AuthInvalid || own == failure.AuthMissing || own == failure.TokenRefreshLost) {
		return own
	}
	return kind
}

// worded returns the kind that a CLI's own words stand for; empty: none.
func worded(message string) failure.Kind {
	text := strings.ToLower(strings.ReplaceAll(message, "’", "'"))
	for _, p := range phrases {
		for _, w := range p.words {
			if strings.Contains(text, w) {
				return p.kind
			}
		}
	}
	return ""
}

// errorLine matches a line of stderr that a CLI itself marks as an error; its group is what follows. A log of Rust
// has a time and a module.
var errorLine = lazily.Regexp(
	`^(?:\[?\S{0,40}\]? ?ERROR[: ]+(?:[\w:]+: )?|(?:\w+: )?(?:[Ee]rror|[Ff]atal|API Error)\b[^:]{0,60}: ?|\[?API Error: )(.*)`)

// errorSentence matches a whole line of stderr that is an error, although the CLI does not mark it as one.
var errorSentence = lazily.Regexp(`(?i)^(?:` +
	`credit balance is too low\.?|` + // claude
	`(?:not logged in|invalid api key)(?: · .*|\.)?|` +
	`you['’]ve (?:hit|reached) your (?:[\w -]{1,30} )?limit(?: [·∙] .*|\.)?|` +
	`you['’]re out of extra usage(?: [·∙] .*|\.)?|` +
	`claude ai usage limit reached\|\d+|` +
	`no authentication information found\.?|` + // copilot
	`please set an auth method in your .*|` + // gemini
	`(?:(?:terminal|retryable)quotaerror|modelnotfounderror): .*|` +
	`you have exhausted your (?:capacity|quota|daily quota) on this model\..*|` +
	`attempt \d+ failed\b.*\. max attempts reached` +
	`)$`)

// refusedLine matches the line in which opencode says that it refuses a permission, because nobody is asked.
var refusedLine = lazily.Regexp(`^! permission requested: .*; auto-rejecting$`)

// complaint returns the fault that the errors on stderr tell, empty if they tell none.
func complaint(lines []string, given string) (f fault) {
	for _, line := range lines {
		if words, marked := markedError(withoutEcho(line, given)); marked {
			f = newFault(kindOf(0, nil, words), line).or(f)
		}
	}
	return f
}

// refusal returns the fault that a permission was refused, empty if none was.
func refusal(lines []string, given string) fault {
	for _, line := range lines {
		if refusedLine().MatchString(withoutEcho(line, given)) {
			return fault{kind: failure.PermissionDenied, text: short(line)}
		}
	}
	return fault{}
}

// markedError returns what a line of stderr says after the CLI's own mark of an error, and reports whether it is an
// error: some CLIs print whole sentences without a mark.
func markedError(line string) (words string, ok bool) {
	if m := errorLine().FindStringSubmatch(line); m != nil {
		return m[1], true
	}
	return line, errorSentence().MatchString(line)
}

// leastEcho is the length of a line that is looked for inside longer lines, in bytes. A shorter one may be in the CLI's
// own words by chance.
const leastEcho = 16

// withoutEcho returns what a line of stderr holds besides what the agent was given, its prompt and its context pack:
// CLIs print these, alone and inside lines of their own.
func withoutEcho(line, given string) string {
	if given != "" && strings.Contains(given, line) {
		return ""
	}
	for part := range strings.SplitSeq(given, "\n") {
		if part = strings.TrimSpace(part); len(part) >= leastEcho {
			line = strings.ReplaceAll(line, part, "")
		}
	}
	return line
}
