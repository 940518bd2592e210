package store

import (
	"errors"
	"testing"
)

func TestStore(t *testing.T) {
	s := Store{Max: 2}
	for _, id := range []string{"b", "a", "b"} {
		if err := s.Put(Item{ID: id, Price: 100}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Put(Item{ID: "c"}); !errors.Is(err, ErrFull) {
		t.Errorf("a third item: %v", err)
	}
	if all := s.List(); len(all) != 2 || all[0].ID != "a" {
		t.Errorf("%v", all)
	}
}
