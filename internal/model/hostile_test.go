package model

// What a provider can do that means harm, or knows no better: none of it may hang, fill the memory, lead the key
// away, or get a call to run that was not made.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// An error in the middle of a stream that is no event: bare JSON, in one line or in many, with a line end or without.
func TestErrorOutsideEvents(t *testing.T) {
	t.Parallel()
	bare := `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, []byte(bare), "", "  "); err != nil {
		t.Fatal(err)
	}
	for provider, stream := range recorded {
		begun := stream[:strings.Index(stream, "\n\n")+2]
		for name, rest := range map[string]string{
			"one line": bare, "a line end": bare + "\n", "an empty line": bare + "\r\n\r\n", "many lines": pretty.String() + "\n", "an array": "[" + pretty.String() + "\n]\n",
		} {
			for where, before := range map[string]string{"first": "", "later": begun} {
				if e := failed(t, answering(provider, before+rest)); e.Kind != failure.ServerOverload || e.Status != 503 || e.Message != "The model is overloaded." {
					t.Errorf("%s, %s, %s: %+v", provider, name, where, e)
				}
			}
		}
		for name, c := range map[string]struct {
			stream string
			kind   failure.Kind
			words  string
		}{
			"a page":            {"<!doctype html>\n<p>Sign in</p>\n", failure.ParseError, "is the base URL right? It begins \"<!doctype html>"},
			"a whole answer":    {`{"type":"message","content":[]}`, failure.ParseError, "no stream of events"},
			"a page afterwards": {begun + "<p>Bad gateway</p>\n", failure.StreamFailure, "ended before"},
			"much of nothing":   {strings.Repeat("x\n", 1<<20), failure.ParseError, "no stream of events"},
			"nothing":           {"", failure.StreamFailure, "ended before"},
		} {
			if e := failed(t, answering(provider, c.stream)); e.Kind != c.kind || !strings.Contains(e.Message, c.words) {
				t.Errorf("%s, %s: %+v", provider, name, e)
			}
		}
	}
}

// What has success in its status and is no stream is the wrong address.
func TestSuccessWithoutStream(t *testing.T) {
	t.Parallel()
	for _, status := range []int{101, 201, 202, 204, 206} {
		if e := refuse(t, status, ""); e.Kind != failure.ParseError || e.Status != status || !strings.Contains(e.Message, "is the base URL right?") {
			t.Errorf("%d: %+v", status, e)
		}
	}
}

// Pings for ever: the clock of the turn ends them, and then the limit on bytes; they fill no memory.
func TestPingsForEver(t *testing.T) {
	t.Parallel()
	ping := ": OPENROUTER PROCESSING\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n"
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
		defer cancel()
		begun := time.Now()
		_, err := played(t, Anthropic, func(w *io.PipeWriter) {
			for {
				if _, err := io.WriteString(w, ping); err != nil {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		}).Turn(ctx, hello, nil)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 4*time.Minute {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
	m := talk(Anthropic, func(*http.Request) (*http.Response, error) { return streamOf(&forever{text: ping}), nil })
	m.Limits.Total = 2 << 20
	if e := failed(t, m); e.Kind != failure.OutputTruncated {
		t.Errorf("%+v", e)
	}
	p := sse{max: 1 << 20}
	for _, piece := range []string{ping, "x: y\n", "event: z\n", ":\r", "\n"} {
		if err := p.feed([]byte(strings.Repeat(piece, 1<<15)), func(string, []byte) error { return nil }); err != nil {
			t.Errorf("%q: %v", piece, err)
		}
	}
	if kept := cap(p.line) + cap(p.data) + cap(p.stray); kept > 2*mostStray {
		t.Errorf("%d bytes are kept", kept)
	}
}

// A forever gives text again and again.
type forever struct {
	text string
	at   int
}

func (f *forever) Read(p []byte) (int, error) {
	n := copy(p, f.text[f.at:])
	f.at = (f.at + n) % len(f.text)
	return n, nil
}

func (f *forever) Close() error { return nil }

// JSON that is nested without end, in an event, in the arguments of a call, in an error.
func TestDeepJSON(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 4<<20)
	for name, stream := range map[string]string{
		"event": "data: " + `{"type":"message_start","x":` + deep + "\n\n",
		"error": "data: " + `{"type":"error","error":` + deep + "\n\n",
		"stray": deep + "\n",
	} {
		if e := failed(t, answering(Anthropic, stream)); e.Kind != failure.ParseError || e.Retryable || len(e.Message) > maxMessage {
			t.Errorf("%s: %+v", name, e)
		}
	}
	closed := `{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "}"
	a, err := answering(Anthropic, anthropicCall(closed, "tool_use")).Turn(context.Background(), hello, nil)
	if err != nil || len(a.Broken) != 1 || len(a.Blocks) != 1 {
		t.Errorf("%v, %d blocks, %d broken", err, len(a.Blocks), len(a.Broken))
	}
	if e := refuse(t, 400, deep); e.Kind != failure.InvalidRequest || len(e.Message) > maxMessage {
		t.Errorf("%+v", e)
	}
}

// A head without end, and a redirect with the key in it, over a socket.
func TestHostileHeads(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		head string
		kind failure.Kind
	}{
		"a huge header":      {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX: " + strings.Repeat("x", 2<<20) + "\r\n\r\n", failure.ParseError},
		"a million headers":  {"HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 1<<19) + "\r\n", failure.ParseError},
		"not HTTP":           {"SSH-2.0-OpenSSH_9.6\r\n", failure.ParseError},
		"continue for ever":  {strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 1<<16), failure.ParseError},
		"nothing":            {"", failure.TransportDisconnect},
		"other protocols":    {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", failure.ParseError},
		"redirect with key":  {"HTTP/1.1 307 x\r\nLocation: https://thief.example/?k=" + testKey + "\r\nContent-Length: 0\r\n\r\n", failure.InvalidRequest},
		"redirect elsewhere": {"HTTP/1.1 308 x\r\nLocation: //thief.example/\r\nContent-Length: 0\r\n\r\n", failure.InvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					return // here and below: a client that is gone is what is tested
				}
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.WriteString(conn, c.head)
				_ = conn.Close()
			}))
			defer server.Close()
			if e := failed(t, over(Anthropic, server.URL)); e.Kind != c.kind || strings.Contains(e.Error(), testKey) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// A redirect to a server whose certificate is good leads nowhere either: not one byte is sent there, over HTTP/2
// neither.
func TestKeyStaysAtItsHost(t *testing.T) {
	t.Parallel()
	thief := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	thief.EnableHTTP2 = true
	thief.StartTLS()
	defer thief.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, thief.URL, status) }))
		server.EnableHTTP2 = true
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		for _, provider := range []string{Anthropic, OpenAI, OpenAIChat, Gemini} {
			m := over(provider, server.URL)
			m.HTTP = server.Client()
			if e := failed(t, m); e.Status != status || e.Retryable || !strings.Contains(e.Message, thief.URL) {
				t.Errorf("%s, %d: %+v", provider, status, e)
			}
		}
		server.Close()
	}
}

// A packed answer that unpacks to gigabytes, and one that is packed in a way that was not asked for.
func TestPackedBomb(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: little of it runs at once, so the race detector finds little")
	}
	bomb := string(packed(t, make([]byte, 65<<20)))
	for encoding, words := range map[string]string{"gzip": "more than 64 MiB", "br": "not asked for", "gzip, gzip": "not asked for"} {
		for _, status := range []int{200, 500} {
			m := talk(Anthropic, func(*http.Request) (*http.Response, error) {
				return respond(status, text(bomb), "Content-Type", eventStream, "Content-Encoding", encoding), nil
			})
			e := failed(t, m)
			if status == 200 && (e.Kind != failure.ParseError || !strings.Contains(e.Message, words)) {
				t.Errorf("%s, %d: %+v", encoding, status, e)
			}
			if status == 500 && encoding == "gzip" && e.Kind != failure.ServerOverload {
				t.Errorf("%s, %d: %+v", encoding, status, e)
			}
		}
	}
}

// Pieces in the millions are put together without a copy of all for each.
func TestManyPieces(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine at work: the race detector, with which CI runs -short, finds nothing in it")
	}
	var b strings.Builder
	b.WriteString(named(`{"type":"message_start","message":{"id":"m"}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`))
	const most = 50_000
	for range most {
		b.WriteString("data:{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"0123456789abcdef\"}}\n\n")
	}
	b.WriteString(named(`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a, err := answering(Anthropic, b.String()).Turn(context.Background(), hello, nil)
	runtime.ReadMemStats(&after)
	if err != nil || len(a.Blocks) != 1 || len(a.Blocks[0].Raw) < 16*most {
		t.Fatalf("%v, %d blocks", err, len(a.Blocks))
	}
	// One copy of the signature for each piece would be 20 GB.
	if total := after.TotalAlloc - before.TotalAlloc; total > 4<<30 {
		t.Errorf("%d bytes were allocated", total)
	}
}

// Counts that are none, indexes with holes and backwards, one id for two calls: no wrong count, no lost call, no id
// twice.
func TestAbsurdNumbers(t *testing.T) {
	t.Parallel()
	for _, count := range []string{"-1", "0.5", `"7"`, "null", "[]"} {
		stream := plain(
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1000000000,"id":"same","function":{"name":"b","arguments":"{}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":-7,"id":"same","function":{"name":"a","arguments":"{\"x\":"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":-7,"id":"same","function":{"arguments":"1}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":`+count+`,"completion_tokens":`+count+`}}`, `[DONE]`,
		)
		a, err := answering(OpenAIChat, stream).Turn(context.Background(), hello, nil)
		if err != nil {
			t.Fatalf("%s: %v", count, err)
		}
		if a.Usage.Input != nil || a.Usage.Output != nil {
			t.Errorf("%s is counted", count)
		}
		if len(a.Blocks) != 2 || a.Blocks[0].Call.Name != "b" || string(a.Blocks[1].Call.Args) != `{"x":1}` || a.Blocks[0].Call.ID == a.Blocks[1].Call.ID {
			t.Errorf("%s: %s", count, asJSON(t, a))
		}
	}
}

// Servers before Gemini give every call the index 0, one call a piece.
func TestCallsOfOneIndex(t *testing.T) {
	t.Parallel()
	call := func(id, args string) string {
		return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":%q,"function":{"name":"read","arguments":%q}}]}}]}`, id, args)
	}
	end := []string{`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, `[DONE]`}
	stream := plain(append([]string{call("1", `{"path":"a"}`), call("2", `{"path":"b"}`), call("3", `{"path":"c"}`)}, end...)...)
	a, err := answering(OpenAIChat, stream).Turn(context.Background(), hello, nil)
	if err != nil || len(a.Blocks) != 3 || string(a.Blocks[1].Call.Args) != `{"path":"b"}` || a.Blocks[2].Call.ID != "3" {
		t.Errorf("%v, %s", err, asJSON(t, a))
	}
	stream = plain(append([]string{call("1", `{"path":`), call("2", `{"path":"b"}`)}, end...)...)
	if e := failed(t, answering(OpenAIChat, stream)); e.Kind != failure.StreamFailure {
		t.Errorf("behind half a call: %v", e)
	}
}

// What is no UTF-8 does not go back: the provider would refuse the whole conversation for it.
func TestNoUTF8GoesBack(t *testing.T) {
	t.Parallel()
	for provider, stream := range map[string]string{
		Anthropic: named(
			`{"type":"message_start","message":{"id":"m¿"}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"¿"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c¿","name":"read","input":{"path":"¿"}}}`, `{"type":"content_block_stop","index":1}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`,
		),
		OpenAI: named(
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning"}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","summary":[],"encrypted_content":"¿"}}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"c","name":"read"}}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","arguments":"{\"path\":\"¿\"}"}}`,
			`{"type":"response.completed","response":{}}`,
		),
		Gemini: plain(`{"candidates":[{"content":{"parts":[{"text":"¿","thought":true},{"functionCall":{"name":"read","args":{"path":"¿"}},"thoughtSignature":"¿"}]},"finishReason":"STOP"}]}`),
		OpenAIChat: plain(
			`{"choices":[{"index":0,"delta":{"reasoning":"¿","tool_calls":[{"index":0,"id":"¿","function":{"name":"read","arguments":"{\"path\":\"¿\"}"}}]},"finish_reason":"tool_calls"}]}`, `[DONE]`,
		),
	} {
		m := answering(provider, strings.ReplaceAll(stream, "¿", "\xff"))
		a, err := m.Turn(context.Background(), hello, nil)
		if err != nil {
			t.Errorf("%s: %v", provider, err)
			continue
		}
		m.HTTP.Transport = trip(func(r *http.Request) (*http.Response, error) {
			if b, err := io.ReadAll(r.Body); err != nil || !utf8.Valid(b) || !json.Valid(b) {
				t.Errorf("%s: %v, the request is %q", provider, err, b)
			}
			return nil, io.EOF
		})
		r := Request{Messages: []Message{hello.Messages[0], {Role: Assistant, Blocks: a.Blocks}, hello.Messages[0]}}
		if _, err := m.Turn(context.Background(), r, nil); err == nil {
			t.Error("that was an answer")
		}
	}
}

func TestReadable(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("9", 400)
	for in, want := range map[string]string{
		`{"a":"\ud83d"}`:                 `{"a":"�"}`,
		`{"a":"\uDE00 <x>"}`:             `{"a":"� <x>"}`,
		`{"a":"\ude00\ud83d"}`:           `{"a":"��"}`,
		`{"a":["\ud83d\u0041"]}`:         `{"a":["�A"]}`,
		`{"a":"\ud83d\\ude00"}`:          `{"a":"�\\ude00"}`,
		`{"a":1e999,"b":{"c":[-1E400]}}`: `{"a":"1e999","b":{"c":["-1E400"]}}`,
		`{"a":` + digits + `}`:           `{"a":"` + digits + `"}`,
		`{"\ud83d":1}`:                   `{"�":1}`,
		// As they are.
		`{"a":"\ud83d\ude00"}`:                        "",
		`{"a":"\\ud83d", "b" : "\"\\"}`:               "",
		`{"a":"1e999","b":1e300,"c":1e-999,"d":-0.5}`: "",
		`{"a":12345678901234567890123,"b":"\u00e9"}`:  "",
		`{}`: "",
	} {
		if want == "" {
			want = in
		}
		if got := string(readable(json.RawMessage(in))); got != want {
			t.Errorf("%.80s became %.80s, want %.80s", in, got, want)
		}
	}
}

// What a model wrote by half goes back as what every provider can read.
func TestHalfAPairIsNotSentBack(t *testing.T) {
	t.Parallel()
	for _, provider := range Providers() {
		r := Request{Messages: []Message{
			hello.Messages[0],
			{Role: Assistant, Blocks: []Block{
				{Thinking: "x", Raw: json.RawMessage(`{"type":"thinking","thinking":"\ude00"}`), Provider: provider},
				{Call: &Call{ID: "c1", Name: "write", Args: json.RawMessage(`{"content":"\ud83d"}`)}},
			}},
			{Role: User, Blocks: []Block{{Result: &Result{ID: "c1", Name: "write", Text: "ok"}}}},
		}}
		var body []byte
		m := talk(provider, func(q *http.Request) (*http.Response, error) {
			var err error
			body, err = io.ReadAll(q.Body)
			return streamOf(text("")), err
		})
		_, _ = m.Turn(t.Context(), r, nil) // only what it is asked is of interest
		if q := string(body); strings.Contains(q, "ud83d") || strings.Contains(q, "ude00") || !strings.Contains(q, "�") {
			t.Errorf("%s: %s", provider, q)
		}
	}
}

func FuzzReadable(f *testing.F) {
	for _, s := range []string{`{"a":"\ud83d"}`, `{"a":1e999}`, `{"a":"\\\"","b":[1,2e5,"\ud83d\ude00"]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !isObject(json.RawMessage(s)) {
			return
		}
		got := readable(json.RawMessage(s))
		var v map[string]any
		if err := json.Unmarshal(got, &v); err != nil || odd(got) {
			t.Fatalf("%q became %q: %v", s, got, err)
		}
	})
}
