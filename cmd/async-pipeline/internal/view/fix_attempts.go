// What was tried to make a fix: who worked and how it ended, what was thrown away, what followed, and what all of it cost.
package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

// attempts lists the tries, one below the other, and what they used of the budget.
func (s *Screen) attempts(f *fix.Fix, dir string) string {
	var b strings.Builder
	for i := range f.Attempts {
		s.attempt(&b, f, i, dir)
	}
	if f.Budget != nil {
		s.used(&b, f)
	}
	return b.String()
}

const attemptIndent = "     "

func (s *Screen) attempt(b *strings.Builder, f *fix.Fix, i int, dir string) {
	a := &f.Attempts[i]
	who := a.Agent
	if a.Model != nil && *a.Model != "" {
		who += " (" + *a.Model + ")"
	}
	parts := []string{who}
	if a.RetryOf != nil {
		parts = append(parts, fmt.Sprintf("once more after %d", *a.RetryOf))
	}
	parts = append(parts, "sandbox "+a.Sandbox, took(a.DurationMS))
	switch {
	case a.Turns != nil && a.Requests != nil && *a.Requests != *a.Turns: // some were asked again
		parts = append(parts, count(*a.Turns, "turn")+" in "+count(*a.Requests, "request"))
	case a.Turns != nil:
		parts = append(parts, count(*a.Turns, "turn"))
	}
	lead := fmt.Sprintf("  %d. ", a.Number)
	for j, line := range Wrap(Harmless(strings.Join(parts, ", ")), s.wide()-len(lead)) {
		if j > 0 {
			lead = strings.Repeat(" ", len(lead))
		}
		b.WriteString(lead + line + "\n")
	}
	say := func(text string) { b.WriteString(s.paragraph(strings.Join(strings.Fields(text), " "), attemptIndent)) }
	path := func(text, path string) { b.WriteString(s.named(attemptIndent, text, joined(dir, path))) }

	say(endOf(f, a))
	thrown := i < len(f.Attempts)-1 && a.Rescue != nil
	switch {
	case a.Verdict != nil && thrown && *a.Verdict == fix.Unverified:
		path("its patch: unverified, and not taken; kept in", *a.Rescue)
	case a.Verdict != nil:
		say("its patch: " + *a.Verdict)
	case thrown: // as a version recorded it that did not say the verdict of each
		path("its patch did not verify and was not taken; kept in", *a.Rescue)
	}
	if log := attemptLog(f, a.Number); thrown && log != "" && (a.Verdict == nil || *a.Verdict == fix.Unverified) {
		path("with it the task printed", log)
	}
	if c := a.Commands; c.Allowed != nil && c.Refused != nil && *c.Allowed+*c.Refused > 0 {
		say(fmt.Sprintf("%s run, %d refused", count(*c.Allowed, "command"), *c.Refused))
	}
	say(spent(a.Tokens, a.CostUSD, a.CostAtLeast))
	if a.Finalizer != nil {
		say(askedAgain(a.Finalizer))
	}
	if a.Decision != nil {
		say(followed(f, i))
	}
}

// endOf is how an attempt ended. What was said above as the reason is not said twice.
func endOf(f *fix.Fix, a *fix.Attempt) string {
	kind, evidence := value(a.Kind), value(a.Evidence)
	switch {
	case kind == "" && evidence == "":
		return "ended by itself"
	case kind == "" || evidence == "":
		return cmp.Or(kind, evidence)
	case f.State != fix.Proposed && len(evidence) > 60 && value(f.Reason) == kind+": "+evidence:
		return kind + ", as said above"
	}
	return kind + ": " + evidence
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// askedAgain is what came of the question for a report.
func askedAgain(q *fix.Finalizer) string {
	why := value(q.Reason)
	if kind := value(q.Kind); kind != "" {
		why = strings.TrimSuffix(kind+": "+why, ": ")
	}
	if why != "" {
		why = " (" + why + ")"
	}
	var text string
	switch q.Result {
	case "skipped":
		return "it ended without its report, and was not asked for it" + why
	case "recovered":
		text = "it was asked once for its report, which came"
	case "invalid":
		text = "it was asked once for its report, and gave none that can be read" + why
	case "failed":
		text = "it was asked once for its report, which failed" + why
	default:
		text = "it was asked once for its report: " + q.Result + why
	}
	if q.Edited {
		text += "; what it changed then was thrown away"
	}
	return text + "; " + took(q.DurationMS) + ", " + spent(q.Tokens, q.CostUSD, q.CostAtLeast)
}

// followed is what was decided after an attempt that failed and left nothing, and what came of it.
func followed(f *fix.Fix, i int) string {
	d := f.Attempts[i].Decision
	var next, came string
	switch d.Next {
	case "retry", "wait":
		next = "tried once more"
		if d.DelayMS > 0 {
			next += " after " + took(d.DelayMS)
		}
	case "fallback":
		next = "the next agent was asked"
		if i+1 < len(f.Attempts) {
			next = "agent " + f.Attempts[i+1].Agent + " was asked"
		}
	case "stop":
		next = "no further try"
	default:
		next = d.Next
	}
	if d.Next != "stop" {
		switch d.Outcome {
		case "recovered":
			came = "; that helped"
		case "same_kind":
			came = "; that failed the same way"
		case "other_kind":
			came = "; that failed in another way"
		case "not_tried":
			came = "; that was not done any more"
		}
	}
	text := "then: " + next
	if why := strings.TrimSuffix(d.Why, "; the next agent is asked"); why != "" {
		text += " (" + why + ")"
	}
	text += came
	if d.ResumeAt != nil {
		text += "; " + f.Attempts[i].Agent + " can go on at " + *d.ResumeAt
	}
	return text
}

// spent is what was used of what costs money, as far as it was said.
func spent(t fix.Tokens, c, atLeast *float64) string {
	paid := cost(c)
	if c == nil && atLeast != nil {
		paid = "at least " + cost(atLeast)
	} else if t == (fix.Tokens{}) && c == nil {
		return "tokens and cost unknown"
	}
	return "tokens " + tokens(t) + "; cost " + paid
}

// used is what all of it took, beside the limits.
func (s *Screen) used(b *strings.Builder, f *fix.Fix) {
	u, l := f.Budget.Used, f.Budget.Limit
	least, dollars := knownOf(f)
	used, paid := number64(u.Tokens), cost(u.CostUSD)
	if u.Tokens == nil && least > 0 {
		used = "at least " + thousands(least)
	}
	if u.CostUSD == nil && dollars > 0 {
		paid = "at least " + cost(&dollars)
	}
	parts := []string{
		"used: attempts " + of(number(u.Attempts), number(l.Attempts)) + " ·",
		"wall clock " + of(ms(u.WallClockMS), ms(l.WallClockMS)) + " ·",
		"tokens " + of(used, number64(l.Tokens)) + " ·",
		"cost " + of(paid, cost(l.CostUSD)),
	}
	if len(f.Attempts) == 0 { // nobody worked, and nothing was spent
		parts = []string{parts[0], strings.TrimSuffix(parts[1], " ·")}
	}
	if slices.ContainsFunc(parts, func(p string) bool { return columns(p)+2 > s.wide() }) {
		parts = strings.Fields(strings.Join(parts, " "))
	}
	for _, line := range wrapWords(parts, s.wide()-2) {
		b.WriteString("  " + line + "\n")
	}
	again := slices.ContainsFunc(f.Attempts, func(a fix.Attempt) bool { return a.Decision != nil && a.Decision.Next != "stop" })
	if again && u.Attempts != nil && *u.Attempts < len(f.Attempts) {
		b.WriteString(s.paragraph("(what follows a try that failed and left nothing is no further attempt of the budget)", "  "))
	}
}

// knownOf adds up what attempts said of tokens and cost.
func knownOf(f *fix.Fix) (n int64, usd float64) {
	add := func(t fix.Tokens, c, atLeast *float64) {
		n += t.Known()
		if c = cmp.Or(c, atLeast); c != nil {
			usd += *c
		}
	}
	for i := range f.Attempts {
		a := &f.Attempts[i]
		add(a.Tokens, a.CostUSD, a.CostAtLeast)
		if a.Finalizer != nil {
			add(a.Finalizer.Tokens, a.Finalizer.CostUSD, a.Finalizer.CostAtLeast)
		}
	}
	return n, usd
}

// attemptLog is the log of the failed task with the patch of one attempt, as the record names it; empty where it does not.
func attemptLog(f *fix.Fix, n int) string {
	if f.Provenance == nil {
		return ""
	}
	for _, e := range f.Provenance.Files {
		if strings.HasSuffix(e.Path, fmt.Sprintf("/verify-%d-proposed-%s.log", n, f.Task)) {
			return e.Path
		}
	}
	return ""
}

// of is "used of limit"; a limit that is not there is left out.
func of(used, limit string) string {
	if limit == "unknown" || limit == "?" {
		return used
	}
	return used + " of " + limit
}

func number(n *int) string {
	if n == nil {
		return "unknown"
	}
	return fmt.Sprint(*n)
}

func number64(n *int64) string {
	if n == nil {
		return "unknown"
	}
	return thousands(*n)
}

// thousands is a number with a comma before every three digits.
func thousands(n int64) string {
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// cost is an amount in dollars; of what is less than a cent, the first two digits that are not 0.
func cost(c *float64) string {
	switch {
	case c == nil:
		return "unknown"
	case *c <= 0 || *c >= 0.0095:
		return fmt.Sprintf("$%.2f", *c)
	}
	return fmt.Sprintf("$%.*f", min(int(-math.Floor(math.Log10(*c)))+1, 8), *c)
}

func tokens(t fix.Tokens) string {
	if t.AtLeast != nil && (t.Input == nil || t.Output == nil) {
		return "at least " + thousands(t.Known())
	}
	if t.Input == nil && t.Output == nil {
		return "unknown"
	}
	text := number64(t.Input) + " in, " + number64(t.Output) + " out"
	if t.Cached != nil && *t.Cached > 0 {
		text += ", " + thousands(*t.Cached) + " cached"
	}
	return text
}
