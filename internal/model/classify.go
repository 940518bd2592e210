package model

// The kind of a provider's error. Structured facts decide before words do.

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/reset"
)

// facts are what is known of an error that a provider reported.
type facts struct {
	status  int      // of HTTP; 0: it was reported inside a stream
	codes   []string // every machine-readable word beside the message, in small letters
	message string
	meant   bool          // it was in a field for errors
	after   time.Duration // asked for in the body; negative: not
	again   *bool         // the provider's own word on a retry (the header x-should-retry)
}

// error returns the facts as an error.
func (f facts) error() *Error {
	kind := f.kind()
	again := kind.Resend()
	if kind == failure.Unknown && f.again != nil {
		again = *f.again
	}
	if f.after < 0 && kind.Class() == failure.Wait {
		if wait := reset.Announced(f.message, time.Now()).After; wait > 0 { // times of the clock have a zone that is not told
			f.after = wait
		}
	}
	message := cmp.Or(f.message, strings.Join(f.codes, " "), "the provider says no more")
	return &Error{Kind: kind, Status: f.status, Message: message, RetryAfter: f.after, Retryable: again}
}

// codeKinds are the words of the providers and of the gateways before them. From Anthropic's "Errors", OpenAI's
// "Error codes" and the API reference of the Responses error object, Google's "Troubleshooting guide"
// (google.rpc.Code); the numbers are Z.ai's.
var codeKinds = sync.OnceValue(func() map[string]failure.Kind {
	return byCode(map[failure.Kind]string{
		failure.QuotaExhausted: "insufficient_quota usage_not_included quota_exceeded usage_limit_reached " +
			"exceeded_current_quota_error",
		failure.Billing: "billing_error billing_hard_limit_reached insufficient_balance payment_required 1113 1309",
		failure.ContextOverflow: "context_length_exceeded context_window_exceeded model_context_window_exceeded " +
			"exceed_context_size_error",
		failure.RequestTooLarge: "request_too_large",
		failure.AuthInvalid: "authentication_error invalid_api_key unauthenticated permission_error permission_denied " +
			"api_key_invalid 1000 1001 1002 1220",
		failure.ModelNotFound: "not_found_error model_not_found not_found model_not_supported unknown_model " +
			"deploymentnotfound 1211",
		failure.RateLimited: "rate_limit_error rate_limit_exceeded rate_limit too_many_requests throttling " +
			"resource_exhausted 1302",
		failure.ServerOverload: "overloaded_error overloaded server_overloaded server_is_overloaded server_error api_error " +
			"internal internal_server_error unavailable service_unavailable server_unavailable temporarily_unavailable " +
			"timeout_error deadline_exceeded insufficient_system_resource 1305",
		failure.ContentPolicy:  "content_filter content_policy_violation safety 1301",
		failure.InvalidRequest: "invalid_request_error invalid_prompt invalid_argument conflict_error 1210",
		failure.StreamFailure:  "tool_use_failed", // Groq: the model wrote a call that could not be read
	})
})

func byCode(words map[failure.Kind]string) map[string]failure.Kind {
	kinds := map[string]failure.Kind{}
	for kind, codes := range words {
		for code := range strings.FieldsSeq(codes) {
			kinds[code] = kind
		}
	}
	return kinds
}

// Words of messages, in small letters. strongBilling and quotaUsed decide at any status.
var (
	strongBilling = []string{
		"insufficient balance", "insufficient credit", "insufficient funds", "out of credits",
		"credit balance is too low", "payment required", "in arrears", "billing hard limit", "余额不足", "欠费", "账户余额",
	}
	// That a quota is used up, whichever of the two words comes first.
	quotaUsed = lazily.Regexp(`\b(?:quota|(?:usage|credit|spend(?:ing)?) limits?)\b[^.;]{0,40}\b(?:exceeded|exhausted|reached|used up)\b|` +
		`\b(?:out of|insufficient|exceeded|exhausted|reached|hit)[ _][^.;]{0,40}\b(?:quota|(?:usage|credit|spend(?:ing)?) limits?)\b|` +
		`\bexhausted your\b|insufficient_quota|额度不足|额度已用`)
	// What makes it the quota of a moment: it is there again before a turn ends.
	quotaOfNow = lazily.Regexp(`(?:per|this|each)[ _-]?(?:second|minute|(?:sec|min)\b)|\b[rt]pm\b|concurren|` +
		`\b(?:again|retry) (?:in|after) [0-9]{1,2}(?:\.[0-9]+)? ?(?:m?s|sec(?:ond)?s?)\b`)
	weakBilling = []string{"billing", "credits", "subscription", "your plan"} // at 400, 402, 403 only
	rateWords   = []string{
		"rate limit", "rate_limit", "too many requests", "rate increased too quickly", "concurrency", "throttl",
	}
	overloadWords = []string{
		"overloaded", "unavailable", "at capacity", "internal server error", "bad gateway", "server error",
	}
	policyWords = []string{
		"content policy", "content_policy", "content filter", "content_filter", "safety system", "usage policies",
	}
	flagWords  = []string{"moderation", "flagged"} // at 403, where they mean the policy
	modelWords = []string{
		"is not a valid model", "model not found", "no such model", "unknown model", "invalid model",
	}
	authWords = []string{
		"unauthorized", "invalid api key", "invalid x-api-key", "authentication", "api key not valid",
	}
	overflowWords = lazily.Regexp(`\b(?:prompt|input) (?:is )?too (?:long|large)\b|\bmaximum (?:context|prompt length)\b|` +
		`\bcontext[ _](?:length|window|limit|size)|\binput length and\b|\binput token count\b|reduce the length|` +
		`exceeds the context`)
	tokenWords  = []string{"token limit", "too many tokens"} // a full window, unless they are about the answer
	outputWords = []string{
		"output token", "max_tokens", "max_output_tokens", "max_completion_tokens", "completion token",
	}
	timeoutWords = []string{"timeout", "timed out", "deadline exceeded"}
	networkWords = lazily.Regexp(`\bconnection (?:closed|reset|lost|aborted|terminated|error)|` +
		`\bstream (?:closed|error)|\bsse (?:error|transport|decode)|decoding response body|reset by peer|broken pipe|` +
		`\b(?:closed|disconnect(?:ed)?)(?: before|/reset)|\bpeer closed|unexpected eof|incomplete chunked`)
)

// kind returns the kind. The order of the questions matters.
func (f facts) kind() failure.Kind {
	text := strings.ToLower(f.message)
	named := f.named()
	limited := f.status == 429 || slices.Contains(f.codes, "resource_exhausted")
	usedUp := quotaUsed().MatchString(text)

	// A code that names the window leaves no doubt. That nothing can be paid for, or that a quota is used up, is true at any
	// status, also at 503 (B93, B101): it does not go away while somebody waits. Google words a
	// limit of a minute as an exceeded quota: there the details decide (see details). A provider may name a plan beside
	// a prompt that is too long.
	switch {
	case slices.Contains(named, failure.ContextOverflow):
		return failure.ContextOverflow
	case slices.Contains(named, failure.Billing) || f.status == 402 || has(text, strongBilling):
		return failure.Billing
	case slices.Contains(named, failure.QuotaExhausted):
		return failure.QuotaExhausted
	case usedUp && !slices.Contains(f.codes, "resource_exhausted") && !quotaOfNow().MatchString(text):
		return failure.QuotaExhausted
	case (f.status == 400 || f.status == 403) && !limited && has(text, weakBilling) &&
		!slices.Contains(named, failure.AuthInvalid) && (f.status != 400 || !overflowWords().MatchString(text)):
		return failure.Billing
	case f.status == 413 || slices.Contains(named, failure.RequestTooLarge):
		return failure.RequestTooLarge
	}

	switch s := f.status; {
	case s == 403 && (slices.Contains(named, failure.ContentPolicy) || has(text, policyWords) || has(text, flagWords)):
		return failure.ContentPolicy
	case s == 403 && !slices.Contains(named, failure.AuthInvalid) && has(text, rateWords):
		return failure.RateLimited
	case s == 401 || s == 403:
		return failure.AuthInvalid
	case s == 404 || s == 410:
		return failure.ModelNotFound
	case s == 429:
		return failure.RateLimited
	case s >= 500 || s == 408 || s == 425:
		return failure.ServerOverload
	}
	for _, kind := range named {
		if kind != failure.InvalidRequest {
			return kind
		}
	}
	switch {
	case f.status >= 300 || slices.Contains(named, failure.InvalidRequest):
		switch {
		case overflows(text):
			return failure.ContextOverflow
		case has(text, policyWords):
			return failure.ContentPolicy
		case has(text, modelWords):
			return failure.ModelNotFound
		}
		return failure.InvalidRequest
	case len(f.codes) > 0:
		return failure.Unknown // a typed error of a type nobody knows: no words make it one that may be tried again
	}
	if usedUp {
		return failure.RateLimited // the quota of a moment
	}
	return worded(text)
}

// named returns the kinds of the codes, in the order of the codes.
func (f facts) named() []failure.Kind {
	var kinds []failure.Kind
	for _, c := range f.codes {
		if kind := codeKinds()[c]; kind != "" {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// worded returns the kind of an error that has only words, without those that strongBilling and quotaUsed know.
func worded(text string) failure.Kind {
	switch {
	case marker(text, "503") || marker(text, "529") || has(text, overloadWords):
		return failure.ServerOverload
	case has(text, policyWords):
		return failure.ContentPolicy
	case marker(text, "429") || has(text, rateWords):
		return failure.RateLimited
	case marker(text, "401") || marker(text, "403") || has(text, authWords):
		return failure.AuthInvalid
	case overflows(text):
		return failure.ContextOverflow
	case marker(text, "400") || marker(text, "422") || strings.Contains(text, "invalid request"):
		return failure.InvalidRequest
	case has(text, timeoutWords):
		return failure.ServerOverload
	case networkWords().MatchString(text), disconnectWord(text):
		return failure.TransportDisconnect
	}
	return failure.Unknown
}

// overflows reports whether text says that the window is full. A limit of the answer's own length is not meant.
func overflows(text string) bool {
	return overflowWords().MatchString(text) || has(text, tokenWords) && !has(text, outputWords)
}

func has(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// marker reports whether a number is in text by itself: in "429000 input tokens" 429 is not, nor in "429,000" or
// "1.429".
func marker(text, number string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], number)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(number)
		if !numberEnds().MatchString(text[max(0, from-2):from]) && !numberBegins().MatchString(text[to:]) {
			return true
		}
		at = from + 1
	}
}

var (
	numberEnds   = lazily.Regexp(`[0-9][.,]?$`)
	numberBegins = lazily.Regexp(`^[.,]?[0-9]`)
)

func digit(b byte) bool { return b >= '0' && b <= '9' }
