package model

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// Any status of a provider is an answer; who does not answer is told apart by kind. No key is sent, and no redirect
// followed.
func TestReach(t *testing.T) {
	t.Parallel()
	asked := make(chan *http.Request, 10)
	serve := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked <- r
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	t.Cleanup(tls.Close)
	listen := func() net.Listener {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() }) // a second time, some
		return l
	}
	silent, closed := listen(), listen()
	gone := "http://" + closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, address string
		route         Route
		kind          failure.Kind
	}{
		{"401", serve(401) + "/v1", Direct, ""},
		{"500", serve(500), ByProxyEnv, ""}, // of the environment: never to a loopback address
		{"redirect", serve(302), Direct, ""},
		{"refused", gone, Direct, failure.TransportDisconnect},
		{"silent", "http://" + silent.Addr().String(), Direct, failure.TransportDisconnect},
		{"not trusted", tls.URL, Direct, failure.TLSError},
		{"no address", "://", Direct, failure.InvalidRequest},
		{"by a proxy", "http://provider.invalid/v1", Route(serve(404)), ""},
		{"a proxy that asks who", "http://provider.invalid/v1", Route(serve(407)), failure.AuthMissing},
		{"a proxy that is gone", "https://provider.invalid/v1", Route(gone), failure.TransportDisconnect},
	} {
		err := Reach(t.Context(), c.address, c.route)
		for n := 0; n < 20 && c.name != "silent" && err != nil && strings.Contains(err.Error(), "no answer came within"); n++ {
			err = Reach(t.Context(), c.address, c.route) // a busy machine answered too late
		}
		kind := failure.Kind("")
		if e, ok := errors.AsType[*Error](err); ok {
			kind = e.Kind
		}
		if kind != c.kind || (err == nil) != (c.kind == "") {
			t.Errorf("%s: %q, %v", c.name, kind, err)
		}
	}
	close(asked)
	for r := range asked {
		if r.Method != http.MethodHead || r.URL.Path == "/elsewhere" || r.Header.Get("Authorization") != "" {
			t.Errorf("asked %s %s %v", r.Method, r.URL, r.Header)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Reach(ctx, tls.URL, Direct); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}
