// Package fix is the record of a fix, and how to find it. It reads; only what people do with a fix (AddState) and
// the journal of the hooks are written here. Package draft makes fixes, package apply writes them to the tree,
// package audit checks them.
//
// Fixes are in two folders below .async. <name> is the task's name, escaped by internal/filename; a later fix of the
// same task in the same run is <name>@2, @3 …. Hash chains are those of internal/journal.
//
//	runs/<run>/fixes/
//	  events.jsonl               journal of the hooks, a hash chain; its first line holds the digest of run.json, a line
//	                             "packed" that of a context pack, a line "sealed" that of each <name>.json; a line
//	                             "decided" goes with each line of a <name>.state.jsonl; events.jsonl.end tells where
//	                             it ends
//	  <name>.json                the fix: written last, fsynced, never changed. It is the commit point
//	  <name>.patch               the proposed fix, a unified diff; <name>.json holds its digest
//	  <name>.transcript.jsonl    what the agent said and did: {seq, at, attempt, type, …}
//	  <name>.state.jsonl         what people did with it: {seq, at, by, to, files, accepted, prev}; a hash chain that
//	                             begins with the digest of <name>.json; <name>.state.jsonl.end tells where it ends
//	  <name>/draft.json          who is making it; the maker holds a lock on it. Removed after <name>.json is written
//	  <name>/attempt-<n>.copy.json  where each attempt works and who does: for the record of a fix whose maker was killed.
//	                             Removed with draft.json
//	  <name>/attempt-<n>.patch   rescue: what each attempt left
//	  <name>/attempt-<n>.redacted.patch  the same of files that hold a secret, without it: to be read, not to be applied
//	  <name>/attempt-<n>.raw.jsonl  what the agent's program printed, bounded
//	  <name>/<check>.log         output of a check, bounded: the tail is kept
//	  <name>/base.json, base/<hex>  what the copy held before the agent, and contents that git cannot give back
//	  <name>/applied/<hex>       contents that an apply removed or made and nothing else gives back: for a revert
//	agents/ beside fixes/        of tasks that an agent does; run.json names the files of those that have ended
//	  <name>.patch               what the agent changed in its copy; never applied by us
//	  <name>.redacted.patch      the same of files that hold a secret, without it: to be read, not to be applied
//	  <name>.transcript.jsonl    what the agent said and did: {seq, at, attempt, type, …}
//	  <name>.raw.jsonl           what its program printed, bounded
//	  <name>.files/              what it left that a patch cannot hold
//	  <name>/draft.json          who is making them; the maker holds a lock on it. Removed last, with its folder
//	imported.json beside fixes/  the run was made elsewhere: {at, by, from, run_digest, digest}
//	hooks.json beside fixes/     the hooks have a journal: {journal, run_digest}; written after its first line. Runs of
//	                             older versions have none; where it is, a missing fixes/ is noticed
//	apply/
//	  lock                       held (flock) while somebody applies; never deleted
//	  originals/<n>              what the files held
//	  journal.json               what is being written and where; while it is there, an apply is under way
//	kept/<id>/…                  originals of files that somebody edited between a crash and its recovery
//
// No folder of these is read or written through a link: a repository can bring one along. A fix counts only beside
// the run.json whose digest it names, and records that git tracks are never applied.
//
// A folder <name> with draft.json and without <name>.json is a fix that was interrupted, if nobody holds the lock.
// An apply whose journal is there and whose lock is free was interrupted; apply.Tree.Recover settles it. Fixes are
// removed with their run; kept/ is the person's to delete.
package fix

import (
	"errors"

	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// SchemaVersion is the format of records; a newer one is refused.
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
	Open       = "open"       // nobody decided, or only some of its files are applied
	Applied    = "applied"    // every file is
	Rejected   = "rejected"   // by a person
	Superseded = "superseded" // a later fix took its place
	Reverted   = "reverted"   // it was applied, and undone
	None       = "none"       // nothing was proposed
)

// Errors to test for.
var (
	ErrNone      = errors.New("no such fix")
	ErrAmbiguous = errors.New("more than one fix is meant")
	ErrDamaged   = errors.New("the record of a fix is damaged")
)

// A Fix is <name>.json: what was proposed, and the evidence. A field that is nil is not known.
type Fix struct {
	SchemaVersion int     `json:"schema_version"`
	Run           string  `json:"run"`
	RunDigest     string  `json:"run_digest"`
	Task          string  `json:"task"`
	Fingerprint   *string `json:"fingerprint"` // of the failure (testreport.Fingerprint); nil: an older version
	Reason        *string `json:"reason"`      // why State is what it is: a code, perhaps ": " and words
	Kind          *string `json:"kind"`        // error kind of the last attempt
	Advice        *string `json:"advice"`      // what a person can do about Kind or State; nil where only another attempt can help
	ResumeAt      *string `json:"resume_at"`   // when an agent said it can go on, later than the budget could wait
	Note          *string `json:"note"`
	CreatedAt     string  `json:"created_at"`

	State   string  `json:"state"`   // skipped|not_reproduced|flaky|no_fix|failed|cancelled|interrupted|proposed
	Verdict *string `json:"verdict"` // verified|suspect|unverified|null
	Control *string `json:"control"` // ok|recovered|missing; null when no agent worked

	AgentSaid    *Said          `json:"agent_said"`
	Base         *Base          `json:"base"`
	Copies       *Copies        `json:"copies"` // nil: none was made, or by a version that did not say
	Tree         *Tree          `json:"tree"`
	Patch        *PatchRef      `json:"patch"`
	Omitted      []tree.Omitted `json:"omitted"`
	Flags        []Flag         `json:"flags"`
	Reproduction *Reproduction  `json:"reproduction"`
	Verification *Verification  `json:"verification"`
	Attempts     []Attempt      `json:"attempts"`
	Opinion      *Opinion       `json:"second_opinion"` // nil: none was asked for
	Budget       *Budget        `json:"budget"`
	Provenance   *Provenance    `json:"provenance"` // nil: made by a version that recorded none
}

// Said is what the agent said of its work.
type Said struct {
	Outcome   string  `json:"outcome"`
	Summary   string  `json:"summary"`
	RootCause *string `json:"root_cause"`
}

// A Base is what the copies were made from.
type Base struct {
	Tree     string  `json:"tree"` // digest
	Commit   *string `json:"commit"`
	Complete bool    `json:"complete"`
	Sub      *string `json:"sub"` // the pipeline's folder relative to git's top, where patch paths begin

	DurationMS *int64 `json:"duration_ms"` // to copy the tree and to store what git cannot give back
}

// Copies tells how the copies of the base were made.
type Copies struct {
	Made       string  `json:"made"`        // overlay|plain|both
	Why        *string `json:"why"`         // why some are plain; nil: none is
	DurationMS int64   `json:"duration_ms"` // to make, read and remove them and the build caches of their checks
}

// A Tree tells whether the user's tree changed while the fix was made.
type Tree struct {
	Before  string   `json:"before"`
	After   string   `json:"after"`
	Changed []string `json:"changed"`
}

// A PatchRef is the proposed patch.
type PatchRef struct {
	Path   string      `json:"path"` // relative to the run's folder
	Digest string      `json:"digest"`
	Bytes  int64       `json:"bytes"`
	Files  []PatchFile `json:"files"`
}

// A PatchFile is one file of the patch.
type PatchFile struct {
	Path    string `json:"path"`
	Change  string `json:"change"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`

	// What Apply compares the tree with; nil where the path is absent. PathBytes is the path if it is not UTF-8.
	Before    *Content `json:"before"`
	After     *Content `json:"after"`
	PathBytes []byte   `json:"path_b64,omitempty"`
}

// A Content is what a path holds.
type Content struct {
	Mode   string `json:"mode"` // 100644 | 100755 | 120000, as git writes them
	Bytes  int64  `json:"size_bytes"`
	Digest string `json:"digest"` // of a symlink: of its text
}

// A Flag is one finding of the review.
type Flag struct {
	ID     string  `json:"id"`
	Rule   string  `json:"rule"`
	Caps   bool    `json:"caps"`
	Path   *string `json:"path"`
	Line   *int    `json:"line"`
	Detail string  `json:"detail"`
}

// A Reproduction is what came of running the failed task in a copy.
type Reproduction struct {
	Result    string `json:"result"` // same|different|passed|flaky
	Runs      int    `json:"runs"`
	Signature struct {
		Run  string  `json:"run"`
		Copy *string `json:"copy"`
	} `json:"signature"`
	DurationMS *int64 `json:"duration_ms"` // of all runs, without their copies
	// Processors is how many processors the check kept busy on average; nil: not known.
	Processors *float64 `json:"processors,omitempty"`
	// Ignored are paths that git ignores: the task passes in a copy without them and fails with them.
	Ignored []string `json:"ignored,omitempty"`
	// Ahead are dependencies of the task that had to run in the copy before it.
	Ahead []string `json:"ahead,omitempty"`
	// Core are the tests that failed in the run and in every copy, by which the fix is judged; Others failed in some of
	// them. Ran is how many tests ran where the fewest did, by test runner. All are absent where the same tests failed
	// in the run and in the copy.
	Core   []string       `json:"core,omitempty"`
	Others []OtherTest    `json:"others,omitempty"`
	Ran    map[string]int `json:"ran,omitempty"`
}

// Why a test failed in some copies, or in the run, and not in all.
const (
	OfChance      = "flaky"
	OfEnvironment = "environment" // it differs between the run and the copies: the machine, or chance
)

// An OtherTest failed in the run or in a copy of a reproduction, and not in all of them.
type OtherTest struct {
	Test   string `json:"test"`
	Why    string `json:"why"` // flaky|environment
	Run    bool   `json:"failed_in_run"`
	Copies int    `json:"failed_in_copies"` // how many of the runs of the Reproduction
	Times  int    `json:"times,omitempty"`  // how many tests of that name failed in one of them; 0 for one
}

// TestResults are the names of tests that a patch changes, as far as the check tells them.
type TestResults struct {
	Fixed     []string `json:"fixed,omitempty"`     // of the core
	Failing   []string `json:"failing,omitempty"`   // of the core, still
	Unchanged []string `json:"unchanged,omitempty"` // no part of the core; failed before and fail still
	Broken    []string `json:"broken,omitempty"`    // had not failed before
	Flaky     []string `json:"flaky,omitempty"`     // had not failed before, and failed in one try of two
}

// A Verification is what came of running checks with the patch in fresh copies.
type Verification struct {
	Proposed       []Check `json:"proposed"`
	OriginalChecks []Check `json:"original_checks"`
	Reason         *string `json:"reason"`
	// Note qualifies the verdict verified: a code, ": ", words. other_failures_unchanged|flaky_tests; nil: nothing does.
	Note       *string      `json:"note,omitempty"`
	Tests      *TestResults `json:"tests,omitempty"` // nil: as Reason says; the same tests failed before, and all pass
	DurationMS *int64       `json:"duration_ms"`     // of all checks and the review, without their copies
	// The first check of OriginalChecks ran while that of Proposed did.
	SideBySide bool `json:"side_by_side,omitempty"`
}

// A Check is one run of a task in a copy.
type Check struct {
	Task       string  `json:"task"`
	Passed     bool    `json:"passed"`
	ExitCode   *int    `json:"exit_code"`
	DurationMS *int64  `json:"duration_ms"`
	Log        *string `json:"log"` // relative to the run's folder
	// The runner was asked by name for tests, in this copy: for those that had failed, or for all, to see that none was
	// left out.
	ByName bool `json:"by_name,omitempty"`
	// It failed, but by tests that had failed before and are no part of the core, or that passed in another try.
	CorePassed bool `json:"core_passed,omitempty"`
	// Command is what it ran, where the patch makes that another command than it was.
	Command string `json:"command,omitempty"`
}

// An Attempt is the work of one agent in one copy.
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
	Rescue     *string  `json:"rescue"`  // relative to the run's folder; nil: nothing changed
	Verdict    *string  `json:"verdict"` // of its patch: verified|suspect|unverified; nil: it was not verified
	StartedAt  string   `json:"started_at"`
	DurationMS int64    `json:"duration_ms,omitzero"` // of the agent alone; 0: not known, async-pipeline was killed
	Turns      *int     `json:"turns"`
	Tokens     Tokens   `json:"tokens"`
	CostUSD    *float64 `json:"cost_usd"`
	Requests   *int     `json:"requests"`
	Sandbox    string   `json:"sandbox"`
	Commands   Commands `json:"commands"`          // of the native agent only
	Metered    *bool    `json:"metered,omitempty"` // false: a CLI asked its provider itself, and only it knows what it used

	CostAtLeast *float64 `json:"cost_usd_at_least,omitempty"` // what is known of the cost, where a part of it is unknown
	Given       *Given   `json:"given,omitempty"`             // nil: nothing of the person's but what every agent gets
	OutOfMemory bool     `json:"out_of_memory,omitempty"`     // the kernel ended it, because there was not enough memory

	VerificationMS *int64 `json:"verification_ms"` // of its patch; nil: it was not verified

	// What was decided after an attempt that failed; nil: nothing.
	Decision *Decision `json:"decision"`
	// The question after a turn without a control object; nil: none was needed.
	Finalizer *Finalizer `json:"finalizer"`
}

// Given names what an agent's program got of the person's, because PIPELINE.hcl says so. It holds no values.
type Given struct {
	Variables []string `json:"variables"`
	Files     []string `json:"files"` // "~/…"
}

// A Decision is what followed a failed attempt, and what came of that.
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
	Kind       *string  `json:"kind"`   // error kind of a turn that failed
	Edited     bool     `json:"edited"` // it changed files, which were thrown away
	DurationMS int64    `json:"duration_ms"`
	Tokens     Tokens   `json:"tokens"`
	CostUSD    *float64 `json:"cost_usd"`

	CostAtLeast *float64 `json:"cost_usd_at_least,omitempty"` // as an Attempt's
	Requests    *int     `json:"requests,omitempty"`          // that it sent to a provider; nil: not known
}

// An Opinion is what another agent held against a patch that had passed its checks. It can turn the verdict verified
// into suspect, and nothing else.
type Opinion struct {
	Agent  string  `json:"agent"`
	Model  *string `json:"model"`
	Same   bool    `json:"same_as_author"` // the agent, or the model of both, is that of the patch
	Result string  `json:"result"`         // answered|invalid|failed|skipped
	Reason *string `json:"reason"`         // why it did not answer
	Kind   *string `json:"kind"`           // error kind of a turn that failed

	Concerns   []Concern `json:"concerns"`
	DurationMS int64     `json:"duration_ms"`
	Tokens     Tokens    `json:"tokens"`
	CostUSD    *float64  `json:"cost_usd"`

	CostAtLeast *float64 `json:"cost_usd_at_least,omitempty"` // as an Attempt's
}

// A Concern is one thing that an Opinion holds against a patch.
type Concern struct {
	Kind  string  `json:"kind"` // special_case|weakened_check|hides_error|unsafe|wrong_cause|unrelated_change|other
	Caps  bool    `json:"caps"`
	Path  *string `json:"path"` // of the patch
	Line  *int    `json:"line"`
	Words string  `json:"words"`
	Flag  string  `json:"flag"` // id of the flag that was made of it
}

// Tokens are what a model reported.
type Tokens struct {
	Input  *int64 `json:"input"`
	Output *int64 `json:"output"`
	Cached *int64 `json:"cached"`

	AtLeast *int64 `json:"at_least,omitempty"` // input and output together, where a part of them is unknown
}

// Known returns how many tokens were used at least, input and output together; 0 where none were reported.
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

// Commands are how many commands the agent ran with its tool, and how many its policy refused.
type Commands struct {
	Allowed *int `json:"allowed"`
	Refused *int `json:"refused"`
}

// Amounts are parts of a budget.
type Amounts struct {
	Attempts    *int     `json:"attempts"`
	WallClockMS *int64   `json:"wall_clock_ms"`
	Tokens      *int64   `json:"tokens"`
	CostUSD     *float64 `json:"cost_usd"`

	// What is known of what was used, where a part of it is not.
	TokensAtLeast *int64   `json:"tokens_at_least,omitempty"`
	CostAtLeast   *float64 `json:"cost_usd_at_least,omitempty"`
}

// A Budget is what a fix might use and what it used.
type Budget struct {
	Limit Amounts `json:"limit"`
	Used  Amounts `json:"used"`
}

// FillLists makes empty lists of missing ones: readers of JSON see [] and never null.
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
	if f.Opinion != nil {
		Fill(&f.Opinion.Concerns)
	}
	if f.Verification != nil {
		Fill(&f.Verification.Proposed)
		Fill(&f.Verification.OriginalChecks)
	}
}

// OrNull returns nil for an empty text: null is what is not known.
func OrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Fill makes an empty list of a missing one.
func Fill[T any](list *[]T) {
	if *list == nil {
		*list = []T{}
	}
}
