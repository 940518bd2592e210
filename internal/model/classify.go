package model

// What a provider's error is: facts in, a kind out. Structured facts decide before words do.

import (
	"slices"
	"strings"
	"time"
)

// facts are what is known of an error that a provider reported.
type facts struct {
	status  int      // of HTTP; 0: it was reported inside a stream
	codes   []string // every machine-readable word beside the message, in small letters
	message string
	meant   bool          // it stood in a field that is named for it
	after   time.Duration // asked for in the body; negative: not
	again   *bool         // the provider's own word on a retry (the header x-should-retry)
}

// error makes the error; err is what lies below.
func (f facts) error(err error) *Error {
	kind := f.kind()
	again := transient[kind]
	if kind == unknown && f.again != nil {
		again = *f.again
	}
	if f.after < 0 && kind == rateLimited {
		f.after = waitWords(f.message)
	}
	message := f.message
	if message == "" {
		message = "the provider says no more"
		if len(f.codes) > 0 {
			message = strings.Join(f.codes, " ")
		}
	}
	return &Error{Kind: kind, Status: f.status, Message: message, RetryAfter: f.after, Retryable: again, Err: err}
}

// codeKinds are the words of the providers and of the gateways before them. From Anthropic's "Errors", OpenAI's "Error codes" and
// the API reference of the Responses error object, Google's "Troubleshooting guide" (google.rpc.Code); the numbers are Z.ai's.
var codeKinds = map[string]string{
	"insufficient_quota": quotaExhausted, "usage_not_included": quotaExhausted, "quota_exceeded": quotaExhausted,
	"usage_limit_reached": quotaExhausted, "exceeded_current_quota_error": quotaExhausted,

	"billing_error": billing, "billing_hard_limit_reached": billing, "insufficient_balance": billing, "payment_required": billing,
	"1113": billing, "1309": billing,

	"context_length_exceeded": contextOverflow, "context_window_exceeded": contextOverflow,
	"model_context_window_exceeded": contextOverflow, "exceed_context_size_error": contextOverflow,

	"request_too_large": requestTooLarge,

	"authentication_error": authInvalid, "invalid_api_key": authInvalid, "unauthenticated": authInvalid,
	"permission_error": authInvalid, "permission_denied": authInvalid, "api_key_invalid": authInvalid,
	"1000": authInvalid, "1001": authInvalid, "1002": authInvalid, "1220": authInvalid,

	"not_found_error": modelNotFound, "model_not_found": modelNotFound, "not_found": modelNotFound, "1211": modelNotFound,
	"model_not_supported": modelNotFound, "unknown_model": modelNotFound, "deploymentnotfound": modelNotFound,

	"rate_limit_error": rateLimited, "rate_limit_exceeded": rateLimited, "rate_limit": rateLimited, "too_many_requests": rateLimited,
	"throttling": rateLimited, "resource_exhausted": rateLimited, "1302": rateLimited,

	"overloaded_error": serverOverload, "overloaded": serverOverload, "server_overloaded": serverOverload,
	"server_is_overloaded": serverOverload, "server_error": serverOverload, "api_error": serverOverload,
	"internal": serverOverload, "internal_server_error": serverOverload, "unavailable": serverOverload,
	"service_unavailable": serverOverload, "server_unavailable": serverOverload, "temporarily_unavailable": serverOverload,
	"timeout_error": serverOverload, "deadline_exceeded": serverOverload, "insufficient_system_resource": serverOverload,
	"1305": serverOverload,

	"content_filter": contentPolicy, "content_policy_violation": contentPolicy, "safety": contentPolicy, "1301": contentPolicy,

	"invalid_request_error": invalidRequest, "invalid_prompt": invalidRequest, "invalid_argument": invalidRequest,
	"conflict_error": invalidRequest, "1210": invalidRequest,

	"tool_use_failed": streamFailure, // Groq: the model wrote a call that could not be read
}

// strongBilling and strongQuota decide at any status.
var (
	strongBilling = []string{
		"insufficient balance", "insufficient credit", "out of credits", "credit balance is too low", "payment required",
		"in arrears", "余额不足", "欠费", "账户余额",
	}
	strongQuota = []string{
		"insufficient_quota", "insufficient quota", "exceeded your current quota", "quota exceeded", "exceeded your quota",
		"exhausted your", "usage limit reached", "specified api usage limits", "额度不足", "额度已用",
	}
	weakBilling = []string{"billing", "credits", "subscription", "your plan"} // at 400, 402, 403 only

	rateWords     = []string{"rate limit", "rate_limit", "too many requests", "rate increased too quickly", "concurrency", "throttl"}
	overloadWords = []string{"overloaded", "unavailable", "at capacity", "internal server error", "bad gateway", "server error"}
	policyWords   = []string{"content policy", "content_policy", "content filter", "content_filter", "safety system", "usage policies"}
	flagWords     = []string{"moderation", "flagged"} // at 403, where they stand for the policy
	modelWords    = []string{"is not a valid model", "model not found", "no such model", "unknown model", "invalid model"}
	authWords     = []string{"unauthorized", "invalid api key", "invalid x-api-key", "authentication", "api key not valid"}
	overflowWords = []string{
		"prompt is too long", "prompt too long", "context length", "context_length", "context window", "maximum context",
		"context limit", "input is too long", "input length and", "input token count", "reduce the length", "exceeds the context",
	}
	tokenWords   = []string{"token limit", "too many tokens"} // a full window, unless they speak of the answer
	outputWords  = []string{"output token", "max_tokens", "max_output_tokens", "max_completion_tokens", "completion token"}
	timeoutWords = []string{"timeout", "timed out", "deadline exceeded"}
	networkWords = []string{
		"stream closed", "stream error", "sse error", "connection closed", "connection reset", "reset by peer", "broken pipe",
		"connection error", "closed before",
	}
)

// kind decides. The order is the rule.
func (f facts) kind() string {
	text := strings.ToLower(f.message)
	named := f.named()
	limited := f.status == 429 || slices.Contains(f.codes, "resource_exhausted")

	// That nothing can be paid for is true at any status. Google words a limit of a minute as an exceeded quota: there the
	// details decide (see details).
	switch {
	case slices.Contains(named, billing) || f.status == 402 || has(text, strongBilling):
		return billing
	case slices.Contains(named, quotaExhausted):
		return quotaExhausted
	case has(text, strongQuota) && !slices.Contains(f.codes, "resource_exhausted"):
		return quotaExhausted
	case (f.status == 400 || f.status == 403) && !limited && has(text, weakBilling) && !slices.Contains(named, authInvalid):
		return billing
	case slices.Contains(named, contextOverflow):
		return contextOverflow
	case f.status == 413 || slices.Contains(named, requestTooLarge):
		return requestTooLarge
	}

	switch s := f.status; {
	case s == 403 && (slices.Contains(named, contentPolicy) || has(text, policyWords) || has(text, flagWords)):
		return contentPolicy
	case s == 403 && !slices.Contains(named, authInvalid) && has(text, rateWords):
		return rateLimited
	case s == 401 || s == 403:
		return authInvalid
	case s == 404 || s == 410:
		return modelNotFound
	case s == 429:
		return rateLimited
	case s >= 500 || s == 408 || s == 425:
		return serverOverload
	}
	for _, kind := range named {
		if kind != invalidRequest {
			return kind
		}
	}
	switch {
	case f.status >= 300 || slices.Contains(named, invalidRequest):
		switch {
		case overflows(text):
			return contextOverflow
		case has(text, policyWords):
			return contentPolicy
		case has(text, modelWords):
			return modelNotFound
		}
		return invalidRequest
	case len(f.codes) > 0:
		return unknown // a typed error of a type nobody knows: no words make it one that may be tried again
	}
	return worded(text)
}

// named are the kinds of the codes, in the order of the codes.
func (f facts) named() []string {
	var kinds []string
	for _, c := range f.codes {
		if kind := codeKinds[c]; kind != "" {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// worded is the kind of an error of which there are only words, without those that strongBilling and strongQuota know.
func worded(text string) string {
	switch {
	case marker(text, "503") || marker(text, "529") || has(text, overloadWords):
		return serverOverload
	case has(text, policyWords):
		return contentPolicy
	case marker(text, "429") || has(text, rateWords):
		return rateLimited
	case marker(text, "401") || marker(text, "403") || has(text, authWords):
		return authInvalid
	case overflows(text):
		return contextOverflow
	case marker(text, "400") || marker(text, "422") || strings.Contains(text, "invalid request"):
		return invalidRequest
	case has(text, timeoutWords):
		return serverOverload
	case has(text, networkWords), disconnectWord(text):
		return transportDisconnect
	}
	return unknown
}

// overflows says whether text speaks of a full window; a limit of the answer's own length is not one.
func overflows(text string) bool {
	return has(text, overflowWords) || has(text, tokenWords) && !has(text, outputWords)
}

func has(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// marker finds a number that stands alone: the 429 of "429000 input tokens" is none.
func marker(text, number string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], number)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(number)
		if (from == 0 || !digit(text[from-1])) && (to == len(text) || !digit(text[to])) {
			return true
		}
		at = from + 1
	}
}

func digit(b byte) bool { return b >= '0' && b <= '9' }
