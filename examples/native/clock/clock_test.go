package clock

import "testing"

func TestAdd(t *testing.T) {
	for _, c := range []struct{ t, d, want int }{
		{10 * 60, 90, 11*60 + 30},
		{23 * 60, 120, 60},
		{60, -120, 23 * 60},
	} {
		if got := Add(c.t, c.d); got != c.want {
			t.Errorf("Add(%d, %d) = %d, want %d", c.t, c.d, got, c.want)
		}
	}
}
