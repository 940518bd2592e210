// One fix for a reviewer: root cause, what is uncertain, patch, verification, flags, cost, and the one command to apply it.
package view

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

// ShowFix shows a fix whole.
func (s *Screen) ShowFix(p *fix.Proposal, c Commands) {
	f := &p.Fix
	var b strings.Builder
	b.WriteString(s.title("Fix for " + called(p) + " of run " + Harmless(f.Run)))
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
		word := stateWord(f.State)
		between := " "
		if 2+columns(Harmless(f.State))+2+columns(word) > s.wide() {
			between = "\n"
			word = strings.TrimSuffix(s.paragraph(word, "  "), "\n")
		}
		return "  " + s.paint(yellow, Harmless(f.State)) + ":" + between + word + "\n" + s.paragraphIf(stateText(f)) + s.said(f)
	}
	word, colour := verdictOf(f)
	line := "  proposed · " + s.paint(colour, word)
	if p.Disposition != "" {
		line += " · " + Harmless(p.Disposition)
	}
	more := ""
	if p.Disposition == "open" && len(p.Applied) > 0 {
		more = fmt.Sprintf("%d of %s applied", len(p.Applied), count(len(p.Patch.Files), "file"))
	} else if p.Disposition == "open" && len(c.Partly) > 0 {
		more = "some hunks applied"
	}
	switch {
	case more == "":
	case columns("  proposed ·  ·  · "+word+p.Disposition+more) > s.wide():
		line += " ·\n  " + more
	default:
		line += " · " + more
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
	return s.coloured(dim, "(the agent's words; nobody checked them)", "  ") + s.paragraph(text, quoted)
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
	b.WriteString(s.named("  ", fmt.Sprintf("%s, +%d −%d, in", count(len(p.Patch.Files), "file"), added, removed), joined(c.Dir, p.Patch.Path)))
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
		names, wide := make([]string, len(checks)), 0
		for i := range checks {
			names[i] = checkName(checks, i)
			wide = max(wide, min(columns(names[i]), 40, s.wide()-26))
		}
		for i, c := range checks {
			result := s.paint(green, pad("passed", 10))
			if !c.Passed {
				word := "failed"
				if c.ExitCode != nil {
					word = fmt.Sprintf("exit %d", *c.ExitCode)
				}
				result = s.paint(red, pad(word, 10))
			}
			name := "    " + pad(names[i], wide)
			if columns(name)+22 > s.wide() && columns(names[i]) > wide {
				name += "\n" + strings.Repeat(" ", 4+wide)
			}
			b.WriteString(name + "  " + result + "  " + ms(c.DurationMS) + "\n")
		}
	}
	rows("with the patch as proposed", f.Verification.Proposed)
	rows("with the check files as they were", f.Verification.OriginalChecks)
	if f.State != fix.Proposed && f.Verification.Reason != nil && *f.Verification.Reason != "" {
		b.WriteString(s.paragraph(*f.Verification.Reason, "  "))
	}
	return b.String()
}

// checkName is the task of a check, told apart from the same task in the copy in which go test was asked by name.
func checkName(checks []fix.Check, i int) string {
	name := Harmless(checks[i].Task)
	switch {
	case !byName(&checks[i]):
		return name
	case i+1 < len(checks) && byName(&checks[i+1]):
		return name + ", before it"
	}
	return name + ", by name"
}

var byNameLog = regexp.MustCompile(`/verify-[0-9]+-by-name-[^/]*$`)

// byName says whether a check ran in that copy; earlier versions left it to the name of the log.
func byName(c *fix.Check) bool { return c.ByName || c.Log != nil && byNameLog.MatchString(*c.Log) }

// failing names the tests that failed with the patch and where the check's output is.
func (s *Screen) failing(f *fix.Fix, c Commands) string {
	var b strings.Builder
	if len(c.Failing) > 0 {
		b.WriteString(s.paragraph("failing with the patch: "+list(c.Failing), "  "))
	}
	if bad := failedCheck(f); bad != nil && bad.Log != nil {
		b.WriteString(s.paragraph("log of "+Harmless(bad.Task)+" with the patch:", "  ") + "    " + s.Path(joined(c.Dir, *bad.Log)) + "\n")
	}
	if f.Verification != nil {
		for i, bad := range f.Verification.OriginalChecks {
			if !bad.Passed && bad.Log != nil {
				b.WriteString(s.paragraph("log of "+checkName(f.Verification.OriginalChecks, i)+" with the check files as they were:", "  ") +
					"    " + s.Path(joined(c.Dir, *bad.Log)) + "\n")
			}
		}
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

func (s *Screen) evidence(f *fix.Fix, c Commands) string {
	var b strings.Builder
	if f.Base != nil {
		commit := "none"
		if f.Base.Commit != nil && *f.Base.Commit != "" {
			commit = Harmless(*f.Base.Commit)
		}
		b.WriteString(s.named("  ", "commit", commit) + s.named("  ", "tree  ", f.Base.Tree))
	}
	if f.Patch != nil {
		b.WriteString(s.named("  ", "patch ", f.Patch.Digest))
	}
	if c.Dir != "" && (len(f.Attempts) > 0 || f.Patch != nil) {
		b.WriteString(s.named("  ", "files ", c.Dir+"/fixes"))
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
		b.WriteString("\n" + s.paragraph("It was superseded: a newer fix took its place.", ""))
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
			b.WriteString(s.about(part.Path, hunks(part)))
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
		return b.String() + "\n" + s.dirty(c) + s.title("To merge "+it+" into what they hold now, type") + "\n" + c.Apply + "\n"
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
	b.WriteString(s.title(how) + "\n" + c.Apply + "\n")
	return b.String()
}
