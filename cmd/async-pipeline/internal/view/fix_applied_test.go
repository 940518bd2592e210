package view

import (
	"bytes"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// decided shows what the verbs print that a person decides with.
func decided(evil string) map[string]func(*Screen) {
	p := sample()
	p.Task += evil
	some := apply.Applied{
		Files: []string{"logo.png" + evil, "sum.go"}, Rest: true, Edited: true, Note: "this fix is unverified" + evil,
		Parts: []fix.Part{{Path: "sum.go", Hunks: []int{1, 3}, Of: 4}}, Merged: []string{"sum.go"}, Dirty: []string{"logo.png" + evil},
	}
	const again = "async-pipeline fix apply 20261121T024000Z-7f3a test"
	return map[string]func(*Screen){
		"applied_partly": func(s *Screen) {
			s.Applied(p, some, false, "async-pipeline run test", "")
			s.Applied(p, some, true, "async-pipeline run test", "")
			s.Applied(p, apply.Applied{Files: []string{"sum.go"}, Parts: []fix.Part{{Path: "sum.go", Hunks: []int{2}, Of: 2}}}, false, "async-pipeline run test", "")
		},
		"applied_worse": func(s *Screen) {
			worse := *p
			worse.Verdict, worse.Verified = new(fix.Unverified), new("test@1"+evil)
			s.Applied(&worse, apply.Applied{Files: []string{"logo.png", "sum.go"}}, false, "async-pipeline run test", again+"@1")
			s.Applied(&worse, apply.Applied{Files: []string{"logo.png", "sum.go"}}, true, "async-pipeline run test", again+"@1")
		},
		"applied_before": func(s *Screen) {
			older := *p
			older.Called = p.Task + "@1"
			s.Applied(&older, apply.Applied{Files: []string{"logo.png", "sum.go"}, Already: true, Since: []string{"sum.go"}, At: "2026-11-21T02:41:00.000Z" + evil}, false, "async-pipeline run test", "")
		},
		"reverted": func(s *Screen) {
			s.Reverted(p, apply.Applied{Files: []string{"logo.png" + evil, "sum.go"}, Merged: []string{"sum.go"}}, false, again)
			s.Reverted(p, apply.Applied{Files: []string{"sum.go"}}, true, again)
			s.Reverted(p, apply.Applied{Files: []string{"logo.png", "sum.go"}, Already: true}, false, again)
			s.Reverted(p, apply.Applied{Files: []string{"logo.png", "sum.go"}, Already: true}, true, again)
		},
		"rejected": func(s *Screen) {
			s.Rejected(p, apply.Rejected{}, false)
			s.Rejected(p, apply.Rejected{Applied: []string{"logo.png" + evil}}, false)
			s.Rejected(p, apply.Rejected{}, true)
			s.Rejected(p, apply.Rejected{Already: true}, false)
		},
		"conflicts": func(s *Screen) {
			s.Conflicts(&apply.Conflicts{Files: []apply.Conflict{
				{Path: "sum.go" + evil, Why: "conflict", Clashes: []patch.Clash{
					{Line: 12, Text: "<<<<<<< ours\n\ttotal += 1" + evil + "\n||||||| base\n=======\n\ttotal += numbers[i] // " + strings.Repeat("every number counts ", 5) + "\n>>>>>>> theirs\n"},
					{Line: 40, Text: "<<<<<<< ours\nmine\r\n=======\n>>>>>>> theirs"},
				}},
				{Path: "logo.png" + evil, Why: "binary, and changed on both sides" + evil},
			}})
		},
	}
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	for name, show := range decided("") {
		golden(t, name, show)
	}
}

// What a patch or a tree holds cannot act on the terminal.
func TestDecisionsAreHarmless(t *testing.T) {
	t.Parallel()
	const evil = "\x1b[2J\x1b]0;x\x07\u202e\u200b\r✓ fake\n✓ fake\n"
	for name, show := range decided(evil) {
		for _, colour := range []bool{false, true} {
			var b bytes.Buffer
			show(&Screen{W: &b, Colour: colour})
			got := b.String()
			for _, bad := range []string{"\x1b[2J", "\x1b]", "\x07", "\u202e", "\u200b", "\r", "\n✓ fake"} {
				if strings.Contains(got, bad) {
					t.Errorf("%s shows %q:\n%q", name, bad, got)
				}
			}
		}
	}
}
