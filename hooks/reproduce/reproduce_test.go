package reproduce

import (
	"testing"
	"time"
)

func TestInWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0.0s", 1240 * time.Millisecond: "1.2s", 59960 * time.Millisecond: "1m00s", 2 * time.Minute: "2m00s",
		123400 * time.Millisecond: "2m03s", 90 * time.Minute: "1h30m",
	} {
		if got := inWords(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}
