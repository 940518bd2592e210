// What the verbs print that a person decides with: fix apply, revert and reject.
package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

// Applied says what fix apply wrote, or would write.
func (s *Screen) Applied(f *fix.Fix, a fix.Applied, dry bool, again string) {
	var b strings.Builder
	if unsure := f.Verdict != nil && *f.Verdict == fix.Unverified; unsure && !a.Already {
		b.WriteString(s.paint(yellow, "! this fix is unverified") + "\n" + s.paragraph(verdictText(f), "  "))
		a.Note = "" // it says the same
	}
	what, in := theFix(f), " is in the tree"
	if n := len(a.Files); f.Patch != nil && 0 < n && n < len(f.Patch.Files) {
		what, in = fmt.Sprintf("%d of %s of %s", n, count(len(f.Patch.Files), "file"), what), ""
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
	if a.Edited {
		b.WriteString("The patch is as you edited it.\n")
	}
	if dry {
		b.WriteString("Nothing was written.\n")
	}
	if !a.Already && !dry {
		if a.Note != "" {
			b.WriteString(s.paragraph(a.Note, "  "))
		}
		if a.Rest {
			b.WriteString("The fix stays open until the rest is applied, or rejected.\n")
		}
		b.WriteString("Nothing was committed. To see that it holds:\n  " + s.paint(cyan, again) + "\n")
	}
	s.put(b.String())
}

// Reverted says what fix revert took back, or would take back.
func (s *Screen) Reverted(f *fix.Fix, a fix.Applied, dry bool, again string) {
	var b strings.Builder
	what := theFix(f)
	if n := len(a.Files); f.Patch != nil && n < len(f.Patch.Files) {
		what = fmt.Sprintf("%d of %s of %s", n, count(len(f.Patch.Files), "file"), what)
	}
	switch {
	case a.Already && dry:
		s.head(&b, "would record as reverted: "+what+", which is out of the tree already")
	case a.Already:
		s.head(&b, "recorded as reverted: "+what+", which is out of the tree already")
	case dry:
		s.head(&b, "would revert "+what+":")
	default:
		s.head(&b, s.paint(green, "✓")+" reverted "+what+":")
	}
	s.worked(&b, a)
	if dry {
		b.WriteString("Nothing was written.\n")
	} else {
		b.WriteString("Nothing was committed. To apply it again:\n  " + s.paint(cyan, again) + "\n")
	}
	s.put(b.String())
}

// Rejected says that fix reject was recorded, or would be.
func (s *Screen) Rejected(f *fix.Fix, r fix.Rejected, dry bool) {
	var b strings.Builder
	switch what := theFix(f); {
	case r.Already:
		s.head(&b, "already rejected: "+what)
	case dry:
		s.head(&b, "would reject "+what)
	default:
		s.head(&b, s.paint(green, "✓")+" rejected "+what)
	}
	if len(r.Applied) > 0 && !r.Already {
		b.WriteString(s.paragraph("What was applied of it stays in the tree: "+list(r.Applied), "  "))
	}
	if dry {
		b.WriteString("Nothing was written.\n")
	}
	s.put(b.String())
}

// Conflicts shows what keeps a merge from being done, as git marks it.
func (s *Screen) Conflicts(c *fix.Conflicts) {
	var b strings.Builder
	for _, f := range c.Files {
		if len(f.Clashes) == 0 {
			b.WriteString(s.paint(red, "cannot be merged:") + " " + Harmless(f.Path) + "\n" + s.paragraph(f.Why, "  "))
		}
		for _, clash := range f.Clashes {
			b.WriteString(s.paint(red, "conflict:") + " " + Harmless(f.Path) + fmt.Sprintf(", at line %d", clash.Line) + "\n")
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

// head writes a line that may need more than one.
func (s *Screen) head(b *strings.Builder, text string) {
	if columns(text) <= s.wide() {
		b.WriteString(text + "\n")
		return
	}
	for i, line := range Wrap(text, s.wide()-4) {
		if i > 0 {
			line = "    " + line
		}
		b.WriteString(line + "\n")
	}
}

func theFix(f *fix.Fix) string {
	return "the fix for " + Harmless(f.Task) + " of run " + Harmless(f.Run)
}

// worked lists the files, with what is special about each.
func (s *Screen) worked(b *strings.Builder, a fix.Applied) {
	for _, p := range a.Files {
		var words []string
		for _, part := range a.Parts {
			if part.Path == p {
				words = append(words, hunks(part))
			}
		}
		if slices.Contains(a.Merged, p) {
			words = append(words, "merged")
		}
		if slices.Contains(a.Dirty, p) {
			words = append(words, "over uncommitted changes")
		}
		more := ""
		if len(words) > 0 {
			more = " (" + strings.Join(words, ", ") + ")"
		}
		b.WriteString("  " + Harmless(p) + more + "\n")
	}
}

// hunks is "hunk 2 of 3", "hunks 1, 3 of 4".
func hunks(p fix.Part) string {
	var numbers []string
	for _, n := range p.Hunks {
		numbers = append(numbers, fmt.Sprint(n))
	}
	word := "hunk "
	if len(numbers) > 1 {
		word = "hunks "
	}
	return word + list(numbers) + fmt.Sprintf(" of %d", p.Of)
}
