// Package native is our own agent: a conversation with a model, and tools that act on the copy. What the model asks for runs
// here, confined to the copy, and never twice; what the network does to the conversation is mended here too.
package native

import (
	"context"
	"encoding/json"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// An effect is what a tool can do to the world; it decides what may run beside what, and what a disconnect means.
type effect int

const (
	reads  effect = iota // nothing changes: calls of one round run side by side
	writes               // changes files of the copy: one after the other, in the order of the calls
	runs                 // starts a process in the box: the same
	ends                 // finish
)

// A tool is one thing that the model may ask for.
type tool struct {
	spec   model.Tool
	effect effect
	do     func(ctx context.Context, w *work, args json.RawMessage) outcome
}

// An outcome is what the model is told of a call. A fault of its own making is a failed outcome, never an error of ours.
type outcome struct {
	text     string
	failed   bool
	path     string         // the file it was about, below the top of the copy; empty: none
	finished *agent.Control // of finish
	warnings []string       // also in text; for the transcript
}
