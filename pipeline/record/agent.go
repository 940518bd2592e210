package record

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/journal"
)

// An Agent is what is recorded of a task that an agent does, besides. The names of its fields are those of an attempt
// of a fix; nil is not known. Of a task that the cache answered only Agent, Patch, Answer and Files are known: the run
// that made the result has the rest.
type Agent struct {
	Agent      string  `json:"agent"`
	CLI        *string `json:"cli"`
	CLIVersion *string `json:"cli_version"`
	Model      *string `json:"model"`
	Kind       *string `json:"kind"` // of its failure; nil: it ended well
	Class      *string `json:"class"`
	Evidence   *string `json:"evidence"`

	Turns       *int          `json:"turns"`
	Requests    *int          `json:"requests"`
	Tokens      AgentTokens   `json:"tokens"`
	CostUSD     *float64      `json:"cost_usd"`
	CostAtLeast *float64      `json:"cost_usd_at_least,omitempty"` // what is known of the cost, where a part of it is unknown
	Metered     *bool         `json:"metered,omitempty"`           // false: a CLI asked its provider itself, and only it knows what it used
	DurationMS  *int64        `json:"duration_ms"`                 // of the agent alone
	Commands    AgentCommands `json:"commands"`
	Given       *AgentGiven   `json:"given,omitempty"` // nil: nothing of the person's but what every agent gets
	OutOfMemory bool          `json:"out_of_memory,omitempty"`
	Limit       AgentLimit    `json:"limit"`

	Patch   *AgentPatch    `json:"patch"`   // nil: it changed nothing that a patch can hold
	Omitted []AgentOmitted `json:"omitted"` // what it changed and the patch does not hold
	Answer  *AgentFile     `json:"answer"`  // as it was written to stdout_to, relative to the root; nil: it was not
	Files   []AgentFile    `json:"files"`   // what is kept of it in the run's folder, the patch and the transcript too
	Note    *string        `json:"note"`    // caps of the budget that were not enforced, what could not be removed
}

// AgentTokens counts tokens. AtLeast is of input and output together, where a part of them is unknown.
type AgentTokens struct {
	Input   *int64 `json:"input"`
	Output  *int64 `json:"output"`
	Cached  *int64 `json:"cached"`
	AtLeast *int64 `json:"at_least,omitempty"`
}

// AgentCommands counts the commands of an agent of our own.
type AgentCommands struct {
	Allowed *int `json:"allowed"`
	Refused *int `json:"refused"`
}

// AgentGiven names what an agent's program got of the person's. It holds no values.
type AgentGiven struct {
	Variables []string `json:"variables"`
	Files     []string `json:"files"`
}

// AgentLimit is the budget. Nil is no cap.
type AgentLimit struct {
	WallClockMS *int64   `json:"wall_clock_ms"`
	Tokens      *int64   `json:"tokens"`
	CostUSD     *float64 `json:"cost_usd"`
}

// AgentPatch is what an agent changed in its copy.
type AgentPatch struct {
	AgentFile
	Changed int `json:"changed"` // files
}

// AgentOmitted is a path, and why no patch can hold it.
type AgentOmitted struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// AgentFile is a file as it was when the task had ended.
type AgentFile struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"`
}

// File returns the kept file with that path, or nil.
func (a *Agent) File(path string) *AgentFile {
	if i := slices.IndexFunc(a.Files, func(f AgentFile) bool { return f.Path == path }); i >= 0 {
		return &a.Files[i]
	}
	return nil
}

// auditAgent compares the files of an agent task with run.json.
func (s *Sealed) auditAgent(r *journal.Report, t *Task) {
	if t.Agent == nil {
		return
	}
	who := fmt.Sprintf("agent of task %q in run.json", t.Name)
	for _, f := range t.Agent.Files {
		if path := filepath.FromSlash(f.Path); !filepath.IsLocal(path) || filepath.Dir(path) == "." {
			r.Fault("run.json", who, "a path below agents", f.Path)
			continue
		}
		r.Digest(f.Path, who, f.Bytes, f.Digest)
	}
	if p := t.Agent.Patch; p != nil && (t.Agent.File(p.Path) == nil || *t.Agent.File(p.Path) != p.AgentFile) {
		r.Fault("run.json", who, "the patch among its files", p.Path)
	}
}

// agent cleans the free text of an agent task.
func (c cleaner) agent(a *Agent) *Agent {
	if a == nil {
		return nil
	}
	clean := *a
	clean.CLIVersion, clean.Model, clean.Evidence, clean.Note =
		c.optional(a.CLIVersion), c.optional(a.Model), c.optional(a.Evidence), c.optional(a.Note)
	clean.Omitted = append([]AgentOmitted{}, a.Omitted...)
	for i := range clean.Omitted {
		clean.Omitted[i].Path = c.text(a.Omitted[i].Path)
	}
	clean.Files = append([]AgentFile{}, a.Files...)
	return &clean
}
