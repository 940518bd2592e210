package reset

import (
	"strings"
	"testing"
	"time"
)

func TestAnnounced(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("here", 2*3600)
	now := time.Date(2026, 4, 27, 14, 30, 0, 0, zone)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here")
	}
	for text, want := range map[string]Reset{
		"C40 You've hit your usage limit. Upgrade to Plus or try again at Apr 28th, 2026 10:03 PM.": {At: time.Date(2026, 4, 28, 22, 3, 0, 0, zone)},
		"try again at 3:51 PM.": {At: time.Date(2026, 4, 27, 15, 51, 0, 0, zone)},
		"You've hit your session limit · resets 3:50pm (Europe/Berlin)": {At: time.Date(2026, 4, 27, 15, 50, 0, 0, berlin)},
		"You've hit your session limit · resets 3am (Europe/Berlin)":    {At: time.Date(2026, 4, 28, 3, 0, 0, 0, berlin)},
		"resets 12am (UTC)":   {At: time.Date(2026, 4, 28, 0, 0, 0, 0, time.UTC)},
		"resets at 23:15 UTC": {At: time.Date(2026, 4, 27, 23, 15, 0, 0, time.UTC)},
		"Your weekly limit resets May 4, 5pm (America/New_York)": {At: time.Date(2026, 5, 4, 21, 0, 0, 0, time.UTC)},
		"resets Jan 2 at 10am (UTC)":                             {At: time.Date(2027, 1, 2, 10, 0, 0, 0, time.UTC)},
		"resets Apr 1 at 10am (UTC)":                             {At: time.Date(2026, 4, 1, 10, 0, 0, 0, time.UTC)},
		"resets 2pm":                                             {At: time.Date(2026, 4, 27, 14, 0, 0, 0, zone)},
		"resets 1pm":                                             {At: time.Date(2026, 4, 28, 13, 0, 0, 0, zone)},
		"reset at 2026-04-28T22:03:00.5+02:00.":                  {At: time.Date(2026, 4, 28, 22, 3, 0, 5e8, zone)},
		"You have exhausted your capacity. Your quota will reset after 3h12m.": {After: 3*time.Hour + 12*time.Minute},
		"5 hour usage limit reached, resets in 4 hours 25 minutes":             {After: 4*time.Hour + 25*time.Minute},
		"try again in 3 days, 4 hours and 5 minutes.":                          {After: 76*time.Hour + 5*time.Minute},
		"* Quota exceeded for metric: x, limit: 20\nPlease retry in 35.25s.":   {After: 35250 * time.Millisecond},
		"Please try again later, or retry after: 300ms":                        {After: 300 * time.Millisecond},
		"Claude AI usage limit reached|1777300000":                             {At: time.Unix(1777300000, 0)},
		"usage limit reached|1777300000123":                                    {At: time.Unix(1777300000, 0)},
		"You will regain access on 2026-12-01 at 00:00 UTC.":                   {At: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)},
		"Your limit resets 2026-04-28 09:30":                                   {At: time.Date(2026, 4, 28, 9, 30, 0, 0, zone)},
		"resets in 2h 5m":                                                      {After: 2*time.Hour + 5*time.Minute},
		"limit reached|17773":                                                  {},
		"regain access on 2026-13-01 at 00:00 UTC":                             {},
		"resets 3:50pm (Somewhere/Else)":                                       {},
		"resets 25:00":                                                         {},
		"resets 13pm":                                                          {},
		"resets Apr 99, 5pm":                                                   {},
		"resets Foo 9, 5pm":                                                    {},
		"please try again in two minutes":                                      {After: 2 * time.Minute},
		"Try again in a minute.":                                               {After: time.Minute},
		"retry in an hour and twelve minutes":                                  {After: 72 * time.Minute},
		"try again in a second":                                                {},
		"try again in a few minutes":                                           {},
		"try again in one or two hours":                                        {},
		"resets am 5":                                                          {},
		"reset 5 times":                                                        {},
		"try again in a moment":                                                {},
		"it lasts 3h12m":                                                       {},
		"presets 3pm":                                                          {},
		"retry in 99999999999999999999h":                                       {},
		strings.Repeat("resets ", 1<<20) + "3pm":                               {},
	} {
		want.At = want.At.UTC()
		if got := Announced(text, now); got != want {
			t.Errorf("%.80q: %v, want %v", text, got, want)
		}
	}
}

// A time of the clock is exceeded by a minute, unless it is near; what is told as a span is exact.
func TestWait(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 4, 27, 14, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		reset Reset
		want  time.Duration
	}{
		{Reset{}, 0},
		{Reset{After: time.Hour}, time.Hour},
		{Reset{At: now.Add(time.Hour)}, time.Hour + time.Minute},
		{Reset{At: now.Add(time.Minute)}, 2 * time.Minute},
		{Reset{At: now.Add(20 * time.Second)}, 20 * time.Second},
		{Reset{At: now.Add(-time.Hour)}, -time.Hour},
	} {
		if got := c.reset.Wait(now); got != c.want {
			t.Errorf("%v: %s, want %s", c.reset, got, c.want)
		}
	}
}
