// Package knowncli has what PIPELINE.hcl may say of the agent CLIs that we know: their names, the protocols that they
// can speak, and the arguments that are ours to give. How they are started and read is in hooks/agent/cli.
package knowncli

import (
	"slices"
	"strings"
)

// A CLI is a program that works on code with a model.
type CLI struct {
	Name string
	// Wires are the protocols that it can speak with a provider, as internal/model calls them. The first is meant where
	// none is given.
	Wires []string
	// Model is asked for where PIPELINE.hcl names none and the CLI has no choice of its own; empty: it has.
	NeedsModel bool
	// The flags of what follows are divided by blanks.
	//
	// reserved are those that args must not have: they decide how we start the CLI and read it, would put a key
	// where other users see it, or load what runs commands.
	reserved string
	// settings are those of reserved that we do not give ourselves. why says why args must not have them either.
	settings, why string
	// switches are flags of which we know that they take no value: what follows them is no value either.
	switches string
}

// table is in the order in which init looks for the CLIs.
var table = []CLI{
	{
		Name: "claude", Wires: []string{"anthropic"},
		reserved: "-p --print --verbose --output-format --input-format --json-schema --resume -r --continue -c " +
			"--session-id --fork-session --no-session-persistence --settings --setting-sources --mcp-config " +
			"--strict-mcp-config --dangerously-skip-permissions --model --api-key --add-dir --plugin-dir --plugin-url " +
			"--bg --background --cloud --desktop --from-pr --remote-control --teleport --tmux --worktree -w",
		switches: "--ax-screen-reader --bare --brief --chrome --no-chrome --disable-slash-commands " +
			"--exclude-dynamic-system-prompt-sections --forward-subagent-text --ide --include-hook-events " +
			"--include-partial-messages --replay-user-messages --restricted --safe-mode",
	},
	{
		Name: "codex", Wires: []string{"openai"},
		reserved: "exec resume --json --output-schema --color --ephemeral --model -m --cd -C --profile -p " +
			"-c --config --output-last-message -o --add-dir --dangerously-bypass-approvals-and-sandbox",
		settings: "-c --config", why: "a setting of codex can lead its requests to another provider, and start programs",
	},
	{
		Name: "gemini", Wires: []string{"gemini"},
		reserved: "-p --prompt -i --prompt-interactive -o --output-format --resume -r --session-id --model -m " +
			"--approval-mode -y --yolo --skip-trust --policy --admin-policy --list-sessions --include-directories " +
			"--extensions -e",
	},
	{
		Name: "opencode", Wires: []string{"openai_chat", "anthropic"}, NeedsModel: true,
		reserved: "run serve --hostname --port --print-logs --format --session -s --continue -c --fork --model " +
			"-m --auto --attach --dir --share --file -f",
	},
	{
		Name: "copilot", Wires: []string{"openai_chat", "anthropic"}, NeedsModel: true,
		reserved: "-p --prompt -i --interactive -s --silent --output-format --stream --no-color --share " +
			"--share-gist --resume --continue --allow-all --model --additional-mcp-config --add-dir",
	},
	{
		Name: "pi", Wires: []string{"openai_chat", "openai", "anthropic"}, NeedsModel: true,
		reserved: "--mode --print -p --continue -c --resume -r --session --fork --session-dir --no-session " +
			"--export --list-models --help -h --version -v --api-key --provider --model --extension -e",
	},
}

// Names returns the names of all CLIs.
func Names() []string {
	names := make([]string, len(table))
	for i, c := range table {
		names[i] = c.Name
	}
	return names
}

// Find returns a CLI by name.
func Find(name string) (CLI, bool) {
	i := slices.IndexFunc(table, func(c CLI) bool { return c.Name == name })
	if i < 0 {
		return CLI{}, false
	}
	return table[i], true
}

// dashed returns a flag in its usual spelling: yargs, which gemini and opencode use, also reads --outputFormat.
func dashed(flag string) string {
	var b strings.Builder
	for _, r := range flag {
		if 'A' <= r && r <= 'Z' && strings.HasPrefix(flag, "--") {
			b.WriteByte('-')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Reserved returns the first of args that they must not have, and why: a flag of ours, as --flag VALUE, --flag=VALUE or
// -fVALUE, or an argument that is neither a flag nor the value of one. Both are empty where there is none.
func (c CLI) Reserved(args []string) (arg, why string) {
	reserved, settings, switches := strings.Fields(c.reserved), strings.Fields(c.settings), strings.Fields(c.switches)
	value := false // the next one may be a value
	for _, a := range args {
		flag, _, with := strings.Cut(a, "=")
		mine := slices.IndexFunc(reserved, func(r string) bool {
			short := len(r) == 2 && r[0] == '-' && strings.HasPrefix(a, r) && !strings.HasPrefix(a, "--")
			return r == flag || r == dashed(flag) || short
		})
		switch {
		case mine >= 0 && slices.Contains(settings, reserved[mine]):
			return flag, c.why
		case mine >= 0:
			return flag, "async-pipeline gives it to " + c.Name + " itself"
		case a == "--" || !value && !strings.HasPrefix(a, "-"):
			return a, c.Name + " would read it as a prompt or a command, and gets its prompt on standard input"
		case strings.HasPrefix(a, "-"):
			value = !with && !slices.Contains(switches, a)
		}
	}
	return "", ""
}
