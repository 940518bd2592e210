// The names of failing tests.
package view

import (
	"fmt"
	"slices"
	"strings"
)

// mostFailing is how many lines the names of a task's failing tests take at most.
const mostFailing = 3

// Failing is the tests that the log of a task names as failing.
type Failing struct {
	Names     []string
	MayBeMore bool // only the end of the log was searched
}

// failingTests names the failing tests of a task.
func (s *Screen) failingTests(f Failing) string { return s.testNames("failing", f, mostFailing) }

// testNames names the first tests behind a label, in at most so many lines, and how many more there are.
func (s *Screen) testNames(label string, f Failing, lines int) string {
	const most = 3
	lead := "  " + pad(label, 9)
	if len(f.Names) == 0 {
		return ""
	}
	names := innermost(f.Names)
	room := s.wide() - len(lead)
	var shown []string
	for named := min(len(names), most); named > 0; named-- {
		words := make([]string, 0, named+1)
		for _, name := range names[:named] {
			words = append(words, cut(Harmless(name), room-1)+",")
		}
		words[named-1] = strings.TrimSuffix(words[named-1], ",")
		if more := andMore(len(names)-named, f.MayBeMore); more != "" {
			if named == 1 && lines == 1 {
				words[0] = cut(words[0], max(room-1-columns(more), 1))
			}
			words = append(words, more)
		}
		if shown = wrapWords(words, room); len(shown) <= lines {
			break
		}
	}
	return lead + strings.Join(shown, "\n"+strings.Repeat(" ", len(lead))) + "\n"
}

// innermost returns names without those that fail only because a test in them does: "cart" beside "cart > adds", TestCart
// beside TestCart/adds.
func innermost(names []string) []string {
	around := map[string]bool{}
	for _, name := range names {
		for _, between := range []string{" > ", "/"} {
			for at := 0; ; {
				i := strings.Index(name[at:], between)
				if i < 0 {
					break
				}
				around[name[:at+i]] = true
				at += i + len(between)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return around[name] })
}

// andMore returns how many names are left out; empty: none.
func andMore(n int, perhaps bool) string {
	switch {
	case n > 0 && perhaps:
		return fmt.Sprintf("… and at least %d more", n)
	case n > 0:
		return fmt.Sprintf("… and %d more", n)
	case perhaps:
		return "… and perhaps more"
	}
	return ""
}
