package cart

import "testing"

func TestTotal(t *testing.T) {
	for _, c := range []struct {
		name  string
		items []Item
		want  int
	}{
		{"empty", nil, 0},
		{"one piece", []Item{{"pen", 120, 1}}, 120},
		{"nine pieces", []Item{{"pen", 100, 9}}, 900},
		{"ten pieces", []Item{{"pen", 100, 10}}, 900},
		{"twenty-five pieces", []Item{{"pen", 100, 25}}, 2300},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Total(c.items); got != c.want {
				t.Errorf("Total = %d cents, want %d", got, c.want)
			}
		})
	}
}
