package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// over is a model that asks a real server with its own client.
func over(provider, url string) *Model {
	return &Model{Provider: provider, Name: "a-model", Key: testKey, BaseURL: url}
}

// All protocols over a real socket, in small pieces, and the connection used again.
func TestOverSockets(t *testing.T) {
	t.Parallel()
	for provider, stream := range recorded {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			var connections atomic.Int32
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if b, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(b), "hello") {
					t.Errorf("request %q, %v", b, err)
				}
				w.Header().Set("Content-Type", "text/event-stream")
				for rest := stream; len(rest) > 0; {
					n := min(len(rest), 97)
					fmt.Fprint(w, rest[:n])
					w.(http.Flusher).Flush()
					rest = rest[n:]
				}
			}))
			server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					connections.Add(1)
				}
			}
			server.Start()
			defer server.Close()
			m := over(provider, server.URL)
			const turns = 5
			for range turns {
				a, err := m.Turn(t.Context(), hello, nil)
				if err != nil || a.Stop != ToolCalls || len(a.Blocks) != 4 {
					t.Fatalf("%v, %+v", err, a)
				}
			}
			if connections.Load() == turns { // one, unless the machine is so busy that the end of a body comes late
				t.Error("no connection was used again")
			}
			client().CloseIdleConnections()
		})
	}
}

// A redirect is not followed, by our client or a borrowed one: the key would go along.
func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer thief.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	for _, c := range []*http.Client{nil, server.Client()} {
		m := over(Anthropic, server.URL)
		m.HTTP = c
		if e := failed(t, m); e.Kind != failure.InvalidRequest || e.Status != 307 || e.Retryable || !strings.Contains(e.Message, thief.URL) {
			t.Errorf("%+v", e)
		}
	}
}

// The faults that a real network has: a closed port, a name that is not, a certificate that nobody signed, a body cut
// short.
func TestRealFaults(t *testing.T) {
	t.Parallel()
	quiet := log.New(io.Discard, "", 0)
	gone := httptest.NewServer(http.NotFoundHandler())
	closed := gone.URL
	gone.Close()

	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = quiet
	secure.StartTLS()
	defer secure.Close()

	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, recorded[OpenAIChat][:500])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	cut.Config.ErrorLog = quiet
	defer cut.Close()

	for _, c := range []struct {
		name, url string
		kind      failure.Kind
		again     bool
	}{
		{"P70 closed port", closed, failure.TransportDisconnect, true},
		{"certificate", secure.URL, failure.TLSError, false},
		{"plain against TLS", "https://" + strings.TrimPrefix(cut.URL, "http://"), failure.TLSError, false},
		{"cut short", cut.URL, failure.TransportDisconnect, true},
	} {
		if e := failed(t, over(OpenAIChat, c.url)); e.Kind != c.kind || e.Retryable != c.again {
			t.Errorf("%s: %+v", c.name, e)
		}
	}
}

// Over HTTP/2 a reset stream and a server that goes away are lost connections.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("protocol %s", r.Proto)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, recorded[OpenAI][:500])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	m := over(OpenAI, server.URL)
	m.HTTP = server.Client()
	a, err := m.Turn(t.Context(), hello, nil)
	if e := errorOf(t, err); e.Kind != failure.TransportDisconnect || !e.Retryable || a.ID != "resp_1" {
		t.Errorf("%+v, %+v", e, a)
	}
	var reset streamError
	if !errors.As(err, &reset) || reset.Code != 2 {
		t.Errorf("net/http no longer fills in a stream's error: %v", err)
	}
}

// A cancelled turn ends at once, over a socket too, and its request ends at the server.
func TestCancelOverSocket(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, recorded[Gemini][:400])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := over(Gemini, server.URL).Turn(ctx, hello, func(Event) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Error("the request goes on")
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for base, ok := range map[string]bool{
		"": true, "https://api.example": true, "https://api.example:8443/v1/": true, "http://127.0.0.1:80": true,
		"http://127.8.9.1": true, "http://[::1]:1/x": true, "http://LOCALHOST:1": true, "HTTPS://x": true,
		"http://api.example": false, "http://10.0.0.1": false, "http://127.0.0.1.evil.example": false, "http://localhost.example": false,
		"http://[::ffff:127.0.0.1]:1": true, "http://0.0.0.0": false, "ftp://x": false, "api.example": false, "//x": false, "https://": false,
		"https://:443": false, "https:x": false, "https://me:secret@x": false, "https://x?key=1": false, "https://x?": false,
		"https://x#y": false, "https://x\n": false, "unix:///x": false,
	} {
		err := CheckURL(base)
		if (err == nil) != ok {
			t.Errorf("%q: %v", base, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
	m := over(Anthropic, "http://api.example")
	if e := failed(t, m); e.Kind != failure.InvalidRequest || e.Retryable {
		t.Errorf("%+v", e)
	}
	if e := failed(t, (&Model{Provider: "x"})); e.Kind != failure.InvalidRequest {
		t.Errorf("%+v", e)
	}
	m = over(Anthropic, "")
	m.Key = "sk-broken\nkey"
	if e := failed(t, m); e.Kind != failure.AuthInvalid || strings.Contains(e.Message, "broken") {
		t.Errorf("%+v", e)
	}
}

// The client of our own goes through the proxy that the environment names, and to a loopback address it does not.
func TestProxyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	if address := os.Getenv("MODEL_TEST_DIRECT"); address != "" { // the environment is read once in a process
		for _, url := range []string{"https://provider.invalid", address} {
			_, err := over(OpenAI, url).Turn(t.Context(), hello, nil)
			fmt.Println(err)
		}
		return
	}
	var asked atomic.Value
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Method + " " + r.Host)
		http.Error(w, "", http.StatusTeapot)
	}))
	defer proxy.Close()
	direct := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "direct", http.StatusForbidden) }))
	defer direct.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestProxyOfTheEnvironment$")
	cmd.Env = []string{"HTTPS_PROXY=" + proxy.URL, "HTTP_PROXY=" + proxy.URL, "MODEL_TEST_DIRECT=" + direct.URL}
	out, err := cmd.CombinedOutput()
	if err != nil || asked.Load() != "CONNECT provider.invalid:443" || !strings.Contains(string(out), "direct") {
		t.Errorf("%v: the proxy was asked %v\n%s", err, asked.Load(), out)
	}
}
