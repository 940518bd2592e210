package agenttask

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/attempt"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// agentOf returns what is recorded of an agent's turn, without its files. The zero result is of an agent that was not
// started.
func agentOf(t *pipeline.Task, res attempt.TaskResult) *record.Agent {
	row, limit := res.Row, t.Agent.Budget
	a := &record.Agent{
		Agent: t.Agent.Use, CLI: row.CLI, CLIVersion: row.CLIVersion, Model: row.Model,
		Kind: row.Kind, Class: row.Class, Evidence: row.Evidence,
		Turns: row.Turns, Requests: row.Requests, Tokens: record.AgentTokens(row.Tokens),
		CostUSD: row.CostUSD, CostAtLeast: row.CostAtLeast, Metered: row.Metered,
		Commands: record.AgentCommands(row.Commands), Given: (*record.AgentGiven)(row.Given), OutOfMemory: row.OutOfMemory,
		Limit:   record.AgentLimit{WallClockMS: new(limit.WallClock.Milliseconds())},
		Omitted: []record.AgentOmitted{}, Files: []record.AgentFile{},
	}
	if row.DurationMS > 0 {
		a.DurationMS = &row.DurationMS
	}
	if limit.Tokens > 0 {
		a.Limit.Tokens = &limit.Tokens
	}
	if limit.CostUSD > 0 {
		a.Limit.CostUSD = &limit.CostUSD
	}
	for _, o := range res.Omitted {
		a.Omitted = append(a.Omitted, record.AgentOmitted{Path: o.Path, Why: o.Why})
	}
	return a
}

// keep adds the files of the draft to the record of a task, and ends the draft.
func (r *Runner) keep(d *draft.Draft, got *record.Task) error {
	files, err := d.Files()
	for _, f := range files {
		kept := record.AgentFile(f)
		got.Agent.Files = append(got.Agent.Files, kept)
		if !strings.HasSuffix(f.Path, ".patch") || strings.HasSuffix(f.Path, ".redacted.patch") {
			continue
		}
		p := &record.AgentPatch{AgentFile: kept}
		got.Agent.Patch = p
		// A patch that we wrote can be read.
		if text, err := os.ReadFile(filepath.Join(d.RunDir(), filepath.FromSlash(f.Path))); err == nil {
			if parsed, err := patch.Parse(text); err == nil {
				p.Changed = len(parsed.Files)
			}
		}
	}
	if err = errors.Join(err, d.Finish(), d.Close()); err != nil {
		return fmt.Errorf("what the agent left: %w", err)
	}
	return nil
}
