package tools

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/policy"
)

// mostNamed is how much of what a call is about Describe shows, in bytes.
const mostNamed = 50

// Describe returns in few words, for a person, what calls do: "reads src/a.go, edits 2 files".
func Describe(calls []model.Call) string {
	about := map[string][]string{} // by tool
	var order []string
	for _, c := range calls {
		if !slices.Contains(order, c.Name) {
			order = append(order, c.Name)
		}
		if s := subject(c); s != "" && !slices.Contains(about[c.Name], s) {
			about[c.Name] = append(about[c.Name], s)
		}
	}
	all := declarations(false, false)
	var parts []string
	for _, name := range order {
		i := slices.IndexFunc(all, func(d declared) bool { return d.name == name })
		if i < 0 {
			parts = append(parts, "calls "+SafeName(name)+", which does not exist")
			continue
		}
		part := all[i].verb
		switch subjects := about[name]; len(subjects) {
		case 0:
		case 1:
			part += " " + subjects[0]
		default:
			part += " " + english.Count(len(subjects), all[i].noun)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// subject returns what a call is about, on one line: a path, a pattern or a command.
func subject(c model.Call) string {
	var given struct {
		Path, Pattern string
		Argv          []string
	}
	if json.Unmarshal(c.Args, &given) != nil {
		return ""
	}
	s := PlainName(given.Path)
	switch {
	case len(given.Argv) > 0:
		s = policy.Show(given.Argv)
	case given.Pattern != "":
		s = policy.Show([]string{given.Pattern})
	}
	if len(s) > mostNamed {
		s = strings.ToValidUTF8(s[:mostNamed], "") + "…"
	}
	return s
}
