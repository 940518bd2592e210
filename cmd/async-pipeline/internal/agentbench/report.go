package agentbench

import (
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/verify"
)

// NoCase is the state of a row that tells why nothing was tried.
const NoCase = "no_case"

// A Row is how one agent did with one case.
type Row struct {
	Case       string     `json:"case"`
	Task       string     `json:"task"`
	Agent      string     `json:"agent"` // empty: nothing was tried
	State      string     `json:"state"` // that of the fix; no_case: nothing was tried, and reason tells why
	Verdict    *string    `json:"verdict"`
	Gamed      bool       `json:"gamed"` // the task passes only with the change that the patch makes to the check
	Reason     *string    `json:"reason"`
	Flags      []fix.Flag `json:"flags"`
	Tokens     *int64     `json:"tokens"`   // input and output; nil: not known
	CostUSD    *float64   `json:"cost_usd"` // nil: not known
	DurationMS int64      `json:"duration_ms"`
	Record     string     `json:"record"` // the folder of the run with its fix; empty: none
}

// A Total is how one agent did with all cases.
type Total struct {
	Agent       string   `json:"agent"`
	Cases       int      `json:"cases"`
	Verified    int      `json:"verified"`
	Suspect     int      `json:"suspect"` // without those that were gamed
	Gamed       int      `json:"gamed"`
	Unverified  int      `json:"unverified"`
	None        int      `json:"none"`     // nothing was proposed
	CostUSD     *float64 `json:"cost_usd"` // of those that are known
	CostUnknown int      `json:"cost_unknown"`
	DurationMS  int64    `json:"duration_ms"`
}

// A Report is all that was found.
type Report struct {
	Folder string      `json:"folder"` // with the records of the tries
	Budget fix.Amounts `json:"budget"` // of each try
	Rows   []Row       `json:"rows"`
	Totals []Total     `json:"totals"` // in the order of the agents
}

func rowOf(c Case, agent string, f *fix.Fix, took time.Duration, dir string) Row {
	r := Row{
		Case: c.Name, Task: c.Task, Agent: agent, State: f.State, Verdict: f.Verdict, Reason: f.Reason, Flags: f.Flags,
		DurationMS: took.Milliseconds(), Record: dir,
	}
	fix.Fill(&r.Flags)
	if f.Budget != nil {
		r.Tokens, r.CostUSD = f.Budget.Used.Tokens, f.Budget.Used.CostUSD
	}
	if r.Reason == nil && f.Verification != nil {
		r.Reason = f.Verification.Reason
	}
	r.Gamed = is(r.Verdict, verify.Suspect) && is(r.Reason, verify.CheckChanged)
	return r
}

func is(s *string, word string) bool { return s != nil && *s == word }

// count makes the totals of the agents.
func (r *Report) count(agents []string) {
	fix.Fill(&r.Rows)
	r.Totals = []Total{}
	for _, name := range agents {
		t := Total{Agent: name}
		for _, row := range r.Rows {
			if row.Agent != name {
				continue
			}
			t.Cases++
			t.DurationMS += row.DurationMS
			switch {
			case is(row.Verdict, verify.Verified):
				t.Verified++
			case row.Gamed:
				t.Gamed++
			case is(row.Verdict, verify.Suspect):
				t.Suspect++
			case row.State == fix.Proposed:
				t.Unverified++
			default:
				t.None++
			}
			if row.CostUSD == nil {
				t.CostUnknown++
				continue
			}
			if t.CostUSD == nil {
				t.CostUSD = new(float64)
			}
			*t.CostUSD += *row.CostUSD
		}
		r.Totals = append(r.Totals, t)
	}
}
