package fix

import (
	"testing"
	"time"
)

func TestResumesAt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		attempts []Attempt
		want     time.Time
	}{
		"nothing": {nil, time.Time{}},
		"later":   {[]Attempt{{Agent: "a", StartedAt: "2026-03-01T11:00:00.000Z", Decision: &Decision{ResumeAt: new("2026-03-01T13:00:00.000Z")}}}, now.Add(time.Hour)},
		"past":    {[]Attempt{{Agent: "a", StartedAt: "2026-03-01T10:00:00.000Z", Decision: &Decision{ResumeAt: new("2026-03-01T11:00:00.000Z")}}}, time.Time{}},
		"another": {[]Attempt{{Agent: "b", StartedAt: "2026-03-01T11:00:00.000Z", Decision: &Decision{ResumeAt: new("2026-03-01T13:00:00.000Z")}}}, time.Time{}},
		"it worked since": {[]Attempt{
			{Agent: "a", StartedAt: "2026-03-01T11:00:00.000Z", Decision: &Decision{ResumeAt: new("2026-03-01T13:00:00.000Z")}},
			{Agent: "a", StartedAt: "2026-03-01T11:30:00.000Z"},
		}, time.Time{}},
		"no time": {[]Attempt{{Agent: "a", StartedAt: "2026-03-01T11:00:00.000Z", Decision: &Decision{ResumeAt: new("soon")}}}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := files{"a": "644 1"}
			s := newStore(t, before)
			sealed(t, s, "test", before, files{"a": "644 2"}, func(_ *Draft, f *Fix) { f.Attempts = c.attempts })
			if got, _ := s.ResumesAt("a", now); !got.Equal(c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
