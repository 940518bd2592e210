package hclfile

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/async-pipeline/async-pipeline/internal/failure"
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
	command, provider := b.attrs["command"], b.attrs["provider"]
	switch {
	case command != nil && provider != nil:
		r.addf(provider.NameRange, "A command is a program; a provider is asked by our own loop. Make two agents of it.", "agent %q has a command and a provider", b.name)
	case command != nil:
		g.Command = r.agentCommand(command)
		for _, name := range []string{"model", "base_url", "api_key", "max_turns"} {
			if a := b.attrs[name]; a != nil {
				r.addf(a.NameRange, "It belongs to an agent with a provider. Give it to the program in its command.",
					"agent %q is a command and has %s", b.name, name)
			}
		}
		g.Given = pipeline.Given{
			Env: r.env(b.attrs["env"]), PassEnv: r.strs(b, "pass_env", `["NAME", "PREFIX_*"]`, r.passName),
			Files: r.strs(b, "files", `["~/.config/mine/token"]`, r.homeFile),
		}
		for _, c := range b.of("retry") {
			g.Retry = r.agentRetry(c)
		}
	case provider != nil:
		g.Model = r.modelAgent(b)
		for _, name := range []string{"env", "pass_env", "files"} {
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
		r.addf(b.at, `Write command = ["./agent.sh"], or provider = "anthropic" with model = "NAME".`,
			"agent %q has no command and no provider", b.name)
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
	if a := r.need(b, "model", `Write model = "NAME", as the provider calls it.`,
		"agent %q has a provider and no model", b.name); a != nil {
		var ok bool
		if m.Model, ok = r.str(b, "model"); ok &&
			(strings.TrimSpace(m.Model) == "" || strings.ContainsAny(m.Model, " \t\r\n?#")) {
			r.add(a.Expr.Range(), "model is no name of a model", "Write it as the provider calls it.")
		}
	}
	if s, ok := r.str(b, "base_url"); ok {
		m.BaseURL = s
		at := b.attrs["base_url"].Expr.Range()
		if s == "" { // model.CheckURL takes it for the provider's own address; a person who wrote it did not mean that
			r.add(at, "base_url is empty", "Leave it out for the provider's own address.")
		} else if err := model.CheckURL(s); err != nil {
			why, do, _ := strings.Cut(err.Error(), "; ")
			r.add(at, "base_url cannot be used: "+why, sentence(do))
		}
	}
	if a := b.attrs["api_key"]; a != nil {
		m.Key = r.apiKey(a)
	}
	m.MaxTurns = cmp.Or(r.number(b.attrs["max_turns"], 1, mostTurns), usualTurns)
	return m
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
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
