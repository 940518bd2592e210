package model

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// refuse is the error of a turn whose answer has this status and body.
func refuse(t *testing.T, status int, body string, header ...string) *Error {
	t.Helper()
	m := talk(Anthropic, func(*http.Request) (*http.Response, error) { return respond(status, text(body), header...), nil })
	return failed(t, m)
}

// What a provider refuses, and whether the same request is worth another try.
func TestClassify(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		body   string
		kind   failure.Kind
		again  bool
		words  string // of the message
	}{
		{"P80", 403, `{"error":{"code":"x","message":"Insufficient Balance"}}`, failure.Billing, false, "Insufficient Balance"},
		{"P80 402", 402, `{"error":{"message":"pay"}}`, failure.Billing, false, "pay"},
		{"P80 chinese", 400, `{"error":{"message":"您的账户余额不足"}}`, failure.Billing, false, "余额不足"},
		{"P80 anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, failure.Billing, false, "credit balance"},
		{"P81", 429, `{"error":{"type":"rate_limit_error","message":"Too many requests; see your plan and billing settings"}}`, failure.RateLimited, true, "Too many"},
		{"P82", 429, `{"code":"resource_exhausted"}`, failure.RateLimited, true, "resource_exhausted"},
		{"P76 rate limit", 429, `{"error":{"message":"slow"}}`, failure.RateLimited, true, "slow"},
		{"P76 overload", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, failure.ServerOverload, true, "Overloaded"},
		{"P77 503", 503, `nothing`, failure.ServerOverload, true, `"nothing"`},
		{"P77 400", 400, ``, failure.InvalidRequest, false, "says no more"},
		{"B94 503", 503, `{"error":{"message":"overloaded"}}`, failure.ServerOverload, true, "overloaded"},
		{"B97", 400, `{"error":{"code":"context_length_exceeded","message":"too long"}}`, failure.ContextOverflow, false, "too long"},
		{"B98", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, failure.ContextOverflow, false, "too long"},
		{"B98 gemini", 400, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}`, failure.ContextOverflow, false, "1200000"},
		{"B97 beside a plan", 400, `{"error":{"code":"context_length_exceeded","message":"maximum context length is 8192 tokens for your plan"}}`, failure.ContextOverflow, false, "plan"},
		{"B97 beside credits", 400, `{"error":{"code":"context_length_exceeded","type":"invalid_request_error","message":"too long; buy credits for a larger context"}}`, failure.ContextOverflow, false, "credits"},
		{"B97 in words", 400, `{"error":{"message":"context_length_exceeded"}}`, failure.ContextOverflow, false, "length"},
		{"B98 beside a plan", 400, `{"error":{"type":"invalid_request_error","message":"prompt is too long; see your plan"}}`, failure.ContextOverflow, false, "plan"},
		{"B98 beside a subscription", 400, `{"error":{"type":"invalid_request_error","message":"The prompt is too long for this subscription"}}`, failure.ContextOverflow, false, "subscription"},
		{"B98 xai", 400, `{"error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, failure.ContextOverflow, false, "131072"},
		{"B98 llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it"}}`, failure.ContextOverflow, false, "size"},
		{"B98 large", 400, `{"error":{"type":"invalid_request_error","message":"Your prompt is too large"}}`, failure.ContextOverflow, false, "large"},
		{"B98 without its status", 403, `{"error":{"message":"the context window of your plan is smaller"}}`, failure.Billing, false, "plan"},
		{"tokens that a plan has not", 400, `{"error":{"message":"token limit of your plan reached"}}`, failure.Billing, false, "plan"},
		{"a rate limit of a large input", 429, `{"error":{"code":"rate_limit_exceeded","message":"Request too large: the input is too large for 30000 tokens per min, reduce the length"}}`, failure.RateLimited, true, "per min"},
		{"overloaded by a long context", 529, `{"error":{"type":"overloaded_error","message":"context window busy"}}`, failure.ServerOverload, true, "busy"},
		{"B98 output limit", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 900000 > 64000, over the output token limit"}}`, failure.InvalidRequest, false, "max_tokens"},
		{"B98 both", 400, `{"error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 190000 + 21333 > 204798"}}`, failure.ContextOverflow, false, "limit"},
		{"B101", 503, `{"error":{"message":"token limit exceeded"}}`, failure.ServerOverload, true, "token limit"},
		{"B93 used up, whatever the status", 502, `{"error":{"message":"Your quota has been exceeded, stream closed"}}`, failure.QuotaExhausted, false, "quota"},
		{"B101 but a quota that is used up", 503, `{"error":{"message":"insufficient_quota","type":"server_error"}}`, failure.QuotaExhausted, false, "quota"},
		{"B101 but an empty balance", 503, `{"error":{"message":"insufficient balance","type":"server_error"}}`, failure.Billing, false, "balance"},
		{"B93 funds", 500, `{"error":{"message":"insufficient funds; stream closed"}}`, failure.Billing, false, "funds"},
		{"B93 a quota that only could not be read", 503, `{"error":{"message":"the quota service is unavailable"}}`, failure.ServerOverload, true, "quota"},
		{"a quota of a minute, in words", 429, `{"error":{"message":"Quota exceeded for quota metric 'Requests' and limit 'Requests per minute'"}}`, failure.RateLimited, true, "Quota"},
		{"a quota that is there soon", 500, `{"error":{"message":"token quota exceeded, please retry after 6 seconds"}}`, failure.ServerOverload, true, "quota"},
		{"a link to a quota", 429, `{"error":{"message":"Requests have exceeded token rate limit. Please contact support at https://aka.ms/oai/quotaincrease"}}`, failure.RateLimited, true, "quotaincrease"},
		{"a link to billing", 429, `{"error":{"message":"Rate limit reached for requests. You can increase your rate limit at https://platform.openai.com/account/billing"}}`, failure.RateLimited, true, "billing"},
		{"B93", 500, `{"error":{"message":"quota exceeded: stream closed"}}`, failure.QuotaExhausted, false, "quota"},
		{"quota", 429, `{"error":{"code":"insufficient_quota","type":"insufficient_quota","message":"You exceeded your current quota, please check your plan and billing details."}}`, failure.QuotaExhausted, false, "quota"},
		{"quota of a minute", 429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, please check your plan and billing details.","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProject"}]}]}}`, failure.RateLimited, true, "quota"},
		{"quota of a day", 429, `[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota.","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}]`, failure.QuotaExhausted, false, "quota"},
		{"spend limit", 400, `{"error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits."}}`, failure.QuotaExhausted, false, "limits"},
		{"weak billing at 403", 403, `{"error":{"message":"This method requires billing to be enabled."}}`, failure.Billing, false, "billing"},
		{"401", 401, `{"error":{"type":"authentication_error","message":"invalid x-api-key"}}`, failure.AuthInvalid, false, "x-api-key"},
		{"403", 403, `{"error":{"type":"permission_error","message":"no"}}`, failure.AuthInvalid, false, "no"},
		{"gemini key", 400, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"API key not valid.","details":[{"reason":"API_KEY_INVALID"}]}}`, failure.AuthInvalid, false, "API key"},
		{"404", 404, `{"error":{"type":"not_found_error","message":"model: x"}}`, failure.ModelNotFound, false, "model: x"},
		{"413", 413, `{"error":{"type":"request_too_large","message":"big"}}`, failure.RequestTooLarge, false, "big"},
		{"policy", 400, `{"error":{"code":"content_policy_violation","message":"no"}}`, failure.ContentPolicy, false, "no"},
		{"policy in words", 400, `{"error":{"message":"rejected by the content filter"}}`, failure.ContentPolicy, false, "filter"},
		{"404 of a web server", 404, "404 page not found\n", failure.ModelNotFound, false, `is the base URL right? "404 page not found`},
		{"404 of a framework", 404, `{"detail":"Not Found"}`, failure.ModelNotFound, false, "is the base URL right? Not Found"},
		{"404 of a server with the fields at the top", 404, `{"object":"error","message":"The model x does not exist.","type":"NotFoundError","code":404}`, failure.ModelNotFound, false, "The model x"},
		{"410", 410, `{"error":{"message":"the model was retired"}}`, failure.ModelNotFound, false, "retired"},
		{"a model in words", 400, `{"error":{"code":400,"message":"nope/x is not a valid model ID"}}`, failure.ModelNotFound, false, "nope/x"},
		{"a model that the plan has not", 400, `{"error":{"code":"model_not_supported","message":"The requested model is not supported."}}`, failure.ModelNotFound, false, "not supported"},
		{"moderation", 403, `{"error":{"code":403,"message":"Your input was flagged","metadata":{"reasons":["violence"],"flagged_input":"x"}}}`, failure.ContentPolicy, false, "flagged"},
		{"a 403 that is a limit", 403, `{"message":"You have exceeded a secondary rate limit."}`, failure.RateLimited, true, "secondary"},
		{"403 of a region", 403, `{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported"}}`, failure.AuthInvalid, false, "Country"},
		{"moonshot quota", 429, `{"error":{"type":"exceeded_current_quota_error","message":"Your account is suspended"}}`, failure.QuotaExhausted, false, "suspended"},
		{"the provider behind a gateway", 429, `{"error":{"code":429,"message":"Provider returned error","metadata":{"raw":"x is temporarily rate-limited upstream","provider_name":"p"}}}`, failure.RateLimited, true, "Provider returned error: x is temporarily"},
		{"a call that could not be read", 400, `{"error":{"type":"invalid_request_error","code":"tool_use_failed","message":"Failed to call a function."}}`, failure.StreamFailure, true, "Failed to call"},
		{"422", 422, `{"error":{"type":"invalid_request_error","message":"temperature"}}`, failure.InvalidRequest, false, "temperature"},
		{"429 in words", 429, `Too Many Requests`, failure.RateLimited, true, "Too Many"},
		{"500", 500, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, failure.ServerOverload, true, "Internal"},
		{"502", 502, ``, failure.ServerOverload, true, "says no more"},
		{"504", 504, `<html>Gateway Time-out</html>`, failure.ServerOverload, true, "Time-out"},
		{"402 as JSON in an array", 402, `[{"error":{"code":402,"message":"More credits are needed"}}]`, failure.Billing, false, "credits"},
		{"304", 304, ``, failure.InvalidRequest, false, ""},
		{"409", 409, `{"error":{"message":"conflict"}}`, failure.InvalidRequest, false, "conflict"},
		{"408", 408, ``, failure.ServerOverload, true, ""},
		{"zai overload", 400, `{"error":{"code":"1305","message":"try later"}}`, failure.ServerOverload, true, "later"},
		{"HTML", 502, "<html>\n\n<h1>502 Bad\tGateway</h1></html>", failure.ServerOverload, true, `"<html> <h1>502 Bad Gateway</h1></html>"`},
		{"a string", 400, `{"error":"model is required"}`, failure.InvalidRequest, false, "model is required"},
		{"detail", 422, `{"detail":"field required"}`, failure.InvalidRequest, false, "field required"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := refuse(t, c.status, c.body)
			if e.Kind != c.kind || e.Retryable != c.again || e.Status != c.status || !strings.Contains(e.Message, c.words) || e.RetryAfter >= 0 {
				t.Errorf("%+v", e)
			}
		})
	}
}

// P76 P77: the provider's own word on a retry counts where the kind does not say it already.
func TestProvidersWordOnRetry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		word   string
		again  bool
	}{
		{"P76 rate limit", 429, "false", true},
		{"P76 overload", 500, "false", true},
		{"P77 503", 503, "false", true},
		{"P77 401", 401, "true", false},
		{"P77 400", 400, "true", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if e := refuse(t, c.status, `{"error":{"message":"x"}}`, "X-Should-Retry", c.word); e.Retryable != c.again {
				t.Errorf("%+v", e)
			}
		})
	}
	t.Run("P77 unknown", func(t *testing.T) {
		for _, again := range []bool{true, false} {
			if e := (facts{codes: []string{"weird"}, again: &again}).error(); e.Kind != failure.Unknown || e.Retryable != again {
				t.Errorf("%+v", e)
			}
		}
	})
}

// B93: the words of a quota that is used up win over those of a lost connection. The quota of a moment, and one that
// is only spoken of, may be there again.
func TestB93QuotaWinsInWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]failure.Kind{
		"quota exhausted: stream closed":                                      failure.QuotaExhausted,
		"Your quota has been exceeded, stream closed":                         failure.QuotaExhausted,
		"Quota limit reached (stream closed)":                                 failure.QuotaExhausted,
		"out of quota; stream closed":                                         failure.QuotaExhausted,
		"You have run out of quota; stream closed":                            failure.QuotaExhausted,
		"monthly quota reached, stream closed before completion":              failure.QuotaExhausted,
		"usage limit exceeded; stream closed":                                 failure.QuotaExhausted,
		"You've hit your usage limit. stream closed":                          failure.QuotaExhausted,
		"You have exhausted your capacity; stream closed":                     failure.QuotaExhausted,
		"credit limit reached; stream closed":                                 failure.QuotaExhausted,
		"quota exceeded; overloaded, try again in 3600 seconds":               failure.QuotaExhausted,
		"insufficient_quota: stream closed":                                   failure.QuotaExhausted,
		"insufficient funds; stream closed":                                   failure.Billing,
		"stream closed: billing hard limit":                                   failure.Billing,
		"quota of tokens per minute exceeded; stream closed":                  failure.RateLimited,
		"TPM quota exceeded":                                                  failure.RateLimited,
		"quota exceeded, try again in 6.2s":                                   failure.RateLimited,
		"quota for concurrent requests reached":                               failure.RateLimited,
		"stream closed while the quota was read":                              failure.TransportDisconnect,
		"quota service: connection reset by peer":                             failure.TransportDisconnect,
		"503 from the quota service":                                          failure.ServerOverload,
		"rate limit reached; see https://example.com/billing for more credit": failure.RateLimited,
	} {
		if e := (facts{message: text, after: none}).error(); e.Kind != want || e.Retryable != want.Resend() {
			t.Errorf("%q: %s, retried: %v; want %s", text, e.Kind, e.Retryable, want)
		}
	}
}

// B90: what gateways say of a connection that broke behind them, without a code. B92: not what they say of the answer.
func TestB90WordsOfALostConnection(t *testing.T) {
	t.Parallel()
	for text, again := range map[string]bool{
		"SSE transport error: error decoding response body":         true,
		"error decoding response body":                              true,
		"SSE decode error":                                          true,
		"unexpected EOF":                                            true,
		"stream disconnected before completion":                     true,
		"upstream connect error or disconnect/reset before headers": true,
		"connection lost":                                           true,
		"connection aborted":                                        true,
		"the connection terminated":                                 true,
		"peer closed connection without sending complete message body (incomplete chunked read)": true,
		"connection closed before message completed":                                             true,
		"SSE schema error: missing choices":                                                      false,
		"error decoding request body":                                                            false,
		"invalid request: unexpected EOF in the body":                                            false,
		"unauthorized: connection terminated":                                                    false,
		"prompt is too long: connection closed":                                                  false,
		"terminated":                                                                             false, // P73
		"why did the socket hang up then":                                                        false, // P72
		"your quota has been exceeded: peer closed connection without sending complete message body.": false,
	} {
		e := (facts{message: text, after: none}).error()
		if e.Retryable != again || again && e.Kind != failure.TransportDisconnect {
			t.Errorf("%q: %s, retried: %v", text, e.Kind, e.Retryable)
		}
	}
}

// B90: an event that is no JSON, after events that were, was damaged on the way. B92: JSON of another form is what the
// endpoint speaks, and so is what it says first.
func TestB90DamagedEvent(t *testing.T) {
	t.Parallel()
	for provider, good := range map[string]string{
		Anthropic:  `{"type":"message_start","message":{"id":"m"}}`,
		OpenAI:     `{"type":"response.created","response":{"id":"r"}}`,
		OpenAIChat: `{"choices":[{"index":0,"delta":{"content":"hello"}}]}`,
		Gemini:     `{"candidates":[{"content":{"parts":[{"text":"hello"}]}}]}`,
	} {
		for _, c := range []struct {
			name   string
			events []string
			kind   failure.Kind
		}{
			{"cut", []string{good, good[:len(good)/2]}, failure.StreamFailure},
			{"cut, and more behind it", []string{good, good[:len(good)/2], good}, failure.StreamFailure},
			{"bytes", []string{good, "\xff\xfe\x00"}, failure.StreamFailure},
			{"first", []string{good[:len(good)/2], good}, failure.ParseError},
			{"of another form", []string{good, `[1]`}, failure.ParseError},
		} {
			e := failed(t, answering(provider, plain(c.events...)))
			if e.Kind != c.kind || e.Retryable != (c.kind == failure.StreamFailure) || strings.Contains(e.Message, "parse_error") {
				t.Errorf("%s, %s: %+v", provider, c.name, e)
			}
		}
	}
}

// P78 P82 B90 B93 B94 B100: errors that come inside a stream, typed or in words only.
func TestErrorsInStream(t *testing.T) {
	t.Parallel()
	begun := map[string]string{
		Anthropic: named(`{"type":"message_start","message":{"id":"m"}}`), OpenAI: named(`{"type":"response.created","response":{}}`),
	}
	for _, c := range []struct {
		name, provider, event string
		kind                  failure.Kind
		again                 bool
	}{
		{"anthropic overloaded", Anthropic, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, failure.ServerOverload, true},
		{"anthropic api_error", Anthropic, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, failure.ServerOverload, true},
		{"anthropic request", Anthropic, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt too long"}}`, failure.ContextOverflow, false},
		{"P78 unavailable", OpenAI, `{"type":"error","code":"unavailable","message":"x"}`, failure.ServerOverload, true},
		{"P78 weird", OpenAI, `{"type":"error","code":"weird","message":"overloaded, rate limit, try again"}`, failure.Unknown, false},
		{"openai nested", OpenAI, `{"type":"error","error":{"type":"server_error","message":"x"}}`, failure.ServerOverload, true},
		{"openai failed", OpenAI, `{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"x"}}}`, failure.RateLimited, true},
		{"openai failed overflow", OpenAI, `{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"x"}}}`, failure.ContextOverflow, false},
		{"openai failed without words", OpenAI, `{"type":"response.failed","response":{}}`, failure.Unknown, false},
		{"chat", OpenAIChat, `{"error":{"code":"server_error","message":"x"}}`, failure.ServerOverload, true},
		{"chat number", OpenAIChat, `{"error":{"code":429,"message":"x"}}`, failure.RateLimited, true},
		{"chat choice", OpenAIChat, `{"choices":[{"index":0,"delta":{},"finish_reason":"error","error":{"code":502,"message":"x"}}]}`, failure.ServerOverload, true},
		{"chat finish", OpenAIChat, `{"choices":[{"index":0,"delta":{},"finish_reason":"insufficient_system_resource"}]}`, failure.ServerOverload, true},
		{"P82", OpenAIChat, `{"error":{"code":"resource_exhausted"}}`, failure.RateLimited, true},
		{"anthropic without a type", Anthropic, `{"error":{"message":"overloaded"}}`, failure.ServerOverload, true},
		{"anthropic rate limit", Anthropic, `{"type":"error","error":{"type":"rate_limit_error","message":"x"}}`, failure.RateLimited, true},
		{"anthropic unknown", Anthropic, `{"type":"error","error":{"type":"strange_error","message":"x"}}`, failure.Unknown, false},
		{"openai words only", OpenAI, `{"error":{"message":"the server is overloaded"}}`, failure.ServerOverload, true},
		{"openai quota", OpenAI, `{"type":"response.failed","response":{"error":{"code":"insufficient_quota","message":"x"}}}`, failure.QuotaExhausted, false},
		{"openrouter", OpenAIChat, `{"id":"x","error":{"code":"server_error","message":"Provider disconnected unexpectedly"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`, failure.ServerOverload, true},
		{"openrouter, the provider's own words", OpenAIChat, `{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"upstream went away"}},"choices":[]}`, failure.ServerOverload, true},
		{"openrouter moderation", OpenAIChat, `{"error":{"code":403,"message":"flagged","metadata":{"reasons":["x"]}}}`, failure.ContentPolicy, false},
		{"chat error null", OpenAIChat, `{"error":null,"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`, failure.ServerOverload, true},
		{"gemini in an array", Gemini, `[{"error":{"code":429,"message":"x","status":"RESOURCE_EXHAUSTED"}}]`, failure.RateLimited, true},
		{"gemini, a day's quota", Gemini, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"RequestsPerDay"}]}]}}`, failure.QuotaExhausted, false},
		{"gemini", Gemini, `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`, failure.ServerOverload, true},
		{"B93", OpenAIChat, `{"error":{"message":"quota exceeded, stream closed"}}`, failure.QuotaExhausted, false},
		{"C46 a quota, then something vague", OpenAIChat, `{"error":{"code":"insufficient_quota","message":"x"}}` + "\n\ndata: " + `{"error":{"message":"the stream ended with an error"}}`, failure.QuotaExhausted, false},
		{"B94 overloaded", OpenAIChat, `{"error":{"message":"the server is overloaded"}}`, failure.ServerOverload, true},
		{"B94 503", OpenAIChat, `{"error":{"message":"upstream said 503"}}`, failure.ServerOverload, true},
		{"B94 timeout", OpenAIChat, `{"error":{"message":"stream timeout 60 s"}}`, failure.ServerOverload, true},
		{"B94 closed", OpenAIChat, `{"error":{"message":"connection closed before message completed"}}`, failure.TransportDisconnect, true},
		{"B94 deadline", OpenAIChat, `{"error":{"message":"deadline exceeded"}}`, failure.ServerOverload, true},
		{"B100", OpenAIChat, `{"error":{"message":"429000 input tokens"}}`, failure.Unknown, false},
		{"B100 thousands", OpenAIChat, `{"error":{"message":"429,000 input tokens"}}`, failure.Unknown, false},
		{"B100 a fraction", OpenAIChat, `{"error":{"message":"503.5k tokens in 1.429 s"}}`, failure.Unknown, false},
		{"B100 at the end of a sentence", OpenAIChat, `{"error":{"message":"upstream said 429, wait. It said 429."}}`, failure.RateLimited, true},
		{"B100 behind another number", OpenAIChat, `{"error":{"message":"HTTP/1.1 429, after 429,000 tokens"}}`, failure.RateLimited, true},
		{"B100 429", OpenAIChat, `{"error":{"message":"upstream status 429"}}`, failure.RateLimited, true},
		{"rate in words", OpenAIChat, `{"error":{"message":"rate increased too quickly"}}`, failure.RateLimited, true},
		{"string", OpenAIChat, `{"error":"too many requests"}`, failure.RateLimited, true},
		{"auth in words", OpenAIChat, `{"error":{"message":"invalid api key"}}`, failure.AuthInvalid, false},
		{"overflow in words", OpenAIChat, `{"error":{"message":"too many tokens in the input"}}`, failure.ContextOverflow, false},
		{"P72", OpenAIChat, `{"error":{"message":" Socket Hang Up "}}`, failure.TransportDisconnect, true},
		{"P72 sentence", OpenAIChat, `{"error":{"message":"the tool said socket hang up twice"}}`, failure.Unknown, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stream := begun[c.provider] + plain(c.event)
			if e := failed(t, answering(c.provider, stream)); e.Kind != c.kind || e.Retryable != c.again {
				t.Errorf("%+v", e)
			}
		})
	}
}

// P61 P62 P64 P65: how long the provider asks to wait.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, ms, value string
		want            time.Duration
	}{
		{"P61", "1500", "", 1500 * time.Millisecond},
		{"P61 before seconds", "1500.5", "7", 1501 * time.Millisecond},
		{"P62", "", "1.2", 1200 * time.Millisecond},
		{"P62 up to a millisecond", "", "0.0001", time.Millisecond},
		{"seconds", "", " 30 ", 30 * time.Second},
		{"at once", "", "0", 0},
		{"date", "", now.Add(90 * time.Second).Format(http.TimeFormat), 90 * time.Second},
		{"P64 past", "", now.Add(-time.Minute).Format(http.TimeFormat), none},
		{"P64 now", "", now.Format(http.TimeFormat), none},
		{"P64 garbage", "soon", "later", none},
		{"P64 garbage, then seconds", "soon", "2", 2 * time.Second},
		{"P64 negative", "-1", "-5", none},
		{"P64 not a number", "NaN", "Inf", none},
		{"P65", "", "99999999", 99999999 * time.Second},
		{"P65 more than any clock", "", "99999999999", longest},
		{"P65 ms", "1e300", "", longest},
		{"P65 date", "", now.AddDate(40, 0, 0).Format(http.TimeFormat), now.AddDate(40, 0, 0).Sub(now)},
		{"P65 the last date", "", "Fri, 31 Dec 9999 23:59:59 GMT", longest},
		{"nothing", "", "", none},
	} {
		h := http.Header{}
		if c.ms != "" {
			h.Set("Retry-After-Ms", c.ms)
		}
		if c.value != "" {
			h.Set("Retry-After", c.value)
		}
		t.Run(c.name, func(t *testing.T) {
			if got := retryAfter(h, now); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	for message, want := range map[string]time.Duration{
		"Rate limit reached for gpt-5.5. Please try again in 11.054s. Visit x.": 11054 * time.Millisecond, "try again in 120ms": 120 * time.Millisecond,
		"Please try again in 1h2m3s.": time.Hour + 2*time.Minute + 3*time.Second, "try again in a while": none, "try again in 5": none,
		"Slow down; resets in 2h 5m": 2*time.Hour + 5*time.Minute, "retry after 300ms": 300 * time.Millisecond,
		"presets in 5m": none, "try again in 99999999999999h": none, "Limit reached, try again in two minutes": 2 * time.Minute,
	} {
		f := facts{codes: []string{"rate_limit_exceeded"}, message: message, after: none}
		if e := f.error(); e.RetryAfter != want {
			t.Errorf("%q: %v", message, e.RetryAfter)
		}
		if f.after = time.Second; f.error().RetryAfter != time.Second {
			t.Errorf("%q before a field", message)
		}
		if f.codes, f.after = []string{"server_error"}, none; f.error().RetryAfter != none {
			t.Errorf("%q is no limit", message)
		}
	}
	quota := facts{status: 429, message: "You exceeded your current quota; resets in 2h 5m", after: none}.error()
	if quota.Kind != failure.QuotaExhausted || quota.RetryAfter != 125*time.Minute {
		t.Errorf("a quota that is renewed: %+v", quota)
	}
	if e := refuse(t, 429, "{}", "Retry-After", "1.2"); e.RetryAfter != 1200*time.Millisecond {
		t.Errorf("P62 on the wire: %v", e.RetryAfter)
	}
	details := `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17.5s"}]}}`
	if e := refuse(t, 429, details); e.RetryAfter != 17500*time.Millisecond {
		t.Errorf("RetryInfo: %v", e.RetryAfter)
	}
	if e := refuse(t, 429, details, "Retry-After", "3"); e.RetryAfter != 3*time.Second {
		t.Errorf("a header beside RetryInfo: %v", e.RetryAfter)
	}
}

// timeout is an error of a network that took too long.
type timeout struct{}

func (timeout) Error() string   { return "i/o timeout" }
func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }

// P70 P72 P73 P74: faults of the network, bare and deep inside others, before an answer and in the middle of one.
func TestTransport(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
		kind failure.Kind
	}{
		{"P70 ECONNRESET", syscall.ECONNRESET, failure.TransportDisconnect},
		{"P70 ECONNREFUSED", syscall.ECONNREFUSED, failure.TransportDisconnect},
		{"P70 ETIMEDOUT", syscall.ETIMEDOUT, failure.TransportDisconnect},
		{"P70 ECONNABORTED", syscall.ECONNABORTED, failure.TransportDisconnect},
		{"P70 EPIPE", syscall.EPIPE, failure.TransportDisconnect},
		{"P70 EHOSTUNREACH", syscall.EHOSTUNREACH, failure.TransportDisconnect},
		{"P70 ENETUNREACH", syscall.ENETUNREACH, failure.TransportDisconnect},
		{"P70 ENOTFOUND", &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}, failure.DNSNotFound},
		{"P70 EAI_AGAIN", &net.DNSError{Err: "server misbehaving", Name: "x", IsTemporary: true}, failure.TransportDisconnect},
		{"P70 DNS timeout", &net.DNSError{Err: "i/o timeout", Name: "x", IsTimeout: true}, failure.TransportDisconnect},
		{"P70 timeout", timeout{}, failure.TransportDisconnect},
		{"P70 deadline", os.ErrDeadlineExceeded, failure.TransportDisconnect},
		{"P70 unexpected end", io.ErrUnexpectedEOF, failure.TransportDisconnect},
		{"P70 closed", net.ErrClosed, failure.TransportDisconnect},
		{"P70 GOAWAY", errors.New(`http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=NO_ERROR, debug=""`), failure.TransportDisconnect},
		{"P70 reset stream", streamError{StreamID: 1, Code: 2}, failure.TransportDisconnect},
		{"P70 refused stream", streamError{StreamID: 1, Code: 7}, failure.TransportDisconnect},
		{"HTTP/1.1 required", streamError{StreamID: 1, Code: http11Required}, failure.TLSError},
		{"unknown authority", x509.UnknownAuthorityError{}, failure.TLSError},
		{"wrong host", x509.HostnameError{Certificate: &x509.Certificate{}, Host: "x"}, failure.TLSError},
		{"expired", &tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}}, failure.TLSError},
		{"handshake", tls.AlertError(40), failure.TLSError},
		{"plain HTTP", http.ErrSchemeMismatch, failure.TLSError},
		{"P72", errors.New("socket hang up"), failure.TransportDisconnect},
		{"P72 premature", errors.New("Premature Close "), failure.TransportDisconnect},
		{"P72 sentence", errors.New("why did the socket hang up then"), failure.Unknown},
		{"P73", errors.New("terminated"), failure.Unknown},
		{"P73 with a cause", fmt.Errorf("terminated: %w", syscall.ECONNRESET), failure.TransportDisconnect},
		{"P73 with another cause", fmt.Errorf("terminated: %w", errors.New("no idea")), failure.Unknown},
		{"P74", context.Canceled, failure.Unknown},
		{"B90 chunks", errors.New("malformed chunked encoding"), failure.TransportDisconnect},
		{"B90 chunk length", errors.New("invalid byte in chunk length"), failure.TransportDisconnect},
		{"B90 gzip", gzip.ErrChecksum, failure.Decompression},
		{"garbage", errors.New(`net/http: HTTP/1.x transport connection broken: malformed HTTP response "x"`), failure.ParseError},
	} {
		nested := error(&url.Error{Op: "Post", URL: "https://x", Err: &net.OpError{Op: "read", Net: "tcp", Err: fmt.Errorf("deep: %w", c.err)}})
		for where, err := range map[string]error{"bare": c.err, "nested": nested} {
			if where == "nested" && strings.HasPrefix(c.name, "P72") {
				continue // the words must be all there is
			}
			t.Run(c.name+"/"+where, func(t *testing.T) {
				t.Parallel()
				for place, m := range map[string]*Model{
					"before":   talk(OpenAIChat, func(*http.Request) (*http.Response, error) { return nil, err }),
					"in midst": talk(OpenAIChat, served("data: {\"choices\":[]}\n\n", err)),
				} {
					e := failed(t, m)
					again := c.kind == failure.TransportDisconnect || c.kind == failure.Decompression
					if e.Kind != c.kind || e.Retryable != again || e.Status != 0 || !errors.Is(e, c.err) {
						t.Errorf("%s: %+v", place, e)
					}
				}
			})
		}
	}
}

// B90 P76: what is packed is unpacked strictly; damage is a fault of its own, and worth another try.
func TestGzip(t *testing.T) {
	t.Parallel()
	whole := packed(t, []byte(recorded[Anthropic]))
	gzipped := func(data []byte) *Model {
		return talk(Anthropic, func(*http.Request) (*http.Response, error) {
			r := streamOf(text(string(data)))
			r.Header.Set("Content-Encoding", "gzip")
			return r, nil
		})
	}
	if _, err := gzipped(whole).Turn(t.Context(), hello, nil); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	for i := 20; i < 60; i++ {
		damaged[i] ^= 0xff
	}
	for name, data := range map[string][]byte{"B90 damaged": damaged, "B90 not packed": []byte(recorded[Anthropic])} {
		t.Run(name, func(t *testing.T) {
			if e := failed(t, gzipped(data)); e.Kind != failure.Decompression || !e.Retryable {
				t.Errorf("%+v", e)
			}
		})
	}
	if e := failed(t, gzipped(whole[:len(whole)/2])); !e.Retryable {
		t.Errorf("half: %+v", e)
	}
}

// packed compresses data.
func packed(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(data)
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A 200 that is no stream names what it is; an error that hides in one is read.
func TestWrongContentType(t *testing.T) {
	t.Parallel()
	page := "<!doctype html>\n<title>Sign in</title>" + strings.Repeat("x", 500) + "END"
	for _, c := range []struct {
		kind                 failure.Kind
		content, body, words string
	}{
		{failure.ParseError, "text/html", page, `is the base URL right? It begins "<!doctype html> <title>Sign in</title>x`},
		{failure.ParseError, "application/json", `{"id":"msg"}`, `one piece ("application/json") where a stream was asked for`},
		{failure.ParseError, "application/json", `{"type":"message","id":"msg_1","role":"assistant","content":[]}`, "does the server stream?"},
		{failure.ParseError, "application/json", ``, `is empty (status 200, content type "application/json")`},
		{failure.ParseError, "", "", "is the base URL right?"},
		{failure.Billing, "application/json", `{"error":{"message":"Insufficient Balance"}}`, "Insufficient Balance"},
		{failure.Unknown, "application/json", `{"error":{"message":"something else"}}`, "something else"},
		{failure.ParseError, "", "data: x\n\n", `""`},
		{failure.ParseError, "text/event-streaming", "data: x\n\n", "text/event-streaming"},
		{failure.RateLimited, "application/json", `{"error":{"code":429,"message":"slow down"}}`, "slow down"},
		{failure.AuthInvalid, "application/json", `{"error":{"code":"invalid_api_key","message":"no"}}`, "no"},
	} {
		e := refuse(t, 200, c.body, "Content-Type", c.content)
		if e.Kind != c.kind || !strings.Contains(e.Message, c.words) || strings.ContainsAny(e.Message, "\n") || strings.Contains(e.Message, "END") {
			t.Errorf("%s: %+v", c.content, e)
		}
	}
}

// The key stands in no message, whole or cut, whatever the provider repeats; messages are one line of at most 500
// bytes.
func TestMessagesAreClean(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"error":{"message":"Incorrect API key provided: ` + testKey + `."}}`,
		`{"error":{"message":"` + strings.Repeat("x", 490) + testKey + `"}}`,
		strings.Repeat("x", maxQuote-15) + testKey, // the quotation cuts it
		`{"error":{"code":"` + testKey + `"}}`,
	} {
		e := refuse(t, 401, body)
		if strings.Contains(e.Error(), testKey[:14]) {
			t.Errorf("the key stands in %q", e.Error())
		}
	}
	e := refuse(t, 400, `{"error":{"message":"`+"one\\ntwo\\u001b[31m\\u202e\\tthree "+strings.Repeat("ü", 400)+`"}}`)
	if len(e.Message) > maxMessage || !strings.HasPrefix(e.Message, "one two [31m three ü") || !strings.HasSuffix(e.Message, "ü…") {
		t.Errorf("%d bytes: %q", len(e.Message), e.Message)
	}
}

// Without a key a rejection says that there is none.
func TestNoKey(t *testing.T) {
	t.Parallel()
	m := talk(OpenAI, func(r *http.Request) (*http.Response, error) {
		if _, ok := r.Header["Authorization"]; ok {
			t.Error("an empty key was sent")
		}
		return respond(401, text("{}")), nil
	})
	m.Key = ""
	if e := failed(t, m); e.Kind != failure.AuthMissing {
		t.Errorf("%+v", e)
	}
}

// A port on which nothing listens is most often one that was written wrongly.
func TestNothingListens(t *testing.T) {
	t.Parallel()
	e := fault(&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)})
	if e.Kind != failure.TransportDisconnect || !strings.Contains(e.Message, "is the base URL right?") {
		t.Errorf("%+v", e)
	}
}
