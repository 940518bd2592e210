package fix

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// Stats are numbers over all recorded runs and fixes. What no attempt reported is nil, never 0; where only some
// reported it, an Unknown field counts the others.
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

// HealingStats count the fixes by how they ended.
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
	WallClockMS   int64 `json:"wall_clock_ms"` // from copy to verdict; without a journal, of agents and verification
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

// AgentStats are what the attempts, the second opinions and the agent tasks of one agent took.
type AgentStats struct {
	Agent            *string  `json:"agent"` // nil: all together
	Attempts         int      `json:"attempts"`
	Opinions         int      `json:"second_opinions"`
	Tasks            int      `json:"tasks"`             // agent tasks that it did, well or not
	Retries          int      `json:"retries"`           // attempts after an error kind or a patch that did not verify
	RetriesSucceeded int      `json:"retries_succeeded"` // that ended without the kind, or made a better proposal
	Tokens           Tokens   `json:"tokens"`
	TokensUnknown    int      `json:"tokens_unknown"` // attempts, opinions and tasks that did not report all
	CostUSD          *float64 `json:"cost_usd"`
	CostUnknown      int      `json:"cost_unknown"`
	WallClockMS      int64    `json:"wall_clock_ms"`

	known int64 // tokens that were reported
	cut   bool  // some reported only how many there were at least
}

// KindStats tell what became of attempts that ended with one error kind. The kind Unverified has those that ended
// without an error kind, but with a patch that did not verify, so that another attempt was made.
type KindStats struct {
	Kind      string `json:"kind"`
	Attempts  int    `json:"attempts"`  // that ended so
	Retried   int    `json:"retried"`   // those that another attempt followed
	Succeeded int    `json:"succeeded"` // whose next attempt had no error kind; of Unverified: a better verdict
}

// Unverified is a kind of KindStats.
const Unverified = "unverified"

// An AgentTask is what one agent task of a run took.
type AgentTask struct {
	Agent       string
	DurationMS  int64
	Tokens      Tokens
	CostUSD     *float64
	CostAtLeast *float64
}

// Stats counts all fixes, and agent tasks. ends is as for Follow. The caller sets Runs. The errors name what cannot be
// read and is not counted.
func (s *Store) Stats(ends []End, tasks ...AgentTask) (Stats, []error) {
	c := counting{agents: map[string]*AgentStats{}, kinds: map[string]*KindStats{}}
	runs, errs := s.Runs()
	var proposals []Item
	for _, run := range runs {
		all, j, faults := s.ended(run)
		errs = append(errs, faults...)
		c.ended = j.sealedAt()
		counts := map[string]*Proposal{} // by task: the newest proposal
		for _, p := range all {
			c.fix(p)
			if old := counts[p.Task]; p.State == Proposed && (old == nil || newer(p, old)) {
				counts[p.Task] = p
			}
		}
		for _, p := range all {
			if p.State != Proposed {
				continue
			}
			it := p.item()
			if it.Disposition == Open && counts[p.Task] != p { // of an older version, which did not record it
				it.Disposition = Superseded
			}
			proposals = append(proposals, it)
		}
	}
	Follow(proposals, ends)
	for i := range proposals {
		c.proposal(&proposals[i])
	}
	for _, t := range tasks {
		for _, of := range []*AgentStats{c.agent(t.Agent), &c.Total} {
			of.Tasks++
			of.spend([]turn{{t.DurationMS, t.Tokens, t.CostUSD, t.CostAtLeast}})
		}
	}
	return c.done(), errs
}

// A counting adds up Stats.
type counting struct {
	Stats
	agents map[string]*AgentStats
	kinds  map[string]*KindStats
	ended  map[string]time.Time // when the fixes of the run were sealed, by name
}

// sealedAt returns when each fix was sealed, by name, as far as the journal can be read.
func (j *runJournal) sealedAt() map[string]time.Time {
	if j == nil {
		return nil
	}
	at := map[string]time.Time{}
	for _, line := range j.lines {
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

// took returns how long a fix took, in milliseconds.
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

// fix adds one fix and its attempts.
func (c *counting) fix(p *Proposal) {
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
	if o := p.Opinion; o != nil && o.Result != "skipped" {
		for _, s := range []*AgentStats{c.agent(o.Agent), &c.Total} {
			s.Opinions++
			s.spend([]turn{{o.DurationMS, o.Tokens, o.CostUSD, o.CostAtLeast}})
		}
	}
	for i := range p.Attempts {
		a := &p.Attempts[i]
		of := c.agent(a.Agent)
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
			c.retried(kind, of, known(a.Kind) == "")
		}
	}
}

func (c *counting) agent(name string) *AgentStats {
	if c.agents[name] == nil {
		c.agents[name] = &AgentStats{Agent: &name}
	}
	return c.agents[name]
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

// before returns the index of the attempt that the i-th retries: the one it names, else the one before it. -1: none,
// as where another agent was asked instead.
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

// endOf returns how the i-th attempt ended: its error kind; Unverified, if it left a patch and another attempt was
// made; or "".
func (f *Fix) endOf(i int) string {
	if i < 0 {
		return ""
	}
	a := &f.Attempts[i]
	if kind := known(a.Kind); kind != "" {
		return kind
	}
	if a.Rescue != nil && i < len(f.Attempts)-1 {
		return Unverified
	}
	return ""
}

// better reports whether what is proposed is better than an attempt that did not verify.
func (f *Fix) better() bool {
	return f.State == Proposed && f.Verdict != nil && *f.Verdict != Unverified
}

// add adds what one attempt took, with its finalizer.
func (s *AgentStats) add(a *Attempt) {
	s.Attempts++
	turns := []turn{{a.DurationMS, a.Tokens, a.CostUSD, a.CostAtLeast}}
	if f := a.Finalizer; f != nil && f.Result != "skipped" {
		turns = append(turns, turn{f.DurationMS, f.Tokens, f.CostUSD, f.CostAtLeast})
	}
	s.spend(turns)
}

// A turn is what one turn with an agent took.
type turn struct {
	ms            int64
	tokens        Tokens
	cost, atLeast *float64
}

// spend adds the turns of one attempt, or of one second opinion.
func (s *AgentStats) spend(turns []turn) {
	priced, silent := true, false
	for _, part := range turns {
		t := part.tokens
		s.WallClockMS += part.ms
		priced = priced && part.cost != nil
		sum(&s.CostUSD, part.cost)
		sum(&s.CostUSD, part.atLeast)
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
	if !priced {
		s.CostUnknown++
	}
	if silent {
		s.TokensUnknown++
	}
}

// sum adds n to *to, if it is known.
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
	for word, n := range map[string]*int{
		"verified": &p.Verified, "suspect": &p.Suspect, "unverified": &p.Unverified,
		Open: &p.Open, Applied: &p.Applied, Rejected: &p.Rejected, Superseded: &p.Superseded, Reverted: &p.Reverted,
	} {
		if word == known(it.Verdict) || word == it.Disposition {
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
