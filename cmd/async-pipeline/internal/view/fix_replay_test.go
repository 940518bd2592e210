package view

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

func TestReplayed(t *testing.T) {
	t.Parallel()
	passed := &fix.Verification{
		Proposed:       []fix.Check{{Task: "test", Passed: true, DurationMS: new(int64(2100))}},
		OriginalChecks: []fix.Check{{Task: "test", Passed: true, DurationMS: new(int64(1900))}},
	}
	golden(t, "replayed", func(s *Screen) {
		for _, r := range []*Rebuilt{
			nil,
			{Calls: 1},
			{Calls: 7, FromCommands: []string{"go.sum", "internal/clock/zz_generated.go"}},
			{FromCommands: []string{"go.sum"}},
			{
				Calls: 2, FromCommands: []string{"a/very/long/folder/with/a/generated_file.go", "another/long/folder/with/a/generated_file.go"},
				Unknown: []string{"big.json: the transcript holds only the beginning of a call that changed it"},
			},
			{Calls: 3, Contradictions: []string{
				"clock.go: the calls leave it otherwise than the patch does",
				"line 12 of the transcript says that edit of clock.go ended well, and it cannot have: old does not stand in clock.go: nothing was changed.",
			}, FromCommands: []string{"go.sum"}},
			{Why: "its hook asked for a diff in the answer: that is the patch, not what the calls changed"},
		} {
			s.Replayed(Replayed{
				Run: "20261121T024000Z-7f3a", Task: "test", Same: true, Then: "verified", Now: "verified", Rebuilt: r, Verification: passed,
			})
			s.put("\n")
		}
		s.Replayed(Replayed{
			Run: "20261121T024000Z-7f3a", Task: "test", Then: "verified", Now: "unverified (check_failed)", Rebuilt: &Rebuilt{Calls: 1},
			Verification: &fix.Verification{Proposed: []fix.Check{{Task: "test", DurationMS: new(int64(2100))}}},
			Notes:        []string{`task "test" is written differently in PIPELINE.hcl than it was in the run`}, Output: "--- FAIL: TestClock\n",
		})
	})
}

// What the record of an agent says moves no cursor.
func TestReplayedIsHarmless(t *testing.T) {
	t.Parallel()
	const bad = "a\x1b[2J.go"
	var b strings.Builder
	s := &Screen{W: &b}
	s.Replayed(Replayed{Run: "r", Task: "t", Same: true, Then: "verified", Now: "verified", Rebuilt: &Rebuilt{
		Why: "", FromCommands: []string{bad}, Unknown: []string{bad},
	}})
	s.Replayed(Replayed{Run: "r", Task: "t", Same: true, Then: "verified", Now: "verified", Rebuilt: &Rebuilt{Contradictions: []string{bad}}})
	if strings.Contains(b.String(), "\x1b") || strings.Count(b.String(), ".go") != 3 {
		t.Errorf("it shows %q", b.String())
	}
}
