package native

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestDelay(t *testing.T) {
	t.Parallel()
	none := func() float64 { return 0 }
	most := func() float64 { return 0.999999999 }
	for i, want := range []time.Duration{2, 4, 8, 16, 30, 30, 30} {
		n := i + 1
		if got := delay(n, -1, none); got != want*time.Second/2 {
			t.Errorf("P60 delay %d at the least is %s, want %s", n, got, want*time.Second/2)
		}
		if got := delay(n, -1, most); got < want*time.Second-time.Millisecond || got > want*time.Second {
			t.Errorf("P60 delay %d at the most is %s, want %s", n, got, want*time.Second)
		}
	}
	for _, tt := range []struct {
		name  string
		after time.Duration
		want  time.Duration
	}{
		{"P61 retry-after-ms 1500", 1500 * time.Millisecond, 1500 * time.Millisecond},
		{"P62 retry-after 1.2", 1200 * time.Millisecond, 1200 * time.Millisecond},
		{"at once", 0, 0},
		{"P64 a date that has passed", -1, 2 * time.Second},
		{"P65 a month", 30 * 24 * time.Hour, 30 * 24 * time.Hour},
	} {
		if got := delay(1, tt.after, func() float64 { return 1 }); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestFits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if !fits(context.Background(), time.Hour) {
			t.Error("a context without an end has no room")
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if !fits(ctx, 9*time.Second) || fits(ctx, 10*time.Second) {
			t.Error("the end of the context is not where it is")
		}
		if err := pause(ctx, 3*time.Second); err != nil {
			t.Error(err)
		}
		if fits(ctx, 8*time.Second) {
			t.Error("time that has passed is counted as left")
		}
		cancel()
		if start := time.Now(); pause(ctx, time.Hour) == nil || time.Since(start) != 0 || fits(ctx, 0) {
			t.Error("a cancelled context is waited for")
		}
	})
}
