// Numbers over all runs and fixes, as `stats` shows them.
package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
)

// Stats shows all numbers. recurring is the command that lists the failures that came back.
func (s *Screen) Stats(n fix.Stats, recurring string) {
	if n.Runs.Total == 0 {
		s.Line("No run is recorded here yet.")
		return
	}
	var b strings.Builder
	r := n.Runs
	s.numbers(&b, "Runs", r.Total,
		numbered{r.Passed, "passed"}, numbered{r.Failed, "failed"}, numbered{r.Interrupted, "interrupted"},
		numbered{r.Running, "running"},
		numbered{r.Unreadable, "not readable"})
	s.under(&b, "took "+took(r.WallClockMS)+" in all")
	if r.First != nil {
		s.under(&b, "the oldest is "+*r.First)
	}
	h := n.Healings
	s.numbers(&b, "Fixes", h.Total,
		numbered{h.Proposed, "proposed"}, numbered{h.NotReproduced, "not reproduced"}, numbered{h.Flaky, "flaky"},
		numbered{h.NoFix, "no fix"},
		numbered{h.Failed, "failed"}, numbered{h.Skipped, "skipped"}, numbered{h.Cancelled, "cancelled"},
		numbered{h.Interrupted, "interrupted"})
	if h.WallClockMS > 0 {
		s.under(&b, "took "+took(h.WallClockMS)+" in all, reproduction and verification included")
	}
	p := n.Proposals
	if h.Total > 0 {
		s.numbers(&b, "Proposals", p.Total,
			numbered{p.Verified, "verified"}, numbered{p.Suspect, "suspect"}, numbered{p.Unverified, "unverified"})
		room := s.wide() - statsColumn
		s.under(&b, parts(room, numbered{p.Applied, "applied"}, numbered{p.Open, "open"},
			numbered{p.Rejected, "rejected"},
			numbered{p.Reverted, "reverted"}, numbered{p.Superseded, "superseded"})...)
		s.under(&b, parts(room, numbered{p.Passed, "passed in a later run"}, numbered{p.Recurred, "came back"})...)
		if p.Recurred > 0 {
			s.under(&b, "which: "+recurring)
		}
	}
	if n.Total.Attempts+n.Total.Tasks > 0 {
		b.WriteString("\n")
		s.agents(&b, n)
	}
	if len(n.Kinds) > 0 {
		narrow := s.wide() < 55
		heads := pad("ENDED WITH", 24) + "  ATTEMPTS  TRIED AGAIN  HELPED"
		if narrow {
			heads = "ENDED WITH"
		}
		b.WriteString("\n" + s.paint(bold, heads) + "\n")
		for _, k := range n.Kinds {
			if narrow {
				b.WriteString(s.paragraph(k.Kind, "") +
					s.paragraph(fmt.Sprintf("%s, %d tried again, %d helped", english.Count(k.Attempts, "attempt"),
						k.Retried, k.Succeeded), "  "))
				continue
			}
			fmt.Fprintf(&b, "%s  %8d  %11d  %6d\n", pad(cut(Harmless(k.Kind), 24), 24), k.Attempts, k.Retried,
				k.Succeeded)
		}
	}
	s.put(b.String())
}

// numbered is a number and what it counts.
type numbered struct {
	n    int
	what string
}

// parts returns the numbers that are not 0, in lines of at most width columns.
func parts(width int, all ...numbered) []string {
	var lines []string
	line := ""
	for _, p := range all {
		if p.n == 0 {
			continue
		}
		text := fmt.Sprintf("%d %s", p.n, p.what)
		if line != "" && columns(line)+2+columns(text) > width {
			lines, line = append(lines, line+","), ""
		}
		if line != "" {
			text = line + ", " + text
		}
		line = text
	}
	if line == "" {
		return nil
	}
	return append(lines, line)
}

// numbers shows a total and its parts.
func (s *Screen) numbers(b *strings.Builder, title string, total int, of ...numbered) {
	b.WriteString(s.paint(bold, pad(title, statsColumn-6)) + fmt.Sprintf("%4d", total))
	lines := parts(s.wide()-statsColumn, of...)
	if lines == nil {
		b.WriteString("\n")
		return
	}
	b.WriteString("  " + lines[0] + "\n")
	s.under(b, lines[1:]...)
}

// statsColumn is the column where the words begin.
const statsColumn = 16

// under shows lines below numbers.
func (s *Screen) under(b *strings.Builder, lines ...string) {
	for _, line := range lines {
		b.WriteString(s.paragraph(line, strings.Repeat(" ", statsColumn)))
	}
}

// agents shows the table of agents, with a row for all of them where there are several.
func (s *Screen) agents(b *strings.Builder, n fix.Stats) {
	wide := len("AGENT")
	for _, a := range n.Agents {
		wide = max(wide, min(columns(Harmless(*a.Agent)), 18))
	}
	narrow := s.wide() < wide+62
	heads := pad("AGENT", wide) + "  ATTEMPTS  RETRIES  HELPED    TIME  TOKENS IN/OUT  COST"
	if narrow {
		heads = "AGENT"
	}
	b.WriteString(s.paint(bold, heads) + "\n")
	row := func(name string, a fix.AgentStats) {
		if narrow {
			b.WriteString(s.paragraph(name, "") +
				s.paragraph(fmt.Sprintf("%s, %d of them retries, %d helped; %s; tokens in/out %s; cost %s",
					english.Count(a.Attempts, "attempt"), a.Retries, a.RetriesSucceeded,
					took(a.WallClockMS), known(tokensOf(a.Tokens), a.TokensUnknown),
					known(cost(a.CostUSD), a.CostUnknown)), "  "))
			return
		}
		fmt.Fprintf(b, "%s  %8d  %7d  %6d  %6s  %-13s  %s\n", pad(cut(Harmless(name), wide), wide), a.Attempts,
			a.Retries, a.RetriesSucceeded,
			took(a.WallClockMS), known(tokensOf(a.Tokens), a.TokensUnknown), known(cost(a.CostUSD), a.CostUnknown))
	}
	for _, a := range n.Agents {
		row(*a.Agent, a)
	}
	if len(n.Agents) > 1 {
		row("all", n.Total)
	}
	if n.Total.Tasks > 0 {
		b.WriteString(s.aside("time, tokens and cost include " + english.Count(n.Total.Tasks, "agent task")))
	}
	if n.Total.TokensUnknown > 0 && n.Total.Tokens.Known() > 0 || n.Total.CostUnknown > 0 && n.Total.CostUSD != nil {
		b.WriteString(s.aside("+?: some did not report all they used"))
	}
}

// known marks a number that some did not report.
func known(text string, unknown int) string {
	if unknown > 0 && text != "unknown" {
		return text + "+?"
	}
	return text
}

func tokensOf(t fix.Tokens) string {
	if t.AtLeast != nil {
		return short(t.AtLeast)
	}
	if t.Input == nil && t.Output == nil {
		return "unknown"
	}
	return short(t.Input) + "/" + short(t.Output)
}

// short returns a number in few columns: 940, 12.3k, 4.5M.
func short(n *int64) string {
	switch {
	case n == nil:
		return "?"
	case *n < 1_000:
		return fmt.Sprint(*n)
	case *n < 999_950:
		return fmt.Sprintf("%.1fk", float64(*n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(*n)/1e6)
}

func took(ms int64) string { return Duration(time.Duration(ms) * time.Millisecond) }
