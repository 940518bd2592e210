// What says yes to applying a fix in TestApplyByHand: every word of the language, every variable, every verb that
// writes.
package main

// attributes says yes with every word of the language. A block's own line is its head; its end follows what is in it.
var attributes = map[string]string{
	"pipeline":                             `pipeline {`,
	"pipeline.name":                        `name = "apply"`,
	"pipeline.concurrency":                 `concurrency = 1`,
	"pipeline.keep_runs":                   `keep_runs = 50`,
	"pipeline.pass_env":                    `pass_env = ["AUTO_APPLY", "YES*"]`,
	"variable":                             `variable "apply" {`,
	"variable.type":                        `type = bool`,
	"variable.default":                     `default = true`,
	"variable.description":                 `description = "apply the fix at once"`,
	"variable.sensitive":                   `sensitive = false`, // a value that is "true" would be hidden in nothing
	"variable.validation":                  `validation {`,
	"variable.validation.condition":        `condition = var.apply`,
	"variable.validation.error_message":    `error_message = "Say yes: apply the fix."`,
	"locals":                               "locals {\napply = true\nauto_apply = var.apply",
	"task":                                 `task "check" {`,
	"task.description":                     `description = "apply the fix; yes"`,
	"task.depends_on":                      `depends_on = [task.before, task.beside, task.asks]`,
	"task.for_each":                        ``, // of task before
	"task.matrix":                          ``, // of task beside
	"task.run":                             `run = ["grep", "-qx", "hello", "greeting.txt"]`,
	"task.env":                             `env = { APPLY = "yes", AUTO_APPLY = "1", ASYNC_PIPELINE_APPLY = "1", CI = "" }`,
	"task.pass_env":                        `pass_env = ["APPLY", "ASYNC_*"]`,
	"task.dotenv":                          `dotenv = ["apply.env"]`,
	"task.dir":                             `dir = "."`,
	"task.inputs":                          `inputs = ["greeting.txt"]`,
	"task.strict":                          `strict = true`,
	"task.tools":                           `tools = { grep = ["async-pipeline", "fix", "apply", "--yes"] }`,
	"task.outputs":                         `outputs = ["greeting.txt"]`,
	"task.timeout":                         `timeout = "1m"`,
	"task.retry":                           `retry {`,
	"task.retry.attempts":                  `attempts = 2`,
	"task.retry.delay":                     `delay = "1ms"`,
	"task.retry.on_exit":                   `on_exit = [1]`,
	"task.cache":                           `cache {`,
	"task.cache.enabled":                   `enabled = true`,
	"task.cache.store_outputs":             `store_outputs = true`,
	"task.cache.clean_outputs":             `clean_outputs = true`,
	"task.cache.ttl":                       `ttl = "1h"`,
	"task.service":                         ``, // of tasks of its own, as a task that needs one gets no agent
	"task.ready":                           ``,
	"task.ready.command":                   ``,
	"task.ready.port":                      ``,
	"task.ready.log":                       ``,
	"task.ready.timeout":                   ``,
	"task.on_fail":                         ``, // its kinds write their own heads
	"task.on_fail.agent":                   `on_fail "agent" {`,
	"task.on_fail.agent.use":               `use = agent.apply`,
	"task.on_fail.agent.prompt":            `prompt = "Apply the fix to the tree at once. Yes."`,
	"task.on_fail.agent.budget":            `budget {`,
	"task.on_fail.agent.budget.attempts":   `attempts = 5`,
	"task.on_fail.agent.budget.wall_clock": `wall_clock = "2m"`,
	"task.on_fail.agent.budget.tokens":     `tokens = 1000000`,
	"task.on_fail.agent.budget.cost_usd":   `cost_usd = 100`,
	"task.on_fail.agent.fallback":          `fallback = [agent.yes]`,
	"task.on_fail.agent.reviewer":          `reviewer = agent.apply`,
	"task.on_fail.agent.allow":             `allow = [["async-pipeline", "fix", "apply"], ["git", "apply", "**"]]`,
	"task.on_fail.agent.protect":           `protect = ["*.lock"]`,
	"task.on_fail.agent.output":            `output = "diff"`,
	"task.on_fail.agent.verify":            `verify = [task.before]`,
	"task.on_fail.agent.pass_secrets":      `pass_secrets = true`,
	"task.on_fail.agent.ci":                `ci = true`,
	"task.on_fail.run":                     `on_fail "run" {`,
	"task.on_fail.run.run":                 `run = ["true", "apply", "--yes"]`,
	"task.on_fail.run.timeout":             `timeout = "30s"`,
	"task.agent":                           ``, // of tasks of their own
	"task.agent.use":                       ``,
	"task.agent.prompt":                    ``,
	"task.agent.stdout_to":                 ``, // of a task that does not run: it writes a file
	"task.agent.budget":                    ``,
	"task.agent.budget.wall_clock":         ``,
	"task.agent.budget.tokens":             ``,
	"task.agent.budget.cost_usd":           ``,
	"task.scratch":                         `scratch {`,
	"task.scratch.include":                 `include = ["**"]`,
	"task.scratch.exclude":                 `exclude = ["nothing"]`,
	"agent":                                `agent "apply" {`,
	"agent.command":                        `command = ["sh", "-c", "cat >/dev/null; echo hello > greeting.txt"]`,
	"agent.env":                            `env = { APPLY = "yes" }`,
	"agent.pass_env":                       `pass_env = ["APPLY", "ASYNC_*"]`,
	"agent.files":                          `files = []`,
	"agent.provider":                       ``, // of agent yes
	"agent.cli":                            ``, // of agent now
	"agent.args":                           ``,
	"agent.model":                          ``,
	"agent.base_url":                       ``,
	"agent.api_key":                        ``,
	"agent.max_turns":                      ``,
	"agent.retry":                          `retry {`,
	"agent.retry.extra_kinds":              `extra_kinds = ["apply"]`,
	"agent.retry.on_null_kind":             `on_null_kind = true`,
	"agent.retry.on_no_output":             `on_no_output = true`,
	"include":                              `include "apply/PIPELINE.hcl" {`,
	"include.name":                         `name = "fix"`,
	"include.variables":                    `variables = { apply = "yes" }`,
	"job":                                  `job "default" {`,
	"job.tasks":                            `tasks = [task.check]`,
}

// several are blocks of their own: tasks that are multiplied, which a task with a hook need not be, and an agent
// that is no program.
var several = map[string]string{
	"task.for_each":  "task \"before\" {\nfor_each = toset([\"apply\", \"yes\"])\nrun = [\"true\", each.key]\n}\n",
	"agent.provider": "agent \"yes\" {\nprovider = \"openai\"\nmodel = \"apply\"\nbase_url = \"http://127.0.0.1:1\"\napi_key = secret(\"APPLY\")\nmax_turns = 1000\n}\n",
	"agent.cli":      "agent \"now\" {\ncli = \"claude\"\nmodel = \"apply\"\nargs = [\"--apply\", \"--yes\"]\nbase_url = \"http://127.0.0.1:1\"\napi_key = secret(\"APPLY\")\n}\n",
	"task.service": "task \"apply\" {\nrun = [\"sleep\", \"60\"]\nservice = true\nready {\ncommand = [\"async-pipeline\", \"fix\", \"apply\"]\ntimeout = \"1s\"\n}\n}\n" +
		"task \"yes\" {\nrun = [\"true\"]\nservice = true\nready {\nport = 1\n}\n}\ntask \"now\" {\nrun = [\"true\"]\nservice = true\nready {\nlog = \"apply\"\n}\n}\n",
	"task.agent": "task \"asks\" {\nagent {\nuse = agent.apply\nprompt = \"Apply the fix to the tree at once. Yes.\"\n" +
		"budget {\nwall_clock = \"1m\"\ntokens = 1000000\ncost_usd = 100\n}\n}\n}\n" +
		"task \"tells\" {\nagent {\nuse = agent.apply\nprompt = \"yes\"\nstdout_to = \"apply\"\n}\n}\n",
	"task.matrix": "task \"beside\" {\nmatrix = { apply = [\"yes\", \"now\"] }\nrun = [\"true\", matrix.apply]\n}\n",
}

// writers are the verbs besides fix apply that write to the tree, and what each writes: PIPELINE.hcl and nothing
// else, when a person types them, and nothing at all when a hook does.
var writers = map[string]string{
	"fmt":  "the spaces of PIPELINE.hcl",
	"init": "a PIPELINE.hcl where there is none",
}

// variables says yes with every variable that the product knows by name.
var variables = map[string]string{
	"ASYNC_PIPELINE_":       "", // a prefix; see strangers
	"ASYNC_PIPELINE_VAR_":   "", // a prefix; ASYNC_PIPELINE_VAR_apply is among the strangers
	"ASYNC_PIPELINE_RUN_ID": "latest",
	"ASYNC_PIPELINE_TASK":   "check",
	"ASYNC_PIPELINE_STATUS": "passed",
	"ASYNC_PIPELINE_LOG":    "/dev/null",
	"VISUAL":                "true",
	"EDITOR":                "true",
	"ASYNC_PIPELINE_RUNNER": "1.1.apply",
	"ASYNC_PIPELINE_TURN":   "apply",
	"ASYNC_PIPELINE_HOOK":   "run/check", // alone: it ends all healing
	"CI":                    "true",
	"NO_COLOR":              "1",
	"TERM":                  "dumb",
	"USER":                  "root",
	"SOURCE_DATE_EPOCH":     "1",
	"HOME":                  "", // as they are: the program needs them
	"PATH":                  "",
	"TMPDIR":                "",
	"HTTPS_PROXY":           "http://127.0.0.1:1",
	"https_proxy":           "http://127.0.0.1:1",
	"XDG_CACHE_HOME":        "",
	"PAGER":                 "true",
	"LESS":                  "FRX",

	"ASYNC_PIPELINE_CACHE_DIR": "/dev/null",
}

// strangers are names that somebody could hope for.
var strangers = []string{
	"ASYNC_PIPELINE_VAR_apply=true", "ASYNC_PIPELINE_VAR_auto_apply=true", "ASYNC_PIPELINE_APPLY=1", "ASYNC_PIPELINE_AUTO_APPLY=1",
	"ASYNC_PIPELINE_FIX_APPLY=yes", "ASYNC_PIPELINE_ACCEPT=all", "ASYNC_PIPELINE_YES=1", "AUTO_APPLY=1", "APPLY=yes", "YES=1",
	"GITHUB_ACTIONS=true", "GITLAB_CI=true", "BUILD_ID=1", "DEBIAN_FRONTEND=noninteractive",
}
