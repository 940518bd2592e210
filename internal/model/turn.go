package model

// One turn: send the request, read the stream under two watchdogs, and report how it ended.

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

const (
	defaultMax  = 8192
	dialTimeout = 30 * time.Second

	maxErrorBody = 64 << 10               // bytes of an answer that is an error
	errorWait    = 5 * time.Second        // for the body of such an answer: its status is enough
	usageWait    = 10 * time.Second       // for usage and the end, when the model has stopped
	lingerWait   = 250 * time.Millisecond // for the end of the body after the terminal event, to reuse the connection
	bufferSize   = 16 << 10
	userAgent    = "async-pipeline"
	eventStream  = "text/event-stream"
)

// A wire is one protocol: the form of its requests and the reader of its stream.
type wire struct {
	name    string
	base    string // the provider's own
	version string
	always  bool // the version belongs to every base URL (see endpoint)
	prompt  bool // it says at once that an answer begins: a head alone is no sign of life
	path    func(m *Model) string
	head    func(h http.Header, m *Model) // sets the key, where there is one
	encode  func(m *Model, r Request) any
	decoder func(d *draft) decoder
	count   func(c *Counter, data []byte) // reads usage from an event, or from an answer that is no stream
	limits  Limits                        // the defaults: how long the provider may be silent
}

// A decoder reads the events of one stream into its draft. Its errors are of type *Error.
type decoder interface {
	event(name string, data []byte) error
}

// wires are the protocols. A new one is a file with a wire, a row here, and its other side in modeltest.
var wires = []wire{anthropicWire, openaiWire, chatWire, geminiWire}

func wireOf(provider string) (wire, bool) {
	i := slices.IndexFunc(wires, func(w wire) bool { return w.name == provider })
	if i < 0 {
		return wire{limits: slowLimits}, false
	}
	return wires[i], true
}

// Providers returns the names of the protocols.
func Providers() []string {
	var names []string
	for _, w := range wires {
		names = append(names, w.name)
	}
	return names
}

// client is shared by the models that have none of their own, so that connections are reused. It goes through the proxy
// that the environment names (HTTPS_PROXY, NO_PROXY), never to a loopback address.
var client = sync.OnceValue(func() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true, // what is packed all the same is unpacked here, strictly
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     90 * time.Second,

		MaxResponseHeaderBytes: 1 << 20, // it is some kilobytes
		// A connection whose other end is gone without a word is found by these.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}}
})

// Turn sends one request. event may be nil. The error is an *Error, except after the end of ctx: then it is
// context.Cause(ctx). A cut after Stopped, once all content has arrived, is no error; then the usage is missing.
func (m *Model) Turn(ctx context.Context, r Request, event func(Event)) (Answer, error) {
	d := newDraft(m.Provider, r, event)
	err := m.turn(ctx, r, d)
	if ctx.Err() != nil {
		return d.answer(), context.Cause(ctx)
	}
	return d.answer(), m.finish(err)
}

func (m *Model) turn(ctx context.Context, r Request, d *draft) error {
	w, ok := wireOf(m.Provider)
	if !ok {
		return newError(failure.InvalidRequest, "there is no protocol %q; use one of %s", m.Provider,
			strings.Join(Providers(), ", "))
	}
	if err := CheckURL(m.BaseURL); err != nil {
		return newError(failure.InvalidRequest, "%v", err)
	}
	r.MaxTokens = cmp.Or(r.MaxTokens, defaultMax)
	body, err := marshal(w.encode(m, r))
	if err != nil {
		return newError(failure.InvalidRequest, "the conversation cannot be written as JSON: %v", err)
	}
	limits := m.Limits.orDefault(m.Provider)

	turn, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cold := time.AfterFunc(limits.Connect, func() {
		cancel(newError(failure.ColdStartTimeout, "the model's provider sent nothing for %v", limits.Connect))
	})
	defer cold.Stop()

	s := &stream{turn: turn, cold: cold, limits: limits, pieces: make(chan piece)}
	resp, err := m.send(turn, w, body, func() { cold.Reset(limits.Connect) })
	if err != nil {
		return turnFault(turn, err)
	}
	// A body that hangs is never waited for: whoever reads it is cut off when the turn is over.
	context.AfterFunc(turn, func() { resp.Body.Close() })
	unpacked, err := unpack(resp)
	if err != nil {
		return err
	}
	go pump(turn, unpacked, s.pieces)

	if resp.StatusCode != http.StatusOK {
		return s.refused(resp, time.Now())
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || kind != eventStream {
		return s.foreign(resp)
	}
	if !w.prompt {
		cold.Stop()
	}
	return s.read(d, w.decoder(d))
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // fewer bytes, and the model sees the code it wrote
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// An upload is the body of a request. It signals each piece that is taken to be sent.
type upload struct {
	io.Reader
	sent func()
}

func (u upload) Read(b []byte) (int, error) {
	u.sent()
	return u.Reader.Read(b)
}

func (u upload) Close() error { return nil }

// send sends the request and waits for the head of the answer. It calls progress while the request is sent, and once
// all of it was.
func (m *Model) send(turn context.Context, w wire, body []byte, progress func()) (*http.Response, error) {
	address := endpoint(cmp.Or(m.BaseURL, w.base), w.version, w.always, w.path(m))
	sent := make(chan struct{}, 1)
	note := func() {
		select {
		case sent <- struct{}{}:
		default:
		}
	}
	traced := httptrace.WithClientTrace(turn, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { note() },
	})
	req, err := http.NewRequestWithContext(traced, http.MethodPost, address, http.NoBody)
	if err != nil {
		return nil, newError(failure.InvalidRequest, "the request cannot be made: %v", err)
	}
	req.ContentLength = int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return upload{bytes.NewReader(body), note}, nil }
	req.Body, _ = req.GetBody()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", eventStream)
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", userAgent)
	if strings.ContainsFunc(m.Key, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, newError(failure.AuthInvalid,
			"the key holds a line break or another character that no header can "+
				"carry; check how it was stored")
	}
	w.head(req.Header, m)
	c := *cmp.Or(m.HTTP, client())
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Jar = nil

	type reply struct {
		resp *http.Response
		err  error
	}
	replies := make(chan reply)
	go func() {
		resp, err := c.Do(req)
		select {
		case replies <- reply{resp, err}:
		case <-turn.Done():
			if err == nil {
				resp.Body.Close()
			}
		}
	}()
	for {
		select {
		case <-sent:
			progress()
		case r := <-replies:
			return r.resp, r.err
		case <-turn.Done():
			return nil, turn.Err()
		}
	}
}

// turnFault returns the error of a turn in which err happened: the reason is what ended the turn.
func turnFault(turn context.Context, err error) error {
	if turn.Err() != nil {
		return context.Cause(turn)
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return fault(err)
}

// A piece is the result of one read of a body.
type piece struct {
	data []byte
	err  error
}

// pump reads body until it ends or the turn does. A piece is valid until the next one is received: two buffers take
// turns.
func pump(turn context.Context, body io.Reader, to chan<- piece) {
	buffers := [2][]byte{make([]byte, bufferSize), make([]byte, bufferSize)}
	for i := 0; ; i = 1 - i {
		n, err := body.Read(buffers[i])
		select {
		case to <- piece{buffers[i][:n], err}:
		case <-turn.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// unpack returns the body uncompressed. We do not ask for compression, and gzip is read all the same.
func unpack(resp *http.Response) (io.Reader, error) {
	switch encoding := strings.ToLower(resp.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		return resp.Body, nil
	case "gzip", "x-gzip":
		return &gzipped{packed: resp.Body}, nil
	default:
		return nil, malformed("the answer is packed as %q, which was not asked for", encoding)
	}
}

// mostUnpacked bounds what a compressed answer may hold, in bytes.
const mostUnpacked = 64 << 20

// A gzipped returns nothing before all of it has arrived and its checksum is right: a wrong bit in the middle unpacks
// to other words, and a tool would run with them. It starts with the first read, so that a body that hangs is under
// the watchdogs.
type gzipped struct {
	packed io.Reader
	plain  *bytes.Reader
}

func (g *gzipped) Read(b []byte) (int, error) {
	if g.plain == nil {
		plain, err := gzip.NewReader(g.packed)
		if err != nil {
			return 0, err
		}
		text, err := io.ReadAll(io.LimitReader(plain, mostUnpacked+1))
		if err != nil {
			return 0, err
		}
		if len(text) > mostUnpacked {
			return 0, malformed("the packed answer holds more than %d MiB", mostUnpacked>>20)
		}
		g.plain = bytes.NewReader(text)
	}
	return g.plain.Read(b)
}

// A stream is the body of an answer while it is read.
type stream struct {
	turn   context.Context
	cold   *time.Timer
	limits Limits
	pieces chan piece
}

// read passes the events to the decoder until the terminal one.
func (s *stream) read(d *draft, dec decoder) error {
	p := sse{max: s.limits.Line}
	silence := time.NewTimer(s.limits.Think)
	defer silence.Stop()
	word := time.Now()          // when there was content last, or a step towards it
	told, sound := false, false // sound: an event was read
	event := func(name string, data []byte) error {
		if !told {
			told = true
			s.cold.Stop() // a comment is no sign of life yet
		}
		if d.ended {
			return nil
		}
		err := dec.event(name, data)
		if no, noJSON := errors.AsType[*json.SyntaxError](err); noJSON && sound { // it does speak the protocol
			err = newError(failure.StreamFailure, "an event of the stream arrived damaged (%v): \"%s\"", no, head(data, 120))
		}
		sound = sound || err == nil
		return err
	}
	var total int64
	stopped := false
	for {
		select {
		case <-s.turn.Done():
			return d.cut(turnFault(s.turn, nil))
		case <-silence.C:
			return d.cut(newError(failure.IdleTimeout, "the model has said nothing for %v",
				time.Since(word).Round(time.Second)))
		case c := <-s.pieces:
			if total += int64(len(c.data)); total > s.limits.Total {
				return newError(failure.OutputTruncated, "the answer is longer than %d bytes", s.limits.Total)
			}
			err := p.feed(c.data, event)
			switch {
			case errors.Is(err, errLine):
				return newError(failure.OutputTruncated, "one line of the answer is longer than %d bytes",
					s.limits.Line)
			case err != nil:
				return err
			case d.ended:
				s.linger(c.err)
				return d.settle()
			case errors.Is(c.err, io.EOF):
				return d.cut(endless(p.rest(), told))
			case c.err != nil:
				return d.cut(turnFault(s.turn, c.err))
			}
			if d.moved {
				word = time.Now()
			}
			d.moved = false
			switch {
			case d.stopped() && !stopped:
				stopped = true
				silence.Reset(min(usageWait, s.limits.Silent))
			case !stopped:
				silence.Reset(s.limits.left(d.got.Progress, time.Since(word)))
			}
		}
	}
}

// endless returns the error of a stream without an end: the one in rest, if there is one. told reports whether there
// were events. Gemini, for one, writes an error in the middle of a stream as bare JSON.
func endless(rest []byte, told bool) error {
	if e := refusal(rest); e != nil {
		return e
	}
	if !told && len(rest) > 0 {
		return malformed("what came is no stream of events; is the base URL right? It begins \"%s\"",
			head(rest, maxQuote))
	}
	return newError(failure.StreamFailure, "the stream ended before the answer did")
}

// linger reads the end of a body after the terminal event.
func (s *stream) linger(err error) {
	if err != nil {
		return
	}
	enough := time.After(lingerWait)
	for {
		select {
		case c := <-s.pieces:
			if c.err != nil {
				return
			}
		case <-enough:
			return
		case <-s.turn.Done():
			return
		}
	}
}

// cut returns what err, which ended the stream, means: nothing, if all content has arrived.
func (d *draft) cut(err error) error {
	if d.stopped() {
		return d.settle()
	}
	return err
}

// settle is called when the answer is complete.
func (d *draft) settle() error {
	switch {
	case !d.stopped():
		return outOfOrder("it ended and the model had not said why it stopped")
	case d.got.Stop == ToolCalls && d.calls() == 0:
		return outOfOrder("the model stopped to call a tool and called none")
	}
	return nil
}

// body reads the beginning of an answer that is not a stream.
func (s *stream) body() []byte {
	s.cold.Reset(min(errorWait, s.limits.Connect))
	var all []byte
	for len(all) < maxErrorBody {
		select {
		case <-s.turn.Done():
			return all
		case c := <-s.pieces:
			all = append(all, c.data...)
			if c.err != nil {
				return all
			}
		}
	}
	return all[:maxErrorBody]
}

// refused returns the error of an answer whose status is not 200.
func (s *stream) refused(resp *http.Response, now time.Time) error {
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode/100 == 3 {
		e := newError(failure.InvalidRequest,
			"the address redirects to %s; the key does not follow: make that the base "+
				"URL, if it is right", to)
		e.Status = resp.StatusCode
		return e
	}
	body := s.body()
	if resp.StatusCode < 300 {
		return s.noStream(resp, body)
	}
	f := reported(body)
	f.status = resp.StatusCode
	if f.message == "" && len(bytes.TrimSpace(body)) > 0 {
		f.message = fmt.Sprintf("\"%s\"", head(body, maxQuote)) // as it is: what %q doubles no redactor knows
	}
	if !f.meant && len(f.codes) == 0 && f.status == http.StatusNotFound { // a web server says so, and not the API
		f.message = "there is nothing at this address; is the base URL right? " + f.message
	}
	if wait := retryAfter(resp.Header, now); wait >= 0 {
		f.after = wait
	}
	switch resp.Header.Get("X-Should-Retry") {
	case "true":
		f.again = new(true)
	case "false":
		f.again = new(false)
	}
	return f.error()
}

// foreign returns the error of an answer that is not a stream of events although its status is 200.
func (s *stream) foreign(resp *http.Response) error {
	body := s.body()
	if e := refusal(body); e != nil {
		return e
	}
	return s.noStream(resp, body)
}

// noStream returns the error of an answer whose status is a success and that is not the stream that was asked for.
func (s *stream) noStream(resp *http.Response, body []byte) error {
	text := bytes.TrimSpace(body)
	var e *Error
	switch kind := resp.Header.Get("Content-Type"); {
	case len(text) == 0:
		e = malformed("the answer is empty (status %d, content type %q) where a stream was asked for; is the base URL "+
			"right?", resp.StatusCode, kind)
	case text[0] == '{' || text[0] == '[':
		e = malformed("the answer came in one piece (%q) where a stream was asked for; is the base URL right, and does "+
			"the server stream? It begins \"%s\"", kind, head(text, maxQuote))
	default:
		e = malformed("the answer is %q and not %s; is the base URL right? It begins \"%s\"", kind, eventStream,
			head(text, maxQuote))
	}
	e.Status = resp.StatusCode
	return e
}
