package model

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// script writes a stream into w as time passes.
type script func(w *io.PipeWriter)

// played is a model whose answer is written by a script, in the bubble of a test.
func played(t *testing.T, provider string, play script) *Model {
	return talk(provider, func(*http.Request) (*http.Response, error) {
		r, w := io.Pipe()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			play(w)
		}()
		t.Cleanup(func() { <-ended })
		return streamOf(r), nil
	})
}

func say(w *io.PipeWriter, s string) { _, _ = io.WriteString(w, s) } // fails when the reader has gone: that is the test

// pieces cuts the recorded stream of Anthropic into its events.
func pieces() []string { return strings.SplitAfter(recorded[Anthropic], "\n\n") }

const minute = time.Minute

// P21 P22: the two watchdogs, each by its own time, and what re-arms them.
func TestWatchdogs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		play     script
		kind     failure.Kind // empty: an answer
		after    time.Duration
		progress bool
	}{
		{"P21 nothing ever comes", func(*io.PipeWriter) {}, failure.ColdStartTimeout, 30 * time.Second, false},
		{"the first byte in time", func(w *io.PipeWriter) {
			time.Sleep(29 * time.Second)
			say(w, recorded[Anthropic])
		}, "", 29*time.Second + lingerWait, true},
		{"P22 silence in the middle of a text", func(w *io.PipeWriter) {
			time.Sleep(10 * time.Second)
			say(w, strings.Join(pieces()[:9], ""))
		}, failure.IdleTimeout, 10*time.Second + 2*minute, true},
		{"keep-alives are life, but not for ever", func(w *io.PipeWriter) {
			say(w, pieces()[0])
			for range 200 {
				time.Sleep(5 * time.Second)
				say(w, ": ping\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n")
			}
		}, failure.IdleTimeout, 5 * minute, false},
		{"a model that thinks behind keep-alives", func(w *io.PipeWriter) {
			say(w, pieces()[0])
			for range 49 {
				time.Sleep(6 * time.Second)
				say(w, ": ping\n\n")
			}
			say(w, strings.Join(pieces()[1:], ""))
		}, "", 49*6*time.Second + lingerWait, true},
		{"progress is, and after the stop nothing is waited for long", func(w *io.PipeWriter) {
			for _, p := range pieces() {
				say(w, p)
				time.Sleep(50 * time.Second)
			}
		}, "", 18*50*time.Second + usageWait, true},
		{"bytes without content, in the middle", func(w *io.PipeWriter) {
			say(w, strings.Join(pieces()[:5], ""))
			for range 3000 {
				say(w, ":")
				time.Sleep(time.Second)
			}
		}, failure.IdleTimeout, 5 * minute, true},
		{"comments before the first event", func(w *io.PipeWriter) {
			for range 200 {
				say(w, ": ping\n\n")
				time.Sleep(time.Second)
			}
		}, "cold_start_timeout", 30 * time.Second, false},
		{"P54 half-open after the stop", func(w *io.PipeWriter) {
			say(w, strings.Join(pieces()[:19], ""))
		}, "", usageWait, true},
		{"slow drip", func(w *io.PipeWriter) {
			for _, b := range recorded[Anthropic] {
				say(w, string(b))
				time.Sleep(10 * time.Millisecond)
			}
		}, "", time.Duration(len([]rune(recorded[Anthropic]))-1)*10*time.Millisecond + lingerWait, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				a, err := played(t, Anthropic, c.play).Turn(context.Background(), hello, nil)
				if took := time.Since(begun); took != c.after {
					t.Errorf("it took %v, want %v", took, c.after)
				}
				switch {
				case c.kind == "" && err != nil:
					t.Fatal(err)
				case c.kind == "" && (a.Stop != ToolCalls || len(a.Blocks) != 4):
					t.Errorf("%+v", a)
				case c.kind != "":
					if e := errorOf(t, err); e.Kind != c.kind || !e.Retryable {
						t.Errorf("%+v", e)
					}
				}
				if a.Progress != c.progress {
					t.Errorf("progress %v", a.Progress)
				}
			})
		})
	}
}

// Limits that are set count instead.
func TestOwnLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := played(t, Anthropic, func(w *io.PipeWriter) {
			time.Sleep(50 * time.Second)
			say(w, strings.Join(pieces()[:5], ""))
		})
		m.Limits = Limits{Connect: time.Minute, Silent: 3 * time.Second}
		begun := time.Now()
		if e := failed(t, m); e.Kind != failure.IdleTimeout || time.Since(begun) != 53*time.Second {
			t.Errorf("%+v after %v", e, time.Since(begun))
		}
	})
	for kind, m := range map[string]*Model{
		"line":  {Limits: Limits{Line: 100}},
		"total": {Limits: Limits{Total: 1000}},
	} {
		m.Provider, m.HTTP = Anthropic, answering(Anthropic, recorded[Anthropic]).HTTP
		if e := failed(t, m); e.Kind != failure.OutputTruncated || e.Retryable {
			t.Errorf("%s: %+v", kind, e)
		}
	}
}

// A body that neither speaks nor closes, and a transport that does not come back, hold up nobody: P52.
func TestHungIsNotAwaited(t *testing.T) {
	t.Parallel()
	for name, hang := range map[string]func(release chan struct{}) trip{
		"transport": func(release chan struct{}) trip {
			return func(*http.Request) (*http.Response, error) { <-release; return nil, io.EOF }
		},
		"body": func(release chan struct{}) trip {
			return func(*http.Request) (*http.Response, error) { return streamOf(&stuck{release: release}), nil }
		},
		"error body": func(release chan struct{}) trip {
			return func(*http.Request) (*http.Response, error) { return respond(529, &stuck{release: release}), nil }
		},
	} {
		t.Run("P52 "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				begun := time.Now()
				e := failed(t, talk(Anthropic, hang(release)))
				want, kind := 30*time.Second, failure.ColdStartTimeout
				if name == "error body" { // its status says enough
					want, kind = errorWait, failure.ServerOverload
				}
				if took := time.Since(begun); took != want || e.Kind != kind || !e.Retryable {
					t.Errorf("%+v after %v", e, took)
				}

				ctx, cancel := context.WithCancelCause(context.Background())
				stop := errors.New("a person pressed Ctrl-C")
				time.AfterFunc(time.Second, func() { cancel(stop) })
				begun = time.Now()
				_, err := talk(Anthropic, hang(release)).Turn(ctx, hello, nil)
				if !errors.Is(err, stop) || time.Since(begun) != time.Second {
					t.Errorf("cancelled: %v after %v", err, time.Since(begun))
				}
				if is[*Error](err) {
					t.Error("a person's word is an *Error")
				}
			})
		})
	}
}

// A stuck body ignores everything until it is released, Close too.
type stuck struct{ release chan struct{} }

func (s *stuck) Read([]byte) (int, error) { <-s.release; return 0, io.EOF }
func (s *stuck) Close() error             { <-s.release; return nil }

// A person's cancellation in the middle gives back what had come, and the cause.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, io.ErrNoProgress)
		defer cancel()
		a, err := played(t, Anthropic, func(w *io.PipeWriter) { say(w, strings.Join(pieces()[:9], "")) }).Turn(ctx, hello, nil)
		if !errors.Is(err, io.ErrNoProgress) || len(a.Blocks) != 2 || a.Blocks[1].Text != "I read " || !a.Progress {
			t.Errorf("%v, %+v", err, a)
		}
	})
}

// The watchdog ends the body, so that the connection is not left open.
func TestBodyIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		m := talk(Anthropic, func(*http.Request) (*http.Response, error) { return streamOf(r), nil })
		if _, err := m.Turn(context.Background(), hello, nil); err == nil {
			t.Fatal("that was an answer")
		}
		synctest.Wait()
		if _, err := io.WriteString(w, "x"); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("the body is still read: %v", err)
		}
	})
}

// How long each protocol may be silent before its head, before its first byte, before the first content, and after it.
func TestSilences(t *testing.T) {
	t.Parallel()
	begins := map[string]string{ // without content, and with some
		Anthropic: pieces()[0], OpenAI: strings.SplitAfter(recorded[OpenAI], "\n\n")[0],
		OpenAIChat: plain(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`), Gemini: plain(`{"usageMetadata":{"promptTokenCount":3}}`),
	}
	for _, c := range []struct {
		provider, where string
		most            time.Duration
		kind            failure.Kind
	}{
		{Anthropic, "head", 30 * time.Second, failure.ColdStartTimeout},
		{Anthropic, "first byte", 30 * time.Second, failure.ColdStartTimeout},
		{Anthropic, "content", 2 * minute, failure.IdleTimeout},
		{Anthropic, "end", 2 * minute, failure.IdleTimeout},
		{OpenAI, "head", 2 * minute, failure.ColdStartTimeout},
		{OpenAI, "first byte", 10 * minute, failure.IdleTimeout},
		{OpenAI, "content", 10 * minute, failure.IdleTimeout},
		{OpenAI, "end", 10 * minute, failure.IdleTimeout},
		{OpenAIChat, "head", 2 * minute, failure.ColdStartTimeout},
		{OpenAIChat, "first byte", 10 * minute, failure.IdleTimeout},
		{OpenAIChat, "content", 10 * minute, failure.IdleTimeout},
		{OpenAIChat, "end", 4 * minute, failure.IdleTimeout},
		{Gemini, "head", 2 * minute, failure.ColdStartTimeout},
		{Gemini, "first byte", 10 * minute, failure.IdleTimeout},
		{Gemini, "content", 10 * minute, failure.IdleTimeout},
		{Gemini, "end", 4 * minute, failure.IdleTimeout},
	} {
		t.Run(c.provider+"/"+c.where, func(t *testing.T) {
			t.Parallel()
			for after, kind := range map[time.Duration]failure.Kind{c.most - time.Second: "", c.most + time.Second: c.kind} {
				synctest.Test(t, func(t *testing.T) {
					m := played(t, c.provider, func(w *io.PipeWriter) {
						first, rest := begins[c.provider], strings.TrimPrefix(recorded[c.provider], begins[c.provider])
						switch c.where {
						case "first byte":
							time.Sleep(after)
						case "content":
							say(w, first)
							time.Sleep(after)
							first = ""
						case "end":
							cut := strings.Index(rest, "größe")
							say(w, first+rest[:cut])
							time.Sleep(after)
							first, rest = "", rest[cut:]
						}
						say(w, first+rest)
					})
					if answer := m.HTTP.Transport; c.where == "head" {
						m.HTTP.Transport = trip(func(r *http.Request) (*http.Response, error) {
							select {
							case <-time.After(after):
								return answer.RoundTrip(r)
							case <-r.Context().Done():
								return nil, r.Context().Err()
							}
						})
					}
					if most := m.Patience(); after > most {
						t.Errorf("patience ends after %v", most)
					}
					_, err := m.Turn(context.Background(), hello, nil)
					if kind == "" && err != nil {
						t.Fatalf("after %v: %v", after, err)
					}
					if kind == "" {
						return
					}
					if e := errorOf(t, err); e.Kind != kind || !e.Retryable {
						t.Errorf("after %v: %v", after, err)
					}
				})
			}
		})
	}
}

// P21: the watchdog of a start counts from when the request is on the wire. A slow way to the provider is no
// silence of the provider's; one on which nothing moves is.
func TestConnectCountsFromTheWire(t *testing.T) {
	t.Parallel()
	const slow, size = 20 * time.Second, 300 << 10
	for _, c := range []struct {
		name         string
		dial, answer time.Duration
		upload       time.Duration // before each piece of 64 KiB that the provider reads
		reads        int           // pieces that it reads; negative: all
		kind         failure.Kind
		after        time.Duration
	}{
		{"P21 connecting takes long", slow, slow, 0, -1, "", 2 * slow},
		{"P21 sending takes long", 0, 0, slow, -1, "", 5 * slow},
		{"P21 no answer to what was sent slowly", 0, minute, slow, -1, failure.ColdStartTimeout, 5*slow + 30*time.Second},
		{"P21 sending stops", 0, 0, slow, 2, failure.ColdStartTimeout, 2*slow + 30*time.Second},
		{"P21 no connection", minute, 0, 0, -1, failure.ColdStartTimeout, 30 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				serve := func(conn net.Conn) {
					defer func() { _ = conn.Close() }()
					b := bufio.NewReaderSize(conn, 64<<10)
					req, err := http.ReadRequest(b)
					for i := 0; err == nil && i != c.reads; i++ {
						time.Sleep(c.upload)
						_, err = io.CopyN(io.Discard, req.Body, 64<<10)
					}
					if c.reads >= 0 {
						time.Sleep(5 * minute)
						return
					}
					time.Sleep(c.answer)
					fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n%s", recorded[Anthropic])
				}
				dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
					select {
					case <-time.After(c.dial):
					case <-ctx.Done():
						return nil, ctx.Err()
					}
					ours, theirs := net.Pipe()
					go serve(theirs)
					return ours, nil
				}
				m := &Model{Provider: Anthropic, Name: "m", Key: "k", BaseURL: "http://127.0.0.1:1", HTTP: &http.Client{Transport: &http.Transport{DialContext: dial, IdleConnTimeout: minute}}}
				defer time.Sleep(10 * minute) // until the provider has ended
				begun := time.Now()
				_, err := m.Turn(t.Context(), Request{Messages: []Message{{Role: User, Blocks: []Block{{Text: strings.Repeat("x", size)}}}}}, nil)
				if took := time.Since(begun).Truncate(time.Second); took != c.after {
					t.Errorf("it took %v, want %v", took, c.after)
				}
				if c.kind == "" && err != nil || c.kind != "" && errorOf(t, err).Kind != c.kind {
					t.Errorf("%v, want %q", err, c.kind)
				}
			})
		})
	}
}
