package hclfile

// language is the table of all words. A word that is not in it is an error.
var language = word{inner: []*word{
	{
		name: "pipeline", block: true, once: true, example: pipelineExample,
		doc: "Settings of the whole file. The block may be left out.",
		inner: []*word{
			{name: "name", typ: "string", doc: "What the pipeline is called in what is shown and recorded. Without it: the name of the root folder."},
			{name: "concurrency", typ: "number", doc: "How many tasks run at a time, 1 or more. Without it: the number of CPUs."},
			{name: "keep_runs", typ: "number", doc: "How many sealed runs are kept, 1 or more; older ones are removed, but never one with an open fix proposal. Runs whose verdict cannot be read, or that are dated in the future, are neither counted nor removed. Without it all are kept."},
			{name: "pass_env", typ: "list(string)", def: "[]", doc: "Variables of the environment that every task may see. A * is allowed at the end of a name."},
		},
	},
	{
		name: "variable", block: true, label: "NAME", example: variableExample,
		doc: "A value that may be given from outside. It is named as var.NAME.",
		inner: []*word{
			{name: "type", typ: "type", doc: "What the value must be: string, number, bool, list(…), set(…), map(…), tuple([…]) or object({…}), in which optional(TYPE, DEFAULT) is allowed. Without it any value will do, and what comes from the command line or the environment is text."},
			{name: "default", typ: "any", doc: "The value where none is given. It can name no other value. A variable without a default must be given one."},
			{name: "description", typ: "string", def: `""`, doc: "What the variable is for."},
			{name: "sensitive", typ: "bool", def: "false", doc: "The value is a secret, as if it came from secret(): it may be used in env and in commands only, is removed from everything that is shown or recorded, and is withheld from agents. So is a default, although everybody who can read the file can read it there."},
			{
				name: "validation", block: true, example: variableExample,
				doc: "What must be true of the value, whichever way it came. There may be several; all that fail are reported.",
				inner: []*word{
					{name: "condition", typ: "bool", must: true, doc: "Must be true. It can name variables, and nothing else."},
					{name: "error_message", typ: "string", must: true, doc: "What is said where the condition is false. It may not be made from a secret."},
				},
			},
		},
	},
	{
		name: "locals", block: true, free: true, example: localsExample,
		doc: "Values with a name, for use in this file as local.NAME. Each NAME = VALUE is one; there may be several blocks.",
	},
	{
		name: "task", block: true, label: "NAME", example: taskExample,
		doc:   "One command, or the work of one agent, and what it needs. A task has run or an agent block.",
		inner: taskWords,
	},
	{
		name: "agent", block: true, label: "NAME", example: agentExample,
		doc: "May be asked for a fix: an agent CLI, a model, or a program of your own.",
		inner: []*word{
			{name: "command", typ: "list(string)", oneOf: []string{"provider", "cli"}, doc: "A program and its arguments. It reads the prompt on stdin and works in its current directory, which is a copy of the tree. An agent has a command, a provider or a cli."},
			{name: "cli", typ: "string", oneOf: []string{"command", "provider"}, doc: "An agent CLI that is installed: \"claude\", \"codex\", \"gemini\", \"opencode\", \"copilot\" or \"pi\". How it is started and read is built in. It gets a private HOME, with nothing of your own settings."},
			{name: "args", typ: "list(string)", def: "[]", with: []string{"cli"}, doc: "More flags for the CLI, with their values. Those that decide how it is started and read are refused, and so are settings (-c) of codex, which could lead its requests elsewhere, and what is neither a flag nor its value."},
			{name: "env", typ: "map(string)", def: "{}", with: []string{"command", "cli"}, doc: "Variables of the program's environment. It gets secret() values that stand here; what it starts can read them."},
			{name: "pass_env", typ: "list(string)", def: "[]", with: []string{"command", "cli"}, doc: "Variables of your environment that the program gets. A * is allowed at the end of a name. A CLI does not get one with its api_key in it."},
			{name: "files", typ: "list(path)", def: "[]", with: []string{"command", "cli"}, doc: "Files below your HOME, such as ~/.config/mine/token, that the program gets in its own HOME, at the same place: copies that are thrown away. What in them has 8 bytes or more with a letter and a digit is hidden as secrets are, from 4 bytes on also the passwords of URLs and the values of fields whose names end in token, key, secret, password or the like. In a binary file that is each of the first 200 runs of 16 printable characters or more. Versions, dates, names of models, and words such as true are not hidden."},
			{name: "provider", typ: "string", oneOf: []string{"command", "cli"}, doc: "A model of this provider works on the fix in a loop of our own: \"anthropic\", \"openai\", \"openai_chat\" (what many others speak) or \"gemini\". Beside cli it chooses the protocol of a CLI that speaks several."},
			{name: "model", typ: "string", must: true, with: []string{"provider", "cli"}, doc: "The model, as the provider calls it. claude, codex and gemini choose one themselves where none is written."},
			{name: "base_url", typ: "string", with: []string{"provider", "cli"}, doc: "Another address than the provider's own. http:// only to this machine."},
			{name: "api_key", typ: "string", with: []string{"provider", "cli"}, doc: "The key, as secret(\"NAME\"). It goes into the requests and nowhere else: a CLI is given another one, which is of no use outside. A cli without api_key uses its own sign-in, and then nobody meters what it uses."},
			{name: "max_turns", typ: "number", def: "40", with: []string{"provider"}, doc: "How often the model may be asked in one attempt, 1 to 1000."},
			{
				name: "retry", block: true, once: true, example: agentRetryExample,
				doc: "Of a command or a CLI: which of its failures deserve one more try, besides those that do for every agent. A command names its failure by ending with {\"error\":{\"kind\":\"…\",\"message\":\"…\",\"retry_after_ms\":0}}.",
				inner: []*word{
					{name: "extra_kinds", typ: "list(string)", def: "[]", doc: "Kinds that the command names."},
					{name: "on_null_kind", typ: "bool", def: "false", doc: "A failure without a kind."},
					{name: "on_no_output", typ: "bool", def: "false", doc: "An end without a word."},
				},
			},
		},
	},
	{
		name: "include", block: true, label: "PATH", example: includeExample,
		doc: "The tasks, jobs and agents of another " + Name + ", with NAME and a colon in front of their names: see [Included files](#included-files). PATH is relative to the folder of this file and inside it.",
		inner: []*word{
			{name: "name", typ: "string", must: true, doc: "What the file is called here: with \"api\" its task test is include.api.test in this file and api:test on the command line. No task, job or other include of this file has the same name."},
			{name: "variables", typ: "map(any)", def: "{}", doc: "Values of variables of the included file. A sensitive variable may be given to a sensitive one."},
		},
	},
	{
		name: "job", block: true, label: "NAME", example: jobExample,
		doc: "A named entry point: run NAME runs its tasks and what they depend on. The job \"default\" is what run without a name runs; without it, that is every task.",
		inner: []*word{
			{name: "tasks", typ: "list(task)", must: true, doc: "At least one."},
		},
	},
}}

// agentTaskWord is the agent block of a task. The block on_fail "agent" has the same name.
var agentTaskWord = &word{
	name: "agent", block: true, once: true, example: agentTaskExample,
	doc: "An agent does the task, in a copy of the tree as it is when the task starts. What it changes is stored as a patch beside the run, .async/runs/RUN/agents/TASK.patch, and is never applied: git apply, typed by a person, takes it. The task has passed when the agent ends well, also if it changed nothing. It is declared, so it runs in CI and with --no-heal too; in --watch only with --heal, else it is skipped unless the cache has its result. In what a hook started, it fails. Its result is cached with cache { enabled = true } only. Of the attributes of a task it has description, depends_on, inputs, timeout, for_each and matrix, of the blocks cache, scratch and on_fail \"run\".",
	inner: []*word{
		{name: "use", typ: "agent", must: true, doc: "Which agent. What it gets of the environment is written there."},
		{name: "prompt", typ: "string", must: true, doc: "What it is to do: text, or file(\"review.md\"). How it works and ends is told to it besides."},
		{name: "stdout_to", typ: "path", doc: "The file that its answer is written to when the task has passed: its last message or, of a command, what it printed, of more than 256 KiB the end, without secrets and control characters. It is an output of the task. A file that git tracks is refused when the task starts. Without stdout_to the answer is in the log of the task."},
		{
			name: "budget", block: true, once: true, example: agentTaskExample,
			doc: "What the agent may use. It is ended when one of these is spent, and the task has failed.",
			inner: []*word{
				{name: "wall_clock", typ: "duration", def: `"5m"`, doc: "How long it may work; making the copy does not count. The timeout of the task bounds both."},
				{name: "tokens", typ: "number", doc: "How many tokens, of questions and answers together, it may use. An agent that does not report its use is not stopped by this; the run then says so."},
				{name: "cost_usd", typ: "number", doc: "What it may cost, in dollars; an agent that does not report its cost is not stopped by this."},
			},
		},
	},
}

var taskWords = []*word{
	{name: "description", typ: "string", def: `""`, doc: "What the task is for; list shows it."},
	{name: "depends_on", typ: "list(task)", def: "[]", doc: "Tasks that must have passed before this one starts. task.NAME of a task with several instances is all of them; task.NAME[\"KEY\"] is one."},
	{name: "run", typ: "command", oneOf: []string{"agent"}, doc: "What is run. A task has this or an agent block."},
	{name: "env", typ: "map(string)", def: "{}", doc: "Variables of the task's environment. Numbers, true and false become text."},
	{name: "pass_env", typ: "list(string)", def: "[]", doc: "Variables of the environment that this task may see. A * is allowed at the end of a name."},
	{name: "dir", typ: "path", def: `"."`, doc: "The folder the task works in."},
	{name: "inputs", typ: inputsType, def: "[]", doc: "Files that the task reads, and folders with all that is in them. A pattern that begins with ! leaves files out; the last one that matches decides. A task with inputs that passed is not run again while they, its command, its environment, its programs and the outputs of what it depends on are the same. What git ignores is an input only where a pattern names it, or the folder before its first wildcard is ignored. `auto`, without quotes, stands for what the task was seen to read when it passed: only on Linux, elsewhere it runs each time. See docs/cache.md."},
	{name: "strict", typ: "bool", def: "false", doc: "With patterns as inputs: when the task opens a file of the tree that is not among them, its result is not stored, and that is said. Only on Linux: elsewhere its results are not stored."},
	{name: "tools", typ: "map(list(string))", def: "{}", doc: "With inputs: programs by name, each with a command, such as { go = [\"go\", \"version\"] }: what that prints counts in place of the contents of the program. It is run as the task is, once a run and again after a task before it has run, and may take 10 s."},
	{name: "outputs", typ: "list(glob)", def: "[]", doc: "Files that the task makes, and folders with all that is in them. Of a task with inputs they are stored and restored, and each pattern must match something when it has passed."},
	{name: "timeout", typ: "duration", doc: "How long the task may take, all attempts included. Without it there is no limit."},
	{name: "service", typ: "bool", def: "false", doc: "The task keeps running, beside the tasks that depend on it, until the run ends (with --watch, between its rounds too): a server or a database. It is started when the first of them is about to run, so that results of the cache start none. One that nothing depends on is started where it, or its job, is named on the command line; the run then goes on until it ends or is interrupted. A service that ends earlier has failed. Its inputs count for the cached results of the tasks that depend on it. It has no outputs, timeout, retry, cache, inputs = auto or on_fail \"agent\"."},
	{
		name: "ready", block: true, once: true, example: serviceExample,
		doc: "When a service is ready for the tasks that depend on it: one of command, port and log. Without the block it is ready once it has run for 0.2 s.",
		inner: []*word{
			{name: "command", typ: "command", oneOf: []string{"port", "log"}, doc: "It is ready when this command exits with 0. It is run as the task is, again and again."},
			{name: "port", typ: "number", oneOf: []string{"command", "log"}, doc: "It is ready when something listens on this TCP port of the machine. If something does already before it starts, or another service of the run has the same port, the service is not started and has failed."},
			{name: "log", typ: "string", oneOf: []string{"command", "port"}, doc: "It is ready when a line that it prints, ended or not, matches this regular expression (RE2), without colours and the like."},
			{name: "timeout", typ: "duration", def: `"1m"`, doc: "How long it may take."},
		},
	},
	{name: "on_fail", block: true, doc: "What answers a failure of the task. Nothing in it changes the verdict.", kinds: []*word{
		{
			name: "agent", block: true, once: true, example: onFailExample,
			doc: "Asks an agent for a fix. It works in a copy of the tree; the result is a patch with evidence, and only fix apply, typed by a person, writes it to the tree.",
			inner: []*word{
				{name: "use", typ: "agent", must: true, doc: "Which agent."},
				{name: "prompt", typ: "string", def: `""`, doc: "What the agent is told in addition to what is known of the failure."},
				{name: "output", typ: "string", def: `"tree"`, doc: "Where the fix is found: \"tree\" is what the agent changes in its copy; \"diff\" is the last unified diff in its answer, applied to the files as the agent was given them, whole and without searching for a place, or not at all."},
				{
					name: "budget", block: true, once: true, must: true, example: onFailExample,
					doc: "What the fix may cost. There is no unlimited budget.",
					inner: []*word{
						{name: "attempts", typ: "number", must: true, doc: "How often the agent may try, 1 to 5."},
						{name: "wall_clock", typ: "duration", must: true, doc: "How long everything may take together: tries, retries and verification; making copies does not count."},
						{name: "tokens", typ: "number", doc: "How many tokens, of questions and answers together, the agents may use. An agent that does not report its use is not stopped by this; the fix then says so."},
						{name: "cost_usd", typ: "number", doc: "What they may cost, in dollars; an agent that does not report its cost is not stopped by this."},
					},
				},
				{name: "protect", typ: "list(glob)", def: "[]", doc: "Files a fix should not touch, besides those that look like checks: a fix that does is flagged."},
				{name: "allow", typ: "list(list(string))", def: "[]", doc: "Commands that the agent may run besides the task's own, word for word. In a word `*` is anything but a slash and `**` anything; `**` as the last word is any number of further words. What a program does with its arguments is not judged: a program that is allowed may start others, write files and run code, and so may the code that it works on, which the agent can change. The sandbox is the boundary. It binds agents of a model, whose commands are decided here; an agent that is a program of its own runs what it likes in its copy."},
				{name: "verify", typ: "list(task)", def: "[]", doc: "Tasks that are run on the patched copy besides the failed task and what comes before it."},
				{name: "pass_secrets", typ: "bool", def: "false", doc: "The checks in the copy get the values of secret() and of sensitive variables."},
				{name: "ci", typ: "bool", def: "false", doc: "The agent is asked in CI mode too, where --heal is given as well."},
				{name: "network", later: "confinement of the network"},
				{name: "fallback", typ: "list(agent)", def: "[]", doc: "Agents that are asked, in order, when the one before fails and leaves nothing. The budget is the same."},
				{name: "reviewer", typ: "agent", doc: "An agent that is shown a verified patch, and says what it holds against it. Its concerns are flags: they can turn verified into suspect, and nothing else. A fifth of the budget's tokens and cost, and of its wall clock at most two minutes, is kept for it."},
			},
		},
		{
			name: "run", block: true, example: onFailRunExample,
			doc: "Runs a command, such as a notification. It runs in CI mode too.",
			inner: []*word{
				{name: "run", typ: "command", must: true, doc: "What is run."},
				{name: "timeout", typ: "duration", doc: "How long it may take."},
			},
		},
	}},
	agentTaskWord,
	{
		name: "scratch", block: true, once: true, example: scratchExample,
		doc: "What the copy that an agent works in takes besides, or leaves out of, the usual files.",
		inner: []*word{
			{name: "include", typ: "list(glob)", def: "[]", doc: "Ignored files that the copy needs."},
			{name: "exclude", typ: "list(glob)", def: "[]", doc: "Files that the copy does not need."},
		},
	},
	{name: "dotenv", typ: "list(path)", def: "[]", doc: "Files of NAME=VALUE lines for the task's environment; the later wins, env wins over all of them. One that does not exist is passed over."},
	{name: "for_each", typ: "set, list or map", doc: "Makes an instance of the task for each element: task.NAME[\"KEY\"] in this file, NAME:KEY on the command line. In it each.key and each.value are the element; of a set or list both are the text. At most 1,000 instances."},
	{name: "matrix", typ: "map(list(string))", doc: "Makes an instance of the task for each combination of the lists' elements: task.NAME[\"linux,amd64\"] in this file, NAME:linux,amd64 on the command line, the axes in the order in which they are written (of a map that is not written out, here or in a local, in the order of their names). In it matrix.AXIS is the element of one list."},
	{
		name: "retry", block: true, once: true, example: retryExample,
		doc: "Tries a task that failed once more, within its timeout.",
		inner: []*word{
			{name: "attempts", typ: "number", must: true, doc: "How often the task is tried in all, 1 to 10."},
			{name: "delay", typ: "duration", doc: "How long is waited between two attempts. Without it: not at all."},
			{name: "on_exit", typ: "list(number)", doc: "The exit codes, 1 to 255, that deserve another attempt. Without it every failure does."},
		},
	},
	{
		name: "cache", block: true, once: true, example: cacheExample,
		doc: "How the result of a task with inputs is cached. Without the block it is cached with the defaults, unless an agent does it.",
		inner: []*word{
			{name: "enabled", typ: "bool", def: "true", doc: "A result is used again, and stored."},
			{name: "store_outputs", typ: "bool", def: "true", doc: "Outputs are stored and restored. Without that the result is used only while they are as the task made them."},
			{name: "clean_outputs", typ: "bool", def: "false", doc: "What the last result has is removed before the task runs."},
			{name: "ttl", typ: "duration", doc: "A result that is older is not used."},
		},
	},
}
