package review

import (
	"slices"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
)

// Every rule finds the lines that it must find, and not the others; and it is written whole.
func TestRules(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, language := range append(rules.Languages(), &rules.Language{Name: "go", Rules: rules.General()}) {
		for _, pattern := range []string{
			language.Test, language.NotTest, language.Assert, language.Strong, language.Weak, language.Lists, language.Shadow, language.Quiet,
			language.Asks, language.Environ, language.Catches, language.Ends, language.Badly, language.Program, language.Asked,
		} {
			compile(pattern)
		}
		if language.Ends != "" && (language.Badly == "" || language.Asked == "" || language.Program == "") {
			t.Errorf("%s: what ends a process wants Badly, Program and Asked", language.Name)
		}
		for _, m := range matchersOf(language.Rules) {
			t.Run(m.ID, func(t *testing.T) {
				kind := slices.IndexFunc(rules.Kinds, func(k rules.Kind) bool { return k.Name == m.Kind })
				switch {
				case seen[m.ID]:
					t.Error("another rule has this id")
				case kind < 0:
					t.Fatalf("no kind %q", m.Kind)
				case m.Caps && !rules.Kinds[kind].Caps && rules.Kinds[kind].Also == "":
					t.Errorf("it caps, and %s does not", m.Kind)
				case m.In == 0 || len(m.Match) == 0 || len(m.NoMatch) == 0:
					t.Error("it wants a place, lines that match and lines that do not")
				}
				seen[m.ID] = true
				finds := func(src string) bool {
					s := newSide(language.Name, src)
					m.prepare()
					in := (m.given == nil || m.given.MatchString(src)) && (m.unless == nil || !m.unless.MatchString(src))
					return in && slices.ContainsFunc(s.all(), func(i int) bool { return len(m.find(s, i)) > 0 })
				}
				for _, src := range m.Match {
					if !finds(src) {
						t.Errorf("it does not find %q", src)
					}
				}
				for _, src := range m.NoMatch {
					if finds(src) {
						t.Errorf("it finds %q", src)
					}
				}
			})
		}
	}
}
