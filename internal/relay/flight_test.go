package relay

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/model"
)

// aSize is that of a request of 800 tokens or so; with a short answer 1056 are expected. Each really uses 1049.
const aSize = 3200

// Requests at once do not pass the budget by what they use together: the third one is the last that may begin below it.
// How fast the provider answers decides nothing.
func TestBudgetOfRequestsAtOnce(t *testing.T) {
	t.Parallel()
	price := func(_ string, u model.Usage) (float64, bool) { return float64(*u.Input+*u.Output) / 1000, true }
	for name, o := range map[string]Options{
		"tokens": {Limits: Limits{Tokens: 3000}}, "cost": {Limits: Limits{CostUSD: 3}, Cost: price},
		"both": {Limits: Limits{Tokens: 3000, CostUSD: 100}, Cost: price},
	} {
		for _, wire := range model.Providers() {
			t.Run(name+"/"+wire, func(t *testing.T) {
				t.Parallel()
				const clients = 60
				var inFlight, most atomic.Int32
				b := before(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					most.Store(max(most.Load(), inFlight.Add(1)))
					defer inFlight.Add(-1)
					_, _ = io.Copy(io.Discard, r.Body)
					time.Sleep(20 * time.Millisecond) // so that they would meet
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, whole[wire])
				}), o)
				statuses := make(chan int)
				for range clients {
					go func() {
						answer, _ := b.ask(t, http.MethodPost, b.URL(wire)+paths[wire], strings.Repeat(" ", aSize))
						statuses <- answer.StatusCode
					}()
				}
				passed := 0
				for range clients {
					if <-statuses == http.StatusOK {
						passed++
					}
				}
				b.requests(t, clients)
				if u := b.Used(); passed != 3 || u.Requests != 3 || u.Refused != clients-3 || *u.Input != 3*1007 {
					t.Errorf("%d of 3 requests passed: %+v", passed, u)
				}
				if most.Load() > 2 {
					t.Errorf("%d were in flight", most.Load())
				}
			})
		}
	}
}

// hold starts a relay before a provider that answers once it is told to.
func hold(t *testing.T, o Options) (b *bench, arrived, answer chan struct{}) {
	t.Helper()
	arrived, answer = make(chan struct{}), make(chan struct{})
	return before(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Method == http.MethodPost {
			arrived <- struct{}{}
			<-answer
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, whole[model.OpenAI])
	}), o), arrived, answer
}

// The only request in flight is sent however large it is, and whatever its length; another waits until it is counted.
// One that uses nothing does not wait.
func TestLoneRequest(t *testing.T) {
	t.Parallel()
	b, arrived, answer := hold(t, Options{Limits: Limits{Tokens: 1500}})
	ended := make(chan int)
	send := func(body io.Reader) {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL(model.OpenAI)+"/responses", body)
		if err != nil {
			t.Error(err)
		} else {
			q.Header.Set("X-Api-Key", b.Key())
			resp, err := http.DefaultTransport.RoundTrip(q)
			if err != nil {
				t.Error(err)
			} else {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				ended <- resp.StatusCode
				return
			}
		}
		ended <- 0
	}
	go send(bytes.NewReader(make([]byte, 1<<20)))
	<-arrived
	if resp, _ := b.ask(t, http.MethodGet, b.URL(model.OpenAI)+"/models", ""); resp.StatusCode != http.StatusOK {
		t.Error("a list of models is refused")
	}
	go send(io.MultiReader(strings.NewReader("{}"))) // of no known length
	waits(t, b)
	answer <- struct{}{}
	if status := <-ended; status != http.StatusOK {
		t.Error(status)
	}
	<-arrived
	answer <- struct{}{}
	if status := <-ended; status != http.StatusOK {
		t.Error(status)
	}
	if resp, text := b.ask(t, http.MethodPost, b.URL(model.OpenAI)+"/responses", "{}"); resp.StatusCode != http.StatusBadRequest {
		t.Error(text)
	}
}

// waits returns when a request waits for the one in flight.
func waits(t *testing.T, b *bench) {
	t.Helper()
	for range 6000 {
		b.meter.mu.Lock()
		waiting := b.meter.changed != nil
		b.meter.mu.Unlock()
		if waiting {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it does not wait")
}

// A client that waits may go away, and the relay may be closed under it: nothing is sent.
func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"client", "relay"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			b, arrived, answer := hold(t, Options{Limits: Limits{Tokens: 500}})
			errs := make(chan error, 2)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			post := func(ctx context.Context) {
				q, err := http.NewRequestWithContext(ctx, http.MethodPost, b.URL(model.OpenAI)+"/responses", strings.NewReader(strings.Repeat(" ", aSize)))
				if err == nil {
					q.Header.Set("X-Api-Key", b.Key())
					var resp *http.Response
					if resp, err = http.DefaultTransport.RoundTrip(q); err == nil {
						_, _ = io.Copy(io.Discard, resp.Body)
						_ = resp.Body.Close()
					}
				}
				errs <- err
			}
			go post(t.Context())
			<-arrived
			go post(ctx)
			waits(t, b)
			if how == "client" {
				leave()
				if err := <-errs; !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				b.requests(t, 1) // the relay has seen it, too
				answer <- struct{}{}
				if err := <-errs; err != nil {
					t.Error(err)
				}
			} else {
				if err := b.Close(); err != nil {
					t.Error(err)
				}
				if err := errors.Join(<-errs, <-errs); err == nil {
					t.Error("an answer came of a closed relay")
				}
				close(answer)
			}
			gone := 0
			for _, r := range b.requests(t, 2) {
				if r.Outcome == Gone && r.Status == 0 {
					gone++
				}
			}
			if u := b.Used(); u.Requests != 1 || u.Refused != 1 || gone == 0 {
				t.Errorf("%+v", u)
			}
		})
	}
}

// A provider may speak HTTP/2: its stream is passed on at once, counted, and seen to break off.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	provider := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"model\":%q}\n\n", fmt.Sprint(r.Proto, " ", r.Header["Authorization"]))
		_ = http.NewResponseController(w).Flush()
		<-next
		if string(body) == "break" {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, "data: {\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":5},\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n")
	}))
	provider.EnableHTTP2 = true
	provider.Config.ErrorLog = silent
	provider.StartTLS()
	b := beforeServer(t, provider, Options{})
	roots := x509.NewCertPool()
	roots.AddCert(provider.Certificate())
	b.transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	for i, c := range []struct {
		body    string
		outcome Outcome
	}{{"go on", Passed}, {"break", Broken}} {
		answer := open(t.Context(), t, b.URL(model.OpenAIChat)+"/chat/completions", b.Key(), c.body)
		first := make([]byte, len("data: {\"model\":\"HTTP/2.0 [Bearer [redacted]]\"}\n\n"))
		if _, err := io.ReadFull(answer, first); err != nil || string(first) != "data: {\"model\":\"HTTP/2.0 [Bearer [redacted]]\"}\n\n" {
			t.Errorf("%q, %v", first, err)
		}
		next <- struct{}{}
		rest, err := io.ReadAll(answer)
		if (err == nil) != (c.outcome == Passed) || (len(rest) > 0) != (c.outcome == Passed) {
			t.Errorf("%q, %v", rest, err)
		}
		r := b.requests(t, i+1)[i]
		if r.Outcome != c.outcome || (r.Usage.Output != nil) != (c.outcome == Passed) {
			t.Errorf("%+v", r)
		}
	}
}
