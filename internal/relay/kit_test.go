package relay

// Help for the tests: a scripted provider behind a relay, and clients before it.

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

// canary is the real key.
const canary = "sk-canary-7f3a9c51e2d84b06"

// A bench is a provider, a relay before it, and what the relay reports.
type bench struct {
	*Relay
	provider *httptest.Server

	mu   sync.Mutex
	seen []Request
}

// before starts a relay for all protocols before a provider.
func before(t *testing.T, provider http.Handler, o Options) *bench {
	t.Helper()
	return beforeServer(t, httptest.NewServer(provider), o)
}

// beforeServer starts a relay for all protocols before a provider, which ends with the test.
func beforeServer(t *testing.T, provider *httptest.Server, o Options) *bench {
	t.Helper()
	b := &bench{provider: provider}
	for _, wire := range model.Providers() {
		o.Upstreams = append(o.Upstreams, Upstream{Wire: wire, BaseURL: b.provider.URL, Key: canary})
	}
	o.Observe = func(r Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.seen = append(b.seen, r)
	}
	var err error
	if b.Relay, err = Start(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = b.Close()
		if s, ok := provider.Config.Handler.(*modeltest.Server); ok {
			s.Close()
		}
		provider.Close()
	})
	return b
}

// scripted starts a relay before a provider that plays turns.
func scripted(t *testing.T, o Options, turns ...modeltest.Turn) *bench {
	t.Helper()
	return before(t, &modeltest.Server{Scenario: modeltest.Scenario{Turns: turns}, Key: canary}, o)
}

// requests returns what the relay reported, once it has reported n.
func (b *bench) requests(t *testing.T, n int) []Request {
	t.Helper()
	for range 6000 {
		b.mu.Lock()
		seen := b.seen
		b.mu.Unlock()
		if len(seen) >= n {
			return seen
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the relay has not reported %d requests", n)
	return nil
}

// client is a strict client of the relay.
func (b *bench) client(wire string) *model.Model {
	return &model.Model{Provider: wire, Name: "a-model", BaseURL: b.URL(wire), Key: b.Key()}
}

var hello = model.Request{Messages: []model.Message{{Role: model.User, Blocks: []model.Block{{Text: "hello"}}}}}

// ask sends a request with the relay's key, and returns status and body.
func (b *bench) ask(t *testing.T, method, url, body string, header ...string) (heard, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("X-Api-Key", b.Key())
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return heard{resp.StatusCode, resp.Header}, string(text)
}

// open sends a request with a key to a relay or a provider, and returns the body of the answer once its head is there.
// It is closed with the test.
func open(ctx context.Context, tb testing.TB, url, key, body string) io.Reader {
	tb.Helper()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	q.Header.Set("X-Api-Key", key)
	resp, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = resp.Body.Close() })
	return resp.Body
}

// A heard answer is what a client sees besides its body.
type heard struct {
	StatusCode int
	Header     http.Header
}

// asked returns what the scripted provider was asked.
func (b *bench) asked() [][]byte { return b.provider.Config.Handler.(*modeltest.Server).Asked() }
