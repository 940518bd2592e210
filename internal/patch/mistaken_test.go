package patch

import (
	"testing"
	"time"
)

// A file is written once more only when size and whole second are those of the file it replaces, and then in
// another second.
func TestWait(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 250e6)
	for name, tt := range map[string]struct {
		replaced Stamp
		least    time.Duration // 0: there is no wait
	}{
		"the same second":        {Stamp{5, at.Add(-200 * time.Millisecond)}, 750 * time.Millisecond},
		"a time of seconds":      {Stamp{5, at.Truncate(time.Second)}, 750 * time.Millisecond},
		"later in the second":    {Stamp{5, at.Add(700 * time.Millisecond)}, 750 * time.Millisecond},
		"the second before":      {Stamp{5, at.Add(-300 * time.Millisecond)}, 0},
		"the second to come":     {Stamp{5, at.Add(time.Second)}, 0},
		"long ago":               {Stamp{5, at.Add(-time.Hour)}, 0},
		"of another size":        {Stamp{6, at}, 0},
		"nothing stood there":    {Stamp{}, 0},
		"of another size, empty": {Stamp{0, at}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wait := Stamp{5, at}.Wait(tt.replaced)
			if (wait == 0) != (tt.least == 0) || wait < tt.least || wait > tt.least+50*time.Millisecond {
				t.Errorf("waits %s", wait)
			}
			if wait > 0 && at.Add(wait).Unix() == tt.replaced.Time.Unix() {
				t.Error("and is in the same second again")
			}
		})
	}
}
