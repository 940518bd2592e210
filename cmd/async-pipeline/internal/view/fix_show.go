// One fix for a reviewer: root cause, doubts, patch, verification, flags, cost, and the command that applies it.
package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
)

// ShowFix shows all of a fix.
func (s *Screen) ShowFix(p *fix.Proposal, c Commands) {
	f := &p.Fix
	var b strings.Builder
	b.WriteString(s.title("Fix for " + called(p) + " of run " + Harmless(f.Run)))
	b.WriteString(s.standing(p, c))
	b.WriteString(s.imported(c.Imported))
	b.WriteString(s.later(p.Later, "  "))

	s.section(&b, "Root cause", s.rootCause(f))
	title := "Notes"
	if f.State == fix.Proposed {
		title = "Before you apply"
	}
	s.section(&b, title, s.doubtLines(f))
	s.section(&b, "Patch", s.patchPart(p, c))
	s.section(&b, "Verification", s.verification(f)+s.withPatch(f, c)+s.originalLogs(f, c))
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

// standing shows state, verdict and disposition, and what the verdict means.
func (s *Screen) standing(p *fix.Proposal, c Commands) string {
	f := &p.Fix
	if f.State != fix.Proposed {
		return s.coloured(yellow, stateWord(f), "  ") + s.paragraphIf(stateText(f)) + s.said(f)
	}
	word, colour := verdictOf(f)
	parts := []string{"proposed", word}
	if p.Disposition != "" {
		parts = append(parts, Harmless(p.Disposition)+map[bool]string{true: " as edited"}[fix.AsEdited(p.Decided)])
	}
	if p.Disposition == fix.Open && len(p.Applied) > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s applied", len(p.Applied),
			english.Count(len(p.Patch.Files), "file")))
	} else if p.Disposition == fix.Open && len(c.Partly) > 0 {
		parts = append(parts, "some hunks applied")
	}
	line := strings.TrimRight(s.paragraph(strings.Join(parts, " · "), "  "), "\n")
	return strings.Replace(line, word, s.paint(colour, word), 1) + "\n" + s.paragraph(verdictText(f), "  ")
}

func (s *Screen) rootCause(f *fix.Fix) string {
	if len(f.Attempts) == 0 {
		return ""
	}
	text := ""
	if f.AgentSaid != nil {
		text = value(f.AgentSaid.RootCause)
		if f.State == fix.Proposed && f.AgentSaid.Summary != "" && f.AgentSaid.Summary != text {
			text = strings.TrimSpace(text + "\nThe change: " + f.AgentSaid.Summary)
		}
	}
	if strings.TrimSpace(text) == "" {
		return "  not given by the agent\n"
	}
	return s.coloured(dim, "(the agent's words, not verified)", "  ") + s.paragraph(text, quoted)
}

func (s *Screen) doubtLines(f *fix.Fix) string {
	var b strings.Builder
	for _, d := range doubts(f) {
		b.WriteString(s.hanging("  - ", d))
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
	b.WriteString(s.named("  ", fmt.Sprintf("%s, +%d −%d, in", english.Count(len(p.Patch.Files), "file"), added,
		removed), joined(c.Dir, p.Patch.Path)))
	b.WriteString(s.patchFiles(&p.Fix))
	if len(p.Diff) > 0 {
		b.WriteString("\n" + s.diff(p.Diff))
	}
	return b.String()
}

// quoted is put before each line that somebody else wrote, so that it cannot pass for ours.
const quoted = "  │ "

// said returns the agent's summary, quoted.
func (s *Screen) said(f *fix.Fix) string {
	if f.AgentSaid == nil || strings.TrimSpace(f.AgentSaid.Summary) == "" {
		return ""
	}
	return "  The agent says:\n" + s.paragraph(f.AgentSaid.Summary, quoted)
}

// joined returns a path of the record behind the folder of its run.
func joined(dir, path string) string {
	if dir == "" {
		return path
	}
	return dir + "/" + path
}

// verification shows each check of a patch, one a line.
func (s *Screen) verification(f *fix.Fix) string {
	if f.Verification == nil {
		return ""
	}
	var b strings.Builder
	wide := 0
	for _, c := range slices.Concat(f.Verification.Proposed, f.Verification.OriginalChecks) {
		wide = max(wide, min(columns(taskName(c.Task)), 40, s.wide()-26))
	}
	rows := func(title string, checks []fix.Check) {
		b.WriteString("  " + title + "\n")
		if len(checks) == 0 {
			b.WriteString("    " + s.paint(yellow, "not run") + "\n")
		}
		for _, c := range checks {
			result, colour := "passed", green
			switch {
			case c.CorePassed:
				result, colour = "core ok", green
			case !c.Passed && c.ExitCode != nil:
				result, colour = fmt.Sprintf("exit %d", *c.ExitCode), red
			case !c.Passed:
				result, colour = "failed", red
			}
			name := "    " + pad(taskName(c.Task), wide)
			if columns(name)+22 > s.wide() && columns(name) > 4+wide {
				name += "\n" + strings.Repeat(" ", 4+wide)
			}
			b.WriteString(name + "  " + s.paint(colour, pad(result, 10)) + "  " + ms(c.DurationMS) + "\n")
			if c.Command != "" {
				line, _, more := strings.Cut(c.Command, "\n")
				if more {
					line += " …"
				}
				b.WriteString("      $ " + cut(Harmless(line), s.wide()-8) + "\n")
			}
		}
	}
	original, named := restored(f.Verification)
	rows("with the patch", f.Verification.Proposed)
	rows("with the original checks restored", original)
	if len(named) > 0 {
		rows("the failed tests, asked for by name", named)
	}
	if reason := verificationReason(f); f.State != fix.Proposed && reason != "" {
		b.WriteString(s.paragraph(reason, "  "))
	}
	return b.String()
}

// restored returns the checks with the original checks: those of the first copy, and those of the copy where go test
// was asked for tests by name.
func restored(v *fix.Verification) (original, named []fix.Check) {
	for i, c := range v.OriginalChecks {
		if byName(&v.OriginalChecks[i]) {
			named = append(named, c)
		} else {
			original = append(original, c)
		}
	}
	return original, named
}

// originalLogs names the logs of the checks that failed with the original checks.
func (s *Screen) originalLogs(f *fix.Fix, c Commands) string {
	if f.Verification == nil {
		return ""
	}
	var b strings.Builder
	for _, bad := range f.Verification.OriginalChecks {
		if !bad.Passed && !bad.CorePassed && bad.Log != nil {
			b.WriteString(s.named("  ", "log of "+taskName(bad.Task)+" with the original checks",
				joined(c.Dir, *bad.Log)))
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
		"same":      "the same failure in a copy",
		"different": "another failure in a copy",
		"passed":    "the task passed in a copy",
		"flaky":     "the task failed and passed in copies",
	}[r.Result]
	if r.Result == "same" && len(r.Others) > 0 {
		word = "the same failure in copies, but for other tests"
	}
	if word == "" {
		word = Harmless(r.Result)
	}
	switch count := english.Count(r.Runs, "run"); r.Runs {
	case 0:
		word = "the task could not be run in a copy"
	case 1:
		word += " (" + count + ")"
	default:
		word += " (" + count + " in all)"
	}
	text := s.paragraph(word, "  ")
	text += s.paragraph("in the run: "+r.Signature.Run, "    ")
	if r.Signature.Copy != nil && (*r.Signature.Copy != r.Signature.Run || r.Result != "same") {
		text += s.paragraph("in the copy: "+*r.Signature.Copy, "    ")
	}
	if len(r.Others) > 0 {
		text += s.paragraph("judged by: "+english.List(r.Core, mostNames), "    ")
	}
	for i, o := range r.Others {
		if i == mostOthers {
			text += fmt.Sprintf("    and %d more\n", len(r.Others)-i)
			break
		}
		text += s.paragraph(other(o, r.Runs), "    ")
	}
	if len(r.Ignored) > 0 {
		text += s.paragraph("fails with: "+english.List(r.Ignored, 8), "    ")
	}
	return text
}

// mostOthers is how many tests are named that failed in some runs and copies.
const mostOthers = 8

// other tells where a test failed, and why it may be.
func other(o fix.OtherTest, copies int) string {
	where := fmt.Sprintf("in %d of %s", o.Copies, english.Count(copies, "copy"))
	switch {
	case o.Run && o.Copies == 0:
		where = "in the run, and in no copy"
	case o.Run:
		where = "in the run, and " + where
	case o.Copies == copies:
		where = "in every copy, and not in the run"
	default:
		where += ", and not in the run"
	}
	why := "it is flaky"
	if o.Why == fix.OfEnvironment {
		why = "it depends on the machine, or is flaky"
	}
	return o.Test + " failed " + where + ": " + why
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

// applyPart ends with the one command to type, alone on its line.
func (s *Screen) applyPart(p *fix.Proposal, c Commands) string {
	if p.State != fix.Proposed {
		if next := instead(&p.Fix, c); next != nil {
			return "\n" + s.next(next)
		}
		return ""
	}
	var b strings.Builder
	what := "it"
	switch p.Disposition {
	case fix.Applied:
		if fix.AsEdited(p.Decided) {
			return "\n" + s.paragraph("It is applied as somebody edited it. The patch here is the one that was proposed and checked.", "") + s.since(p.PassedIn, p.RecurredIn, "")
		}
		return "\nIt is applied.\n" + s.since(p.PassedIn, p.RecurredIn, "")
	case fix.Rejected, fix.Reverted:
		return "\nIt was " + p.Disposition + ".\n"
	case fix.Superseded:
		b.WriteString("\nA newer fix took its place.\n")
		what = "it all the same"
	}
	if p.Disposition == fix.Open && len(p.Applied)+len(c.Partly) > 0 {
		what = "the rest"
		title := "Already in the tree"
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
	command := func(title, command string) string {
		return b.String() + "\n" + s.title(title) + s.paint(bold, command) + "\n"
	}
	switch {
	case c.Unfit:
		b.WriteString("\n" + s.paint(yellow, "It no longer applies as it is") + "\n" +
			s.paragraph("Changed since the fix was made: "+english.List(c.Changed, mostNames), "  "))
		if c.Apply == "" {
			b.WriteString(s.paragraph("The changes cannot be merged.", "  "))
			return command("Propose another:", c.Heal)
		}
		b.WriteString(s.next([]Next{{"propose another", c.Heal}}))
		if dirty := s.dirty(c); dirty != "" {
			b.WriteString("\n" + dirty)
		}
		return command("Merge "+what+" into the files as they are now:", c.Apply)
	case c.Refused != "":
		return b.String() + "\n" + s.paint(yellow, "It cannot be applied") + "\n" + s.paragraph(c.Refused, "  ")
	case c.Nothing:
		return command("The tree has all its changes already. Record it as applied:", c.Apply)
	}
	if dirty := s.dirty(c); dirty != "" {
		b.WriteString("\n" + dirty)
	}
	return command(applyTitle(&p.Fix, what), c.Apply)
}
