// Package configured makes the agents that a configuration declares.
package configured

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/cli"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/relay"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// answerMost limits the bytes that a model may send during one turn; answers are a few MB at most.
const answerMost = 32 << 20

// Agents returns the agents of a configuration by name. environ is the person's environment, KEY=VALUE. find returns
// why a program cannot be started here, or nil; path is the PATH in which it is looked up.
func Agents(c *pipeline.Config, environ []string, find func(program, path string) error) map[string]agent.Agent {
	agents := map[string]agent.Agent{}
	breakers := map[string]*native.Breaker{}
	for _, a := range c.Agents {
		if a.Model != nil {
			agents[a.Name] = modelAgent(a, breakers)
			continue
		}
		look := func(program string) error { return find(program, PathOf(a, environ)) }
		if a.CLI != nil {
			agents[a.Name] = knownCLI(a, environ, look)
			continue
		}
		argv := make([]string, len(a.Command))
		for i, w := range a.Command {
			argv[i] = w.Value
		}
		agents[a.Name] = &cli.Command{
			ID: a.Name, Argv: argv, Look: look, Given: given(a, environ), Policy: a.Retry,
		}
	}
	return agents
}

// PathOf returns the PATH in which the program of an agent is looked up: what its env sets wins.
func PathOf(a *pipeline.Agent, environ []string) string {
	path := homes.Env(environ, "PATH")
	for _, v := range a.Given.Env {
		if v.Name == "PATH" {
			path = v.Value
		}
	}
	return path
}

// given returns what an agent's program gets of the person's. What env sets wins. A variable with the key is left out:
// the key is for the relay only.
func given(a *pipeline.Agent, environ []string) cli.Given {
	g := cli.Given{Home: homes.Env(environ, "HOME"), Files: a.Given.Files, Lacks: MissingKey(a)}
	for _, kv := range environ {
		if name, value, _ := strings.Cut(kv, "="); homes.Passes(a.Given.PassEnv, name) && !hasKey(a, value) {
			g.Env = append(g.Env, kv)
		}
	}
	for _, v := range a.Given.Env {
		if !hasKey(a, v.Value) {
			g.Env = append(g.Env, v.Name+"="+v.Value)
		}
	}
	return g
}

// hasKey reports whether the value of a variable has the key of an agent CLI in it.
func hasKey(a *pipeline.Agent, value string) bool {
	if a.CLI == nil || a.CLI.Key == nil || a.CLI.Key.Value == "" {
		return false
	}
	key := a.CLI.Key.Value
	return value == key || len(key) >= redact.MinLen && strings.Contains(value, key)
}

// Withheld returns the names of the variables that PIPELINE.hcl gives to an agent and that it does not get, because its
// key is in them: by their values, and where the key is not set, those that are the secret of its api_key.
func Withheld(a *pipeline.Agent, environ []string) (names []string) {
	if a.CLI == nil || a.CLI.Key == nil {
		return nil
	}
	for _, kv := range environ {
		if name, value, _ := strings.Cut(kv, "="); homes.Passes(a.Given.PassEnv, name) && hasKey(a, value) {
			names = append(names, name)
		}
	}
	for _, name := range a.CLI.Key.Missing {
		if homes.Passes(a.Given.PassEnv, name) {
			names = append(names, name)
		}
	}
	for _, v := range a.Given.Env {
		missing := func(name string) bool { return slices.Contains(a.CLI.Key.Missing, name) }
		if hasKey(a, v.Value) || slices.ContainsFunc(v.Missing, missing) {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// knownCLI returns an agent that is one of the CLIs that we know. With a key it asks its provider through a relay, so
// that the key is not in its box; without one its own sign-in is used.
func knownCLI(a *pipeline.Agent, environ []string, look func(string) error) agent.Agent {
	k := &cli.Known{
		ID: a.Name, CLI: a.CLI.Name, Model: a.CLI.Model, Args: a.CLI.Args, Look: look, Policy: a.Retry,
		Given: given(a, environ),
	}
	if a.CLI.Key != nil {
		up := relay.Upstream{Wire: a.CLI.Wire, BaseURL: a.CLI.BaseURL, Key: a.CLI.Key.Value}
		k.Relay = func(ctx context.Context, r agent.Request) (*cli.Relay, error) { return openRelay(ctx, up, r) }
	}
	return k
}

// openRelay starts a relay for one turn, with what is left of the turn's budget.
func openRelay(ctx context.Context, up relay.Upstream, r agent.Request) (*cli.Relay, error) {
	// What was used is known also of a turn that was ended.
	re, err := relay.Start(context.WithoutCancel(ctx), relay.Options{
		Upstreams: []relay.Upstream{up},
		Limits:    relay.Limits{Tokens: r.Tokens, CostUSD: r.CostUSD},
		Observe:   func(q relay.Request) { note(r, q) },
	})
	if err != nil {
		return nil, err
	}
	return &cli.Relay{
		Wire: up.Wire, URL: re.URL(up.Wire), Key: re.Key(), SoFar: func() cli.Used { return usedOf(re.Used()) },
		Close: func() (cli.Used, error) {
			err := re.Close()
			return usedOf(re.Used()), err
		},
	}, nil
}

// usedOf returns what a relay counted.
func usedOf(u relay.Used) cli.Used {
	used := cli.Used{
		Tokens:  agent.Tokens{Input: u.Input, Output: u.Output, Cached: u.Cached, AtLeast: u.AtLeast},
		CostUSD: u.CostUSD, CostAtLeast: u.CostAtLeast, Requests: u.Requests, Lost: u.Lost, LostWhy: u.LostWhy,
	}
	switch u.Stopped {
	case "":
	case "requests":
		used.Stopped = failure.LoopDetected
		used.Why = fmt.Sprintf("it asked the provider %d times, which is all that an attempt may", u.Requests)
	default:
		used.Stopped, used.Why = failure.TokenBudget, "the budget's "+u.Stopped+" are spent; the relay ended its requests"
	}
	return used
}

// note writes a request to the transcript, without what was said.
func note(r agent.Request, q relay.Request) {
	if r.Note == nil {
		return
	}
	r.Note(agent.Line{Type: "request", Data: map[string]any{
		"method": q.Method, "path": q.Path, "model": agent.Null(q.Model), "status": q.Status, "sent_bytes": q.Sent,
		"received_bytes": q.Bytes, "duration_ms": q.Duration.Milliseconds(), "outcome": string(q.Outcome),
		"tokens":   agent.Tokens{Input: q.Usage.Input, Output: q.Usage.Output, Cached: q.Usage.Cached},
		"cost_usd": q.CostUSD,
	}})
}

// modelAgent returns our own agent for a configured model. Agents with the same provider, model and key share a
// circuit breaker, because limits belong to a key, and one model may be down while another is up.
func modelAgent(a *pipeline.Agent, breakers map[string]*native.Breaker) agent.Agent {
	m := &model.Model{
		Provider: a.Model.Provider, Name: a.Model.Model, BaseURL: a.Model.BaseURL, Key: a.Model.Key.Value,
	}
	m.Limits.Total = answerMost
	at := strings.Join([]string{m.Provider, m.BaseURL, m.Name, m.Key}, "\n")
	if breakers[at] == nil {
		breakers[at] = &native.Breaker{}
	}
	return &native.Agent{
		ID: a.Name, Ask: m.Turn, Model: m.Name, Provider: m.Provider, MaxTurns: a.Model.MaxTurns, Cost: model.Cost,
		Lacks: MissingKey(a), Breaker: breakers[at], Patience: m.Patience(),
	}
}

// MissingKey returns the names of the secrets that an agent's key or variables need and that are not set; of a key
// also those that are empty.
func MissingKey(a *pipeline.Agent) []string {
	var key pipeline.Text
	switch {
	case a.Model != nil:
		key = a.Model.Key
	case a.CLI != nil && a.CLI.Key != nil:
		key = *a.CLI.Key
	}
	names := slices.Clone(key.Missing)
	if len(names) == 0 && key.Value == "" {
		names = slices.Clone(key.Secrets)
	}
	for _, v := range a.Given.Env {
		names = append(names, v.Missing...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
