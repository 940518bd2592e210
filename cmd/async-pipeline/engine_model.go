package main

import (
	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// modelAgent is an agent of our own: the loop, and the model that it asks. gates has one gate for each provider.
func modelAgent(a *pipeline.Agent, gates map[string]*native.Gate) agent.Agent {
	m := &model.Model{Provider: a.Model.Provider, Name: a.Model.Model, BaseURL: a.Model.BaseURL, Key: a.Model.Key.Value}
	at := m.Provider + " " + m.BaseURL
	if gates[at] == nil {
		gates[at] = &native.Gate{}
	}
	return &native.Agent{
		ID: a.Name, Ask: m.Turn, Model: m.Name, Provider: m.Provider, MaxTurns: a.Model.MaxTurns, Cost: model.Cost,
		Lacks: a.Model.Key.Missing, Gate: gates[at],
	}
}
