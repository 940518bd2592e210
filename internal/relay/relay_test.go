package relay

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// paths are where the clients of each protocol ask, below URL.
var paths = map[string]string{
	model.Anthropic: "/v1/messages", model.OpenAI: "/responses", model.OpenAIChat: "/chat/completions",
	model.Gemini: "/v1beta/models/a-model:streamGenerateContent?alt=sse",
}

// whole are answers in one piece; each has used 1007 (900 of them cached) and 42 tokens.
var whole = map[string]string{
	model.Anthropic: `{"type":"message","id":"msg_1","model":"m-1","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn",
		"usage":{"input_tokens":7,"cache_creation_input_tokens":100,"cache_read_input_tokens":900,"output_tokens":42}}`,
	model.OpenAI: `{"object":"response","id":"r","model":"m-1","status":"completed","output":[],
		"usage":{"input_tokens":1007,"input_tokens_details":{"cached_tokens":900},"output_tokens":42}}`,
	model.OpenAIChat: `{"object":"chat.completion","model":"m-1","choices":[{"index":0,"finish_reason":"stop","message":{"content":"Hi"}}],
		"usage":{"prompt_tokens":1007,"completion_tokens":42,"prompt_tokens_details":{"cached_tokens":900}}}`,
	model.Gemini: `[{"candidates":[{"content":{"parts":[{"text":"H"}]}}]},
		{"candidates":[{"content":{"parts":[{"text":"i"}]},"finishReason":"STOP"}],"modelVersion":"m-1",
		"usageMetadata":{"promptTokenCount":1007,"candidatesTokenCount":40,"thoughtsTokenCount":2,"cachedContentTokenCount":900}}]`,
}

// used fails the test if the relay has not counted these tokens exactly.
func used(t *testing.T, b *bench, requests int, input, output, cached int64) {
	t.Helper()
	u := b.Used()
	if u.Requests != requests || u.AtLeast != nil || u.Input == nil || *u.Input != input || u.Output == nil ||
		*u.Output != output || u.Cached == nil || *u.Cached != cached {
		text, _ := json.Marshal(u)
		t.Errorf("%s", text)
	}
}

// A turn through the relay is the turn that the provider played, and its usage is counted.
func TestTurns(t *testing.T) {
	t.Parallel()
	for _, wire := range model.Providers() {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			b := scripted(t, Options{}, modeltest.Turn{
				Thinking: "Let me see.", Text: "Größe", Calls: []modeltest.Call{{Name: "read", RawArgs: `{"path":"a"}`}},
				Usage: modeltest.Usage{Input: 1007, Output: 42, Cached: 900}, Times: 2,
			})
			for range 2 {
				a, err := b.client(wire).Turn(t.Context(), hello, nil)
				if err != nil || a.Stop != model.ToolCalls || len(a.Blocks) != 3 {
					t.Fatalf("%v, %+v", err, a)
				}
			}
			r := b.requests(t, 2)[1]
			if r.Outcome != Passed || r.Status != http.StatusOK || r.Wire != wire || r.Model != "scripted" || r.Sent == 0 ||
				r.Bytes < 200 || r.Usage.Output == nil || *r.Usage.Output != 42 || r.CostUSD != nil {
				t.Errorf("%+v", r)
			}
			used(t, b, 2, 2014, 84, 1800)
			if u := b.Used(); u.CostUSD != nil || u.CostAtLeast != nil || u.Stopped != "" {
				t.Errorf("%+v", u)
			}
		})
	}
}

// An answer in one piece is passed on as it is and counted; so is one that comes packed although nobody asked.
func TestWholeAnswers(t *testing.T) {
	t.Parallel()
	for _, wire := range model.Providers() {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			b := before(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Accept-Encoding") != "identity" {
					t.Errorf("accept %q", r.Header)
				}
				w.Header().Set("Content-Type", "application/json; charset=utf-8")
				if r.Header.Get("Packed") == "" {
					fmt.Fprint(w, whole[wire])
					return
				}
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				fmt.Fprint(z, whole[wire])
				_ = z.Close() // into the answer
			}), Options{Cost: func(name string, u model.Usage) (float64, bool) {
				return float64(*u.Input) + float64(*u.Output)/1000, name == "m-1"
			}})
			for _, packed := range []string{"", "yes"} {
				resp, text := b.ask(t, http.MethodPost, b.URL(wire)+paths[wire], `{"stream":false}`, "Packed", packed,
					"Accept-Encoding", "gzip, br")
				if text != whole[wire] || resp.Header.Get("Content-Encoding") != "" {
					t.Errorf("%q %v", text, resp.Header)
				}
			}
			r := b.requests(t, 2)[1]
			if r.Model != "m-1" || r.CostUSD == nil || *r.CostUSD != 1007.042 {
				t.Errorf("%+v", r)
			}
			used(t, b, 2, 2014, 84, 1800)
			if u := b.Used(); u.CostUSD == nil || *u.CostUSD != 2014.084 || u.CostAtLeast != nil {
				t.Errorf("%+v", u)
			}
		})
	}
}

// The lists of models and the counts of tokens are passed on and use nothing; errors of the provider neither. Status,
// Retry-After and the other headers arrive, cookies and other addresses do not.
func TestWhatUsesNothing(t *testing.T) {
	t.Parallel()
	b := before(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "3600")
		w.Header().Set("X-Ratelimit-Reset", "1s")
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("Alt-Svc", `h3=":443"`)
		if r.Method == http.MethodPost && !strings.Contains(r.URL.Path, "oken") {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		fmt.Fprint(w, r.Method, " ", r.URL)
	}), Options{Limits: Limits{Tokens: 1}})
	n := 0
	for _, c := range []struct{ method, url, want string }{
		{"GET", b.URL(model.Anthropic) + "/v1/models?limit=2&key=" + b.Key(), "GET /v1/models?limit=2"},
		{"GET", b.URL(model.OpenAI) + "/models", "GET /v1/models"},
		{"GET", b.URL(model.OpenAIChat) + "/models/some/name:free", "GET /v1/models/some/name:free"},
		{"GET", b.URL(model.Gemini) + "/v1alpha/models/x", "GET /v1alpha/models/x"},
		{"POST", b.URL(model.Anthropic) + "/v1/messages/count_tokens?beta=true", "POST /v1/messages/count_tokens?beta=true"},
		{"POST", b.URL(model.OpenAI) + "/responses/input_tokens", "POST /v1/responses/input_tokens"},
		{"POST", b.URL(model.Gemini) + "/models/x%3AcountTokens", "POST /v1beta/models/x:countTokens"},
		{"POST", b.URL(model.OpenAIChat) + paths[model.OpenAIChat], "POST /v1/chat/completions"},
	} {
		resp, text := b.ask(t, c.method, c.url, "")
		n++
		h := resp.Header
		if text != c.want || h.Get("Retry-After") != "3600" || h.Get("X-Ratelimit-Reset") != "1s" ||
			h.Get("Set-Cookie")+h.Get("Alt-Svc") != "" {
			t.Errorf("%d %q, want %q; %v", resp.StatusCode, text, c.want, h)
		}
		if r := b.requests(t, n)[n-1]; r.Outcome != Passed || r.Status != resp.StatusCode {
			t.Errorf("%+v", r)
		}
		if last := strings.HasSuffix(c.want, "completions"); last != (resp.StatusCode == http.StatusTooManyRequests) {
			t.Errorf("%d", resp.StatusCode)
		}
	}
	used(t, b, n, 0, 0, 0)
	if u := b.Used(); u.CostUSD == nil || *u.CostUSD != 0 {
		t.Errorf("%+v", u)
	}
}

// However a client shows the relay's key, the provider gets the real one where it wants it and nothing else, and no
// answer, header, error or report has it, also if the provider writes it down.
func TestKeyIsHidden(t *testing.T) {
	t.Parallel()
	where := map[string]string{
		model.Anthropic: "X-Api-Key", model.OpenAI: "Authorization", model.OpenAIChat: "Authorization",
		model.Gemini: "X-Goog-Api-Key",
	}
	packed := base64.StdEncoding.EncodeToString([]byte("x" + canary + "y"))
	var relayed *bench
	provider := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wire := r.Header.Get("Wire")
		all, _ := json.Marshal(r.Header)
		if strings.Count(string(all), canary) != 1 || strings.TrimPrefix(r.Header.Get(where[wire]), "Bearer ") != canary {
			t.Errorf("%s: the provider got %s", wire, all)
		}
		if strings.Contains(string(all)+r.URL.String(), relayed.Key()) || r.Header.Get("Cookie") != "" ||
			r.Header.Get("X-Hop") != "" || r.Header.Get("Upgrade") != "" || r.Header.Get("Proxy-Authorization") != "" {
			t.Errorf("%s: the provider got %s %s", wire, r.URL, all)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Echo", "Bearer "+canary)
		w.Header().Set("X-"+canary, "name")
		w.WriteHeader(http.StatusUnauthorized)
		text := "data: {\"k\":\"" + canary + "\",\"p\":\"" + packed + "\"}\n\n"
		for i := range len(text) { // chunk borders everywhere
			fmt.Fprint(w, text[i:i+1])
			_ = http.NewResponseController(w).Flush()
		}
		if wire != model.Gemini {
			fmt.Fprint(w, canary[:5]) // is none
			return
		}
		fmt.Fprint(w, canary[:20])
		_ = http.NewResponseController(w).Flush()
	})
	relayed = before(t, provider, Options{})
	n := 0
	for _, wire := range model.Providers() {
		for _, how := range []string{"X-Api-Key", "X-Goog-Api-Key", "Authorization", "?key="} {
			url := relayed.URL(wire) + paths[wire]
			header := []string{
				"X-Api-Key", "", "Wire", wire, "Cookie", "a=b", "Connection", "X-Hop, Upgrade", "X-Hop", "1",
				"Upgrade", "websocket", "Proxy-Authorization", "Basic eA==",
			}
			switch how {
			case "?key=":
				url += map[bool]string{true: "&", false: "?"}[strings.Contains(url, "?")] + "key=" + relayed.Key()
			case "Authorization":
				header = append(header, how, "bearer "+relayed.Key())
			default:
				header = append(header, how, relayed.Key())
			}
			resp, text := relayed.ask(t, http.MethodPost, url, "{}", header...)
			n++
			all, _ := json.Marshal([]any{resp.Header, text, relayed.requests(t, n)[n-1]})
			for _, secret := range []string{canary, packed[4:20]} {
				if strings.Contains(string(all), secret) {
					t.Errorf("%s with %s shows %s: %s", wire, how, secret, all)
				}
			}
			end := map[bool]string{true: redact.Mark, false: canary[:5]}[wire == model.Gemini]
			if !strings.HasSuffix(text, "\n\n"+end) || !strings.Contains(text, `"k":"[redacted]"`) || resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("%d %s", resp.StatusCode, text)
			}
		}
	}
}

// An answer that breaks off in the middle of the key shows none of it, and a key in the place of a model's name is in
// no report.
func TestKeyIsHiddenWhereItIsCut(t *testing.T) {
	t.Parallel()
	b := before(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"model\":%q,\"choices\":[]}\n\nthe key is %s", canary+strings.Repeat("x", 5000), canary[:len(canary)-1])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}), Options{})
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL(model.OpenAIChat)+"/chat/completions", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+b.Key())
	resp, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if !strings.HasSuffix(string(text), "the key is "+redact.Mark) || err == nil {
		t.Errorf("%q %v", text, err)
	}
	r := b.requests(t, 1)[0]
	if r.Outcome != Broken || !strings.HasPrefix(r.Model, redact.Mark+"xx") || len(r.Model) > 256 {
		t.Errorf("%+v", r)
	}
}

// What is not a request for the provider, or comes without the relay's key, is refused in the protocol's form, and
// nothing is sent.
func TestRefusals(t *testing.T) {
	t.Parallel()
	b := before(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the provider got %s %s", r.Method, r.URL)
	}), Options{})
	host := strings.TrimPrefix(b.URL(""), "http://")
	host, _, _ = strings.Cut(host, "/")
	key := "X-Api-Key: " + b.Key()
	n := 0
	for _, c := range []struct {
		line, host, key string
		status          int
		want            string
	}{
		{"POST /anthropic/v1/messages", host, "", 401, `{"error":{"message":"this is not the key`},
		{"POST /anthropic/v1/messages", host, "X-Api-Key: " + canary, 401, `"type":"authentication_error"},"type":"error"}`},
		{"POST /anthropic/v1/messages?key=", host, "", 401, `authentication_error`},
		{"POST /openai/v1/responses", host, "Authorization: Bearer x", 401, `"type":"invalid_request_error"}}`},
		{"POST /openai_chat/v1/chat/completions", host, "", 401, `"type":"invalid_request_error"}}`},
		{"POST /gemini/v1beta/models/x:generateContent", host, "", 401, `"status":"UNAUTHENTICATED"}}`},
		{"POST /anthropic/v1/messages/batches", host, key, 404, `does not pass on POST /anthropic/v1/messages/batches`},
		{"GET /anthropic/v1/messages", host, key, 404, `"type":"not_found_error"`},
		{"DELETE /openai/v1/models/x", host, key, 404, `DELETE`},
		{"GET /openai/v1/models/../files", host, key, 404, `does not pass on`},
		{"GET /openai/v1/models/%2e%2e/files", host, key, 404, `does not pass on`},
		{"GET /openai/v1//models", host, key, 404, `does not pass on`},
		{"POST /gemini/v1beta/models/..%2f..%2fx:generateContent", host, key, 404, `"status":"NOT_FOUND"`},
		{"POST /gemini/upload/v1beta/files", host, key, 404, `"code":404`},
		{"POST /v1/messages", host, key, 404, `"param":null`},
		{"GET /", host, key, 404, `does not pass on GET /`},
		{"OPTIONS *", host, key, 404, `does not pass on`},
		{"POST http://example.com/anthropic/v1/messages", "example.com", key, 403, `it is no proxy`},
		{"POST http://" + host + "/anthropic/v1/messages", host, key, 403, `it is no proxy`},
		{"POST /anthropic/v1/messages", "example.com", key, 403, `"type":"permission_error"`},
		{"CONNECT example.com:443", "example.com:443", key, 403, `it is no proxy`},
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: %s\r\n%s\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", c.line, c.host,
			strings.TrimSpace("A: b\r\n"+c.key))
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", c.line, err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		_ = conn.Close()
		n++
		r := b.requests(t, n)[n-1]
		if err != nil || resp.StatusCode != c.status || !json.Valid(text) || r.Outcome != Refused || r.Status != c.status ||
			!strings.Contains(string(text), c.want) && n > 1 || resp.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s: %d %s, %v; %+v", c.line, resp.StatusCode, text, err, r)
		}
	}
	if u := b.Used(); u.Requests != 0 || u.Refused != n {
		t.Errorf("%+v", u)
	}
}

// A stream is passed on piece by piece: what the provider has sent arrives before it sends more.
func TestStreamsAtOnce(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	b := before(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 5 {
			_ = http.NewResponseController(w).Flush()
			<-next
			fmt.Fprintf(w, "data: %d {", i) // no whole event
		}
	}), Options{})
	answer := open(t.Context(), t, b.URL(model.OpenAI)+"/responses", b.Key(), "{}")
	buf := make([]byte, 9)
	for i := range 5 {
		next <- struct{}{}
		if _, err := io.ReadFull(answer, buf); err != nil || string(buf) != fmt.Sprintf("data: %d {", i) {
			t.Fatalf("%q %v", buf, err)
		}
	}
}

// A provider may answer before it has all of the request.
func TestAnswerBeforeTheRequestEnds(t *testing.T) {
	t.Parallel()
	b := before(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if err := errors.Join(control.EnableFullDuplex(), control.Flush()); err != nil {
			t.Error(err)
		}
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, err)
	}), Options{})
	body, rest := io.Pipe()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL(model.OpenAI)+"/responses", body)
	if err != nil {
		t.Fatal(err)
	}
	q.ContentLength = 1 << 20
	q.Header.Set("Authorization", "Bearer "+b.Key())
	resp, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	go func() {
		_, err := rest.Write(make([]byte, 1<<20))
		rest.CloseWithError(err)
	}()
	text, err := io.ReadAll(resp.Body)
	if string(text) != "1048576 <nil>" || err != nil {
		t.Errorf("%q %v", text, err)
	}
}

// A stream that goes over the budget ends with an error in the protocol's form at the event that goes over it; every
// request after it is refused without asking the provider, in a form that clients do not repeat.
func TestBudgetStopsStreams(t *testing.T) {
	t.Parallel()
	const tokens = 500
	for _, wire := range model.Providers() {
		for _, limit := range []string{"tokens", "cost_usd"} {
			t.Run(wire+"/"+limit, func(t *testing.T) {
				t.Parallel()
				o, what := Options{Limits: Limits{Tokens: tokens}}, "tokens"
				if limit == "cost_usd" {
					o.Limits, what = Limits{CostUSD: .5}, "cost"
					o.Cost = func(_ string, u model.Usage) (float64, bool) { return float64(*u.Output+*u.Input) / 1000, true }
				}
				b := scripted(t, o, modeltest.Turn{Text: strings.Repeat("abcdefgh ", 20000), Times: 9})
				a, err := b.client(wire).Turn(t.Context(), hello, nil)
				e, ok := errors.AsType[*model.Error](err)
				if !ok || !strings.Contains(e.Message, "the budget of "+what+" is used up; ") || e.Retryable {
					t.Fatalf("%v", err)
				}
				if n := len(a.Blocks[0].Text); n <= 4*tokens || n > 4*tokens+2*9 {
					t.Errorf("%d bytes of text were passed on", n)
				}
				r := b.requests(t, 1)[0]
				if r.Outcome != Stopped || r.Usage.Output != nil {
					t.Errorf("%+v", r)
				}
				for range 3 {
					_, err := b.client(wire).Turn(t.Context(), hello, nil)
					e, ok := errors.AsType[*model.Error](err)
					want := map[bool]int{true: 402, false: 400}[wire == model.Anthropic]
					if !ok || e.Status != want || e.Retryable || !strings.Contains(e.Message, "is used up; ") ||
						strings.ContainsAny(e.Message, "0123456789") {
						t.Errorf("%#v", err)
					}
				}
				u := b.Used()
				if u.Requests != 1 || u.Refused != 3 || u.Stopped != limit || u.Output != nil || u.AtLeast == nil ||
					*u.AtLeast <= tokens || *u.AtLeast > tokens+9 {
					t.Errorf("%+v", u)
				}
				if limit == "cost_usd" && (u.CostUSD != nil || u.CostAtLeast == nil || *u.CostAtLeast <= .5) {
					t.Errorf("%+v", u)
				}
				if n := len(b.asked()); n != 1 {
					t.Errorf("the provider was asked %d times", n)
				}
			})
		}
	}
}

// An answer that the model has finished is passed on whole even if it went over the budget; the next is refused.
func TestFinishedAnswerPasses(t *testing.T) {
	t.Parallel()
	for _, wire := range model.Providers() {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			b := scripted(t, Options{Limits: Limits{Tokens: 1000}}, modeltest.Turn{
				Text: "Hi", Usage: modeltest.Usage{Input: 990, Output: 42}, Times: 2,
			})
			if a, err := b.client(wire).Turn(t.Context(), hello, nil); err != nil || a.Stop != model.EndTurn {
				t.Fatalf("%v, %+v", err, a)
			}
			used(t, b, 1, 990, 42, 0)
			if _, err := b.client(wire).Turn(t.Context(), hello, nil); err == nil || !strings.Contains(err.Error(), "the budget of tokens is used up") {
				t.Errorf("%v", err)
			}
		})
	}
}

// A program that asks without end is stopped after so many requests.
func TestRequestBudget(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]int{3: 3, 0: DefaultRequests, -1: DefaultRequests + 20} {
		b := scripted(t, Options{Limits: Limits{Requests: limit}}, modeltest.Turn{Status: 500, Times: 1000})
		for range DefaultRequests + 20 {
			b.ask(t, http.MethodPost, b.URL(model.OpenAI)+"/responses", `{"stream":true,"input":[{"role":"user","content":"x"}]}`,
				"Authorization", "Bearer "+b.Key())
		}
		u := b.Used()
		if u.Requests != want || u.Requests+u.Refused != DefaultRequests+20 || (u.Stopped == "requests") != (limit >= 0) {
			t.Errorf("limit %d: %+v", limit, u)
		}
	}
}

// A stream that breaks off breaks off for the client at the same byte and in the same way; what it used is unknown.
func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	for _, wire := range model.Providers() {
		for _, c := range []struct {
			fault   modeltest.Fault
			outcome Outcome
		}{
			{modeltest.Fault{Kind: modeltest.Cut, Bytes: 333}, Broken},
			{modeltest.Fault{Kind: modeltest.Cut, Events: 3}, Broken},
			{modeltest.Fault{Kind: modeltest.End, Bytes: 333}, Passed},
			{modeltest.Fault{Kind: modeltest.Garbage, Events: 2}, Passed},
			{modeltest.Fault{Kind: modeltest.Duplicate, Events: 2}, Passed},
			{modeltest.Fault{Kind: modeltest.LongLine, Bytes: 10 << 20, Events: 2}, Passed},
			{modeltest.Fault{Kind: modeltest.GzipDamage}, Broken},
			{modeltest.Fault{Kind: modeltest.Drip}, Passed},
		} {
			t.Run(fmt.Sprint(wire, "/", c.fault), func(t *testing.T) {
				t.Parallel()
				b := scripted(t, Options{}, modeltest.Turn{
					Text: strings.Repeat("some text ", 20), Usage: modeltest.Usage{Input: 10, Output: 20}, Fault: c.fault, Times: 2,
				})
				body := map[string]string{
					model.Anthropic:  `{"max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`,
					model.OpenAI:     `{"input":[{"role":"user","content":"x"}]}`,
					model.OpenAIChat: `{"messages":[{"role":"user","content":"x"}]}`,
					model.Gemini:     `{"contents":[{"role":"user","parts":[{"text":"x"}]}]}`,
				}[wire]
				read := func(url, key string) (string, error) {
					q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					for _, h := range []string{"X-Api-Key", "X-Goog-Api-Key", "Authorization"} {
						q.Header.Set(h, strings.Repeat("Bearer ", strings.Count(h, "Auth"))+key)
					}
					q.Header.Set("Accept-Encoding", "identity")
					resp, err := http.DefaultTransport.RoundTrip(q)
					if err != nil {
						return "", err
					}
					defer resp.Body.Close()
					if resp.StatusCode != http.StatusOK {
						t.Fatalf("%s: %d", url, resp.StatusCode)
					}
					text, err := io.ReadAll(resp.Body)
					return string(text), err
				}
				version := map[string]string{model.OpenAI: "/v1", model.OpenAIChat: "/v1"}[wire]
				direct, directErr := read(b.provider.URL+version+paths[wire], canary)
				relayed, relayedErr := read(b.URL(wire)+paths[wire], b.Key())
				if c.fault.Kind == modeltest.GzipDamage {
					direct, directErr = relayed, errors.New("it is damaged") // and comes unpacked
				}
				// of one scenario the answers differ by their number only
				if strings.NewReplacer("_1", "_2", "-1", "-2").Replace(direct) != strings.NewReplacer("_1", "_2", "-1", "-2").Replace(relayed) {
					t.Errorf("direct %d bytes, relayed %d", len(direct), len(relayed))
				}
				if (directErr == nil) != (relayedErr == nil) {
					t.Errorf("direct %v, relayed %v", directErr, relayedErr)
				}
				r := b.requests(t, 1)[0]
				if r.Outcome != c.outcome || (relayedErr != nil) != (c.outcome == Broken) {
					t.Errorf("%v, %+v", relayedErr, r)
				}
				if cut := c.fault.Kind == modeltest.Cut || c.fault.Kind == modeltest.End; cut != (r.Usage.Output == nil) &&
					c.fault.Kind != modeltest.GzipDamage {
					t.Errorf("%+v", r)
				}
			})
		}
	}
}

// A provider that nobody can reach, that redirects, or that packs an answer in another way, is an error in the
// protocol's form; the key follows no redirect.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer thief.Close()
	b := before(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else its end is a reset
		switch r.URL.Path {
		case "/v1/messages":
			http.Redirect(w, r, thief.URL+"/"+canary, http.StatusTemporaryRedirect)
		case "/v1/responses":
			w.Header().Set("Content-Encoding", "br")
			fmt.Fprint(w, "x")
		default:
			conn, _, _ := http.NewResponseController(w).Hijack()
			_ = conn.Close()
		}
	}), Options{})
	for i, c := range []struct {
		wire   string
		status int
		want   string
	}{
		{model.Anthropic, 400, "it redirects to " + thief.URL + "/[redacted]"},
		{model.OpenAI, 400, `it is packed as \"br\"`},
		{model.Gemini, 502, "no answer from the provider: EOF"}, // free
		{model.OpenAIChat, 502, "no answer from the provider: EOF"},
	} {
		if i == 3 {
			used(t, b, 3, 0, 0, 0)
		}
		url := b.URL(c.wire) + strings.Replace(paths[c.wire], "streamGenerateContent", "countTokens", 1)
		resp, text := b.ask(t, http.MethodPost, url, "{}")
		r := b.requests(t, i+1)[i]
		if resp.StatusCode != c.status || !strings.Contains(text, c.want) || r.Outcome != Unreachable || r.Status != c.status {
			t.Errorf("%d %s; %+v", resp.StatusCode, text, r)
		}
	}
	if u := b.Used(); u.Input != nil || u.CostUSD != nil { // of the last, which was sent, nothing is known
		t.Errorf("%+v", u)
	}
	c := before(t, http.NotFoundHandler(), Options{})
	c.provider.Close()
	resp, text := c.ask(t, http.MethodPost, c.URL(model.Anthropic)+"/v1/messages", strings.Repeat(" ", 5<<20))
	if resp.StatusCode != http.StatusBadGateway || !strings.Contains(text, "connection refused") {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	used(t, c, 1, 0, 0, 0)
	if u := c.Used(); u.Lost != failure.TransportDisconnect || !strings.Contains(u.LostWhy, "connection refused") {
		t.Errorf("%+v", u)
	}
	// What was lost once and then answered is not lost.
	lost := true
	d := before(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _ = io.Copy(io.Discard, r.Body); lost {
			lost = false
			conn, _, _ := http.NewResponseController(w).Hijack()
			_ = conn.Close()
			return
		}
		http.Error(w, "no", http.StatusForbidden)
	}), Options{})
	for _, want := range []failure.Kind{failure.TransportDisconnect, ""} {
		d.ask(t, http.MethodPost, d.URL(model.Anthropic)+"/v1/messages", "{}")
		if u := d.Used(); u.Lost != want {
			t.Errorf("%+v, want %q", u, want)
		}
	}
}

// A provider that says nothing is given up, before its answer and in the middle of it.
func TestSilence(t *testing.T) {
	t.Parallel()
	begin := true
	b := before(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server sees that the client goes
		if begin {
			fmt.Fprint(w, "data: x\n\n")
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}), Options{Silence: 2 * time.Second})
	_, err := b.client(model.Anthropic).Turn(t.Context(), hello, nil)
	if r := b.requests(t, 1)[0]; err == nil || r.Outcome != Broken {
		t.Errorf("%v, %+v", err, r)
	}
	begin = false
	resp, text := b.ask(t, http.MethodPost, b.URL(model.Anthropic)+"/v1/messages", "{}")
	if resp.StatusCode != http.StatusGatewayTimeout || !strings.Contains(text, "it sends nothing for 2s") {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}

// A client that is still sending when the budget is spent gets to hear of it.
func TestSpentWhileSending(t *testing.T) {
	t.Parallel()
	b := before(t, http.NotFoundHandler(), Options{Limits: Limits{Requests: 1}})
	b.ask(t, http.MethodGet, b.URL(model.OpenAI)+"/models", "")
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", b.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	const size = 64 << 20 // more than sockets hold
	_, err = fmt.Fprintf(conn, "POST /openai/v1/responses HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
		"Content-Length: %d\r\nConnection: close\r\n\r\n%s", b.address, b.Key(), size, strings.Repeat(" ", size))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 400 ") || !strings.Contains(string(text), "the budget of requests") {
		t.Errorf("%q, %v", text, err)
	}
}

// Once it is spent a budget stays spent, also if a provider then counts less than was estimated.
func TestSpentForGood(t *testing.T) {
	t.Parallel()
	m := &meter{limits: Limits{Tokens: 1000}, price: model.Cost}
	var first, second share
	tokens := func(n int64) model.Usage { return model.Usage{Input: new(int64), Output: &n} }
	for _, s := range []*share{&first, &second} {
		if why, wait := m.admit(s, ask{}); why != "" || wait != nil {
			t.Error("it is not sent: " + why)
		}
	}
	if why := m.update(&first, [2]string{}, tokens(600)); why != "" {
		t.Error(why)
	}
	if m.update(&second, [2]string{}, tokens(600)) == "" {
		t.Error("it goes on with 1200 of 1000 tokens")
	}
	m.finish(&first, [2]string{}, tokens(1), tokens(1))
	if why, _ := m.admit(&share{}, ask{}); m.used.tokens != 601 || why == "" {
		t.Errorf("it goes on; %d tokens", m.used.tokens)
	}
}

// When the client goes away, the request to the provider ends, and what it used is unknown.
func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	b := before(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, "data: {}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(left)
	}), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	open(ctx, t, b.URL(model.Gemini)+"/v1beta/models/x:generateContent", b.Key(), "{}")
	if u := b.Used(); u.Requests != 1 || u.Input != nil || u.CostUSD != nil { // it goes on
		t.Errorf("%+v", u)
	}
	cancel()
	<-left
	if r := b.requests(t, 1)[0]; r.Outcome != Gone {
		t.Errorf("%+v", r)
	}
	if u := b.Used(); u.Input != nil || u.Output != nil || u.CostUSD != nil {
		t.Errorf("%+v", u)
	}
}

// Many streams at once do not mix, and are all counted.
func TestConcurrentStreams(t *testing.T) {
	t.Parallel()
	const streams = 200
	var arrived atomic.Int32
	all := make(chan struct{})
	b := before(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		if arrived.Add(1) == streams {
			close(all)
		}
		<-all // every stream is open now
		for range 20 {
			fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", body)
			_ = http.NewResponseController(w).Flush()
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":5}}\n\n")
	}), Options{Limits: Limits{Tokens: 1 << 40}})
	errs := make(chan error)
	for i := range streams {
		go func() {
			resp, text := b.ask(t, http.MethodPost, b.URL(model.OpenAIChat)+"/chat/completions", fmt.Sprintf("<%d>", i))
			if n := strings.Count(text, fmt.Sprintf(`"<%d>"`, i)); n != 20 || resp.StatusCode != http.StatusOK {
				errs <- fmt.Errorf("stream %d has %d of its pieces, status %d", i, n, resp.StatusCode)
				return
			}
			errs <- nil
		}()
	}
	for range streams {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	b.requests(t, streams)
	used(t, b, streams, 3*streams, 5*streams, 0)
}

// What cannot be relayed is refused before anything listens.
func TestStart(t *testing.T) {
	t.Parallel()
	for want, upstreams := range map[string][]Upstream{
		"needs an upstream":            nil,
		`no protocol "grpc"; use one`:  {{Wire: "grpc"}},
		"two upstreams for openai":     {{Wire: model.OpenAI}, {Wire: model.OpenAI}},
		"would send the key unencrypt": {{Wire: model.OpenAI, BaseURL: "http://example.com"}},
		"line break":                   {{Wire: model.OpenAI, Key: canary + "\n"}},
	} {
		_, err := Start(t.Context(), Options{Upstreams: upstreams})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A request for a protocol without an upstream is refused; the address of a base URL with a path is right.
func TestOneUpstream(t *testing.T) {
	t.Parallel()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.URL.Path, r.Header.Get("Authorization"))
	}))
	defer provider.Close()
	r, err := Start(t.Context(), Options{Upstreams: []Upstream{{Wire: model.OpenAIChat, BaseURL: provider.URL + "/api/v3/"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	b := &bench{Relay: r}
	if _, text := b.ask(t, http.MethodPost, b.URL(model.OpenAIChat)+"/chat/completions", ""); text != "/api/v3/chat/completions" {
		t.Error(text) // and no key, as there is none
	}
	if resp, text := b.ask(t, http.MethodPost, b.URL(model.OpenAI)+"/responses", ""); resp.StatusCode != http.StatusNotFound {
		t.Error(text)
	}
}
