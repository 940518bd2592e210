package main

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/project"
	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// answerMost is how long an answer of a model may be on the wire, in bytes: the longest is a few, and a turn has many.
const answerMost = 32 << 20

// modelAgent is an agent of our own: the loop, and the model that it asks. breakers has one breaker for each provider, model and key:
// limits are a key's, and one model may be down while another is up.
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
		Lacks: project.MissingKey(a), Breaker: breakers[at], Patience: m.Patience(),
	}
}
