package cli

import (
	"context"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
)

// relayTo is a relay that is none: the CLI asks the provider of the test itself.
func relayTo(wire, url string) func(context.Context, agent.Request) (*Relay, error) {
	return func(context.Context, agent.Request) (*Relay, error) {
		return &Relay{Wire: wire, URL: url, Key: "dummy", Close: func() (Used, error) { return Used{Requests: 1}, nil }}, nil
	}
}
