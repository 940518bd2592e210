package replay

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks"
	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/hooks/verify"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A repairer writes good into the file a.
type repairer struct{}

func (repairer) Name() string { return "s" }
func (repairer) Ready() error { return nil }
func (repairer) Here() bool   { return true }
func (repairer) Keyed() bool  { return false }

func (repairer) Retry() failure.Policy { return failure.Policy{} }

func (repairer) Turn(_ context.Context, r agent.Request) (agent.Turn, error) {
	r.Note(agent.Line{Type: "prompt", Data: map[string]any{"text": "repair it"}})
	return agent.Turn{Control: &agent.Control{Outcome: agent.Fixed, Summary: "now it is good"}}, os.WriteFile(filepath.Join(r.Copy, "a"), []byte("good"), 0o600)
}

// repaired is the replay of a proposal that makes the file a say good.
func repaired(t *testing.T) Request {
	t.Helper()
	hook := pipeline.AgentHook{Use: "s", Budget: pipeline.Budget{Attempts: 1, WallClock: 2 * time.Minute}}
	config, store, run := fixtest.Failing(t, &hook)
	e := &hooks.Engine{
		Config: config, Store: store, Redact: &redact.Set{}, Cache: filepath.Join(t.TempDir(), "cache"),
		Tier: sandbox.None, Agents: map[string]agent.Agent{"s": repairer{}}, RunTask: fixtest.RunCheck,
	}
	fixtest.OK(t)(e.Heal(t.Context(), run, "check"))
	return Request{
		Config: e.Config, Store: store, Redact: e.Redact, Cache: e.Cache, RunTask: e.RunTask, Tier: e.Tier, Run: run,
		Fix: fixtest.Find(t, &fix.Store{Root: store.Root, Dir: store.Dir}, run.ID, "check"),
	}
}

// What the calls leave is held against the patch, file by file.
func TestReplayRebuilds(t *testing.T) {
	t.Parallel()
	q := repaired(t)
	for _, c := range []struct {
		name    string
		makes   map[string]string // by the calls
		calls   native.Rebuilt
		result  string
		details string // in words
	}{
		{"the same", map[string]string{"a": "good"}, native.Rebuilt{Calls: 1}, "same", ""},
		{"the same, though a command ran", map[string]string{"a": "good"}, native.Rebuilt{Commands: 1}, "same", ""},
		{"the same, though a call is not whole", map[string]string{"a": "good"}, native.Rebuilt{Open: map[string]string{"a": "cut"}}, "same", ""},
		{"another content", map[string]string{"a": "better"}, native.Rebuilt{Calls: 1}, "different", "a: the calls leave it otherwise than the patch does"},
		{"no call", nil, native.Rebuilt{}, "different", "a: the patch changes it, and no call did"},
		{"a file more", map[string]string{"a": "good", "b": "x"}, native.Rebuilt{Calls: 2}, "different", "b: a call changed it, and the patch does not"},
		{"a command can have been it", map[string]string{"a": "better", "b": "x"}, native.Rebuilt{Commands: 1}, "commands", "a b"},
		{"no command can have been it", map[string]string{"a": "better", "b": "x"}, native.Rebuilt{Commands: 1, Sure: map[string]bool{"a": true}}, "different", "b a: the calls leave it otherwise than the patch does"},
		{"a call is not whole", map[string]string{"a": "better"}, native.Rebuilt{Open: map[string]string{"a": "cut"}}, "unknown", "a: cut"},
		{"a call cannot have been", map[string]string{"a": "good"}, native.Rebuilt{Wrong: []string{"line 7"}}, "different", "line 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			again := q
			again.Rebuild = func(_ context.Context, r agent.Request, transcript io.Reader) (native.Rebuilt, error) {
				if text, err := io.ReadAll(transcript); err != nil || !strings.Contains(string(text), `"type":"prompt"`) {
					t.Errorf("the transcript is %q %v", text, err)
				}
				if text, err := os.ReadFile(filepath.Join(r.Copy, "a")); string(text) != "bad" || r.Attempt != 1 || r.Top != r.Copy || r.Dir != q.Config.Root {
					t.Errorf("attempt %d in %s below %s, seen as %s, where a says %q %v", r.Attempt, r.Copy, r.Top, r.Dir, text, err)
				}
				for name, text := range c.makes {
					if err := os.WriteFile(filepath.Join(r.Copy, name), []byte(text), 0o600); err != nil {
						t.Error(err)
					}
				}
				return c.calls, nil
			}
			r, err := Run(t.Context(), again)
			if err != nil || !r.Same || r.Rebuilt == nil {
				t.Fatalf("got %+v %v", r, err)
			}
			if r.Rebuilt.Result != c.result || r.Rebuilt.Calls != c.calls.Calls || r.Rebuilt.Commands != c.calls.Commands || r.Holds() != (c.result != "different") {
				t.Errorf("holds: %v; got %+v", r.Holds(), r.Rebuilt)
			}
			got := slices.Clone(r.Rebuilt.FromCommands)
			for _, d := range slices.Concat(r.Rebuilt.Unknown, r.Rebuilt.Contradictions) {
				if d.Path != nil {
					d.Detail = *d.Path + ": " + d.Detail
				}
				got = append(got, d.Detail)
			}
			if strings.Join(got, " ") != c.details {
				t.Errorf("it says %q, want %q", got, c.details)
			}
		})
	}

	others := func(context.Context, agent.Request, io.Reader) (native.Rebuilt, error) {
		return native.Rebuilt{}, native.ErrOthers
	}
	for _, q.Rebuild = range []Rebuild{nil, others} {
		if r, err := Run(t.Context(), q); err != nil || r.Rebuilt != nil || !r.Holds() {
			t.Errorf("of another agent: got %+v %v", r, err)
		}
	}
	broken := errors.New("no more")
	q.Rebuild = func(context.Context, agent.Request, io.Reader) (native.Rebuilt, error) {
		return native.Rebuilt{}, broken
	}
	if _, err := Run(t.Context(), q); !errors.Is(err, broken) {
		t.Errorf("got %v, want the error", err)
	}
	// Of an agent of which nothing is known as of our own, a transcript that is another tells nothing either.
	fixtest.Check(t, os.WriteFile(filepath.Join(q.Fix.Dir, "fixes", q.Fix.Name+".transcript.jsonl"), nil, 0o600))
	q.Rebuild = others
	if r, err := Run(t.Context(), q); err != nil || r.Rebuilt != nil {
		t.Errorf("of a changed transcript: got %+v %v", r, err)
	}
	q.Fix.Provenance.Agent = &fix.Program{Name: "s", Provider: "openai"}
	if r, err := Run(t.Context(), q); err != nil || r.Rebuilt == nil || r.Rebuilt.Result != "different" || r.Holds() {
		t.Errorf("of a changed transcript of our own agent: got %+v %v", r, err)
	}
}

// The attempt whose patch is proposed, as hooks chooses it.
func TestProposing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verdicts string // of attempts 1, 2 …: v, s, u; r: only a rescue patch; -: nothing
		want     int
	}{
		{"", 0}, {"-", 0}, {"v", 1}, {"uv", 2}, {"uu", 2}, {"uur", 2}, {"us-", 2}, {"su", 1}, {"ru", 2}, {"r", 1}, {"rr-", 2},
	} {
		var attempts []fix.Attempt
		for i, v := range c.verdicts {
			a := fix.Attempt{Number: i + 1}
			if v != '-' {
				a.Rescue = new("x.patch")
			}
			a.Verdict = map[rune]*string{'v': new(verify.Verified), 's': new(verify.Suspect), 'u': new(verify.Unverified)}[v]
			attempts = append(attempts, a)
		}
		got := 0
		if a := proposing(attempts); a != nil {
			got = a.Number
		}
		if got != c.want {
			t.Errorf("%q: attempt %d, want %d", c.verdicts, got, c.want)
		}
	}
}
