package relay

// What differs between the protocols: addresses, keys, and the form of errors.

import (
	"encoding/json"
	"net/http"
	"path"
	"regexp"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

type object = map[string]any

// A wire is the relay's side of a protocol.
type wire struct {
	version string                        // that clients expect in the base URL
	answers func() *regexp.Regexp         // paths to POST to that cost tokens
	free    func() *regexp.Regexp         // paths to POST to that cost nothing
	key     func(h http.Header, k string) // adds the real key
	spent   int                           // the status of a budget that is spent: one that clients do not retry
	fail    func(status int, message string) object
	stop    func(message string) string // the event that ends a stream
}

// Statuses as measured: Claude Code asks six times after 400 and once after 402, Codex three times after 402 and once
// after 400. Gemini CLI, opencode, pi and Copilot ask once after 400. After a stream that was stopped all of them ask
// once more at most, Codex and pi not at all.
var wires = map[string]wire{
	model.Anthropic: {
		answers: lazily.Regexp(`^/messages$`), free: lazily.Regexp(`^/messages/count_tokens$`),
		key:   func(h http.Header, k string) { h.Set("X-Api-Key", k) },
		spent: http.StatusPaymentRequired, fail: anthropicFail, stop: anthropicStop,
	},
	model.OpenAI: {
		version: "/v1",
		answers: lazily.Regexp(`^/responses$`), free: lazily.Regexp(`^/responses/input_tokens$`),
		key: bearer, spent: http.StatusBadRequest, fail: openaiFail, stop: openaiStop,
	},
	model.OpenAIChat: {
		version: "/v1",
		answers: lazily.Regexp(`^/chat/completions$`), free: lazily.Regexp(`^$`),
		key: bearer, spent: http.StatusBadRequest, fail: openaiFail, stop: chatStop,
	},
	model.Gemini: {
		answers: lazily.Regexp(`^/(models|tunedModels)/[\w.~@-]+:(generateContent|streamGenerateContent)$`),
		free:    lazily.Regexp(`^/(models|tunedModels)/[\w.~@-]+:countTokens$`),
		key:     func(h http.Header, k string) { h.Set("X-Goog-Api-Key", k) },
		spent:   http.StatusBadRequest, fail: geminiFail, stop: geminiStop,
	},
}

var (
	colon     = lazily.Regexp(`%3[aA]`)
	versioned = lazily.Regexp(`^/v\d+(alpha|beta)?\d*(/|$)`)
	models    = lazily.Regexp(`^/models(/[\w.~:@/-]+)?$`)
	inPath    = lazily.Regexp(`^/(?:models|tunedModels)/([\w.~@-]+):`)
)

// A route is where a request goes.
type route struct {
	wire
	name    string // of the protocol
	version string // that the client asks for; empty: none
	path    string // without the version
	free    bool   // it uses no tokens
}

// routeOf returns the protocol of an escaped path such as /gemini/v1beta/models/x:countTokens, and whether the
// request is one that is passed on.
func routeOf(method, escaped string) (to route, ok bool) {
	escaped = colon().ReplaceAllString(escaped, ":") // some clients write it so before Gemini's methods
	name, rest, _ := strings.Cut(strings.TrimPrefix(escaped, "/"), "/")
	w, known := wires[name]
	if !known {
		return route{}, false
	}
	to = route{wire: w, name: name, path: "/" + rest}
	if v := versioned().FindString(to.path); v != "" {
		to.version = strings.TrimSuffix(v, "/")
		to.path = "/" + to.path[len(v):]
	}
	to.free = !w.answers().MatchString(to.path)
	switch {
	case path.Clean(to.path) != to.path:
		return to, false
	case method == http.MethodGet:
		return to, models().MatchString(to.path)
	}
	return to, method == http.MethodPost && (!to.free || w.free().MatchString(to.path))
}

// keys removes every key from a request, and returns them.
func keys(q *http.Request) (found []string) {
	for _, name := range []string{"X-Api-Key", "X-Goog-Api-Key", "Authorization"} {
		for _, v := range q.Header[name] {
			if scheme, token, ok := strings.Cut(v, " "); ok && strings.EqualFold(scheme, "Bearer") {
				v = strings.TrimSpace(token)
			}
			found = append(found, v)
		}
		q.Header.Del(name)
	}
	query := q.URL.Query()
	if found = append(found, query["key"]...); query.Has("key") {
		query.Del("key")
		q.URL.RawQuery = query.Encode()
	}
	return found
}

func bearer(h http.Header, k string) { h.Set("Authorization", "Bearer "+k) }

// errorWords are the providers' words for a status: Anthropic's, OpenAI's and Google's.
var errorWords = map[int][3]string{
	http.StatusBadRequest:      {"invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"},
	http.StatusUnauthorized:    {"authentication_error", "invalid_request_error", "UNAUTHENTICATED"},
	http.StatusPaymentRequired: {"billing_error", "insufficient_quota", "RESOURCE_EXHAUSTED"},
	http.StatusForbidden:       {"permission_error", "invalid_request_error", "PERMISSION_DENIED"},
	http.StatusNotFound:        {"not_found_error", "invalid_request_error", "NOT_FOUND"},
	http.StatusBadGateway:      {"api_error", "server_error", "UNAVAILABLE"},
	http.StatusGatewayTimeout:  {"api_error", "server_error", "DEADLINE_EXCEEDED"},
}

func anthropicFail(status int, message string) object {
	return object{"type": "error", "error": object{"type": errorWords[status][0], "message": message}}
}

func openaiFail(status int, message string) object {
	return object{"error": object{"message": message, "type": errorWords[status][1], "param": nil, "code": nil}}
}

func geminiFail(status int, message string) object {
	return object{"error": object{"code": status, "message": message, "status": errorWords[status][2]}}
}

func anthropicStop(message string) string {
	return "event: error\ndata: " + encode(anthropicFail(http.StatusPaymentRequired, message)) + "\n\n"
}

// openaiStop has the code after which Codex does not ask again.
func openaiStop(message string) string {
	return "event: response.failed\ndata: " + encode(object{"type": "response.failed", "response": object{
		"object": "response", "status": "failed", "error": object{"code": "invalid_prompt", "message": message},
	}}) + "\n\n"
}

func chatStop(message string) string {
	return "data: " + encode(openaiFail(http.StatusBadRequest, message)) + "\n\n"
}

func geminiStop(message string) string {
	return "data: " + encode(geminiFail(http.StatusBadRequest, message)) + "\n\n"
}

func encode(v object) string {
	b, _ := json.Marshal(v) // cannot fail: strings and numbers
	return string(b)
}
