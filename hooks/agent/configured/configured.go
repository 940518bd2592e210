// Package configured makes the agents that a configuration declares.
package configured

import (
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/cli"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// answerMost limits the bytes that a model may send during one turn; answers are a few MB at most.
const answerMost = 32 << 20

// Agents returns the agents of a configuration by name. environ is the person's environment, KEY=VALUE. find returns
// why a program cannot be started here, or nil.
func Agents(c *pipeline.Config, environ []string, find func(program string) error) map[string]agent.Agent {
	agents := map[string]agent.Agent{}
	breakers := map[string]*native.Breaker{}
	for _, a := range c.Agents {
		if a.Model != nil {
			agents[a.Name] = modelAgent(a, breakers)
			continue
		}
		argv := make([]string, len(a.Command))
		for i, w := range a.Command {
			argv[i] = w.Value
		}
		agents[a.Name] = &cli.Command{
			ID: a.Name, Argv: argv, Look: find, Given: given(a, environ), Policy: a.Retry,
		}
	}
	return agents
}

// given returns what an agent's program gets of the person's. What env sets wins.
func given(a *pipeline.Agent, environ []string) cli.Given {
	g := cli.Given{Home: homes.Env(environ, "HOME"), Files: a.Given.Files, Lacks: MissingKey(a)}
	for _, kv := range environ {
		if name, _, _ := strings.Cut(kv, "="); homes.Passes(a.Given.PassEnv, name) {
			g.Env = append(g.Env, kv)
		}
	}
	for _, v := range a.Given.Env {
		g.Env = append(g.Env, v.Name+"="+v.Value)
	}
	return g
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
	if a.Model == nil {
		var names []string
		for _, v := range a.Given.Env {
			names = append(names, v.Missing...)
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	if key := a.Model.Key; len(key.Missing) == 0 && key.Value == "" {
		return key.Secrets
	}
	return a.Model.Key.Missing
}
