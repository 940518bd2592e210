package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/internal/journal"
)

// However narrow the screen and however long the names: a line of ours is wider than the screen only where it is one word, such
// as a path, or a command to type, or a line of the patch's own.
func TestFixScreensStayWithin(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("name-of-sixty-", 4) + "bytes"
	wide := strings.Repeat("検査", 15)
	deep := strings.Repeat("folder/", 12) + "datei.go"
	dir := func(fix.Item) string { return "/home/me/shop/.async/runs/20261121T024000Z-7f3a" }
	better := func(i fix.Item) string { return "async-pipeline fix apply " + i.Run + " " + *i.Verified }
	for _, columnsOf := range []int{80, 40} {
		for _, task := range []string{"test", long, wide} {
			for name, change := range variants {
				t.Run(fmt.Sprint(columnsOf, " ", name, " ", task), func(t *testing.T) {
					t.Parallel()
					p := sample()
					change(p)
					p.Task = task
					p.Flags = append(p.Flags, fix.Flag{ID: "f9", Rule: "mode_changed", Path: &deep, Detail: "it can be executed now"})
					if p.Patch != nil {
						p.Patch.Files = append(p.Patch.Files, fix.PatchFile{Path: deep, Change: "modified", Added: 1, Removed: 1})
					}
					if p.Verification != nil {
						for i := range p.Verification.Proposed {
							p.Verification.Proposed[i].Task = task
						}
					}
					c := commandsOf(p)
					c.Refused, c.Partly, c.Changed = "not applied: a link or file is on the way", []fix.Part{{Path: deep, Hunks: []int{1, 2}, Of: 3}}, []string{deep}
					if more := shownWith[name]; more != nil {
						more(&c)
					}
					item := fix.Item{
						Run: p.Run, Task: task, State: p.State, Disposition: p.Disposition, Verdict: p.Verdict, Flags: p.Flags, Files: []string{deep, "a"}, Applied: []string{deep},
						Partly: c.Partly, Rescue: []string{"fixes/" + task + "/attempt-1.patch"}, Fits: ptr(false), Without: ptr(p.Run), PassedIn: ptr(p.Run), RecurredIn: []string{p.Run, p.Run},
						Later: &fix.Later{Name: task, State: "not_reproduced", Reason: ptr("passed: the task passes in a copy of the tree")}, Verified: ptr(task + "@1"), Reason: p.Reason,
					}
					a := apply.Applied{Files: []string{deep, "sum.go"}, Rest: true, Parts: c.Partly, Dirty: []string{deep}, Merged: []string{deep}, Note: "a note that is long enough for a second line at forty columns"}
					for what, show := range map[string]func(*Screen){
						"show":    func(s *Screen) { s.ShowFix(p, c) },
						"outcome": func(s *Screen) { s.Outcome(&p.Fix, c) },
						"list":    func(s *Screen) { s.Fixes([]fix.Item{item}, dir, better) },
						"apply":   func(s *Screen) { s.Applied(p, a, false, c.Show, "") },
						"revert":  func(s *Screen) { s.Reverted(p, a, true, c.Show) },
						"reject":  func(s *Screen) { s.Rejected(p, apply.Rejected{Applied: []string{deep, "a"}}, true) },
						"audit": func(s *Screen) {
							s.Audit([]Audited{{Run: p.Run, Fixes: []string{task}, Files: 12, Faults: []journal.Fault{{File: deep, Where: "line 3 of " + deep, Expected: "this and that", Found: "what nobody expected"}}, Notes: []journal.Note{{File: deep, Text: "no record says anything about it"}}}})
						},
						"refusal": func(s *Screen) {
							s.Refused("not applied: the files are no longer as the fix found them: " + deep + " (changed), sum.go (gone); merge it in with --3way, or have a new fix proposed: async-pipeline heal " + p.Run + " test")
						},
						"stats": func(s *Screen) {
							s.Stats(fix.Stats{Runs: fix.RunStats{Total: 3, Passed: 3}, Total: fix.AgentStats{Attempts: 1}, Agents: []fix.AgentStats{{Agent: &task, Attempts: 1234, Retries: 12, WallClockMS: 5_000_000, Tokens: fix.Tokens{AtLeast: ptr(int64(12_345_678))}, TokensUnknown: 1, CostUSD: ptr(12.5)}}, Kinds: []fix.KindStats{{Kind: "transport_disconnect", Attempts: 12}}}, "async-pipeline fix list --recurring")
						},
					} {
						var b strings.Builder
						show(&Screen{W: &b, Base: "/home/me/shop", Columns: columnsOf})
						for line := range strings.SplitSeq(strings.TrimSuffix(b.String(), "\n"), "\n") {
							text := strings.TrimSpace(strings.NewReplacer("│", "", "- ", "", "(", "", "kept: ", "", "x ", "").Replace(line))
							if columns(line) > columnsOf && strings.Contains(text, " ") && !strings.HasPrefix(text, "async-pipeline ") {
								t.Errorf("%s: %d columns: %q", what, columns(line), line)
							}
						}
					}
				})
			}
		}
	}
}
