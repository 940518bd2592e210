package relay

// What the relay itself costs: memory, goroutines, time.

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

// peak calls f and returns by how many bytes the heap grew meanwhile, at most.
func peak(f func()) (most int64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := int64(m.HeapInuse)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
				runtime.ReadMemStats(&m)
				most = max(most, int64(m.HeapInuse)-before)
			}
		}
	}()
	f()
	close(stop)
	<-done
	return most
}

// A repeat reads a piece again and again.
type repeat struct {
	piece []byte
	left  int64
	at    int
}

func (r *repeat) Read(b []byte) (int, error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(int64(len(b)), r.left)], r.piece[r.at:])
	r.at = (r.at + n) % len(r.piece)
	r.left -= int64(n)
	return n, nil
}

// A gigabyte of events needs at most 20 MB; so does any other form of much, in either direction. Not parallel: the heap is one.
func TestMemory(t *testing.T) {
	event := "data: {\"choices\":[{\"delta\":{\"content\":\"" + strings.Repeat("some text ", 400) + "\"}}]}\n\n"
	for name, c := range map[string]struct{ kind, piece string }{
		"events": {"text/event-stream", event},
		"line":   {"text/event-stream", strings.Repeat("x", 32<<10)},
		"whole":  {"application/json", `{"a":"` + event + `"}`},
		"upload": {},
	} {
		t.Run(name, func(t *testing.T) {
			size := int64(32 << 20) // eight times what a counter keeps
			if name == "events" && !testing.Short() {
				size = 1 << 30
			}
			b := before(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n, _ := io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", c.kind)
				if c.piece == "" {
					fmt.Fprint(w, n)
					return
				}
				_, _ = io.Copy(w, &repeat{piece: []byte(c.piece), left: size}) // a client that is gone is seen below
			}), Options{})
			var body io.Reader = http.NoBody
			if c.piece == "" {
				body = &repeat{piece: []byte(strings.Repeat("text ", 10000)), left: size}
			}
			q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL(model.OpenAIChat)+"/chat/completions", body)
			if err != nil {
				t.Fatal(err)
			}
			q.Header.Set("Authorization", "Bearer "+b.Key())
			most := peak(func() {
				resp, err := http.DefaultTransport.RoundTrip(q)
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				if n, err := io.Copy(io.Discard, resp.Body); err != nil || c.piece != "" && n != size {
					t.Errorf("%d bytes, %v", n, err)
				}
			})
			if r := b.requests(t, 1)[0]; c.piece == "" && r.Sent != size || c.piece != "" && r.Bytes != size {
				t.Errorf("%+v", r)
			}
			t.Logf("%d MiB through at %.1f MB", size>>20, float64(most)/1e6)
			if most > 20e6 {
				t.Errorf("the heap grew by %d bytes", most)
			}
		})
	}
}

// A closed relay leaves no goroutine and no socket, also if it is closed in the middle of streams. Not parallel: the
// goroutines of other tests are counted too.
func TestCloseLeavesNothing(t *testing.T) {
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	before := runtime.NumGoroutine()
	for _, end := range []string{"close", "context"} {
		s := &modeltest.Server{Scenario: modeltest.Scenario{Turns: []modeltest.Turn{
			{Text: "Hi", Fault: modeltest.Fault{Kind: modeltest.Stall, Events: 2}, Times: 5}, {Text: "Hi"},
		}}}
		provider := httptest.NewUnstartedServer(s)
		var open atomic.Int32
		provider.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			switch s {
			case http.StateNew:
				open.Add(1)
			case http.StateClosed:
				open.Add(-1)
			}
		}
		provider.Start()
		ctx, cancel := context.WithCancel(t.Context())
		outcomes := map[Outcome]int{}
		r, err := Start(ctx, Options{
			Upstreams: []Upstream{{Wire: model.Anthropic, BaseURL: provider.URL}},
			Observe:   func(q Request) { outcomes[q.Outcome]++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		b := &bench{Relay: r}
		errs := make(chan error)
		turn := func() {
			_, err := b.client(model.Anthropic).Turn(t.Context(), hello, nil)
			errs <- err
		}
		for range 5 {
			go turn()
		}
		for len(s.Asked()) < 5 {
			time.Sleep(time.Millisecond)
		}
		go turn()
		if err := <-errs; err != nil { // its connection is kept
			t.Fatal(err)
		}
		if end == "context" {
			cancel()
		}
		for range 2 {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		if outcomes[Passed] != 1 || outcomes[Gone] != 5 { // Observe is not called any more
			t.Errorf("%v", outcomes)
		}
		for range 5 {
			if err := <-errs; err == nil {
				t.Error("a stream ended well")
			}
		}
		if conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.address); err == nil {
			_ = conn.Close()
			t.Error("the relay listens")
		}
		if u := r.Used(); u.Requests != 6 || u.Input != nil {
			t.Errorf("%+v", u)
		}
		for i := 0; open.Load() > 0 && i < 6000; i++ {
			time.Sleep(10 * time.Millisecond)
		}
		if n := open.Load(); n > 0 {
			t.Errorf("%d connections to the provider are open", n)
		}
		cancel()
		s.Close()
		provider.Close()
	}
	after := 0
	for range 6000 {
		if after = runtime.NumGoroutine(); after <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines, %d before:\n%s", after, before, stacks[:runtime.Stack(stacks, true)])
}

// The way to the provider goes through the proxy that the environment names, and to a loopback address, or one of NO_PROXY, it does not.
func TestProxy(t *testing.T) {
	t.Parallel()
	if address := os.Getenv("RELAY_TEST_DIRECT"); address != "" { // the environment is read once in a process
		r, err := Start(t.Context(), Options{Upstreams: []Upstream{
			{Wire: model.Anthropic, BaseURL: "https://provider.invalid"},
			{Wire: model.OpenAI, BaseURL: address},
			{Wire: model.OpenAIChat, BaseURL: os.Getenv("RELAY_TEST_EXEMPT")},
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		b := &bench{Relay: r}
		for _, wire := range []string{model.Anthropic, model.OpenAI, model.OpenAIChat} {
			_, text := b.ask(t, http.MethodPost, b.URL(wire)+paths[wire], "{}")
			fmt.Println(text)
		}
		return
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "", http.StatusTeapot)
		if r.Method != http.MethodConnect || r.Host != "provider.invalid:443" {
			t.Errorf("the proxy was asked %s %s", r.Method, r.Host)
		}
	}))
	defer proxy.Close()
	direct := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "direct") }))
	defer direct.Close()
	exempt := httptest.NewUnstartedServer(http.NotFoundHandler()) // at an address that is no loopback address, of this machine
	exempt.Config.ErrorLog = silent
	exempt.StartTLS()
	defer exempt.Close()
	_, port, _ := net.SplitHostPort(exempt.Listener.Addr().String())
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestProxy$")
	cmd.Env = []string{
		"HTTPS_PROXY=" + proxy.URL, "HTTP_PROXY=" + proxy.URL, "NO_PROXY=example.invalid,0.0.0.0",
		"RELAY_TEST_DIRECT=" + direct.URL, "RELAY_TEST_EXEMPT=https://0.0.0.0:" + port,
	}
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"no answer from the provider: I'm a teapot", "\ndirect\n", "failed to verify certificate"} {
		if err != nil || !bytes.Contains(out, []byte(want)) {
			t.Errorf("%q is not in it: %v\n%s", want, err, out)
		}
	}
}

// BenchmarkChunk is the time from a provider's write to the client's read, through the relay; "direct-µs" is the
// same without it, in turn.
func BenchmarkChunk(b *testing.B) {
	var nexts [2]chan struct{}
	for i := range nexts {
		nexts[i] = make(chan struct{})
	}
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		control := http.NewResponseController(w)
		next := nexts[0]
		if r.Header.Get("X-Api-Key") == canary { // it comes through the relay
			next = nexts[1]
		}
		for {
			_ = control.Flush() // of a client that is gone the context ends
			select {
			case <-next:
				_, _ = io.WriteString(w, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"+
					"\"delta\":{\"type\":\"text_delta\",\"text\":\"some text\"}}\n\n")
			case <-r.Context().Done():
				return
			}
		}
	}))
	b.Cleanup(provider.Close) // when the context has ended: it waits for the requests
	r, err := Start(b.Context(), Options{
		Upstreams: []Upstream{{Wire: model.Anthropic, BaseURL: provider.URL, Key: canary}},
		Limits:    Limits{Tokens: 1 << 40, CostUSD: 1 << 40},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var bodies []io.Reader
	for _, url := range []string{provider.URL, r.URL(model.Anthropic)} {
		bodies = append(bodies, open(b.Context(), b, url+"/v1/messages", r.Key(), ""))
	}
	var took [2]time.Duration
	buf := make([]byte, 4096)
	for b.Loop() {
		for i, body := range bodies {
			start := time.Now()
			nexts[i] <- struct{}{}
			for n := 0; !bytes.HasSuffix(buf[:n], []byte("\n\n")); {
				m, err := body.Read(buf[n:])
				if err != nil {
					b.Fatal(err)
				}
				n += m
			}
			took[i] += time.Since(start)
		}
	}
	micro := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N) }
	b.ReportMetric(micro(took[0]), "direct-µs")
	b.ReportMetric(micro(took[1]), "relayed-µs")
	b.ReportMetric(float64(took[1])/float64(took[0]), "x-direct")
}
