package configured

import (
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/agent/native"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// Agents share a breaker only where one limit holds for both: another key, model or address has its own.
func TestBreakers(t *testing.T) {
	t.Parallel()
	breakers := map[string]*native.Breaker{}
	breaker := func(provider, url, name, key string) *native.Breaker {
		a := &pipeline.Agent{Name: "own", Model: &pipeline.ModelAgent{Provider: provider, Model: name, BaseURL: url}}
		a.Model.Key.Value = key
		return modelAgent(a, breakers).(*native.Agent).Breaker
	}
	one := breaker(model.Anthropic, "", "big", "k1")
	if breaker(model.Anthropic, "", "big", "k1") != one {
		t.Error("two agents of one model do not wait for each other")
	}
	for name, other := range map[string]*native.Breaker{
		"key": breaker(model.Anthropic, "", "big", "k2"), "model": breaker(model.Anthropic, "", "small", "k1"),
		"address": breaker(model.Anthropic, "http://localhost:1", "big", "k1"), "provider": breaker(model.Gemini, "", "big", "k1"),
	} {
		if other == one {
			t.Errorf("another %s is blocked too", name)
		}
	}
}
