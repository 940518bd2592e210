package agent

// How a turn fails: the kinds, what class each is, and whether one more try is deserved.

import (
	"slices"
	"strconv"
	"strings"
)

// A Kind says how a turn failed. The empty Kind: the agent ended by itself.
type Kind string

// A Class decides what may follow a Kind.
type Class string

// The classes.
const (
	Transient Class = "transient" // try again, as the policy says
	Wait      Class = "wait"      // try again after a time that is known or estimated
	Terminal  Class = "terminal"  // not with this agent
	Fatal     Class = "fatal"     // not in this hook
	Lifecycle Class = "lifecycle" // a person's or a parent's doing: stop, never counted as a failure
)

// The kinds.
const (
	StreamFailure       Kind = "stream_failure"       // something was said, then no end came
	TransportDisconnect Kind = "transport_disconnect" // the network dropped
	ColdStartTimeout    Kind = "cold_start_timeout"   // nothing was said at all in the time for a start
	MCPHandshakeFailed  Kind = "mcp_handshake_failed" // the CLI lost its own race at start
	ServerOverload      Kind = "server_overload"      // 5xx, 529
	Decompression       Kind = "decompression"        // the body could not be unpacked
	NoOutput            Kind = "no_output"            // a clean end, and nothing was said
	EmptyOutput         Kind = "empty_output"         // a success with an empty final text
	OutputInvalid       Kind = "output_invalid"       // a text whose control object does not validate, or a diff that cannot be applied
	RateLimited         Kind = "rate_limited"         // 429
	QuotaExhausted      Kind = "quota_exhausted"      // the plan's window is used up
	Billing             Kind = "billing"              // 402, balance
	AuthMissing         Kind = "auth_missing"         // not signed in
	AuthInvalid         Kind = "auth_invalid"         // sign-in rejected
	TokenRefreshLost    Kind = "token_refresh_lost"   // sign-in can no longer be renewed
	ModelNotFound       Kind = "model_not_found"      // no such model
	ContextOverflow     Kind = "context_overflow"     // prompt too large for the model
	RequestTooLarge     Kind = "request_too_large"    // 413
	ContentPolicy       Kind = "content_policy"       // blocked for safety
	InvalidRequest      Kind = "invalid_request"      // 400, 409, 422
	DNSNotFound         Kind = "dns_not_found"        // no such host
	TLSError            Kind = "tls_error"            // certificate or protocol
	CLINotInPath        Kind = "cli_not_in_path"      // the program is not there
	SpawnFailed         Kind = "spawn_failed"         // the program is there and does not start
	SandboxUnsupported  Kind = "sandbox_unsupported"  // the CLI's own sandbox cannot be had
	CLIConfig           Kind = "cli_config"           // the CLI rejects its arguments
	CLIError            Kind = "cli_error"            // a non-zero exit and nothing more specific
	AgentMaxTurns       Kind = "agent_max_turns"      // the CLI's own cap on turns
	AgentBudget         Kind = "agent_budget"         // the CLI's own cap on cost
	AgentError          Kind = "agent_error"          // another end that the CLI calls no success
	PermissionPrompt    Kind = "permission_prompt"    // it asked for something nobody can grant
	PermissionDenied    Kind = "permission_denied"    // it wanted something denied, and gave up
	VerdictAmbiguous    Kind = "verdict_ambiguous"    // prose, no change, no control object
	OutputTruncated     Kind = "output_truncated"     // our caps cut what was said
	ParseError          Kind = "parse_error"          // not the stream that was expected
	LoopDetected        Kind = "loop_detected"        // it did the same again and again
	IdleTimeout         Kind = "idle_timeout"         // it fell silent
	WallTimeout         Kind = "wall_timeout"         // the hook's time is spent
	AttemptsExhausted   Kind = "attempts_exhausted"   // the hook's attempts are spent
	TokenBudget         Kind = "token_budget"         // the hook's tokens or cost are spent
	PatchEmpty          Kind = "patch_empty"          // it says fixed and changed nothing
	ScratchFailed       Kind = "scratch_failed"       // no copy could be made
	Cancelled           Kind = "cancelled"            // by a person
	Aborted             Kind = "aborted"              // by us
	LifecycleClose      Kind = "lifecycle_close"      // by the end of the runner
	KilledExternally    Kind = "killed_externally"    // by somebody else's signal
	Unknown             Kind = "unknown"              // nothing is known
)

// classes is the table of kinds. Where the class depends on circumstances, the one without them stands here.
var classes = map[Kind]Class{
	StreamFailure: Transient, TransportDisconnect: Transient, ColdStartTimeout: Transient, MCPHandshakeFailed: Transient,
	ServerOverload: Transient, Decompression: Transient,
	NoOutput:    Terminal,  // transient where the policy says so
	EmptyOutput: Transient, // by a finalizer, once
	// once a finalizer has asked again
	OutputInvalid: Terminal,
	RateLimited:   Wait,
	// terminal where the reset comes after the budget's end
	QuotaExhausted: Wait,
	Billing:        Terminal, AuthMissing: Terminal, AuthInvalid: Terminal, TokenRefreshLost: Terminal, ModelNotFound: Terminal,
	ContextOverflow: Terminal, RequestTooLarge: Terminal, ContentPolicy: Terminal, InvalidRequest: Terminal,
	DNSNotFound: Terminal, TLSError: Terminal, CLINotInPath: Terminal, SpawnFailed: Terminal, SandboxUnsupported: Terminal,
	CLIConfig: Terminal, CLIError: Terminal, AgentMaxTurns: Terminal, AgentBudget: Terminal, AgentError: Terminal,
	PermissionPrompt: Terminal, PermissionDenied: Terminal, VerdictAmbiguous: Terminal, OutputTruncated: Terminal,
	ParseError: Terminal, LoopDetected: Terminal, PatchEmpty: Terminal,
	IdleTimeout: Transient, // the first time
	WallTimeout: Fatal, AttemptsExhausted: Fatal, TokenBudget: Fatal, ScratchFailed: Fatal,
	Cancelled: Lifecycle, Aborted: Lifecycle, LifecycleClose: Lifecycle, KilledExternally: Lifecycle,
	Unknown: Transient, // from a fresh copy, once
}

// Class is what k's class is when nothing more is known; empty for the empty Kind, Terminal for one that is not in the table.
func (k Kind) Class() Class {
	if k == "" {
		return ""
	}
	if c, ok := classes[k]; ok {
		return c
	}
	return Terminal
}

// Barred says that the agent cannot be used again before somebody has done something, or time has passed.
func (k Kind) Barred() bool {
	switch k {
	case RateLimited, QuotaExhausted, Billing, AuthMissing, AuthInvalid, TokenRefreshLost, ModelNotFound, DNSNotFound, TLSError,
		CLINotInPath, SpawnFailed, SandboxUnsupported, CLIConfig:
		return true
	}
	return false
}

// A Policy says which failures of an agent deserve one more try. The zero Policy adds nothing to the universal ones.
type Policy struct {
	ExtraKinds []string
	OnNullKind bool // a failure without a kind
	OnNoOutput bool
}

var (
	alwaysTransient = []Kind{
		ColdStartTimeout, "tmux_dead", StreamFailure, Unknown, MCPHandshakeFailed, "openrouter_fetch_failed", "openrouter_no_body",
	}
	alwaysTerminal = []Kind{
		QuotaExhausted, TokenRefreshLost, "opencode_db_corrupt", PermissionPrompt, VerdictAmbiguous, NoOutput, "500", "http_500",
	}
)

// Retryable says whether a failure of kind deserves one more try. The order of the questions is the rule: what is
// terminal for everybody is asked before what is transient, so that a kind put into both lists by mistake stops.
func Retryable(kind Kind, p Policy) bool {
	status, gateway := strings.CutPrefix(string(kind), "openrouter_")
	code, err := strconv.Atoi(status)
	serverError := gateway && err == nil && len(status) == 3 && code >= 500 && code <= 599
	switch {
	case kind == "":
		return p.OnNullKind
	case kind == NoOutput:
		return p.OnNoOutput
	case slices.Contains(alwaysTerminal, kind):
		return false
	case slices.Contains(alwaysTransient, kind):
		return true
	case gateway:
		return serverError // 4xx (429 too: an immediate retry deepens it) and malformed ones are terminal for everybody
	}
	return slices.Contains(p.ExtraKinds, string(kind))
}
