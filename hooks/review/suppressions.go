package review

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
)

// proseExts are extensions of files that are only read.
var proseExts = []string{".md", ".rst", ".txt", ".adoc"}

// capSuppressions lets what silences a checker cap where the patch changes nothing else that acts: then the check
// passes because of it. Whether that is right is for a person to decide.
func capSuppressions(p *proposal, found findings) {
	if slices.ContainsFunc(p.edits, func(e *edit) bool { return !e.restored && e.acts() }) {
		return
	}
	for i, f := range found {
		if f.Rule == rules.SuppressionAdded && !p.edit(f.Path).restored {
			found[i].Caps = true
		}
	}
}

// acts reports whether anything but comments, blanks and what silences a checker changed.
func (e *edit) acts() bool {
	if slices.Contains(proseExts, strings.ToLower(path.Ext(e.path))) {
		return false
	}
	if e.opaque || e.isNew() || !e.exists() || e.language == "" ||
		executable(e.change.Before) != executable(e.change.After) {
		return true
	}
	return e.before.effect() != e.after.effect()
}

// effect returns a text without comments, blanks and what silences a checker.
func (s *side) effect() string {
	var b strings.Builder
	quiet := compile(rules.For(s.language).Quiet)
	for i := range s.lines {
		line := s.plain(i)
		if quiet != nil {
			line = quiet.ReplaceAllString(line, "")
		}
		b.WriteString(unspaced(line))
	}
	return b.String()
}
