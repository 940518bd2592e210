package main

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/project"
	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// answerMost limits the bytes that a model may send during one turn; answers are a few MB at most.
const answerMost = 32 << 20

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
		Lacks: project.MissingKey(a), Breaker: breakers[at], Patience: m.Patience(),
	}
}
