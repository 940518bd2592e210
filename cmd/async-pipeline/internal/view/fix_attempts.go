// The attempts at a fix: which agent, how each ended, what followed, and what it cost.
package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// attempts lists the attempts and what they used of the budget.
func (s *Screen) attempts(f *fix.Fix, dir string) string {
	var b strings.Builder
	for i := range f.Attempts {
		s.attempt(&b, f, i, dir)
	}
	if f.Opinion != nil {
		b.WriteString(s.opinion(f.Opinion))
	}
	if f.Budget != nil {
		s.used(&b, f)
	}
	b.WriteString(s.times(f))
	return b.String()
}

// times shows what the fix took its time for. The record of an older version does not tell.
func (s *Screen) times(f *fix.Fix) string {
	if f.Copies == nil {
		return ""
	}
	agents, checks, copies := int64(0), int64(0), f.Copies.DurationMS
	for _, a := range f.Attempts {
		agents += a.DurationMS
		if a.Finalizer != nil {
			agents += a.Finalizer.DurationMS
		}
		checks += orZero(a.VerificationMS)
	}
	if f.Opinion != nil {
		agents += f.Opinion.DurationMS
	}
	if f.Reproduction != nil {
		checks += orZero(f.Reproduction.DurationMS)
	}
	if f.Base != nil {
		copies += orZero(f.Base.DurationMS)
	}
	text := s.paragraph(fmt.Sprintf("time: agent %s · checks %s · copies %s", took(agents), took(checks),
		took(copies)), "  ")
	if f.Copies.Made == "plain" && f.Copies.Why != nil && f.Provenance != nil && f.Provenance.Sandbox != nil &&
		value(f.Provenance.Sandbox.Tier) == "view" {
		text += s.paragraph("copies are made in full, no overlay can be had: "+*f.Copies.Why, "  ")
	}
	return text
}

// orZero returns a time in milliseconds; 0: it is not known.
func orZero(ms *int64) int64 {
	if ms == nil {
		return 0
	}
	return *ms
}

const attemptIndent = "     "

func (s *Screen) attempt(b *strings.Builder, f *fix.Fix, i int, dir string) {
	a := &f.Attempts[i]
	who := a.Agent
	if a.Model != nil && *a.Model != "" {
		who += " (" + *a.Model + ")"
	}
	parts := []string{who}
	if a.CLI != nil {
		parts = append(parts, strings.TrimSpace(*a.CLI+" "+value(a.CLIVersion)))
	}
	if a.RetryOf != nil {
		parts = append(parts, fmt.Sprintf("retry of %d", *a.RetryOf))
	}
	parts = append(parts, "sandbox "+a.Sandbox)
	if a.DurationMS > 0 {
		parts = append(parts, took(a.DurationMS))
	}
	switch {
	case a.Turns != nil && a.Requests != nil && *a.Requests != *a.Turns: // some were asked again
		parts = append(parts, english.Count(*a.Turns, "turn")+" in "+english.Count(*a.Requests, "request"))
	case a.Turns != nil:
		parts = append(parts, english.Count(*a.Turns, "turn"))
	}
	b.WriteString(s.hanging(fmt.Sprintf("  %d. ", a.Number), strings.Join(parts, ", ")))
	say := func(text string) { b.WriteString(s.paragraph(strings.Join(strings.Fields(text), " "), attemptIndent)) }
	path := func(text, path string) { b.WriteString(s.named(attemptIndent, text, joined(dir, path))) }

	say(endOf(f, a))
	thrown := i < len(f.Attempts)-1 && a.Rescue != nil
	switch {
	case a.Verdict != nil && thrown && *a.Verdict == fix.Unverified:
		path("its patch: unverified, not used; kept in", *a.Rescue)
	case a.Verdict != nil:
		say("its patch: " + *a.Verdict)
	case thrown: // as a version recorded it that did not say the verdict of each
		path("its patch was not verified and not used; kept in", *a.Rescue)
	}
	if log := attemptLog(f, a.Number); thrown && log != "" && (a.Verdict == nil || *a.Verdict == fix.Unverified) {
		path("output of the task with it", log)
	}
	if c := a.Commands; c.Allowed != nil && c.Refused != nil && *c.Allowed+*c.Refused > 0 {
		say(fmt.Sprintf("%s run, %d refused", english.Count(*c.Allowed, "command"), *c.Refused))
	}
	if g := a.Given; g != nil {
		say("it was given " + english.List(slices.Concat(g.Variables, g.Files), len(g.Variables)+len(g.Files)) + " of yours")
	}
	say(spent(a.Tokens, a.CostUSD, a.CostAtLeast))
	if a.Metered != nil && !*a.Metered {
		say("not metered: " + value(a.CLI) + " used its own sign-in, and says itself what it used")
	}
	if a.Finalizer != nil {
		say(askedAgain(a.Finalizer))
	}
	if a.Decision != nil {
		say(followed(f, i))
	}
}

// opinion shows what came of asking another agent about the patch.
func (s *Screen) opinion(o *fix.Opinion) string {
	who := "second opinion: " + o.Agent
	if value(o.Model) != "" {
		who += " (" + *o.Model + ")"
	}
	if o.Same {
		who += ", as the patch"
	}
	if o.DurationMS > 0 {
		who += ", " + took(o.DurationMS)
	}
	said := map[string]string{
		"skipped": "not asked", "failed": "did not answer", "invalid": "its answer cannot be read",
	}[o.Result]
	switch {
	case said != "":
		said += ": " + value(o.Reason)
	case len(o.Concerns) == 0:
		said = "it has no concern"
	default:
		said = english.Count(len(o.Concerns), "concern") + ", see the flags"
	}
	text := s.hanging("  ", who) + s.paragraph(strings.Join(strings.Fields(said), " "), attemptIndent)
	if o.Result == "skipped" {
		return text
	}
	return text + s.paragraph(spent(o.Tokens, o.CostUSD, o.CostAtLeast), attemptIndent)
}

// endOf returns how an attempt ended. The reason of the whole fix is not repeated.
func endOf(f *fix.Fix, a *fix.Attempt) string {
	kind, evidence := value(a.Kind), value(a.Evidence)
	switch {
	case kind == "" && evidence == "" && f.State == fix.Interrupted:
		return "ended; what came of it is not recorded"
	case kind == "" && evidence == "":
		return "ended normally"
	case kind == "" || evidence == "":
		return cmp.Or(kind, evidence)
	case f.State != fix.Proposed && len(evidence) > 60 && value(f.Reason) == kind+": "+evidence:
		return kind + ", see above"
	}
	return kind + ": " + evidence
}

// askedAgain returns what came of asking for the report.
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
		return "no report; it was not asked for" + why
	case "recovered":
		text = "the report came when asked for"
	case "invalid":
		text = "asked for its report, the agent gave none that can be read" + why
	case "failed":
		text = "asking for its report failed" + why
	default:
		text = "asked for its report: " + q.Result + why
	}
	if q.Edited {
		text += "; its further changes were discarded"
	}
	return text + "; " + took(q.DurationMS) + ", " + spent(q.Tokens, q.CostUSD, q.CostAtLeast)
}

// followed returns what was decided after an attempt that failed and left nothing, and how that ended.
func followed(f *fix.Fix, i int) string {
	d := f.Attempts[i].Decision
	var next, came string
	switch d.Next {
	case "retry", "wait":
		next = "retried"
		if d.DelayMS > 0 {
			next += " after " + took(d.DelayMS)
		}
	case "fallback":
		next = "the next agent was asked"
		if i+1 < len(f.Attempts) {
			next = "agent " + f.Attempts[i+1].Agent + " was asked"
		}
	case "stop":
		next = "no retry"
	default:
		next = d.Next
	}
	if d.Next != "stop" {
		switch d.Outcome {
		case "recovered":
			came = "; it helped"
		case "same_kind":
			came = "; it failed the same way"
		case "other_kind":
			came = "; it failed in another way"
			if i+1 < len(f.Attempts) && value(f.Attempts[i+1].Kind) == string(failure.Cancelled) {
				came = "; it was interrupted"
			}
		case "not_tried":
			came = "; not done any more"
		}
	}
	text := "then: " + next
	if why := strings.TrimSuffix(d.Why, "; the next agent is asked"); why != "" {
		text += " (" + why + ")"
	}
	text += came
	if d.ResumeAt != nil {
		text += "; " + f.Attempts[i].Agent + " can continue at " + *d.ResumeAt
	}
	return text
}

// spent returns the tokens and the cost, as far as they are known.
func spent(t fix.Tokens, c, atLeast *float64) string {
	paid := cost(c)
	if c == nil && atLeast != nil {
		paid = "at least " + cost(atLeast)
	} else if t == (fix.Tokens{}) && c == nil {
		return "tokens and cost unknown"
	}
	return "tokens " + tokens(t) + "; cost " + paid
}

// used shows what all attempts took of the budget.
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
		b.WriteString(s.paragraph("(a retry after a failure that left nothing does not count as an attempt)", "  "))
	}
}

// knownOf adds up the tokens and the cost that attempts reported.
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
	if o := f.Opinion; o != nil {
		add(o.Tokens, o.CostUSD, o.CostAtLeast)
	}
	return n, usd
}

// attemptLog returns the log of the failed task with the patch of one attempt; empty where the record names none.
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

// of returns "used of limit", or used where there is no limit.
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

// thousands returns a number with a comma before every three digits.
func thousands(n int64) string {
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// cost returns an amount in dollars, below a cent with two significant digits.
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
