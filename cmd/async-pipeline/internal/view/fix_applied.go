// What fix apply, revert and reject print.
package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/internal/english"
)

// Taken shows which of several proposals was chosen for a task that was named without a number.
func (s *Screen) Taken(p *fix.Proposal) {
	n := p.Among()
	if n == 0 {
		return
	}
	of := p.CreatedAt
	if at, err := time.Parse(time.RFC3339, of); err == nil {
		of = at.UTC().Format("2006-01-02 15:04 UTC")
	}
	text := fmt.Sprintf("There are %d proposals; this is %s, of %s.", n, taskName(p.Exact()), Harmless(of))
	s.put(s.paragraph(text, ""))
}

// Applied shows what fix apply wrote, or would write. better is the command that applies an older proposal that is
// verified; empty: there is none.
func (s *Screen) Applied(p *fix.Proposal, a apply.Applied, dry bool, again, better string) {
	var b strings.Builder
	if unsure := p.Verdict != nil && *p.Verdict == fix.Unverified; unsure && !a.Already {
		b.WriteString(s.paint(yellow, "! this fix is unverified") + "\n" + s.paragraph(verdictText(&p.Fix), "  "))
		a.Note = "" // it says the same
	}
	if better != "" && p.Verified != nil && !a.Already {
		b.WriteString(s.better(*p.Verified, better))
		if !dry {
			b.WriteString(s.paragraph("(run fix revert first: this one is in the tree now)", "  "))
		}
	}
	what, in := theFix(p), " is in the tree"
	if n := len(a.Files); p.Patch != nil && 0 < n && n < len(p.Patch.Files) {
		what, in = fmt.Sprintf("%d of %s of %s", n, english.Count(len(p.Patch.Files), "file"), what), ""
	}
	switch {
	case a.Already:
		s.head(&b, "already applied: "+what+in)
	case dry:
		s.head(&b, "would apply "+what+":")
	default:
		s.head(&b, s.paint(green, "✓")+" applied "+what+":")
	}
	s.worked(&b, a)
	if len(a.Since) > 0 {
		b.WriteString(s.paragraph("It was applied at "+Harmless(a.At)+"; your later edits are kept.", ""))
	}
	if a.Edited {
		b.WriteString("The patch was applied as you edited it.\n")
	}
	if dry {
		b.WriteString("Nothing was written.\n")
	}
	if !a.Already && !dry {
		if a.Note != "" {
			b.WriteString(s.paragraph(a.Note, "  "))
		}
		if a.Rest {
			b.WriteString(s.paragraph("The fix stays open until the rest is applied or rejected.", ""))
		}
		b.WriteString(s.paragraph("Nothing was committed. Check it:", "") + "  " + s.paint(cyan, again) + "\n")
	}
	s.put(b.String())
}

// Reverted shows what fix revert took back, or would take back, and how to apply it again.
func (s *Screen) Reverted(p *fix.Proposal, a apply.Applied, dry bool, again string) {
	var b strings.Builder
	what := theFix(p)
	if n := len(a.Files); p.Patch != nil && n < len(p.Patch.Files) {
		what = fmt.Sprintf("%d of %s of %s", n, english.Count(len(p.Patch.Files), "file"), what)
	}
	why := "; its changes are not in the tree"
	if len(a.Found) > 0 {
		why = "; what is in the tree was there before fix apply, and stays"
	}
	switch {
	case a.Already && dry:
		s.head(&b, "would record as reverted: "+what+why)
	case a.Already:
		s.head(&b, "recorded as reverted: "+what+why)
	case dry:
		s.head(&b, "would revert "+what+":")
	default:
		s.head(&b, s.paint(green, "✓")+" reverted "+what+":")
	}
	s.worked(&b, a)
	switch {
	case dry:
		b.WriteString("Nothing was written.\n")
	case p.Disposition == fix.Rejected: // a part had been applied before
		b.WriteString(s.paragraph("Nothing was committed. The fix stays rejected.", ""))
	default:
		b.WriteString(s.paragraph("Nothing was committed. Apply it again:", "") + "  " + s.paint(cyan, again) + "\n")
	}
	s.put(b.String())
}

// Rejected shows that fix reject was recorded, or would be.
func (s *Screen) Rejected(p *fix.Proposal, r apply.Rejected, dry bool) {
	var b strings.Builder
	switch what := theFix(p); {
	case r.Already:
		s.head(&b, "already rejected: "+what)
	case dry:
		s.head(&b, "would reject "+what)
	default:
		s.head(&b, s.paint(green, "✓")+" rejected "+what)
	}
	if len(r.Applied) > 0 && !r.Already {
		b.WriteString(s.paragraph("Files that were applied stay as they are: "+
			english.List(r.Applied, mostNames), "  "))
	}
	if dry {
		b.WriteString("Nothing was written.\n")
	}
	s.put(b.String())
}

// Conflicts shows why a merge is impossible, with conflicts as git marks them.
func (s *Screen) Conflicts(c *apply.Conflicts) {
	var b strings.Builder
	for _, f := range c.Files {
		if len(f.Clashes) == 0 {
			b.WriteString(s.paint(red, "cannot be merged:") + " " + Harmless(f.Path) + "\n" + s.paragraph(f.Why, "  "))
		}
		for _, clash := range f.Clashes {
			b.WriteString(s.paint(red, "conflict:") + " " + Harmless(f.Path) +
				fmt.Sprintf(", at line %d", clash.Line) + "\n")
			for line := range strings.SplitSeq(strings.TrimSuffix(clash.Text, "\n"), "\n") {
				s.diffLine(&b, clashColour(line), line)
			}
		}
	}
	s.put(b.String())
}

func clashColour(line string) string {
	for _, marker := range []string{"<<<<<<< ", "||||||| ", "=======", ">>>>>>> "} {
		if strings.HasPrefix(line, marker) {
			return cyan
		}
	}
	return ""
}

// head writes a line, wrapped where it is too long.
func (s *Screen) head(b *strings.Builder, text string) {
	if columns(text) <= s.wide() {
		b.WriteString(text + "\n")
		return
	}
	b.WriteString(strings.Join(Wrap(text, s.wide()-4), "\n    ") + "\n")
}

func theFix(p *fix.Proposal) string {
	return "the fix for " + called(p) + " of run " + Harmless(p.Run)
}

// called returns the task of a fix, with its number where the task has a newer one.
func called(p *fix.Proposal) string { return taskName(cmp.Or(p.Called, p.Task)) }

// worked lists the files, with remarks on each.
func (s *Screen) worked(b *strings.Builder, a apply.Applied) {
	words := map[string][]string{}
	for _, part := range a.Parts {
		words[part.Path] = append(words[part.Path], hunks(part))
	}
	for _, r := range []struct {
		paths []string
		word  string
	}{{a.Since, "edited since"}, {a.Merged, "merged"}, {a.Dirty, "over uncommitted changes"}, {a.Found, "as it was before"}} {
		for _, path := range r.paths {
			words[path] = append(words[path], r.word)
		}
	}
	for _, path := range a.Files {
		b.WriteString(s.about(path, strings.Join(words[path], ", ")))
	}
}

// hunks returns "hunk 2 of 3", "hunks 1, 3 of 4".
func hunks(p fix.Part) string {
	var numbers []string
	for _, n := range p.Hunks {
		numbers = append(numbers, fmt.Sprint(n))
	}
	word := "hunk "
	if len(numbers) > 1 {
		word = "hunks "
	}
	return word + english.List(numbers, mostNames) + fmt.Sprintf(" of %d", p.Of)
}
