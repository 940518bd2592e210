// Package fix is what was proposed, its review, and the only way a repair reaches the user's tree.
//
// It owns two places below .async. <name> is the task's name, escaped as internal/filename has it; a later healing of the
// same failure is <name>@2, @3 …. Hash chains are as internal/journal has them.
//
//	runs/<run>/fixes/
//	  events.jsonl               journal of the hooks, a hash chain; its first line holds the digest of run.json, a line
//	                             "packed" that of a context pack, and a line "sealed" that of each <name>.json; a line
//	                             "decided" tells of each line of a <name>.state.jsonl. events.jsonl.end says where it ends
//	  <name>.json                the fix: written last, fsynced, never changed. Its being there is the commit point
//	  <name>.patch               the proposal, a unified diff; <name>.json holds its digest
//	  <name>.transcript.jsonl    what the agent said and did: {seq, at, attempt, type, …}
//	  <name>.state.jsonl         what people did with it: {seq, at, by, to, files, accepted, prev}; a hash chain anchored in <name>.json;
//	                             <name>.state.jsonl.end says where it ends
//	  <name>/draft.json          who is at work; its maker holds a lock on it until it ends. Goes when <name>.json is written
//	  <name>/attempt-<n>.patch   rescue: what each attempt left
//	  <name>/attempt-<n>.redacted.patch  the same of files that hold a secret, without it: to be read, not to be applied
//	  <name>/attempt-<n>.raw.jsonl  what the agent's program printed, bounded
//	  <name>/<check>.log         output of a check, bounded: the tail is kept
//	  <name>/base.json, base/<hex>  what the copy held before the agent, and contents that git cannot give back
//	  <name>/applied/<hex>       contents that an apply took away or made and nothing else gives back: for a revert
//	imported.json beside fixes/  the run was made elsewhere: {at, by, from, run_digest, digest}
//	hooks.json beside fixes/     the hooks have a journal: {journal, run_digest}; written after its first line. Runs of older versions
//	                             have none; where it is, a fixes/ that is gone is missed
//	apply/
//	  lock                       held (flock) while somebody applies; never deleted
//	  originals/<n>              what the files held
//	  journal.json               what is being written and where; its being there means that an apply is under way
//	kept/<id>/…                  originals of files that somebody edited between a crash and its repair
//
// No folder of these is followed through a link, for reading or writing: a repository can hold one. A fix counts only
// beside the run.json whose digest it names, and records that git tracks are never applied.
//
// A folder <name> with draft.json and without <name>.json is a healing that was interrupted, if nobody holds the lock.
// An apply whose journal is there and whose lock is free was interrupted; Recover settles it. Fixes go with their run;
// kept/ is the person's to delete. Nothing here is read from PIPELINE.hcl.
package fix

import (
	"errors"

	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// SchemaVersion of what this room writes; a newer one is refused by name.
const SchemaVersion = 1

// States of a fix.
const (
	Skipped       = "skipped"
	NotReproduced = "not_reproduced"
	Flaky         = "flaky"
	NoFix         = "no_fix"
	Failed        = "failed"
	Cancelled     = "cancelled"
	Interrupted   = "interrupted"
	Proposed      = "proposed"
)

// Dispositions: what people did with a fix.
const (
	Open       = "open"       // proposed, and nobody decided yet, or only some of its files are in the tree
	Applied    = "applied"    // in the tree, every file of it
	Rejected   = "rejected"   // a person said no
	Superseded = "superseded" // a later one took its place
	Reverted   = "reverted"   // it was applied, and undone
	None       = "none"       // there is no proposal to decide on
)

// Errors to test for.
var (
	ErrNone      = errors.New("no such fix")
	ErrAmbiguous = errors.New("more than one fix is meant")
	ErrDamaged   = errors.New("the record of a fix is damaged")
)

// A Fix is fixes/<task>.json: the proposal and its evidence, written last, never changed.
type Fix struct {
	SchemaVersion int     `json:"schema_version"`
	Run           string  `json:"run"`
	RunDigest     string  `json:"run_digest"`
	Task          string  `json:"task"`
	Fingerprint   *string `json:"fingerprint"` // of the failure (testreport.Fingerprint); null in what older versions wrote
	Reason        *string `json:"reason"`      // why State is what it is, a word and perhaps words after ": "
	Kind          *string `json:"kind"`        // error kind of the last attempt
	Advice        *string `json:"advice"`      // what a person can do about Kind; null where only another try can help
	ResumeAt      *string `json:"resume_at"`   // when an agent said it can go on, later than the budget could wait
	Note          *string `json:"note"`
	CreatedAt     string  `json:"created_at"`

	State   string  `json:"state"`   // skipped|not_reproduced|flaky|no_fix|failed|cancelled|interrupted|proposed
	Verdict *string `json:"verdict"` // verified|suspect|unverified|null
	Control *string `json:"control"` // ok|recovered|missing; null when no agent worked

	AgentSaid    *Said          `json:"agent_said"`
	Base         *Base          `json:"base"`
	Tree         *Tree          `json:"tree"`
	Patch        *PatchRef      `json:"patch"`
	Omitted      []tree.Omitted `json:"omitted"`
	Flags        []Flag         `json:"flags"`
	Reproduction *Reproduction  `json:"reproduction"`
	Verification *Verification  `json:"verification"`
	Attempts     []Attempt      `json:"attempts"`
	Budget       *Budget        `json:"budget"`
	Provenance   *Provenance    `json:"provenance"` // null: made by a version that recorded none
}

type Said struct {
	Outcome   string  `json:"outcome"`
	Summary   string  `json:"summary"`
	RootCause *string `json:"root_cause"`
}
type Base struct {
	Tree     string  `json:"tree"` // digest
	Commit   *string `json:"commit"`
	Complete bool    `json:"complete"`
	Sub      *string `json:"sub"` // the root relative to where patch paths start (git's top), slash-separated; "." when they are one
}
type Tree struct {
	Before  string   `json:"before"`
	After   string   `json:"after"`
	Changed []string `json:"changed"`
}
type PatchRef struct {
	Path   string      `json:"path"` // relative to the run's folder
	Digest string      `json:"digest"`
	Bytes  int64       `json:"bytes"`
	Files  []PatchFile `json:"files"`
}
type PatchFile struct {
	Path    string `json:"path"`
	Change  string `json:"change"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`

	// What Apply compares the tree with; nil where the path is absent. PathBytes is the path when it is not UTF-8.
	Before    *Content `json:"before"`
	After     *Content `json:"after"`
	PathBytes []byte   `json:"path_b64,omitempty"`
}

// Content says what a path holds.
type Content struct {
	Mode   string `json:"mode"` // 100644 | 100755 | 120000, as git writes them
	Bytes  int64  `json:"size_bytes"`
	Digest string `json:"digest"` // of a symlink: of its text
}
type Flag struct {
	ID     string  `json:"id"`
	Rule   string  `json:"rule"`
	Caps   bool    `json:"caps"`
	Path   *string `json:"path"`
	Line   *int    `json:"line"`
	Detail string  `json:"detail"`
}
type Reproduction struct {
	Result    string `json:"result"` // same|different|passed|flaky
	Runs      int    `json:"runs"`
	Signature struct {
		Run  string  `json:"run"`
		Copy *string `json:"copy"`
	} `json:"signature"`
}
type Verification struct {
	Proposed       []Check `json:"proposed"`
	OriginalChecks []Check `json:"original_checks"`
	Reason         *string `json:"reason"`
}
type Check struct {
	Task       string  `json:"task"`
	Passed     bool    `json:"passed"`
	ExitCode   *int    `json:"exit_code"`
	DurationMS *int64  `json:"duration_ms"`
	Log        *string `json:"log"` // relative to the run's folder
	// It ran in the copy in which go test was asked by name for the tests that had failed: what asked, or a task before it.
	ByName bool `json:"by_name,omitempty"`
}
type Attempt struct {
	Number     int      `json:"number"`
	Agent      string   `json:"agent"`
	CLI        *string  `json:"cli"`
	CLIVersion *string  `json:"cli_version"`
	Model      *string  `json:"model"`
	Kind       *string  `json:"kind"`
	Class      *string  `json:"class"`
	Evidence   *string  `json:"evidence"`
	RetryOf    *int     `json:"retry_of"`
	ExitCode   *int     `json:"exit_code"`
	Rescue     *string  `json:"rescue"`  // relative to the run's folder; null: nothing changed
	Verdict    *string  `json:"verdict"` // verified|suspect|unverified: what the verification of its patch said; null: there was none
	StartedAt  string   `json:"started_at"`
	DurationMS int64    `json:"duration_ms"`
	Turns      *int     `json:"turns"`
	Tokens     Tokens   `json:"tokens"`
	CostUSD    *float64 `json:"cost_usd"`
	Requests   *int     `json:"requests"`
	Sandbox    string   `json:"sandbox"`
	Commands   Commands `json:"commands"` // that the agent ran with its tool, and that its policy refused; null: nobody counts them

	CostAtLeast *float64 `json:"cost_usd_at_least,omitempty"` // what is known of the cost, where a part of it is unknown

	// What was decided after a failure that left nothing; null when there was nothing to decide.
	Decision *Decision `json:"decision"`
	// The question after a turn that ended without a control object; null when none was needed.
	Finalizer *Finalizer `json:"finalizer"`
}

// A Decision is what followed a failed attempt, and what came of it.
type Decision struct {
	Next    string `json:"next"` // retry|wait|fallback|stop
	DelayMS int64  `json:"delay_ms"`
	Why     string `json:"why"`
	Outcome string `json:"outcome"` // recovered|same_kind|other_kind|not_tried

	// When the agent says it can go on, where that was too late for the budget.
	ResumeAt *string `json:"resume_at"`
}

// A Finalizer is the one question that asks for a control object.
type Finalizer struct {
	Result     string   `json:"result"` // recovered|invalid|failed|skipped
	Reason     *string  `json:"reason"`
	Kind       *string  `json:"kind"`   // of a turn that failed
	Edited     bool     `json:"edited"` // it changed files, which were thrown away
	DurationMS int64    `json:"duration_ms"`
	Tokens     Tokens   `json:"tokens"`
	CostUSD    *float64 `json:"cost_usd"`

	CostAtLeast *float64 `json:"cost_usd_at_least,omitempty"` // as an Attempt's
}
type Tokens struct {
	Input  *int64 `json:"input"`
	Output *int64 `json:"output"`
	Cached *int64 `json:"cached"`

	AtLeast *int64 `json:"at_least,omitempty"` // input and output together, where a part of them is unknown
}

// Known is how many tokens were used at least, input and output together; 0 where nobody said.
func (t Tokens) Known() int64 {
	var n int64
	for _, part := range []*int64{t.Input, t.Output} {
		if part != nil {
			n += *part
		}
	}
	if t.AtLeast != nil {
		n = max(n, *t.AtLeast)
	}
	return n
}

type Commands struct {
	Allowed *int `json:"allowed"`
	Refused *int `json:"refused"`
}
type Amounts struct {
	Attempts    *int     `json:"attempts"`
	WallClockMS *int64   `json:"wall_clock_ms"`
	Tokens      *int64   `json:"tokens"`
	CostUSD     *float64 `json:"cost_usd"`

	// What is known of them, where a part of it is unknown; of what was used only.
	TokensAtLeast *int64   `json:"tokens_at_least,omitempty"`
	CostAtLeast   *float64 `json:"cost_usd_at_least,omitempty"`
}
type Budget struct {
	Limit Amounts `json:"limit"`
	Used  Amounts `json:"used"`
}

// fillLists makes empty lists of missing ones: readers see [] and never null.
func FillLists(f *Fix) {
	Fill(&f.Omitted)
	Fill(&f.Flags)
	Fill(&f.Attempts)
	if f.Tree != nil {
		Fill(&f.Tree.Changed)
	}
	if f.Patch != nil {
		Fill(&f.Patch.Files)
	}
	if f.Verification != nil {
		Fill(&f.Verification.Proposed)
		Fill(&f.Verification.OriginalChecks)
	}
}

func Fill[T any](list *[]T) {
	if *list == nil {
		*list = []T{}
	}
}
