package agenttask

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// fake is an agent in this process: it works on the plain files of its copy.
type fake struct {
	ready error
	turn  func(ctx context.Context, r agent.Request) agent.Turn
}

func (f *fake) Name() string          { return "fake" }
func (f *fake) Ready() error          { return f.ready }
func (f *fake) Here() bool            { return true }
func (f *fake) Keyed() bool           { return false }
func (f *fake) Retry() failure.Policy { return failure.Policy{} }
func (f *fake) Turn(ctx context.Context, r agent.Request) (agent.Turn, error) {
	return f.turn(ctx, r), nil
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// desk is a root with a file, and a run that is under way.
type desk struct {
	*Runner
	draft *record.Draft
	fake  *fake
	task  *pipeline.Task

	mu   sync.Mutex
	said []string
}

func newDesk(t *testing.T, turn func(context.Context, agent.Request) agent.Turn) *desk {
	t.Helper()
	root := t.TempDir()
	must(t, os.WriteFile(filepath.Join(root, "a"), []byte("one\n"), 0o600))
	c := &pipeline.Config{Root: root, Tasks: []*pipeline.Task{{
		Name:  "review",
		Agent: &pipeline.AgentWork{Use: "fake", Prompt: "Read a.", StdoutTo: "review.txt", Budget: pipeline.Budget{Attempts: 1, WallClock: time.Minute}},
	}}}
	f := &fake{turn: turn}
	store := record.At(root)
	set := new(redact.Set)
	set.Add("KEY", "hunter2-hunter2")
	draft, err := store.Begin(time.Now(), nil, nil)
	must(t, err)
	return &desk{
		Runner: &Runner{
			Config: c, Store: store, Redact: set, Environ: []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}, Cache: t.TempDir(),
			Agents: map[string]agent.Agent{"fake": f}, Tier: sandbox.None,
		},
		draft: draft, fake: f, task: c.Tasks[0],
	}
}

func (d *desk) run(ctx context.Context) (record.Task, string) {
	return d.Run(ctx, d.task, d.draft, func(text string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.said = append(d.said, text)
	})
}

// left fails the test where something of the work is left, or the tree was touched.
func (d *desk) left(t *testing.T) {
	t.Helper()
	if text, err := os.ReadFile(filepath.Join(d.Config.Root, "a")); err != nil || string(text) != "one\n" {
		t.Errorf("the tree has %q, %v", text, err)
	}
	if entries, err := os.ReadDir(filepath.Join(d.Cache, "scratch")); err == nil && len(entries) > 0 {
		inside, _ := os.ReadDir(filepath.Join(d.Cache, "scratch", entries[0].Name()))
		if len(inside) > 0 {
			t.Errorf("left behind: %v", inside)
		}
	}
	if recordfile.Exists(filepath.Join(d.draft.Dir, "agents", "review")) {
		t.Error("the draft is left")
	}
}

func write(t *testing.T, r agent.Request, name, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(r.Copy, name), []byte(text), 0o600))
}

// One turn in a copy: the request repairs nothing, the difference is the patch, the last words are the answer.
func TestRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	var got agent.Request
	d.fake.turn = func(_ context.Context, r agent.Request) agent.Turn {
		got = r
		write(t, r, "a", "two\n")
		write(t, r, "key", "hunter2-hunter2\n")
		r.Notice("turn 1: reads\x1b[2J hunter2-hunter2")
		return agent.Turn{Text: "It is hunter2-\x1b[0mhunter2.", Model: "m", Turns: new(3), Tokens: agent.Tokens{Input: new(int64(7))}}
	}
	row, answer := d.run(t.Context())
	a := row.Agent
	if row.Status != record.Passed || *row.ExitCode != 0 || row.DurationMS == nil || a.Kind != nil || *a.Model != "m" || *a.Turns != 3 || *a.Tokens.Input != 7 {
		t.Fatalf("%+v\n%+v", row, a)
	}
	if !got.Task || got.Check != nil || got.Run != nil || got.Pack != nil || !strings.Contains(got.Prompt, "Read a.") || !strings.Contains(got.Prompt, "review.txt") {
		t.Errorf("asked %+v", got)
	}
	if strings.Contains(answer, "hunter2") || !strings.HasSuffix(answer, "\n") {
		t.Errorf("answer %q", answer)
	}
	if text, err := os.ReadFile(filepath.Join(d.draft.Dir, filepath.FromSlash(a.Patch.Path))); err != nil || !strings.Contains(string(text), "+two\n") || strings.Contains(string(text), "hunter2") || a.Patch.Changed != 1 {
		t.Errorf("patch %+v: %s, %v", a.Patch, text, err)
	}
	if len(a.Omitted) != 1 || a.Omitted[0].Why != "secret" {
		t.Errorf("omitted %+v", a.Omitted)
	}
	names := ""
	for _, f := range a.Files {
		names += filepath.Base(f.Path) + " "
	}
	if names != "review.patch review.raw.jsonl review.redacted.patch review.transcript.jsonl " {
		t.Errorf("files %s", names)
	}
	for _, text := range d.said {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "\x1b") {
			t.Errorf("a person is told %q", text)
		}
	}
	d.left(t)
}

// Every way to end is in the row; what was changed by then is kept.
func TestEndings(t *testing.T) {
	t.Parallel()
	waits := func(ctx context.Context, r agent.Request) agent.Turn {
		<-ctx.Done()
		return agent.Turn{Kind: failure.Cancelled, Evidence: "cancelled", Exit: agent.Exit{Cancelled: true}}
	}
	for name, c := range map[string]struct {
		change func(*desk)
		turn   func(context.Context, agent.Request) agent.Turn
		status string
		kind   failure.Kind
		says   string
	}{
		"a failure": {nil, func(context.Context, agent.Request) agent.Turn {
			return agent.Turn{Kind: failure.AuthMissing, Evidence: "not signed in", Exit: agent.Exit{Code: 4}}
		}, record.Failed, failure.AuthMissing, "agent fake: auth_missing: not signed in"},
		"nothing for the file": {nil, func(context.Context, agent.Request) agent.Turn { return agent.Turn{} }, record.Failed, failure.NoOutput, "review.txt would be empty"},
		"no word, and no file that wants one": {func(d *desk) { d.task.Agent.StdoutTo = "" }, func(context.Context, agent.Request) agent.Turn {
			return agent.Turn{Kind: failure.NoOutput, Evidence: "nothing on stdout"}
		}, record.Passed, "", ""},
		"its budget": {func(d *desk) { d.task.Agent.Budget.WallClock = 300 * time.Millisecond }, func(ctx context.Context, r agent.Request) agent.Turn {
			<-ctx.Done()
			return agent.Turn{Kind: failure.WallTimeout, Evidence: "out of time", Exit: agent.Exit{TimedOut: true}}
		}, record.Failed, failure.WallTimeout, "still at work after 300ms, the wall_clock of its budget"},
		"the timeout of the task": {func(d *desk) { d.task.Timeout = 500 * time.Millisecond }, waits, record.TimedOut, failure.WallTimeout, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, nil)
			d.fake.turn = func(ctx context.Context, r agent.Request) agent.Turn {
				write(t, r, "a", "two\n")
				return c.turn(ctx, r)
			}
			if c.change != nil {
				c.change(d)
			}
			row, _ := d.run(t.Context())
			kind := ""
			if row.Agent.Kind != nil {
				kind = *row.Agent.Kind
			}
			if row.Status != c.status || kind != string(c.kind) || c.says != "" && (row.Error == nil || !strings.Contains(*row.Error, c.says)) {
				t.Errorf("%s, kind %q, %+v", row.Status, kind, row.Error)
			}
			if row.Agent.Patch == nil {
				t.Error("what it changed is lost")
			}
			d.left(t)
		})
	}
	d := newDesk(t, waits)
	ctx, cancel := context.WithCancel(t.Context())
	d.fake.turn = func(ctx context.Context, r agent.Request) agent.Turn {
		cancel()
		return waits(ctx, r)
	}
	if row, _ := d.run(ctx); row.Status != record.Cancelled || *row.Reason != string(pipeline.Signal) {
		t.Errorf("interrupted: %+v", row)
	}
	d.left(t)
}

// Where the patch cannot be stored, the copy is kept, and what the agent used is in the row.
func TestPatchCannotBeStored(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.fake.turn = func(_ context.Context, r agent.Request) agent.Turn {
		write(t, r, "a", "two\n")
		must(t, os.Mkdir(filepath.Join(d.draft.Dir, "agents", "review.patch"), 0o700))
		return agent.Turn{Model: "m", Tokens: agent.Tokens{Input: new(int64(7))}, Exit: agent.Exit{Code: 4, ProcessesLeft: 2}}
	}
	row, _ := d.run(t.Context())
	a := row.Agent
	if *a.Kind != string(failure.ScratchFailed) || *a.Model != "m" || *a.Tokens.Input != 7 || *row.ExitCode != 4 || *row.ProcessesLeft != 2 {
		t.Errorf("%+v\n%+v", row, a)
	}
	kept := filepath.Join(d.Cache, "rescued", d.draft.ID+"-review-1")
	if text, err := os.ReadFile(filepath.Join(kept, "a")); err != nil || string(text) != "two\n" || !strings.Contains(*a.Evidence, kept) {
		t.Errorf("kept %q, %v; %s", text, err, *a.Evidence)
	}
	d.left(t)
}

// Where the copy cannot be moved either, it stays, and the error names it.
func TestCopyCannotBeMoved(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	copied := ""
	d.fake.turn = func(_ context.Context, r agent.Request) agent.Turn {
		copied = r.Top
		write(t, r, "a", "two\n")
		must(t, os.Mkdir(filepath.Join(d.draft.Dir, "agents", "review.patch"), 0o700))
		for _, name := range []string{"rescued", "rescued-" + d.draft.ID + "-review-1"} {
			must(t, os.WriteFile(filepath.Join(d.Cache, name), nil, 0o600))
		}
		return agent.Turn{}
	}
	row, _ := d.run(t.Context())
	if text, err := os.ReadFile(filepath.Join(copied, "a")); err != nil || string(text) != "two\n" || !strings.Contains(*row.Error, copied) {
		t.Errorf("left %q, %v; %s", text, err, *row.Error)
	}
}

// What keeps an agent from being started is the error of the task, and nothing is copied.
func TestNotStarted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*desk)
		says   string
	}{
		"in a hook":               {func(d *desk) { d.Environ = append(d.Environ, sandbox.HookMark+"=r/t") }, "starts no agent"},
		"not ready":               {func(d *desk) { d.fake.ready = errors.New("no key") }, "no key"},
		"no sandbox of that name": {func(d *desk) { d.Tier = "vault" }, "sandbox vault is not available"},
		"unknown":                 {func(d *desk) { d.task.Agent.Use = "x" }, `no agent "x"`},
	} {
		d := newDesk(t, func(context.Context, agent.Request) agent.Turn { panic("it was started") })
		c.change(d)
		row, answer := d.run(t.Context())
		if row.Status != record.Failed || row.Error == nil || !strings.Contains(*row.Error, c.says) || answer != "" || row.Agent != nil {
			t.Errorf("%s: %+v", name, row)
		}
		if recordfile.Exists(filepath.Join(d.draft.Dir, "agents")) {
			t.Errorf("%s: something was written", name)
		}
	}
}

// An answer that is too long is cut, and a secret may be cut with it: what is left of it is no secret that is found.
func TestCutAnswer(t *testing.T) {
	t.Parallel()
	cut := "unter2-hunter2"
	d := newDesk(t, func(context.Context, agent.Request) agent.Turn {
		return agent.Turn{Text: cut + strings.Repeat("Z", agent.TailLimit-len(cut)-6) + "\nend\n"}
	})
	row, answer := d.run(t.Context())
	if row.Status != record.Passed || strings.Contains(answer, "unter2") || !strings.HasSuffix(answer, "Z\nend\n") || !strings.Contains(answer, "the last 192 KiB") {
		t.Errorf("%+v, %.100q", row, answer)
	}
}
