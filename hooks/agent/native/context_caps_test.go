package native

import (
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// What a request has used that was taken and not answered nobody knows; one that was refused has used nothing.
func TestUsageOfSilence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err   model.Error
		known bool
	}{
		{model.Error{Kind: string(agent.IdleTimeout)}, false},
		{model.Error{Kind: string(agent.ColdStartTimeout)}, false},
		{model.Error{Kind: string(agent.StreamFailure)}, false},
		{model.Error{Kind: string(agent.RateLimited), Status: 429}, true},
		{model.Error{Kind: string(agent.DNSNotFound)}, true},
	} {
		m := newMeter(&Agent{Model: "m"}, agent.Request{})
		m.asked()
		m.add(model.Answer{}, &c.err, func(string) {})
		if got := m.tokens(); (got.Input != nil) != c.known || (got.Output != nil) != c.known {
			t.Errorf("%s: %+v", c.err.Kind, got)
		}
	}
}
