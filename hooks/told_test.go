package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// What a person is told of tries: attempts are those of the budget, and what follows a failure inside of one is
// another try of it. The rows of the record, and the files named after them, go on counting.
func TestTold(t *testing.T) {
	t.Parallel()
	two := pipeline.AgentHook{Budget: pipeline.Budget{Attempts: 2, WallClock: 2 * time.Minute}}
	unnamed := func(_ context.Context, r agent.Request) agent.Turn {
		_, err := agent.ParseFailure(`{"error":{}}`)
		return agent.Turn{Text: "x", Problem: err.Error()}
	}
	capped := two
	capped.Budget.Tokens = 100
	for name, c := range map[string]struct {
		hook   pipeline.AgentHook
		agents []*scripted
		want   []string
	}{
		"one try": {two, []*scripted{script("first", writes("good", said))}, []string{
			"attempt 1 of 2: agent first is at work",
			"attempt 1 changed a",
			"verifying the patch: check",
			"verifying with the original checks: check",
			"attempt 1: verified",
		}},
		"once more, and then the next agent": {two, []*scripted{
			script("first", fails(failure.StreamFailure), fails(failure.StreamFailure)),
			script("second", writes("worse", said), writes("good", said)),
		}, []string{
			"attempt 1 of 2: agent first is at work",
			"agent first ended with stream_failure (as told); retrying in 1s",
			"attempt 1 of 2, try 2: agent first is at work",
			"agent first ended with stream_failure (as told); asking agent second next",
			"attempt 1 of 2, try 3: agent second is at work",
			"attempt 1, try 3 changed a",
			"verifying the patch: check",
			"attempt 1, try 3: unverified (check_failed)",
			"attempt 2 of 2: agent second is at work",
			"attempt 2 changed a",
			"verifying the patch: check",
			"verifying with the original checks: check",
			"attempt 2: verified",
		}},
		"no object, in few words": {two, []*scripted{
			script("first", unnamed, fails(failure.CLIError)),
			script("second", writes("good", "prose"), writes("", said)),
		}, []string{
			"attempt 1 of 2: agent first is at work",
			`attempt 1 ended without a report (error object: required field "kind" is missing); asking for it once`,
			`agent first ended with output_invalid (the agent changed nothing, and its report cannot be read: error object: required field "kind" is missing; it was ignored, and how the program ended is what counts); asking agent second next`,
			"attempt 1 of 2, try 2: agent second is at work",
			"attempt 1, try 2 changed a",
			"attempt 1, try 2 ended without a report (no parseable JSON object in output); asking for it once",
			"attempt 1, try 2: the report came",
			"verifying the patch: check",
			"verifying with the original checks: check",
			"attempt 1, try 2: verified",
		}},
		"no second attempt": {capped, []*scripted{script("first", metered(writes("worse", said), 90, 20))}, []string{
			"attempt 1 of 2: agent first is at work",
			"attempt 1 changed a",
			"verifying the patch: check",
			"attempt 1: unverified (check_failed)",
			"attempt 2 of 2 not started: 110 of 100 tokens are used",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			f := answersTelling(t, t.Context(), func(s Step) {
				if strings.Contains(s.Text, "attempt") || strings.HasPrefix(s.Text, "verifying ") ||
					strings.Contains(s.Text, " ended with ") {
					got = append(got, s.Text)
				}
			}, c.hook, c.agents...)
			if !slices.Equal(got, c.want) {
				t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			for i, a := range f.Attempts {
				if a.Number != i+1 {
					t.Errorf("row %d has the number %d", i+1, a.Number)
				}
			}
			if name == "no second attempt" && !strings.Contains(show(f.Note), "110 of 100 tokens are used") {
				t.Errorf("the note: %s", show(f.Note))
			}
			if name == "no object, in few words" && !strings.Contains(show(f.Attempts[0].Evidence), agent.KnownKinds()) {
				t.Errorf("the record does not have the whole: %s", show(f.Attempts[0].Evidence))
			}
		})
	}
}

// What is known of a cost is recorded where a part of it is unknown, of the turn, of the question after it, and of
// all.
func TestCostAtLeast(t *testing.T) {
	t.Parallel()
	turn := func(text, says string, cost, least *float64, tokens agent.Tokens) scriptedTurn {
		return func(ctx context.Context, r agent.Request) agent.Turn {
			turn := writes(text, says)(ctx, r)
			turn.CostUSD, turn.CostAtLeast, turn.Tokens = cost, least, tokens
			turn.Commands = agent.Commands{Allowed: new(2), Refused: new(1)}
			return turn
		}
	}
	known, part := agent.Tokens{Input: new(int64(10)), Output: new(int64(5))}, agent.Tokens{AtLeast: new(int64(7))}
	for name, c := range map[string]struct {
		first, second scriptedTurn
		attempt, end  string
		used          string
	}{
		"all is known": {
			turn("good", "prose", new(0.5), nil, known), turn("", said, new(0.25), nil, known),
			`0.5`, `0.25`, `{"tokens":30,"cost_usd":0.75}`,
		},
		"a part of the turn": {
			turn("good", "prose", nil, new(0.5), part), turn("", said, new(0.25), nil, known),
			`null at least 0.5`, `0.25`, `{"tokens":null,"cost_usd":null,"tokens_at_least":22,"cost_usd_at_least":0.75}`,
		},
		"a part of the question": {
			turn("good", "prose", new(0.5), nil, known), turn("", said, nil, new(0.25), known),
			`0.5`, `null at least 0.25`, `{"tokens":30,"cost_usd":null,"cost_usd_at_least":0.75}`,
		},
		"nothing": {
			turn("good", "prose", nil, nil, agent.Tokens{}), turn("", said, nil, nil, agent.Tokens{}),
			`null`, `null`, `{"tokens":null,"cost_usd":null}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := answers(t, t.Context(), pipeline.AgentHook{}, script("a", c.first, c.second))
			words := func(cost, least *float64) string {
				text := "null"
				if cost != nil {
					text = fmt.Sprint(*cost)
				}
				if least != nil {
					text += " at least " + fmt.Sprint(*least)
				}
				return text
			}
			a := f.Attempts[0]
			if got := words(a.CostUSD, a.CostAtLeast); got != c.attempt {
				t.Errorf("the attempt: %s, want %s", got, c.attempt)
			}
			if got := words(a.Finalizer.CostUSD, a.Finalizer.CostAtLeast); got != c.end {
				t.Errorf("the question: %s, want %s", got, c.end)
			}
			used := f.Budget.Used
			used.Attempts, used.WallClockMS = nil, nil
			got, err := json.Marshal(used)
			if want := `{"attempts":null,"wall_clock_ms":null,` + strings.TrimPrefix(c.used, "{"); err != nil || string(got) != want {
				t.Errorf("used: %s, want %s (%v)", got, want, err)
			}
			if n := a.Commands; n.Allowed == nil || n.Refused == nil || *n.Allowed != 2 || *n.Refused != 1 {
				t.Errorf("commands: %+v", n)
			}
		})
	}
}

// A fallback agent is not advised where there is one; where it was not asked for lack of time, more time is.
func TestAdviceWithFallback(t *testing.T) {
	t.Parallel()
	const limited = "the provider limits how often it is asked: wait"
	for name, c := range map[string]struct {
		clock  time.Duration
		others int
		want   string
	}{
		"no other agent":      {time.Minute, 0, limited + ", or set a fallback agent"},
		"the other was asked": {time.Minute, 1, limited},
		"no time for the other": {
			21 * time.Second, 1, limited + ", or raise wall_clock so that there is time for the next agent",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agents := []*scripted{script("a", fails(failure.RateLimited))}
			if c.others > 0 {
				agents = append(agents, script("b", fails(failure.RateLimited)))
			}
			f := answers(t, t.Context(), pipeline.AgentHook{Budget: pipeline.Budget{WallClock: c.clock}}, agents...)
			if show(f.Advice) != c.want {
				t.Errorf("%s, want %s", show(f.Advice), c.want)
			}
		})
	}
}
