// Package failure names the ways in which a turn of an agent or a request to a model fails: their kinds, what class
// each kind has, what a person can do about it, and whether it deserves another attempt. Every package may use it.
package failure

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Kind is the way in which a turn failed. The empty Kind means that the agent ended by itself.
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
	// the control object does not validate, or the diff does not apply
	OutputInvalid      Kind = "output_invalid"
	RateLimited        Kind = "rate_limited"        // 429
	QuotaExhausted     Kind = "quota_exhausted"     // the plan's window is used up
	Billing            Kind = "billing"             // 402, balance
	AuthMissing        Kind = "auth_missing"        // not signed in
	AuthInvalid        Kind = "auth_invalid"        // sign-in rejected
	TokenRefreshLost   Kind = "token_refresh_lost"  // sign-in can no longer be renewed
	ModelNotFound      Kind = "model_not_found"     // no such model
	ContextOverflow    Kind = "context_overflow"    // prompt too large for the model
	RequestTooLarge    Kind = "request_too_large"   // 413
	ContentPolicy      Kind = "content_policy"      // blocked for safety
	InvalidRequest     Kind = "invalid_request"     // 400, 409, 422
	DNSNotFound        Kind = "dns_not_found"       // no such host
	TLSError           Kind = "tls_error"           // certificate or protocol
	CLINotInPath       Kind = "cli_not_in_path"     // the program is not there
	SpawnFailed        Kind = "spawn_failed"        // the program is there and does not start
	SandboxUnsupported Kind = "sandbox_unsupported" // the CLI's own sandbox cannot be had
	CLIConfig          Kind = "cli_config"          // the CLI rejects its arguments
	CLIError           Kind = "cli_error"           // a non-zero exit and nothing more specific
	AgentMaxTurns      Kind = "agent_max_turns"     // the CLI's own cap on turns
	AgentBudget        Kind = "agent_budget"        // the CLI's own cap on cost
	AgentError         Kind = "agent_error"         // another end that the CLI calls no success
	PermissionPrompt   Kind = "permission_prompt"   // it asked for something nobody can grant
	PermissionDenied   Kind = "permission_denied"   // it wanted something denied, and gave up
	VerdictAmbiguous   Kind = "verdict_ambiguous"   // prose, no change, no control object
	OutputTruncated    Kind = "output_truncated"    // our caps cut what was said
	ParseError         Kind = "parse_error"         // not the stream that was expected
	LoopDetected       Kind = "loop_detected"       // it did the same again and again
	IdleTimeout        Kind = "idle_timeout"        // it fell silent
	WallTimeout        Kind = "wall_timeout"        // the hook's time is spent
	AttemptsExhausted  Kind = "attempts_exhausted"  // the hook's attempts are spent
	TokenBudget        Kind = "token_budget"        // the hook's tokens or cost are spent
	PatchEmpty         Kind = "patch_empty"         // it says fixed and changed nothing
	ScratchFailed      Kind = "scratch_failed"      // no copy could be made
	Cancelled          Kind = "cancelled"           // by a person
	Aborted            Kind = "aborted"             // by us
	LifecycleClose     Kind = "lifecycle_close"     // by the end of the runner
	KilledExternally   Kind = "killed_externally"   // by somebody else's signal
	Unknown            Kind = "unknown"             // nothing is known
)

// kinds is the table of kinds. Some classes depend on circumstances that are not known here: NoOutput is transient if
// the agent's policy says so, EmptyOutput once, because a finalizer asks again, IdleTimeout the first time, Unknown
// once, from a fresh copy; OutputInvalid is terminal after a finalizer has asked again; QuotaExhausted is terminal if
// the quota is renewed after the budget ends.
var kinds = map[Kind]struct {
	class  Class
	barred bool   // see Barred
	advice string // see Advice
}{
	StreamFailure:       {Transient, false, "the answer broke off before its end: run heal again" + orFallback},
	TransportDisconnect: {Transient, false, "the network connection was lost: run heal again when it is back"},
	ColdStartTimeout: {Transient, false, "no answer came in time: check base_url and the network, then run heal " +
		"again"},
	MCPHandshakeFailed: {Transient, false, ""},
	ServerOverload:     {Transient, false, "the provider is overloaded: run heal again later" + orFallback},
	Decompression:      {Transient, false, ""},
	NoOutput:           {Terminal, false, "the agent printed nothing: try its command by hand; is it signed in?"},
	EmptyOutput:        {Transient, false, ""},
	OutputInvalid:      {Terminal, false, ""},
	RateLimited:        {Wait, true, "the provider limits how often it is asked: wait" + orFallback},
	QuotaExhausted:     {Wait, true, "the plan's quota is used up: wait until it is renewed" + orFallback},
	Billing:            {Terminal, true, "the provider asks for payment: check the account"},
	AuthMissing:        {Terminal, true, "sign in to the agent, or set its key, then run heal again"},
	AuthInvalid:        {Terminal, true, "the provider rejects the key or the sign-in: renew it, then run heal again"},
	TokenRefreshLost:   {Terminal, true, "sign in to the agent again, then run heal again"},
	ModelNotFound:      {Terminal, true, "the provider has no such model for this key: check model in PIPELINE.hcl"},
	ContextOverflow: {Terminal, false, "the conversation is too long for the model: use another model, or a " +
		"smaller task"},
	RequestTooLarge: {Terminal, false, "the request is too large for the provider: use a smaller task"},
	ContentPolicy:   {Terminal, false, "the provider refuses to answer: change the prompt" + orFallback},
	InvalidRequest:  {Terminal, false, "the provider rejects the request: check provider, model and base_url"},
	DNSNotFound:     {Terminal, true, "the host does not exist: check base_url and the network"},
	TLSError: {Terminal, true, "the connection is not trusted: check base_url, the clock, and a proxy's " +
		"certificates"},
	CLINotInPath:       {Terminal, true, "install the agent's program, or correct its command"},
	SpawnFailed:        {Terminal, true, "the agent's program does not start: try its command by hand"},
	SandboxUnsupported: {Terminal, true, "the agent's own sandbox does not work here: switch it off, ours confines it"},
	CLIConfig:          {Terminal, true, "the agent rejects its arguments or settings: try its command by hand"},
	CLIError:           {Terminal, false, "the transcript has the agent's output: try its command by hand"},
	AgentMaxTurns:      {Terminal, false, "the agent reached its own limit of turns: raise it, or use a smaller task"},
	AgentBudget:        {Terminal, false, "the agent reached its own limit of cost: raise it, or use a smaller task"},
	AgentError:         {Terminal, false, ""},
	PermissionPrompt:   {Terminal, false, "the agent asked for a permission: allow the command, or change the prompt"},
	PermissionDenied:   {Terminal, false, "the agent needs a command that is not allowed: see allow in PIPELINE.hcl"},
	VerdictAmbiguous:   {Terminal, false, ""},
	OutputTruncated:    {Terminal, false, "the agent printed more than is kept: make it print less"},
	ParseError: {Terminal, false, "the answer is not of the expected form: check provider and base_url, or the version of " +
		"the agent's program"},
	LoopDetected:      {Terminal, false, "the agent repeated itself: change the prompt, or use another model"},
	IdleTimeout:       {Transient, false, "the agent printed nothing for too long: see the end of the transcript"},
	WallTimeout:       {Fatal, false, "the budget's wall_clock ran out: raise it, or use a smaller task"},
	AttemptsExhausted: {Fatal, false, ""},
	TokenBudget:       {Fatal, false, "the budget's tokens or cost_usd are spent: raise them, or use a smaller task"},
	PatchEmpty:        {Terminal, false, "the agent left no change to propose: the transcript has what it did"},
	ScratchFailed:     {Fatal, false, "when that is settled, run heal again"},
	Cancelled:         {Lifecycle, false, ""},
	Aborted:           {Lifecycle, false, ""},
	LifecycleClose:    {Lifecycle, false, ""},
	KilledExternally:  {Lifecycle, false, "another program ended the agent: is there enough memory?"},
	Unknown:           {Transient, false, "nothing more is known: the transcript has what the agent said last"},
}

// All returns every kind of the table, sorted.
func All() []Kind { return slices.Sorted(maps.Keys(kinds)) }

// Class returns the class of k if nothing more is known of the failure: empty for the empty Kind, Terminal for a kind
// that is not in the table.
func (k Kind) Class() Class {
	if k == "" {
		return ""
	}
	if row, ok := kinds[k]; ok {
		return row.class
	}
	return Terminal
}

// Resend reports whether a model may well answer the same request if it is sent again.
func (k Kind) Resend() bool { return k == RateLimited || k.Class() == Transient && k != Unknown }

// Barred reports whether the agent cannot be used again before a person has acted or time has passed.
func (k Kind) Barred() bool { return kinds[k].barred }

// orFallback is the end of an advice that applies where no fallback agent is set.
const orFallback = ", or set a fallback agent"

// Advice returns what a person can do about k, in one line; fallback is true where the hook has a fallback agent. It
// is empty where only another attempt can help.
func (k Kind) Advice(fallback bool) string {
	if fallback {
		return strings.TrimSuffix(kinds[k].advice, orFallback)
	}
	return kinds[k].advice
}

// Known reports whether k is in the table, or is one of the kinds that every agent's policy knows.
func (k Kind) Known() bool {
	_, ok := kinds[k]
	return ok || slices.Contains(alwaysTransient, k) || slices.Contains(alwaysTerminal, k) ||
		strings.HasPrefix(string(k), "openrouter_")
}

var kindForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`) })

// CheckKind returns an error that describes the form of a kind if kind does not have it. A kind that is not in the
// table may be right: see Policy.ExtraKinds.
func CheckKind(kind string) error {
	if !kindForm().MatchString(kind) {
		return errors.New("a kind begins with a small letter and has small letters, digits and underscores, 64 at most")
	}
	return nil
}

// A Policy names failures of one agent that deserve another attempt. The zero Policy adds nothing to those of every
// agent.
type Policy struct {
	ExtraKinds []string // kinds that only this agent reports
	OnNullKind bool     // a failure without a kind
	OnNoOutput bool
}

var (
	alwaysTransient = []Kind{
		ColdStartTimeout, "tmux_dead", StreamFailure, Unknown, MCPHandshakeFailed,
		"openrouter_fetch_failed", "openrouter_no_body",
	}
	alwaysTerminal = []Kind{
		QuotaExhausted, TokenRefreshLost, "opencode_db_corrupt", PermissionPrompt, VerdictAmbiguous, NoOutput,
		"500", "http_500",
	}
)

// Retryable reports whether a failure of kind deserves another attempt. The kinds that are terminal for every agent
// are looked up before the transient ones, so that a kind that is in both lists by mistake is not retried.
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
		return serverError // 4xx is terminal for every agent; so is 429, because retrying at once prolongs it
	}
	return slices.Contains(p.ExtraKinds, string(kind))
}
