package cli

import "github.com/async-pipeline/async-pipeline/hooks/agent"

// Policies says, for agent programs that are known by name, which of their failures deserve one more try besides those that do for
// everybody. A program that is not in the table has the zero Policy. opencode and kimi go through a gateway that at times
// ends well and says nothing.
var Policies = map[string]agent.Policy{
	"opencode": {OnNullKind: true, OnNoOutput: true},
	"kimi":     {OnNullKind: true, OnNoOutput: true},
}
