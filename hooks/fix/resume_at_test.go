package fix_test

import (
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
)

func TestResumesAt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		attempts []fix.Attempt
		want     time.Time
	}{
		"nothing": {nil, time.Time{}},
		"later": {[]fix.Attempt{{Agent: "a", StartedAt: "2026-03-01T11:00:00.000Z",
			Decision: &fix.Decision{ResumeAt: new("2026-03-01T13:00:00.000Z")}}}, now.Add(time.Hour)},
		"past": {[]fix.Attempt{{Agent: "a", StartedAt: "2026-03-01T10:00:00.000Z",
			Decision: &fix.Decision{ResumeAt: new("2026-03-01T11:00:00.000Z")}}}, time.Time{}},
		"another": {[]fix.Attempt{{Agent: "b", StartedAt: "2026-03-01T11:00:00.000Z",
			Decision: &fix.Decision{ResumeAt: new("2026-03-01T13:00:00.000Z")}}}, time.Time{}},
		"it worked since": {[]fix.Attempt{
			{Agent: "a", StartedAt: "2026-03-01T11:00:00.000Z",
				Decision: &fix.Decision{ResumeAt: new("2026-03-01T13:00:00.000Z")}},
			{Agent: "a", StartedAt: "2026-03-01T11:30:00.000Z"},
		}, time.Time{}},
		"no time": {[]fix.Attempt{{Agent: "a", StartedAt: "2026-03-01T11:00:00.000Z",
			Decision: &fix.Decision{ResumeAt: new("soon")}}}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := fixtest.Files{"a": "644 1"}
			s := fixtest.NewStore(t, before)
			fixtest.Sealed(t, s, "test", before, fixtest.Files{"a": "644 2"},
				func(_ *draft.Draft, f *fix.Fix) { f.Attempts = c.attempts })
			if got, _ := s.ResumesAt("a", now); !got.Equal(c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
