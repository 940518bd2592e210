// Numbers over all fixes of all runs: what was proposed, what became of it, what retries were good for, what it took.

package fix

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// Stats are numbers over everything that is recorded. What no attempt has said is nil, never 0; where only some have said
// it, Unknown counts the others.
type Stats struct {
	Runs      RunStats      `json:"runs"`
	Healings  HealingStats  `json:"healings"`
	Proposals ProposalStats `json:"proposals"`
	Total     AgentStats    `json:"total"`
	Agents    []AgentStats  `json:"agents"` // sorted by name
	Kinds     []KindStats   `json:"kinds"`  // the most frequent first
}

// RunStats count the runs; whoever reads their records fills them in.
type RunStats struct {
	Total       int   `json:"total"`
	Passed      int   `json:"passed"`
	Failed      int   `json:"failed"`
	Interrupted int   `json:"interrupted"` // also without a verdict
	Running     int   `json:"running"`
	Unreadable  int   `json:"unreadable"`
	WallClockMS int64 `json:"wall_clock_ms"` // of those with a verdict, together

	First *string `json:"first"` // id of the oldest run; nil: there is none
}

// HealingStats count the agent hooks by how they ended.
type HealingStats struct {
	Total         int   `json:"total"`
	Proposed      int   `json:"proposed"`
	Skipped       int   `json:"skipped"`
	NotReproduced int   `json:"not_reproduced"`
	Flaky         int   `json:"flaky"`
	NoFix         int   `json:"no_fix"`
	Failed        int   `json:"failed"`
	Cancelled     int   `json:"cancelled"`
	Interrupted   int   `json:"interrupted"`
	WallClockMS   int64 `json:"wall_clock_ms"` // of whole healings, from the copy to the verdict; where the journal does not say it, of agents and verification
}

// ProposalStats count the proposals by verdict, and by what became of them.
type ProposalStats struct {
	Total      int `json:"total"`
	Verified   int `json:"verified"`
	Suspect    int `json:"suspect"`
	Unverified int `json:"unverified"`

	Open       int `json:"open"`
	Applied    int `json:"applied"`
	Rejected   int `json:"rejected"`
	Superseded int `json:"superseded"`
	Reverted   int `json:"reverted"`

	Passed   int `json:"passed_since"` // of those that were applied: a later run passed the task
	Recurred int `json:"recurred"`     // of those that were applied: the same failure came back
}

// AgentStats are what the attempts of one agent took.
type AgentStats struct {
	Agent            *string  `json:"agent"` // nil: all together
	Attempts         int      `json:"attempts"`
	Retries          int      `json:"retries"`           // attempts after one that ended with an error kind, or whose patch did not verify
	RetriesSucceeded int      `json:"retries_succeeded"` // those that ended without the kind; those that made a better proposal
	Tokens           Tokens   `json:"tokens"`
	TokensUnknown    int      `json:"tokens_unknown"` // attempts that did not say all
	CostUSD          *float64 `json:"cost_usd"`
	CostUnknown      int      `json:"cost_unknown"`
	WallClockMS      int64    `json:"wall_clock_ms"`

	known int64 // tokens of which somebody said that they were used
	cut   bool  // of some it is known only how many there were at least
}

// KindStats are what became of attempts that ended with one error kind; or with none and a patch that another attempt was to
// better: the kind Unverified.
type KindStats struct {
	Kind      string `json:"kind"`
	Attempts  int    `json:"attempts"`  // that ended so
	Retried   int    `json:"retried"`   // those that another attempt followed
	Succeeded int    `json:"succeeded"` // those whose next attempt ended without an error kind; of Unverified: whose next one is proposed with a better verdict
}

// Unverified is how an attempt ended by itself whose patch did not verify, so that another attempt was made.
const Unverified = "unverified"

// Stats reads every fix once. ends is as for Follow; Runs is left to the caller. What cannot be read is in the errors and
// is not counted.
func (s *Store) Stats(ends []End) (Stats, []error) {
	c := counting{agents: map[string]*AgentStats{}, kinds: map[string]*KindStats{}}
	runs, errs := s.Runs()
	var proposals []Item
	for _, run := range runs {
		all, t, faults := s.healed(run)
		errs = append(errs, faults...)
		c.ended = t.sealedAt()
		counts := map[string]*Proposal{} // by task: the newest proposal
		for _, p := range all {
			c.healing(p)
			if old := counts[p.Task]; p.State == Proposed && (old == nil || newer(p, old)) {
				counts[p.Task] = p
			}
		}
		for _, p := range all {
			if p.State != Proposed {
				continue
			}
			it := p.item()
			if it.Disposition == Open && counts[p.Task] != p { // of an older version, which did not write it down
				it.Disposition = Superseded
			}
			proposals = append(proposals, it)
		}
	}
	Follow(proposals, ends)
	for i := range proposals {
		c.proposal(&proposals[i])
	}
	return c.done(), errs
}

// A counting is a Stats that is being added up.
type counting struct {
	Stats
	agents map[string]*AgentStats
	kinds  map[string]*KindStats
	ended  map[string]time.Time // when the healings of the run were sealed, by name
}

// sealedAt says when each healing of a run was sealed, as far as its journal can be read.
func (t *told) sealedAt() map[string]time.Time {
	if t == nil {
		return nil
	}
	at := map[string]time.Time{}
	for _, line := range t.lines {
		var l struct {
			At   time.Time `json:"at"`
			Type string    `json:"type"`
			Fix  string    `json:"fix"`
		}
		if json.Unmarshal(line, &l) == nil && l.Type == "sealed" {
			at[l.Fix] = l.At
		}
	}
	return at
}

// took is how long a healing took, in milliseconds.
func (c *counting) took(p *Proposal) int64 {
	began, err := time.Parse(time.RFC3339, p.CreatedAt)
	if end, ok := c.ended[p.Name]; ok && err == nil && !end.Before(began) {
		return end.Sub(began).Milliseconds()
	}
	if p.Budget != nil && p.Budget.Used.WallClockMS != nil {
		return *p.Budget.Used.WallClockMS
	}
	return 0
}

// healing adds one healing and its attempts.
func (c *counting) healing(p *Proposal) {
	h := &c.Healings
	h.Total++
	for state, n := range map[string]*int{
		Proposed: &h.Proposed, Skipped: &h.Skipped, NotReproduced: &h.NotReproduced, Flaky: &h.Flaky, NoFix: &h.NoFix,
		Failed: &h.Failed, Cancelled: &h.Cancelled, Interrupted: &h.Interrupted,
	} {
		if p.State == state {
			*n++
		}
	}
	h.WallClockMS += c.took(p)
	for i := range p.Attempts {
		a := &p.Attempts[i]
		of := c.agents[a.Agent]
		if of == nil {
			of = &AgentStats{Agent: &a.Agent}
			c.agents[a.Agent] = of
		}
		of.add(a)
		c.Total.add(a)
		if kind := p.endOf(i); kind != "" {
			c.kind(kind).Attempts++
		}
		was := before(p.Attempts, i)
		switch kind := p.endOf(was); kind {
		case "":
		case Unverified:
			c.retried(kind, of, i == len(p.Attempts)-1 && p.better())
		default:
			c.retried(kind, of, kindOf(a) == "")
		}
	}
}

// retried adds an attempt that followed one which ended with an error kind.
func (c *counting) retried(kind string, of *AgentStats, succeeded bool) {
	k := c.kind(kind)
	k.Retried++
	of.Retries++
	c.Total.Retries++
	if succeeded {
		k.Succeeded++
		of.RetriesSucceeded++
		c.Total.RetriesSucceeded++
	}
}

func (c *counting) kind(name string) *KindStats {
	k := c.kinds[name]
	if k == nil {
		k = &KindStats{Kind: name}
		c.kinds[name] = k
	}
	return k
}

// before is the index of the attempt that the i-th tries again: the one it names, else the one before it; -1 for none, as
// where another agent was asked instead.
func before(all []Attempt, i int) int {
	if n := all[i].RetryOf; n != nil {
		if j := slices.IndexFunc(all, func(a Attempt) bool { return a.Number == *n }); j >= 0 {
			return j
		}
	}
	if i > 0 && all[i-1].Decision != nil && all[i-1].Decision.Next == "fallback" {
		return -1
	}
	return i - 1
}

// endOf is how the i-th attempt ended: its error kind; Unverified, where it left a patch and another attempt was made all the
// same; else empty.
func (f *Fix) endOf(i int) string {
	if i < 0 {
		return ""
	}
	a := &f.Attempts[i]
	if kind := kindOf(a); kind != "" {
		return kind
	}
	if a.Rescue != nil && i < len(f.Attempts)-1 {
		return Unverified
	}
	return ""
}

// better says whether what is proposed is better than an attempt that did not verify.
func (f *Fix) better() bool {
	return f.State == Proposed && f.Verdict != nil && *f.Verdict != Unverified
}

func kindOf(a *Attempt) string {
	if a.Kind == nil {
		return ""
	}
	return *a.Kind
}

// add adds what one attempt took, and the question for its report.
func (s *AgentStats) add(a *Attempt) {
	s.Attempts++
	s.WallClockMS += a.DurationMS
	tokens, priced := []Tokens{a.Tokens}, a.CostUSD != nil
	sum(&s.CostUSD, a.CostUSD)
	sum(&s.CostUSD, a.CostAtLeast)
	if f := a.Finalizer; f != nil && f.Result != "skipped" {
		s.WallClockMS += f.DurationMS
		tokens, priced = append(tokens, f.Tokens), priced && f.CostUSD != nil
		sum(&s.CostUSD, f.CostUSD)
		sum(&s.CostUSD, f.CostAtLeast)
	}
	if !priced {
		s.CostUnknown++
	}
	silent := false
	for _, t := range tokens {
		silent = silent || t == (Tokens{}) || t.AtLeast != nil
		sum(&s.Tokens.Input, t.Input)
		sum(&s.Tokens.Output, t.Output)
		sum(&s.Tokens.Cached, t.Cached)
		s.known += t.Known()
		s.cut = s.cut || t.AtLeast != nil
	}
	if s.cut {
		s.Tokens.AtLeast = new(s.known)
	}
	if silent {
		s.TokensUnknown++
	}
}

// sum adds what is known.
func sum[N int64 | float64](to **N, n *N) {
	switch {
	case n == nil:
	case *to == nil:
		*to = new(*n)
	default:
		**to += *n
	}
}

// proposal adds one proposal.
func (c *counting) proposal(it *Item) {
	p := &c.Proposals
	p.Total++
	verdict := ""
	if it.Verdict != nil {
		verdict = *it.Verdict
	}
	for word, n := range map[string]*int{
		"verified": &p.Verified, "suspect": &p.Suspect, "unverified": &p.Unverified,
		Open: &p.Open, Applied: &p.Applied, Rejected: &p.Rejected, Superseded: &p.Superseded, Reverted: &p.Reverted,
	} {
		if word == verdict || word == it.Disposition {
			*n++
		}
	}
	if it.PassedIn != nil {
		p.Passed++
	}
	if len(it.RecurredIn) > 0 {
		p.Recurred++
	}
}

func (c *counting) done() Stats {
	c.Agents, c.Kinds = []AgentStats{}, []KindStats{}
	for _, a := range c.agents {
		c.Agents = append(c.Agents, *a)
	}
	slices.SortFunc(c.Agents, func(a, b AgentStats) int { return cmp.Compare(*a.Agent, *b.Agent) })
	for _, k := range c.kinds {
		c.Kinds = append(c.Kinds, *k)
	}
	slices.SortFunc(c.Kinds, func(a, b KindStats) int {
		return cmp.Or(cmp.Compare(b.Attempts, a.Attempts), cmp.Compare(a.Kind, b.Kind))
	})
	return c.Stats
}
