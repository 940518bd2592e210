package journal

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestInOrder(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 3, 40, 0, 900e6, time.FixedZone("", 3600))
	names := strings.Fields("20261121T024001Z-0000 20200101T000000Z-0001 20991231T235959Z-ffff " +
		"20261121T024000Z-ffff 20200101T000000Z-0000")
	InOrder(names, now)
	want := strings.Fields("20261121T024001Z-0000 20991231T235959Z-ffff 20200101T000000Z-0000 " +
		"20200101T000000Z-0001 20261121T024000Z-ffff")
	if !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	// When its time has come it stands where its name says.
	InOrder(names, now.Add(time.Second))
	if names[0] != "20991231T235959Z-ffff" || names[4] != "20261121T024001Z-0000" {
		t.Errorf("a second later: %q", names)
	}
}

func TestSteady(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name         string
		passed, wall time.Duration // since from, by the two clocks
		want         time.Duration
	}{
		{"at once", 0, 0, 0},
		{"both agree", time.Hour, time.Hour, time.Hour},
		{"set back before the start", time.Minute, -time.Hour, time.Minute},
		{"set back in between", time.Hour, 50 * time.Minute, time.Hour},
		{"slewed", time.Hour, time.Hour - slack/2, time.Hour - slack/2},
		{"slewed to before the start", time.Millisecond, -slack / 2, time.Millisecond},
		{"set forward, or asleep", time.Minute, time.Hour, time.Hour},
		{"no monotonic reading, and before", -time.Minute, -time.Minute, 0},
	} {
		if got := steady(from, tt.passed, from.Add(tt.wall)).Sub(from); got != tt.want {
			t.Errorf("%s: %v after the start, want %v", tt.name, got, tt.want)
		}
	}
	now := time.Now()
	if got := Steady(now, now.Add(time.Second)); !got.Equal(now.Add(time.Second)) || got != got.Round(0) {
		t.Errorf("a second after %v is %v", now, got)
	}
}

func TestIsRun(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"20261121T014000Z-8000":   true,
		"00000000T999999Z-0af9":   true,
		"":                        false,
		"20261121T014000Z-800":    false,
		"20261121T014000Z-80000":  false,
		"20261121T014000Z-800g":   false,
		"20261121T014000Z-800A":   false,
		"20261121t014000Z-8000":   false,
		"2026112aT014000Z-8000":   false,
		"20261121T014000Z_8000":   false,
		"20261121T014000Z-8000\n": false,
		"2026112:T014000Z-8000":   false,
		"20261121T014000Z-80 0":   false,
		"20261121T014000Z-8é0":    false,
		"gone-20261121T014000Z":   false,
	} {
		if IsRun(name) != want {
			t.Errorf("%q", name)
		}
	}
}
