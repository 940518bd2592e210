// Package store keeps the shop's items in memory.
package store

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"example.com/shop/internal/price"
)

// An Item is for sale.
type Item struct {
	ID    string      `json:"id"`
	Price price.Cents `json:"price"`
}

// ErrFull means that no more items fit.
var ErrFull = errors.New("the store is full")

// A Store is safe for concurrent use.
type Store struct {
	Max int

	mu    sync.Mutex
	items map[string]Item
}

// Put adds or replaces an item.
func (s *Store) Put(i Item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.items[i.ID]; !ok && len(s.items) >= s.Max {
		return ErrFull
	}
	if s.items == nil {
		s.items = map[string]Item{}
	}
	s.items[i.ID] = i
	return nil
}

// List gives all items by id.
func (s *Store) List() []Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Item, 0, len(s.items))
	for _, i := range s.items {
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b Item) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
