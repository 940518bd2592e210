package english

import (
	"testing"
	"time"
)

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"0 files":     Count(0, "file"),
		"1 file":      Count(1, "file"),
		"2 processes": Count(int64(2), "process"),
		"3 entries":   Count(3, "entry"),
		"2 days":      Count(2, "day"),
		"4 matches":   Count(4, "match"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestList(t *testing.T) {
	words := []string{"a", "b", "c"}
	for most, want := range map[int]string{2: "a, b and 1 more", 3: "a, b, c", 9: "a, b, c"} {
		if got := List(words, most); got != want {
			t.Errorf("List(%q, %d) = %q, want %q", words, most, got, want)
		}
	}
	if got := List(Quoted(words), 1); got != `"a" and 2 more` {
		t.Errorf("quoted: %s", got)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		1: "1 byte", 9000: "9000 bytes", 10 << 10: "10.0 KiB", 3 << 20: "3.0 MiB", 1<<30 + 1<<29: "1.5 GiB",
	} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0.0s", 0: "0.0s", 1240 * time.Millisecond: "1.2s", 59960 * time.Millisecond: "1m00s",
		2 * time.Minute: "2m00s", 123400 * time.Millisecond: "2m03s", 90 * time.Minute: "1h30m",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}
