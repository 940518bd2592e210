//go:build integration

package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"example.com/shop/internal/store"
)

// A real server on a real socket.
func TestOverSocket(t *testing.T) {
	s := httptest.NewServer(Handler(&store.Store{Max: 1}))
	defer s.Close()
	r, err := http.Get(s.URL + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if b, err := io.ReadAll(r.Body); err != nil || string(b) != "ok\n" {
		t.Errorf("%q, %v", b, err)
	}
}
