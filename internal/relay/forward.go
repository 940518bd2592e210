package relay

// One request, there and back.

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

const (
	bufferSize = 32 << 10
	wordBytes  = 256 // of a text of the client or the provider, in a Request
	partOfKey  = 6   // bytes of a key's beginning that an answer may not end with
)

var (
	silent  = log.New(io.Discard, "", 0) // of net/http's server: clients that break off are counted, not logged
	buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

	errSilent = errors.New("it sends nothing")
)

// newTransport returns a transport whose connections are one relay's own. It goes through the proxy that the
// environment names (HTTPS_PROXY, NO_PROXY), never to a loopback address. A transport follows no redirects.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConnsPerHost: 16,

		MaxResponseHeaderBytes: 1 << 20,
		// A connection whose other end is gone without a word is found by these.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// An exchange is one request and its answer. It belongs to the goroutine that serves it.
type exchange struct {
	*Relay
	Request
	to      route
	asked   string         // the name of the model in the request
	counter *model.Counter // nil: it uses nothing
	share   share
	w       http.ResponseWriter
	body    io.Reader // of the request
}

// serve answers one request.
func (r *Relay) serve(w http.ResponseWriter, q *http.Request) {
	x := &exchange{Relay: r, w: w, body: q.Body, Request: Request{
		At: time.Now(), Method: r.word(q.Method), Path: r.word(q.URL.Path),
	}}
	defer func() {
		x.Duration = time.Since(x.At)
		if r.o.Observe != nil {
			r.observe.Lock()
			defer r.observe.Unlock()
			r.o.Observe(x.Request)
		}
	}()
	if status, why := x.accept(q); why != "" {
		r.meter.refuse()
		x.fail(Refused, status, why)
		return
	}
	a := ask{free: x.to.free, bytes: q.ContentLength, model: x.asked}
	switch why, err := r.meter.begin(q.Context(), r.ctx, &x.share, a, func() { x.keep(q) }); {
	case err != nil:
		x.Outcome = Gone
		panic(http.ErrAbortHandler) // the client sees a connection that breaks off, and not an answer that ends
	case why != "":
		x.fail(Spent, x.to.spent, why)
		return
	}
	// Else net/http closes the request's body when the answer begins, under the transport that may still read it: that
	// breaks the connection to the provider off.
	_ = http.NewResponseController(w).EnableFullDuplex() // no error: it is HTTP/1
	defer x.settle()                                     // also when the connection is broken off, which is a panic
	x.forward(q)
}

// keepBytes is the longest body, in bytes, that is kept while a request waits.
const keepBytes = 4 << 20

// keep reads the body of a request that waits: net/http sees a client that goes away only after it.
func (x *exchange) keep(q *http.Request) {
	if q.ContentLength <= 0 || q.ContentLength > keepBytes {
		return
	}
	text, err := io.ReadAll(q.Body)
	rest := io.Reader(bytes.NewReader(text))
	if err != nil {
		rest = io.MultiReader(rest, errReader{err})
	}
	q.Body = io.NopCloser(rest)
	x.body = q.Body
}

// An errReader is a body that could not be read.
type errReader struct{ err error }

func (e errReader) Read([]byte) (int, error) { return 0, e.err }

// accept takes the keys out of a request. It returns why the request is not passed on, and a status.
func (x *exchange) accept(q *http.Request) (status int, why string) {
	var ok bool
	x.to, ok = routeOf(q.Method, q.URL.EscapedPath())
	x.Wire = x.to.name
	if m := inPath().FindStringSubmatch(x.to.path); m != nil {
		x.asked = m[1]
	}
	_, port, _ := net.SplitHostPort(x.address)
	given := keys(q)
	switch {
	case q.Method == http.MethodConnect || q.URL.Host != "" || q.Host != x.address && q.Host != "localhost:"+port:
		return http.StatusForbidden, "this address is the relay of async-pipeline, which passes requests to the model's " +
			"provider only; it is no proxy"
	case !slices.ContainsFunc(given, func(k string) bool { return subtle.ConstantTimeCompare([]byte(k), []byte(x.key)) == 1 }):
		return http.StatusUnauthorized, "this is not the key of async-pipeline's relay; use the one that the agent was given"
	case !ok || x.upstream().Wire == "":
		return http.StatusNotFound, fmt.Sprintf("async-pipeline's relay does not pass on %s %s", x.Method, x.Path)
	}
	return 0, ""
}

// upstream is the one of the route; the zero Upstream if there is none.
func (x *exchange) upstream() (u Upstream) {
	if i := slices.IndexFunc(x.o.Upstreams, func(u Upstream) bool { return u.Wire == x.to.name }); i >= 0 {
		u = x.o.Upstreams[i]
	}
	return u
}

// fail answers with an error in the form of the protocol. A client with the right key gets it in any case: what it
// still sends is read before.
func (x *exchange) fail(o Outcome, status int, message string) {
	x.Outcome, x.Status = o, status
	if o != Refused {
		_, _ = io.Copy(io.Discard, x.body) // a client that is gone is no concern of ours
	}
	form := x.to.fail
	if form == nil {
		form = openaiFail
	}
	body := encode(form(status, x.secrets.String(message)))
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	if status < http.StatusInternalServerError {
		h.Set("X-Should-Retry", "false") // Anthropic's and OpenAI's libraries do as it says
	}
	x.w.WriteHeader(status)
	n, _ := io.WriteString(x.w, body) // here too
	x.Bytes = int64(n)
}

// forward sends the request and passes the answer on.
func (x *exchange) forward(q *http.Request) {
	ctx, cancel := context.WithCancelCause(q.Context())
	defer cancel(nil)
	silence := time.AfterFunc(x.o.Silence, func() { cancel(errSilent) })
	defer silence.Stop()
	var sent atomic.Bool
	up := &upload{ReadCloser: q.Body, moved: func() { silence.Reset(x.o.Silence) }}
	out, err := x.request(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(i httptrace.WroteRequestInfo) { sent.Store(i.Err == nil) },
	}), q, up)
	if err != nil {
		x.fail(Refused, http.StatusBadRequest, err.Error())
		return
	}
	resp, err := x.transport.RoundTrip(out)
	silence.Stop()
	var named string
	x.Sent, named = up.seen()
	x.asked = cmp.Or(x.asked, named)
	if err != nil {
		if sent.Load() && !x.to.free {
			x.counter = model.NewCounter(x.to.name, "") // of an answer that nobody has seen nothing is known
		}
		if x.Outcome = Gone; !x.ended(q) {
			status, kind := http.StatusBadGateway, model.KindOfLoss(err)
			if errors.Is(context.Cause(ctx), errSilent) {
				err, status = fmt.Errorf("%w for %v", errSilent, x.o.Silence), http.StatusGatewayTimeout
				kind = failure.IdleTimeout
			}
			x.meter.lost(kind, x.secrets.String(err.Error()))
			x.fail(Unreachable, status, "async-pipeline's relay got no answer from the provider: "+err.Error())
		}
		return
	}
	defer resp.Body.Close()
	x.meter.lost("", "")
	body, why := x.open(resp)
	if why != "" {
		x.fail(Unreachable, http.StatusBadRequest, "async-pipeline's relay cannot pass the provider's answer on: "+why)
		return
	}
	if !x.to.free && resp.StatusCode < 300 {
		x.counter = model.NewCounter(x.to.name, resp.Header.Get("Content-Type"))
	}
	x.head(resp)
	read := func(b []byte) (int, error) {
		silence.Reset(x.o.Silence)
		defer silence.Stop()
		return body.Read(b)
	}
	if x.Outcome = x.pass(read); x.Outcome == Broken && x.ended(q) {
		x.Outcome = Gone
	}
	if x.Outcome == Broken || x.Outcome == Gone {
		panic(http.ErrAbortHandler) // the client sees a connection that breaks off, and not an answer that ends
	}
}

// ended reports whether nobody waits for the answer any more. The relay's context ends before its connections are
// closed, that of a request perhaps only after that.
func (x *exchange) ended(q *http.Request) bool { return x.ctx.Err() != nil || q.Context().Err() != nil }

// request returns the request as it goes to the provider.
func (x *exchange) request(ctx context.Context, q *http.Request, up *upload) (*http.Request, error) {
	u := x.upstream()
	address := model.Endpoint(x.to.name, u.BaseURL, x.to.version, x.to.path)
	if q.URL.RawQuery != "" {
		address += "?" + q.URL.RawQuery
	}
	var body io.Reader = up
	if q.ContentLength == 0 {
		body = http.NoBody
	}
	out, err := http.NewRequestWithContext(ctx, q.Method, address, body)
	if err != nil {
		return nil, err
	}
	out.ContentLength = q.ContentLength
	out.Header = q.Header.Clone()
	endToEnd(out.Header)
	for _, name := range []string{"Cookie", "Expect", "Forwarded", "Origin", "Referer"} {
		out.Header.Del(name)
	}
	out.Header.Set("Accept-Encoding", "identity")
	if _, named := out.Header["User-Agent"]; !named {
		out.Header.Set("User-Agent", "") // none, instead of net/http's
	}
	if u.Key != "" {
		x.to.key(out.Header, u.Key)
	}
	return out, nil
}

// hopByHop are the headers of one connection, RFC 9110 section 7.6.1.
var hopByHop = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade",
}

// endToEnd removes the headers that belong to one connection.
func endToEnd(h http.Header) {
	for _, names := range h["Connection"] {
		for name := range strings.SplitSeq(names, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		h.Del(name)
	}
}

// open returns the body of an answer, unpacked, or why it cannot be passed on.
func (x *exchange) open(resp *http.Response) (io.Reader, string) {
	switch to := resp.Header.Get("Location"); {
	case resp.StatusCode < 200:
		return nil, fmt.Sprintf("its status is %d", resp.StatusCode)
	case resp.StatusCode/100 == 3 && to != "":
		return nil, fmt.Sprintf("it redirects to %s, where the key does not follow; make that the base URL, if it is right", to)
	}
	switch encoding := strings.ToLower(resp.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		return resp.Body, ""
	case "gzip", "x-gzip": // not asked for; packed, neither the usage nor a key would be seen
		return &gzipped{packed: resp.Body}, ""
	default:
		return nil, fmt.Sprintf("it is packed as %q, which was not asked for", encoding)
	}
}

// A gzipped unpacks from the first read on.
type gzipped struct {
	packed io.Reader
	plain  *gzip.Reader
}

func (g *gzipped) Read(b []byte) (n int, err error) {
	if g.plain == nil {
		if g.plain, err = gzip.NewReader(g.packed); err != nil {
			return 0, err
		}
	}
	return g.plain.Read(b)
}

// head sends the status and headers of an answer. Its length may change, and its cookies and other addresses are not
// for the client.
func (x *exchange) head(resp *http.Response) {
	endToEnd(resp.Header)
	for _, name := range []string{"Content-Length", "Content-Encoding", "Set-Cookie", "Alt-Svc"} {
		resp.Header.Del(name)
	}
	h := x.w.Header()
	for name, values := range resp.Header {
		for _, v := range values {
			h.Add(x.secrets.String(name), x.secrets.String(v))
		}
	}
	x.Status = resp.StatusCode
	x.w.WriteHeader(resp.StatusCode)
	_ = http.NewResponseController(x.w).Flush() // a client that is gone is seen by the first write
}

// pass passes the body on, each piece as it comes, and counts it. Only the end of a piece that may begin a key waits
// for the next one; the end of an event does not.
func (x *exchange) pass(read func([]byte) (int, error)) Outcome {
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	client := &flushed{w: x.w, control: http.NewResponseController(x.w), patience: x.o.Silence}
	defer client.control.SetWriteDeadline(time.Time{}) //nolint:errcheck // the connection may be used again
	clean := x.secrets.Writer(client)
	for {
		n, err := read(buffer[:])
		piece, why := x.count(buffer[:n])
		_, gone := clean.Write(piece)
		if gone == nil && (err != nil || why != "") {
			client.last = true
			gone = clean.Close()
			client.last = false
		}
		if gone == nil && why != "" {
			_, gone = io.WriteString(client, x.to.stop(why))
		}
		x.Bytes = client.n
		switch {
		case gone != nil:
			return Gone
		case why != "":
			return Stopped
		case errors.Is(err, io.EOF):
			return Passed
		case err != nil:
			return Broken
		}
	}
}

// count returns what of a piece may be passed on, and why the answer must stop there, or an empty string.
func (x *exchange) count(piece []byte) (pass []byte, why string) {
	if x.counter == nil {
		return piece, ""
	}
	n := x.counter.Feed(piece, func() bool {
		why = x.meter.update(&x.share, x.names(), x.counter.Least())
		if x.counter.Stopped() { // it is paid for
			why = ""
		}
		return why == ""
	})
	return piece[:n], why
}

// settle counts what the request used, when it has ended.
func (x *exchange) settle() {
	if x.counter != nil {
		x.counter.End()
	}
	names := x.names()
	x.Model = x.word(cmp.Or(names[0], names[1]))
	if x.counter == nil {
		x.meter.free(&x.share)
		return
	}
	x.Usage = x.counter.Usage()
	x.CostUSD = x.meter.finish(&x.share, names, x.Usage, x.counter.Least())
}

// names returns the names of the model, the provider's first.
func (x *exchange) names() [2]string {
	if x.counter == nil {
		return [2]string{"", x.asked}
	}
	return [2]string{x.counter.Model(), x.asked}
}

// word returns a text of the client or the provider as a Request may have it.
func (r *Relay) word(s string) string {
	s = r.secrets.String(s)
	return strings.ToValidUTF8(s[:min(len(s), wordBytes)], "")
}

// A flushed writer sends each write at once.
type flushed struct {
	w        io.Writer
	control  *http.ResponseController
	patience time.Duration // with a client that does not read
	n        int64
	// what is written is what the redactor kept to the end, because it may have become a key
	last bool
}

func (f *flushed) Write(b []byte) (int, error) {
	out := b
	if f.last && len(b) >= partOfKey { // an answer that ends in the middle of the key shows most of it
		out = []byte(redact.Mark)
	}
	_ = f.control.SetWriteDeadline(time.Now().Add(f.patience)) // it is an error of the write if the connection is gone
	n, err := f.w.Write(out)
	f.n += int64(n)
	if err != nil {
		return 0, err
	}
	return len(b), f.control.Flush()
}

// An upload is the body of a request. The transport reads it from goroutines of its own, perhaps for longer than the
// answer takes.
type upload struct {
	io.ReadCloser
	moved func()

	mu   sync.Mutex
	n    int64
	head []byte
}

// headBytes of a request are searched for the name of the model.
const headBytes = 64 << 10

func (u *upload) Read(b []byte) (int, error) {
	n, err := u.ReadCloser.Read(b)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n += int64(n)
	u.head = append(u.head, b[:min(n, headBytes-len(u.head))]...)
	u.moved()
	return n, err
}

// seen returns how many bytes were read, and the name of the model that is in them, where it comes early.
func (u *upload) seen() (n int64, name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	d := json.NewDecoder(strings.NewReader(string(u.head)))
	if t, _ := d.Token(); t != json.Delim('{') {
		return u.n, ""
	}
	for d.More() {
		field, _ := d.Token()
		if field == "model" {
			_ = d.Decode(&name) // of another type, it is no name
			break
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			break
		}
	}
	return u.n, name
}
