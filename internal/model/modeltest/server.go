package modeltest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// mostRequest bounds the size of a request, in bytes.
const mostRequest = 64 << 20

// A Server plays a Scenario to any client, whichever protocol it speaks. It is an http.Handler; use it with httptest
// or a listener of your own.
type Server struct {
	Scenario Scenario
	Key      string // the key that requests must carry; empty: any, and none

	from int // the number of the first request, which ids of answers and calls have in them

	mu    sync.Mutex
	asked [][]byte // bodies of the requests so far
	bad   []error
	gone  chan struct{} // closed by Close
}

// Close releases the clients that wait for a stalled stream.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.left()
	select {
	case <-ch:
	default:
		close(ch)
	}
}

// left is closed when the server is. s.mu is held.
func (s *Server) left() chan struct{} {
	if s.gone == nil {
		s.gone = make(chan struct{})
	}
	return s.gone
}

// Asked returns the bodies of the requests so far.
func (s *Server) Asked() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Wrong returns what was wrong with requests by the rules of their protocol. Such a request is refused with status
// 400 and uses up no turn.
func (s *Server) Wrong() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bad)
}

// ServeHTTP answers one request with the next turn.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(protocols, func(p protocol) bool { return strings.HasSuffix(r.URL.Path, p.path) })
	if i < 0 {
		http.NotFound(w, r)
		return
	}
	p := protocols[i]
	body, err := io.ReadAll(io.LimitReader(r.Body, mostRequest))
	if err != nil {
		return // the client went away
	}
	if why := s.refuses(p, r, body); why != nil {
		p.fail(w, why.status, why.kind, why.Error())
		return
	}
	s.mu.Lock()
	n := len(s.asked)
	s.asked = append(s.asked, body)
	gone := s.left()
	s.mu.Unlock()
	t := s.Scenario.turn(n)
	switch {
	case t == nil:
		p.fail(w, http.StatusBadRequest, "invalid_request_error",
			fmt.Sprintf("the scenario has %d turns, and this is request %d", n, n+1))
		return
	case !strings.Contains(string(body), t.Expect):
		err := fmt.Errorf("request %d does not hold %q", n+1, t.Expect)
		s.wrong(err)
		p.fail(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	if t.DelayMS > 0 {
		select {
		case <-time.After(time.Duration(t.DelayMS) * time.Millisecond):
		case <-r.Context().Done():
			return
		case <-gone:
			return
		}
	}
	if t.RetryAfter != "" {
		w.Header().Set("Retry-After", t.RetryAfter)
	}
	switch {
	case t.Body != "":
		w.Header().Set("Content-Type", cmp.Or(t.Type, "text/html"))
		w.WriteHeader(max(t.Status, http.StatusOK))
		_, _ = io.WriteString(w, t.Body) // a client that is gone is no concern of ours
	case t.Status >= 300:
		p.fail(w, t.Status, cmp.Or(t.ErrorType, errorType(t.Status)), cmp.Or(t.Error, "as the scenario says"))
	default:
		w.Header().Set("Content-Type", cmp.Or(t.Type, "text/event-stream"))
		w.Header().Set("Cache-Control", "no-cache")
		play(w, r, p.events(t, s.from+n), t.Fault, gone)
	}
}

// A refusal is a request that no provider would accept.
type refusal struct {
	status int
	kind   string
	error
}

func (s *Server) refuses(p protocol, r *http.Request, body []byte) *refusal {
	if s.Key != "" && p.key(r) != s.Key {
		return &refusal{http.StatusUnauthorized, "authentication_error", fmt.Errorf("the key is not the one of this server")}
	}
	var q map[string]any
	err := json.Unmarshal(body, &q)
	if err == nil {
		err = wholeText(body)
	}
	if err == nil {
		err = p.legal(q)
	}
	if err != nil {
		s.wrong(err)
		return &refusal{http.StatusBadRequest, "invalid_request_error", err}
	}
	return nil
}

var escape = lazily.Regexp(`(?s)\\(?:u([0-9a-fA-F]{4})|.)`)

// wholeText returns an error if JSON holds half a surrogate pair: many servers refuse it, and encoding/json does not.
func wholeText(body []byte) error {
	high := -1 // where the escape after a first half must begin
	for _, at := range escape().FindAllSubmatchIndex(body, -1) {
		unit := uint64(0)
		if at[2] >= 0 {
			unit, _ = strconv.ParseUint(string(body[at[2]:at[3]]), 16, 16) // cannot fail: four digits
		}
		second := unit >= 0xdc00 && unit < 0xe000
		if second != (at[0] == high) || high >= 0 && at[0] != high {
			return errors.New("the request body is not valid JSON: no low surrogate in string")
		}
		if high = -1; unit >= 0xd800 && unit < 0xdc00 {
			high = at[1]
		}
	}
	if high >= 0 {
		return errors.New("the request body is not valid JSON: no low surrogate in string")
	}
	return nil
}

func (s *Server) wrong(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bad = append(s.bad, err)
}

// A protocol is the server's side of one wire protocol.
type protocol struct {
	name   string
	path   string // how the request's path ends
	key    func(r *http.Request) string
	events func(t *Turn, n int) []string // whole events of the stream, n counts requests from 0
	fail   func(w http.ResponseWriter, status int, kind, message string)
	legal  func(q map[string]any) error
}

var protocols = []protocol{
	{model.Anthropic, "/messages", headerKey("X-Api-Key"), anthropicEvents, anthropicFail, anthropicLegal},
	{model.OpenAI, "/responses", bearerKey, openaiEvents, openaiFail, openaiLegal},
	{model.OpenAIChat, "/chat/completions", bearerKey, chatEvents, openaiFail, chatLegal},
	{model.Gemini, ":streamGenerateContent", headerKey("X-Goog-Api-Key"), geminiEvents, geminiFail, geminiLegal},
}

func headerKey(name string) func(*http.Request) string {
	return func(r *http.Request) string { return r.Header.Get(name) }
}

func bearerKey(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// errorType returns the word that goes with a status.
func errorType(status int) string {
	word := map[int]string{
		401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error",
		529: "overloaded_error",
	}[status]
	if status >= 500 {
		return cmp.Or(word, "api_error")
	}
	return cmp.Or(word, "invalid_request_error")
}

// failWith writes an error as JSON.
func failWith(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(v)) // a client that is gone is no concern of ours
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // values of our own
	}
	return b
}

// event is one event of a stream; name may be empty.
func event(name string, data any) string {
	head := ""
	if name != "" {
		head = "event: " + name + "\n"
	}
	return head + "data: " + string(encode(data)) + "\n\n"
}

func callID(n, i int) string { return "call_" + strconv.Itoa(n+1) + "_" + strconv.Itoa(i+1) }
