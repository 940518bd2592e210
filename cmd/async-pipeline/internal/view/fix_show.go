// One fix for a reviewer: root cause, what is uncertain, patch, verification, flags, cost, and the one command to apply it.
package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

// ShowFix shows a fix whole.
func (s *Screen) ShowFix(p *fix.Proposal, c Commands) {
	f := &p.Fix
	var b strings.Builder
	b.WriteString(s.paint(bold, "Fix for "+called(p)+" of run "+Harmless(f.Run)) + "\n")
	b.WriteString(s.standing(p, c))
	b.WriteString(s.imported(c.Imported))
	b.WriteString(s.later(p.Later, "  "))

	s.section(&b, "Root cause", s.rootCause(f))
	s.section(&b, "Uncertain, and what to check", s.doubtLines(f))
	s.section(&b, "Patch", s.patchPart(p, c))
	s.section(&b, "Verification", s.verification(f)+s.failing(f, c))
	if f.State == fix.Proposed {
		flags := s.flagLines(f)
		if flags == "" {
			flags = "  none\n"
		}
		s.section(&b, "Flags", flags)
	}
	s.section(&b, "Reproduction", s.reproduction(f))
	s.section(&b, "Attempts and budget", s.attempts(f, c.Dir))
	s.section(&b, "Evidence", s.evidence(f, c))
	b.WriteString(s.applyPart(p, c))
	s.put(b.String())
}

func (s *Screen) section(b *strings.Builder, title, text string) {
	if text != "" {
		b.WriteString("\n" + s.paint(bold, title) + "\n" + text)
	}
}

// standing is the line of state, verdict and disposition, and what the verdict means.
func (s *Screen) standing(p *fix.Proposal, c Commands) string {
	f := &p.Fix
	if f.State != fix.Proposed {
		return "  " + s.paint(yellow, Harmless(f.State)) + ": " + stateWord(f.State) + "\n" + s.paragraphIf(stateText(f)) + s.said(f)
	}
	word, colour := verdictOf(f)
	line := "  proposed · " + s.paint(colour, word)
	if p.Disposition != "" {
		line += " · " + Harmless(p.Disposition)
	}
	if p.Disposition == "open" && len(p.Applied) > 0 {
		line += fmt.Sprintf(" · %d of %s applied", len(p.Applied), count(len(p.Patch.Files), "file"))
	} else if p.Disposition == "open" && len(c.Partly) > 0 {
		line += " · some hunks applied"
	}
	return line + "\n" + s.paragraph(verdictText(f), "  ")
}

func (s *Screen) rootCause(f *fix.Fix) string {
	if len(f.Attempts) == 0 {
		return ""
	}
	text := ""
	if f.AgentSaid != nil && f.AgentSaid.RootCause != nil {
		text = *f.AgentSaid.RootCause
	}
	if f.State == fix.Proposed && f.AgentSaid != nil && f.AgentSaid.Summary != "" && f.AgentSaid.Summary != text {
		text = strings.TrimSpace(text + "\nWhat was done: " + f.AgentSaid.Summary)
	}
	if strings.TrimSpace(text) == "" {
		return "  not given by the agent\n"
	}
	return s.paint(dim, "  (the agent's words; nobody checked them)") + "\n" + s.paragraph(text, quoted)
}

func (s *Screen) doubtLines(f *fix.Fix) string {
	var b strings.Builder
	for _, d := range doubts(f) {
		for i, line := range Wrap(Harmless(d), s.wide()-4) {
			lead := "    "
			if i == 0 {
				lead = "  - "
			}
			b.WriteString(lead + line + "\n")
		}
	}
	return b.String()
}

func (s *Screen) patchPart(p *fix.Proposal, c Commands) string {
	if p.Patch == nil {
		if len(p.Rescue) == 0 {
			return s.rescues(&p.Fix, c.Dir)
		}
		return s.kept(p.Rescue, c.Dir)
	}
	added, removed := 0, 0
	for _, f := range p.Patch.Files {
		added += f.Added
		removed += f.Removed
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  %s, +%d −%d, in %s\n", count(len(p.Patch.Files), "file"), added, removed, s.Path(joined(c.Dir, p.Patch.Path)))
	b.WriteString(s.patchFiles(&p.Fix))
	if len(p.Diff) > 0 {
		b.WriteString("\n" + s.diff(p.Diff))
	}
	return b.String()
}

// quoted stands before words that somebody else wrote, so that they cannot pass for ours.
const quoted = "  │ "

// said is the agent's summary, quoted.
func (s *Screen) said(f *fix.Fix) string {
	if f.AgentSaid == nil || strings.TrimSpace(f.AgentSaid.Summary) == "" {
		return ""
	}
	return "  The agent says:\n" + s.paragraph(f.AgentSaid.Summary, quoted)
}

// joined puts a path of the record behind the run's folder.
func joined(dir, path string) string {
	if dir == "" {
		return path
	}
	return dir + "/" + path
}

func (s *Screen) verification(f *fix.Fix) string {
	if f.Verification == nil {
		return ""
	}
	var b strings.Builder
	rows := func(title string, checks []fix.Check) {
		b.WriteString("  " + title + "\n")
		if len(checks) == 0 {
			b.WriteString("    " + s.paint(yellow, "not run") + "\n")
		}
		wide := 0
		for _, c := range checks {
			wide = max(wide, min(columns(Harmless(c.Task)), 40))
		}
		for _, c := range checks {
			result := s.paint(green, pad("passed", 10))
			if !c.Passed {
				word := "failed"
				if c.ExitCode != nil {
					word = fmt.Sprintf("exit %d", *c.ExitCode)
				}
				result = s.paint(red, pad(word, 10))
			}
			b.WriteString("    " + pad(Harmless(c.Task), wide) + "  " + result + "  " + ms(c.DurationMS) + "\n")
		}
	}
	rows("with the patch as proposed", f.Verification.Proposed)
	rows("with the check files as they were", f.Verification.OriginalChecks)
	if f.State != fix.Proposed && f.Verification.Reason != nil && *f.Verification.Reason != "" {
		b.WriteString(s.paragraph(*f.Verification.Reason, "  "))
	}
	return b.String()
}

// failing names the tests that failed with the patch and where the check's output is.
func (s *Screen) failing(f *fix.Fix, c Commands) string {
	var b strings.Builder
	if len(c.Failing) > 0 {
		b.WriteString(s.paragraph("failing with the patch: "+list(c.Failing), "  "))
	}
	if bad := failedCheck(f); bad != nil && bad.Log != nil {
		b.WriteString("  log of " + Harmless(bad.Task) + " with the patch:\n    " + s.Path(joined(c.Dir, *bad.Log)) + "\n")
	}
	return b.String()
}

func (s *Screen) reproduction(f *fix.Fix) string {
	if f.Reproduction == nil {
		return ""
	}
	r := f.Reproduction
	word := map[string]string{
		"same":      "the same failure came back in a copy",
		"different": "another failure came back in a copy",
		"passed":    "the task passed in a copy",
		"flaky":     "the task failed and passed in copies",
	}[r.Result]
	if word == "" {
		word = Harmless(r.Result)
	}
	text := s.paragraph(fmt.Sprintf("%s (%s)", word, count(r.Runs, "run")), "  ")
	text += s.paragraph("in the run: "+r.Signature.Run, "    ")
	if r.Signature.Copy != nil && (*r.Signature.Copy != r.Signature.Run || r.Result != "same") {
		text += s.paragraph("in the copy: "+*r.Signature.Copy, "    ")
	}
	return text
}

func (s *Screen) attempts(f *fix.Fix, dir string) string {
	var b strings.Builder
	for n, a := range f.Attempts {
		how := "ended by itself"
		if a.Kind != nil && *a.Kind != "" {
			how = *a.Kind
		}
		if a.Evidence != nil && *a.Evidence != "" {
			how += ": " + *a.Evidence
		}
		log := ""
		switch rejected := n < len(f.Attempts)-1 && a.Rescue != nil; {
		case a.Verdict != nil:
			how += "; its patch: " + *a.Verdict
			if rejected && *a.Verdict == fix.Unverified {
				log = attemptLog(f, a.Number)
			}
		case rejected: // as a version recorded it that did not say the verdict of each
			how += "; its patch did not verify"
			log = attemptLog(f, a.Number)
		}
		who := a.Agent
		if a.Model != nil && *a.Model != "" {
			who += " (" + *a.Model + ")"
		}
		text := fmt.Sprintf("%d. %s, sandbox %s, %s, %s; tokens %s, cost %s", a.Number, who, a.Sandbox,
			Duration(time.Duration(a.DurationMS)*time.Millisecond), how, tokens(a.Tokens), cost(a.CostUSD))
		for i, line := range Wrap(Harmless(text), s.wide()-5) {
			lead := "     "
			if i == 0 {
				lead = "  "
			}
			b.WriteString(lead + line + "\n")
		}
		if log != "" {
			b.WriteString("     with it the task printed:\n    " + s.Path(joined(dir, log)) + "\n")
		}
	}
	if f.Budget != nil {
		u, l := f.Budget.Used, f.Budget.Limit
		parts := []string{
			"attempts " + of(number(u.Attempts), number(l.Attempts)),
			"wall clock " + of(ms(u.WallClockMS), ms(l.WallClockMS)),
			"tokens " + of(number64(u.Tokens), number64(l.Tokens)),
			"cost " + of(cost(u.CostUSD), cost(l.CostUSD)),
		}
		b.WriteString(s.paragraph("used: "+strings.Join(parts, " · "), "  "))
	}
	return b.String()
}

// attemptLog is the log of the failed task with the patch of one attempt, as the record names it; empty where it does not.
func attemptLog(f *fix.Fix, n int) string {
	if f.Provenance == nil {
		return ""
	}
	for _, e := range f.Provenance.Files {
		if strings.HasSuffix(e.Path, fmt.Sprintf("/verify-%d-proposed-%s.log", n, f.Task)) {
			return e.Path
		}
	}
	return ""
}

func (s *Screen) evidence(f *fix.Fix, c Commands) string {
	var b strings.Builder
	if f.Base != nil {
		commit := "none"
		if f.Base.Commit != nil && *f.Base.Commit != "" {
			commit = Harmless(*f.Base.Commit)
		}
		b.WriteString("  commit " + commit + "\n  tree   " + Harmless(f.Base.Tree) + "\n")
	}
	if f.Patch != nil {
		b.WriteString("  patch  " + Harmless(f.Patch.Digest) + "\n")
	}
	if c.Dir != "" && (len(f.Attempts) > 0 || f.Patch != nil) {
		b.WriteString("  files  " + s.Path(c.Dir) + "/fixes\n")
	}
	return b.String()
}

// applyPart ends with the one command, alone on its line, where there is something to apply.
func (s *Screen) applyPart(p *fix.Proposal, c Commands) string {
	if p.State != fix.Proposed {
		return ""
	}
	switch p.Disposition {
	case "applied":
		return "\nIt is already applied.\n" + s.since(p.PassedIn, p.RecurredIn, "")
	case "rejected", "reverted":
		return "\nIt was " + p.Disposition + ".\n"
	}
	var b strings.Builder
	if p.Disposition == "superseded" {
		b.WriteString("\nIt was superseded: a newer fix took its place.\n")
	}
	it := "it"
	if p.Disposition == "superseded" {
		it = "it all the same"
	}
	if p.Disposition == "open" && len(p.Applied)+len(c.Partly) > 0 {
		it = "the rest"
		title := "In the tree already"
		if c.Unfit {
			title = "Recorded as applied"
		}
		b.WriteString("\n" + s.paint(bold, title) + "\n")
		for _, path := range p.Applied {
			b.WriteString("  " + Harmless(path) + "\n")
		}
		for _, part := range c.Partly {
			b.WriteString("  " + Harmless(part.Path) + " (" + hunks(part) + ")\n")
		}
	}
	b.WriteString(s.without(p.Without, ""))
	switch {
	case c.Unfit:
		b.WriteString("\n" + s.paint(yellow, "It does not fit any more") + "\n" +
			s.paragraph("No longer as the fix found them: "+list(c.Changed), "  "))
		if c.Apply == "" {
			b.WriteString(s.paragraph("They cannot be merged either. To have another one made, type", "  ") + "\n" + s.paint(bold, c.Heal) + "\n")
			return b.String()
		}
		b.WriteString(s.next([]Next{{"have another made", c.Heal}}))
		return b.String() + "\n" + s.dirty(c) + s.paint(bold, "To merge "+it+" into what they hold now, type") + "\n\n" + c.Apply + "\n"
	case c.Refused != "":
		return b.String() + "\n" + s.paint(yellow, "It cannot be applied") + "\n" + s.paragraph(c.Refused, "  ")
	case c.Nothing:
		b.WriteString("\n" + s.paragraph("All that it changes is in the tree already. To record it as applied, type", ""))
		return b.String() + "\n" + c.Apply + "\n"
	}
	how := "To apply " + it + ", type"
	if len(p.Flags) > 0 {
		how = "When you have looked at each flagged place: to apply " + it + ", type"
	}
	b.WriteString("\n")
	if dirty := s.dirty(c); dirty != "" {
		b.WriteString(dirty + "\n")
	}
	b.WriteString(s.paint(bold, how) + "\n\n" + c.Apply + "\n")
	return b.String()
}

// of is "used of limit"; a limit that is not there is left out.
func of(used, limit string) string {
	if limit == "unknown" || limit == "?" {
		return used
	}
	return used + " of " + limit
}

func number(n *int) string {
	if n == nil {
		return "unknown"
	}
	return fmt.Sprint(*n)
}

func number64(n *int64) string {
	if n == nil {
		return "unknown"
	}
	return fmt.Sprint(*n)
}

func cost(c *float64) string {
	if c == nil {
		return "unknown"
	}
	return fmt.Sprintf("$%.2f", *c)
}

func tokens(t fix.Tokens) string {
	if t.Input == nil && t.Output == nil {
		return "unknown"
	}
	return number64(t.Input) + " in, " + number64(t.Output) + " out"
}
