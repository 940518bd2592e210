// Agents compared, as `agents bench` shows them.
package view

import (
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A BenchRow is how one agent did with one case.
type BenchRow struct {
	Case       string
	Agent      string // empty: nothing was tried, and Why tells the reason
	Result     string // the verdict, or the state of a fix without one
	Gamed      bool
	Why        string
	CostUSD    *float64
	DurationMS int64
}

// A BenchTotal is how one agent did with all cases.
type BenchTotal struct {
	Agent       string
	Cases       int
	Verified    int
	Suspect     int
	Gamed       int
	Unverified  int
	None        int
	CostUSD     *float64
	CostUnknown int
	DurationMS  int64
}

// BenchStarted shows what is about to be tried.
func (s *Screen) BenchStarted(cases int, agents []string, b pipeline.Budget) {
	text := fmt.Sprintf("%s for %s; each try has %s and %s", english.Count(cases, "case"), english.List(agents, 6),
		english.Count(b.Attempts, "attempt"), Duration(b.WallClock))
	if b.Tokens > 0 {
		text += ", " + thousands(b.Tokens) + " tokens"
	}
	if b.CostUSD > 0 {
		text += ", " + cost(&b.CostUSD)
	}
	s.put(s.paragraph(Harmless(text), "") + "\n")
}

// BenchRow shows how a try ended.
func (s *Screen) BenchRow(r BenchRow) {
	if r.Agent == "" {
		s.put(s.hanging(s.paint(yellow, "-")+" ", Harmless(r.Case+": not tried: "+r.Why)))
		return
	}
	mark, colour := "✗", red
	switch r.Result {
	case "verified":
		mark, colour = "✓", green
	case "suspect", "unverified":
		mark, colour = "!", yellow
	}
	what := r.Result
	if r.Gamed {
		what = "gamed"
	}
	if r.Why != "" {
		what += " (" + r.Why + ")"
	}
	s.put(s.hanging(s.paint(colour, mark)+" ", Harmless(fmt.Sprintf("%s, %s: %s; %s, cost %s", r.Case, r.Agent, what,
		took(r.DurationMS), cost(r.CostUSD)))))
}

// BenchTotals shows the table of agents, and where the records are.
func (s *Screen) BenchTotals(totals []BenchTotal, folder string) {
	wide := len("AGENT")
	for _, t := range totals {
		wide = max(wide, min(columns(Harmless(t.Agent)), 18))
	}
	narrow := s.wide() < wide+60
	heads := pad("AGENT", wide) + "  CASES  VERIFIED  SUSPECT  GAMED  OTHER    TIME  COST"
	if narrow {
		heads = "AGENT"
	}
	var b strings.Builder
	b.WriteString("\n" + s.paint(bold, heads) + "\n")
	for _, t := range totals {
		other, paid := t.Unverified+t.None, known(cost(t.CostUSD), t.CostUnknown)
		if narrow {
			b.WriteString(s.paragraph(Harmless(t.Agent), "") + s.paragraph(fmt.Sprintf(
				"%s: %d verified, %d suspect, %d gamed, %d other; %s, cost %s", english.Count(t.Cases, "case"),
				t.Verified, t.Suspect, t.Gamed, other, took(t.DurationMS), paid), "  "))
			continue
		}
		fmt.Fprintf(&b, "%s  %5d  %8d  %7d  %5d  %5d  %6s  %s\n", pad(cut(Harmless(t.Agent), wide), wide), t.Cases,
			t.Verified, t.Suspect, t.Gamed, other, took(t.DurationMS), paid)
	}
	b.WriteString("\n" + s.about(folder, "records and patches of all tries"))
	s.put(b.String())
}
