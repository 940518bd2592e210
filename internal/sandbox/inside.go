package sandbox

// A Starter is what started a process: a task or a hook of a runner, or neither.
type Starter string

// What Inside can say.
const (
	Neither Starter = ""
	ATask   Starter = "task"
	AHook   Starter = "hook" // an agent, a notification, a verification
)
