// Agent CLIs, as `agents list` shows them.
package view

import (
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
)

// An AgentCLI is a CLI that PIPELINE.hcl may name.
type AgentCLI struct {
	Name      string
	Installed bool
	Version   *string // nil: it does not tell
	Tested    string  // the version that the tests have
	SignedIn  bool
	Attempts  int // recorded ones
	Verified  int
	Last      string // how the last one ended; empty: there was none
}

// AgentCLIs lists them.
func (s *Screen) AgentCLIs(all []AgentCLI) {
	wide := 0
	for _, a := range all {
		wide = max(wide, columns(a.Name))
	}
	var b strings.Builder
	for _, a := range all {
		mark, colour, text := "-", dim, "not installed"
		if a.Installed {
			mark, colour = "✓", green
			switch {
			case a.Version == nil:
				mark, colour, text = "!", yellow, "it does not tell its version"
			case *a.Version == a.Tested:
				text = *a.Version
			default:
				mark, colour = "!", yellow
				text = *a.Version + " (" + a.Tested + " is tested)"
			}
		}
		if a.SignedIn {
			text += ", signed in"
		} else if a.Installed {
			text += ", no sign-in: needs api_key, or sign in with it"
		}
		if a.Attempts > 0 {
			text += fmt.Sprintf("; %s here, %d verified, the last: %s", english.Count(a.Attempts, "attempt"), a.Verified, a.Last)
		}
		b.WriteString(s.hanging(s.paint(colour, mark)+" "+pad(a.Name, wide)+"  ", Harmless(text)))
	}
	s.put(b.String())
}
