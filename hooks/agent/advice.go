package agent

// What a person can do about a failure of an agent.

// advice has no line for kinds that only another try can mend.
var advice = map[Kind]string{
	RateLimited:         "the provider limits how often it is asked: wait, or name another agent in fallback",
	QuotaExhausted:      "the plan's quota is used up: wait until it is renewed, or name another agent in fallback",
	Billing:             "the provider wants to be paid: look at the account",
	AuthMissing:         "sign in to the agent, or give it its key, and type heal",
	AuthInvalid:         "the provider refuses the key or the sign-in: renew it, and type heal",
	TokenRefreshLost:    "sign in to the agent again, and type heal",
	ModelNotFound:       "the provider has no such model, or not for this key: look at model in PIPELINE.hcl",
	ContextOverflow:     "the conversation is too long for the model: a model with a larger window, or a smaller task",
	RequestTooLarge:     "the request is too large for the provider: a smaller task",
	ContentPolicy:       "the provider refuses to answer this: change the prompt, or name another agent in fallback",
	InvalidRequest:      "the provider does not take what was asked: look at provider, model and base_url",
	DNSNotFound:         "there is no such host: look at base_url and the network",
	TLSError:            "the connection cannot be trusted: look at base_url, the clock, and certificates of a proxy",
	ServerOverload:      "the provider is overloaded: type heal later, or name another agent in fallback",
	TransportDisconnect: "the network dropped: type heal when it is back",
	ColdStartTimeout:    "nothing answered in time: look at base_url and the network, and type heal",
	CLINotInPath:        "install the agent's program, or mend its command",
	SpawnFailed:         "the agent's program does not start: try its command by hand",
	SandboxUnsupported:  "the agent's own sandbox cannot be had here: switch it off, ours confines it",
	CLIConfig:           "the agent refuses its arguments or settings: try its command by hand",
	CLIError:            "the transcript has what the agent said: try its command by hand",
	NoOutput:            "the agent ended without a word: try its command by hand, is it signed in?",
	AgentMaxTurns:       "the agent's own limit of turns: raise it, or make the task smaller",
	AgentBudget:         "the agent's own limit of cost: raise it, or make the task smaller",
	PermissionPrompt:    "the agent asked for a permission that nobody can give: allow the command, or prompt for less",
	PermissionDenied:    "the agent wanted a command that is not allowed: see allow in PIPELINE.hcl",
	OutputTruncated:     "the agent said more than is kept: make it say less",
	IdleTimeout:         "the agent fell silent: the transcript has its last words",
	WallTimeout:         "the budget's wall_clock ended: give it more, or make the task smaller",
	TokenBudget:         "the budget's tokens or cost_usd are spent: give it more, or make the task smaller",
	LoopDetected:        "the agent went in circles: a better prompt, or another model",
	KilledExternally:    "something else ended the agent: is memory short?",
	ScratchFailed:       "no copy could be made: is there room on the disk?",
}

// Advice is what a person can do about k, in one line; empty where only another try can help.
func (k Kind) Advice() string { return advice[k] }
