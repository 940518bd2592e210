// Package api is the shop over HTTP.
package api

import (
	"encoding/json"
	"net/http"

	"example.com/shop/internal/price"
	"example.com/shop/internal/store"
)

// Routes are the paths that Handler serves; tools/openapi compares them with the description.
var Routes = []string{"GET /healthz", "GET /items", "PUT /items/{id}"}

// Handler serves s.
func Handler(s *store.Store) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(Routes[0], func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc(Routes[1], func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(s.List()) })
	mux.HandleFunc(Routes[2], func(w http.ResponseWriter, r *http.Request) {
		p, err := price.Parse(r.FormValue("price"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := s.Put(store.Item{ID: r.PathValue("id"), Price: p}); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	return mux
}
