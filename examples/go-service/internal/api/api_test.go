package api

import (
	"net/http/httptest"
	"testing"

	"example.com/shop/internal/store"
)

func TestHandler(t *testing.T) {
	h := Handler(&store.Store{Max: 1})
	for _, step := range []struct {
		method, path string
		code         int
	}{
		{"GET", "/healthz", 200},
		{"PUT", "/items/pen?price=1.50", 200},
		{"PUT", "/items/cup?price=2.50", 409},
		{"PUT", "/items/pen?price=x", 400},
		{"GET", "/items", 200},
		{"GET", "/none", 404},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(step.method, step.path, nil))
		if w.Code != step.code {
			t.Errorf("%s %s: %d, want %d", step.method, step.path, w.Code, step.code)
		}
	}
}
