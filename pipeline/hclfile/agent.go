package hclfile

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/knowncli"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// max_turns without being written, and at most.
const (
	usualTurns = 40
	mostTurns  = 1000
)

// agents reads agent blocks.
type agents struct{ *commands }

// agent reads an agent: a program, or a model of a provider.
func (r *agents) agent(b *block) *pipeline.Agent {
	g := &pipeline.Agent{Name: b.name, Pos: r.pos(b.at)}
	command, provider, cli := b.attrs["command"], b.attrs["provider"], b.attrs["cli"]
	switch {
	case command != nil && cli != nil:
		r.addf(cli.NameRange, "A cli is started and read in its own way; a command is any program. Make two agents of it.",
			"agent %q has a command and a cli", b.name)
	case cli != nil:
		g.CLI, g.Given = r.cliAgent(b), r.given(b)
		for _, c := range b.of("retry") {
			g.Retry = r.agentRetry(c)
		}
	case command != nil && provider != nil:
		r.addf(provider.NameRange, "A command is a program; a provider is asked by our own loop. Make two agents of it.", "agent %q has a command and a provider", b.name)
	case command != nil:
		g.Command = r.agentCommand(command)
		for _, name := range []string{"model", "base_url", "api_key", "max_turns", "args"} {
			if a := b.attrs[name]; a != nil {
				r.addf(a.NameRange, "It belongs to an agent with a provider or a cli. Give it to the program in its command.",
					"agent %q is a command and has %s", b.name, name)
			}
		}
		g.Given = r.given(b)
		for _, c := range b.of("retry") {
			g.Retry = r.agentRetry(c)
		}
	case provider != nil:
		g.Model = r.modelAgent(b)
		for _, name := range []string{"env", "pass_env", "files", "args"} {
			if a := b.attrs[name]; a != nil {
				r.addf(a.NameRange, "It is for programs: the commands that a model runs get nothing of yours.",
					"agent %q has a provider and %s", b.name, name)
			}
		}
		for _, c := range b.of("retry") {
			r.addf(c.at, "It is for programs: what fails between us and a provider is retried by our own loop.",
				"agent %q has a provider and a retry block", b.name)
		}
	case !b.faulty:
		r.addf(b.at, `Write cli = "claude", or provider = "anthropic" with model = "NAME", or command = ["./agent.sh"].`,
			"agent %q has no cli, no provider and no command", b.name)
	}
	return g
}

// given reads what the program of an agent gets of the person's.
func (r *agents) given(b *block) pipeline.Given {
	return pipeline.Given{
		Env: r.env(b.attrs["env"]), PassEnv: r.strs(b, "pass_env", `["NAME", "PREFIX_*"]`, r.passName),
		Files: r.strs(b, "files", `["~/.config/mine/token"]`, r.homeFile),
	}
}

// cliAgent reads an agent CLI that we know.
func (r *agents) cliAgent(b *block) *pipeline.CLIAgent {
	g := &pipeline.CLIAgent{}
	at := b.attrs["cli"].Expr.Range()
	name, ok := r.str(b, "cli")
	known, found := knowncli.Find(name)
	if ok && !found {
		r.wrongWord(at, fmt.Sprintf("there is no CLI %q", name), name, knowncli.Names(),
			"Write one of "+strings.Join(knowncli.Names(), ", ")+`, or command = [...] for another program.`)
	}
	if a := b.attrs["max_turns"]; a != nil {
		r.addf(a.NameRange, "It is for an agent with a provider. The budget ends a CLI.", "agent %q has a cli and max_turns",
			b.name)
	}
	g.Name = name
	g.Model = r.modelName(b)
	var args []string // so far; whether one may be there depends on those before it
	g.Args = r.strs(b, "args", `["--flag"]`, func(s string, at hcl.Range) (string, bool) {
		if arg, why := known.Reserved(append(args, s)); found && arg != "" {
			r.add(at, fmt.Sprintf("args has %s: %s", arg, why), "Leave it out.")
			return "", false
		}
		args = append(args, s)
		return s, true
	})
	g.BaseURL = r.baseURL(b)
	if a := b.attrs["api_key"]; a != nil {
		g.Key = new(r.apiKey(a))
	}
	if !found {
		return g
	}
	g.Wire = known.Wires[0]
	if s, ok := r.str(b, "provider"); ok {
		a := b.attrs["provider"]
		switch {
		case len(known.Wires) == 1:
			r.addf(a.NameRange, "Leave it out.", "%s speaks one protocol only, %s", name, g.Wire)
		case !slices.Contains(known.Wires, s):
			r.wrongWord(a.Expr.Range(), fmt.Sprintf("%s does not speak %q", name, s), s, known.Wires,
				"Write one of "+strings.Join(known.Wires, ", ")+".")
		}
		g.Wire = s
	}
	for _, name := range []string{"provider", "base_url"} {
		if a := b.attrs[name]; a != nil && g.Key == nil {
			r.addf(a.NameRange, `It is for a CLI with a key: api_key = secret("NAME").`,
				"agent %q has %s and no api_key", b.name, name)
		}
	}
	if known.NeedsModel && g.Key != nil && b.attrs["model"] == nil {
		r.addf(b.at, `Write model = "NAME", as the provider calls it.`, "agent %q has a cli that needs a model with a key, and no model",
			b.name)
	}
	return g
}

// agentCommand reads the program of an agent.
func (r *agents) agentCommand(a *hcl.Attribute) []pipeline.Text {
	const example = `["./agent.sh"]`
	items, ok := r.items(a, example)
	for _, part := range items {
		if _, fine := r.open(part.Value, part.at, a.Name); !fine {
			return nil
		}
	}
	return r.argv(a, items, ok, "Write command = "+example+".").Argv
}

// homeFile reads the name of a file below the person's HOME.
func (r *agents) homeFile(s string, at hcl.Range) (string, bool) {
	const do = `Write the name of a file below your HOME: "~/.config/mine/token".`
	rest, ok := strings.CutPrefix(s, "~/")
	clean := path.Clean(rest)
	switch {
	case !ok || strings.HasSuffix(s, "/") || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") ||
		path.IsAbs(clean):
		r.addf(at, do, "%q in files is no file below HOME", s)
	case strings.ContainsAny(s, "*?[]{}"):
		r.addf(at, "Name each file.", "%q in files is a pattern", s)
	default:
		return "~/" + clean, true
	}
	return "", false
}

// agentRetry returns which failures of a program deserve another attempt.
func (r *agents) agentRetry(b *block) failure.Policy {
	return failure.Policy{
		ExtraKinds: r.strs(b, "extra_kinds", `["gateway_blip"]`, func(s string, at hcl.Range) (string, bool) {
			if err := failure.CheckKind(s); err != nil {
				r.add(at, fmt.Sprintf("%q is no kind of failure", s), sentence(err.Error()))
				return "", false
			}
			return s, true
		}),
		OnNullKind: r.boolean(b, "on_null_kind"),
		OnNoOutput: r.boolean(b, "on_no_output"),
	}
}

// modelAgent reads an agent of our own.
func (r *agents) modelAgent(b *block) *pipeline.ModelAgent {
	m := &pipeline.ModelAgent{}
	a := b.attrs["provider"]
	if s, ok := r.str(b, "provider"); ok {
		if providers := model.Providers(); !slices.Contains(providers, s) {
			r.wrongWord(a.Expr.Range(), fmt.Sprintf("there is no provider %q", s), s, providers,
				"Write one of "+strings.Join(providers, ", ")+".")
		}
		m.Provider = s
	}
	if r.need(b, "model", `Write model = "NAME", as the provider calls it.`,
		"agent %q has a provider and no model", b.name) != nil {
		m.Model = r.modelName(b)
	}
	m.BaseURL = r.baseURL(b)
	if a := b.attrs["api_key"]; a != nil {
		m.Key = r.apiKey(a)
	}
	m.MaxTurns = cmp.Or(r.number(b.attrs["max_turns"], 1, mostTurns), usualTurns)
	return m
}

// modelName reads the name of a model; empty: there is none.
func (r *agents) modelName(b *block) string {
	s, ok := r.str(b, "model")
	if ok && (strings.TrimSpace(s) == "" || strings.ContainsAny(s, " \t\r\n?#")) {
		r.add(b.attrs["model"].Expr.Range(), "model is no name of a model", "Write it as the provider calls it.")
	}
	return s
}

// baseURL reads an address; empty: the provider's own.
func (r *agents) baseURL(b *block) string {
	s, ok := r.str(b, "base_url")
	if !ok {
		return ""
	}
	at := b.attrs["base_url"].Expr.Range()
	if s == "" { // model.CheckURL takes it for the provider's own address; a person who wrote it did not mean that
		r.add(at, "base_url is empty", "Leave it out for the provider's own address.")
	} else if err := model.CheckURL(s); err != nil {
		why, do, _ := strings.Cut(err.Error(), "; ")
		r.add(at, "base_url cannot be used: "+why, sentence(do))
	}
	return s
}

// apiKey reads a key. It must come from secret() or a sensitive variable, never from the file itself.
func (r *agents) apiKey(a *hcl.Attribute) pipeline.Text {
	v := r.eval(a.Expr, place{})
	if !v.ok {
		return pipeline.Text{}
	}
	t, ok := r.text(v.Value, a.Expr.Range(), a.Name)
	if ok && len(t.Secrets) == 0 {
		r.add(a.Expr.Range(), "api_key is written in the file",
			`Keep it in the environment: api_key = secret("NAME").`)
	}
	return t
}

// sentence makes a sentence of the end of an error message.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}
