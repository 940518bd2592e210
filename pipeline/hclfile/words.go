package hclfile

// A word is one attribute or block of the language. The table below is the only list of them: decoding,
// suggestions, refusals and Words all read it.
type word struct {
	name  string
	block bool
	label string  // what a block's label is, or ""
	once  bool    // a second block of this kind in the same place is a fault
	free  bool    // any attribute may stand inside
	kinds []*word // the blocks that its label chooses from
	inner []*word
	later string // what it needs that this version does not have; such a word is refused
}

var language = word{inner: []*word{
	{name: "pipeline", block: true, once: true, inner: []*word{
		{name: "name"},
		{name: "concurrency"},
		{name: "keep_runs"},
		{name: "pass_env"},
	}},
	{name: "variable", block: true, label: "NAME", inner: []*word{
		{name: "type"},
		{name: "default"},
		{name: "description"},
		{name: "sensitive"},
		{name: "validation", block: true, inner: []*word{
			{name: "condition"},
			{name: "error_message"},
		}},
	}},
	{name: "locals", block: true, free: true},
	{name: "task", block: true, label: "NAME", inner: []*word{
		{name: "description"},
		{name: "depends_on"},
		{name: "run"},
		{name: "env"},
		{name: "pass_env"},
		{name: "dir"},
		{name: "inputs"},
		{name: "outputs"},
		{name: "timeout"},
		{name: "on_fail", block: true, kinds: []*word{
			{name: "agent", block: true, inner: []*word{
				{name: "use"},
				{name: "prompt"},
				{name: "budget", block: true, once: true, inner: []*word{
					{name: "attempts"},
					{name: "wall_clock"},
					{name: "tokens", later: "an agent whose use of tokens is counted"},
					{name: "cost_usd", later: "an agent whose cost is counted"},
				}},
				{name: "protect"},
				{name: "verify"},
				{name: "pass_secrets"},
				{name: "ci"},
				{name: "output", later: "agents that answer with a diff"},
				{name: "allow", later: "a policy for the commands of an agent"},
				{name: "network", later: "confinement of the network"},
				{name: "fallback", later: "a second agent to fall back to"},
			}},
			{name: "run", block: true, inner: []*word{
				{name: "run"},
				{name: "timeout"},
			}},
		}},
		{name: "scratch", block: true, once: true, inner: []*word{
			{name: "include"},
			{name: "exclude"},
		}},
		{name: "dotenv"},
		{name: "for_each"},
		{name: "matrix"},
		{name: "retry", block: true, once: true, inner: []*word{
			{name: "attempts"},
			{name: "delay"},
			{name: "on_exit"},
		}},
		{name: "cache", block: true, later: "the cache of results"},
	}},
	{name: "agent", block: true, label: "NAME", inner: []*word{
		{name: "command"},
		{name: "cli", later: "the built-in knowledge of agent programs"},
		{name: "model", later: "the choice of a model"},
		{name: "args", later: "the built-in knowledge of agent programs"},
		{name: "api_key", later: "the relay that keeps a key away from its agent"},
		{name: "base_url", later: "the relay to another endpoint"},
		{name: "provider", later: "model providers"},
		{name: "max_turns", later: "the model loop"},
		{name: "retry", block: true, later: "a second try of a failed agent"},
	}},
	{name: "job", block: true, label: "NAME", inner: []*word{
		{name: "tasks"},
	}},
}}

// laterFunctions are the functions of the language that this version refuses.
var laterFunctions = map[string]string{
	"file":       "the reading of files as inputs of a task",
	"fileset":    "the reading of files as inputs of a task",
	"filesha256": "the reading of files as inputs of a task",
}

// laterRoots are the values of the language that this version refuses.
var laterRoots = map[string]string{
	"each":   "tasks that are multiplied",
	"matrix": "tasks that are multiplied",
	"run":    "values of the run",
}

// Words lists every attribute and block that is accepted, each with its way from the top of the file, such as
// "task.on_fail.agent.budget.attempts". What is refused by name is not in it.
func Words() []string {
	var all []string
	var walk func(before string, in []*word)
	walk = func(before string, in []*word) {
		for _, w := range in {
			if w.later != "" {
				continue
			}
			all = append(all, before+w.name)
			walk(before+w.name+".", w.kinds)
			walk(before+w.name+".", w.inner)
		}
	}
	walk("", language.inner)
	return all
}

// find gives the word of that name, or nil.
func find(in []*word, name string) *word {
	for _, w := range in {
		if w.name == name {
			return w
		}
	}
	return nil
}

// names lists words for a suggestion. A word that would be refused in its turn is none.
func names(in []*word) []string {
	var all []string
	for _, w := range in {
		if w.later == "" {
			all = append(all, w.name)
		}
	}
	return all
}

// whereIs gives the way to a block that has the word inside, for words written in the wrong place.
func whereIs(name string) string {
	var look func(way string, in []*word) string
	look = func(way string, in []*word) string {
		for _, w := range in {
			if w.name == name && way != "" {
				return way
			}
			next := w.name
			if way != "" {
				next = way + " → " + w.name
			}
			if at := look(next, w.kinds); at != "" {
				return at
			}
			if at := look(next, w.inner); at != "" {
				return at
			}
		}
		return ""
	}
	return look("", language.inner)
}
