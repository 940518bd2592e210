package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// run is an Exec without a box: enough to see what a command is given and what it says.
func run(ctx context.Context, c agent.Command) (agent.Exit, error) {
	start := func() error {
		cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
		cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr
		cmd.WaitDelay = time.Second
		return cmd.Run()
	}
	err := start()
	for errors.Is(err, syscall.ETXTBSY) { // another test forked while the program was written
		time.Sleep(time.Millisecond)
		err = start()
	}
	select {
	case <-ctx.Done():
		return agent.Exit{Code: 137, Signal: "SIGKILL", Cancelled: true}, nil
	default:
	}
	var exit *exec.ExitError
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, exec.ErrNotFound):
		_, _ = fmt.Fprintf(c.Stderr, "%s: not found\n", c.Argv[0])
		return agent.Exit{Code: 127}, nil
	case errors.As(err, &exit):
		if ws := exit.Sys().(syscall.WaitStatus); ws.Signaled() {
			return agent.Exit{Code: 128 + int(ws.Signal()), Signal: "SIGKILL"}, nil
		}
		return agent.Exit{Code: exit.ExitCode()}, nil
	}
	return agent.Exit{}, err
}

// talk takes a turn with a shell script.
func talk(t *testing.T, script string, change func(*agent.Request)) (agent.Turn, []agent.Line, string) {
	t.Helper()
	var (
		mu    sync.Mutex
		lines []agent.Line
		raw   bytes.Buffer
	)
	r := agent.Request{
		Attempt: 1, Prompt: "Repair it.", Pack: []byte(`{"task":"test"}`), Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH"), "MARK=1"}, Exec: run, Raw: &raw,
		Note: func(l agent.Line) {
			mu.Lock()
			defer mu.Unlock()
			if _, err := json.Marshal(l.Data); err != nil {
				t.Error(err)
			}
			lines = append(lines, l)
		},
	}
	if change != nil {
		change(&r)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	c := &Command{ID: "mine", Argv: []string{"/bin/sh", "-c", script}}
	turn, err := c.Turn(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(lines); lines[0].Type != "prompt" || lines[n-1].Type != "end" {
		t.Errorf("the transcript goes from %s to %s", lines[0].Type, lines[n-1].Type)
	}
	return turn, lines, raw.String()
}

func said(lines []agent.Line, kind string) string {
	var b strings.Builder
	for _, l := range lines {
		if l.Type == kind {
			_, _ = fmt.Fprint(&b, l.Data["text"])
		}
	}
	return b.String()
}

const fixedObject = `{"outcome":"fixed","summary":"off by one"}`

func TestTurn(t *testing.T) {
	t.Parallel()
	t.Run("reads prompt and pack, works in its folder, is heard", func(t *testing.T) {
		t.Parallel()
		var dir string
		turn, lines, raw := talk(t, `cat > seen; echo "mark $MARK, home ${HOME-none}"; echo warned >&2; echo '`+fixedObject+`'`, func(r *agent.Request) { dir = r.Dir })
		if turn.Kind != "" || turn.Evidence != "" || turn.Control == nil || turn.Control.Summary != "off by one" || turn.Problem != "" {
			t.Errorf("%+v", turn)
		}
		want := "mark 1, home none\n" + fixedObject + "\n"
		if turn.Text != want || raw != want || said(lines, "text") != want {
			t.Errorf("text %q\nraw %q\ntranscript %q", turn.Text, raw, said(lines, "text"))
		}
		if got := said(lines, "notice"); got != "warned\n" {
			t.Errorf("notices %q", got)
		}
		if got := said(lines, "prompt"); got != "Repair it." {
			t.Errorf("prompt %q", got)
		}
		if turn.Turns != nil || turn.CostUSD != nil || turn.Tokens.Input != nil {
			t.Error("what is not known is said to be known")
		}
		seen, err := os.ReadFile(filepath.Join(dir, "seen"))
		if err != nil || !strings.HasPrefix(string(seen), "Repair it.\n\n") || !strings.Contains(string(seen), "\n{\"task\":\"test\"}\n----- end context pack ") {
			t.Errorf("%q, %v", seen, err)
		}
	})
	t.Run("an agent that reads nothing", func(t *testing.T) {
		t.Parallel()
		turn, _, _ := talk(t, `exec 0<&-; echo '`+fixedObject+`'`, func(r *agent.Request) { r.Prompt = strings.Repeat("long ", 1<<18) })
		if turn.Kind != "" || turn.Control == nil {
			t.Errorf("%+v", turn)
		}
	})
	t.Run("H20 no_fix with a difference is heard as no_fix", func(t *testing.T) {
		t.Parallel()
		turn, _, _ := talk(t, `echo edited > a.txt; echo 'I gave up. {"outcome":"no_fix","summary":"not a bug"}'`, nil)
		if turn.Kind != "" || turn.Control == nil || turn.Control.Outcome != agent.NoFix {
			t.Errorf("%+v", turn)
		}
	})
	t.Run("silence is said, with evidence", func(t *testing.T) {
		t.Parallel()
		turn, _, _ := talk(t, `echo edited > a.txt; echo; echo hm >&2`, nil)
		if turn.Kind != failure.NoOutput || turn.Evidence != "exit 0, nothing on stdout; stderr: hm" || turn.Control != nil || turn.Problem != agent.ErrNoObject.Error() {
			t.Errorf("%+v", turn)
		}
	})
	t.Run("a non-zero exit keeps its account", func(t *testing.T) {
		t.Parallel()
		turn, lines, _ := talk(t, `echo '`+fixedObject+`'; echo 'first' >&2; printf 'no \033[1mnet\033[0m' >&2; exit 3`, nil)
		if turn.Kind != failure.CLIError || turn.Evidence != "exit 3; stderr: no net" || turn.Control == nil || turn.Exit.Code != 3 {
			t.Errorf("%+v", turn)
		}
		if end := lines[len(lines)-1].Data; end["exit_code"] != 3 || end["kind"] != "cli_error" {
			t.Errorf("%v", end)
		}
	})
	t.Run("an error object that cannot be taken is told, field by field", func(t *testing.T) {
		t.Parallel()
		for script, want := range map[string]struct {
			kind              failure.Kind
			evidence, problem string
		}{
			`echo '{"error":{"kind":"Rate Limited"}}'; exit 1`:                {failure.CLIError, `exit 1; error object: field "kind" holds "Rate Limited"; `, `field "kind" holds`},
			`echo '{"error":{"message":"x"}}'`:                                {"", "", `required field "kind" is missing; it was ignored`},
			`echo '{"error":{"kind":"billing","retry_after":5}}'`:             {failure.Billing, `the agent says so; field "retry_after" is unknown`, "control object"},
			`echo '{"error":{"kind":"rate_limit"}}'`:                          {"rate_limit", `the agent says so; "rate_limit" is not known, and so not tried again: the kinds are agent_budget`, "control object"},
			`echo '{"error":{"kind":"gateway_blip"}}'`:                        {"gateway_blip", "the agent says so", "control object"},
			`echo '` + fixedObject + `'; echo '{"error":{"kind":1}}'; exit 1`: {failure.CLIError, `exit 1; error object: field "kind" holds 1`, ""},
		} {
			c := &Command{ID: "mine", Argv: []string{"sh", "-c", script}, Policy: failure.Policy{ExtraKinds: []string{"gateway_blip"}}}
			turn, err := c.Turn(t.Context(), agent.Request{Exec: run, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}})
			if err != nil || turn.Kind != want.kind || !strings.HasPrefix(turn.Evidence, want.evidence) || (turn.Evidence == "") != (want.evidence == "") ||
				!strings.Contains(turn.Problem, want.problem) || (turn.Problem == "") != (want.problem == "") {
				t.Errorf("%s\n%v: %q, problem %q, %v", script, turn.Kind, turn.Evidence, turn.Problem, err)
			}
		}
	})
	t.Run("a time in the message of an error object is one to wait for", func(t *testing.T) {
		t.Parallel()
		for object, want := range map[string]time.Duration{
			`{"kind":"rate_limited","message":"please try again in two minutes"}`:                       2 * time.Minute,
			`{"kind":"rate_limited","message":"please try again in two minutes","retry_after_ms":1}`:    time.Millisecond,
			`{"kind":"quota_exhausted","message":"please try again later"}`:                             0,
			`{"kind":"server_overload","message":"Overloaded. Try again in 2 minutes, or ask another"}`: 2 * time.Minute,
		} {
			turn, _, _ := talk(t, `echo '{"error":`+object+`}'; exit 1`, nil)
			if (turn.RetryAfter == nil) != (want == 0) || want != 0 && *turn.RetryAfter != want {
				t.Errorf("%s: %v, want %s", object, turn.RetryAfter, want)
			}
		}
		turn, _, _ := talk(t, `echo '{"error":{"kind":"rate_limited","message":"limit resets at 23:59 UTC"}}'; exit 1`, nil)
		now := time.Now().UTC()
		want := now.Truncate(24 * time.Hour).Add(24*time.Hour - time.Minute).Sub(now)
		if want > time.Minute && (turn.RetryAfter == nil || (*turn.RetryAfter-want).Abs() > 2*time.Minute) {
			t.Errorf("the time of the clock is %v, want %s", turn.RetryAfter, want)
		}
	})
	t.Run("a program that is not there", func(t *testing.T) {
		t.Parallel()
		r := agent.Request{Exec: run, Dir: t.TempDir()}
		turn, err := (&Command{ID: "gone", Argv: []string{"/no/such/agent"}}).Turn(t.Context(), r)
		if err != nil || turn.Kind != failure.CLINotInPath || !strings.Contains(turn.Evidence, "/no/such/agent: not found") {
			t.Errorf("%+v, %v", turn, err)
		}
	})
	t.Run("E17 killed from outside", func(t *testing.T) {
		t.Parallel()
		turn, _, _ := talk(t, `echo working; kill -9 $$`, nil)
		if turn.Kind != failure.KilledExternally || !strings.Contains(turn.Evidence, "SIGKILL") {
			t.Errorf("%+v", turn)
		}
	})
	t.Run("cancelled by a person", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		r := agent.Request{Dir: t.TempDir(), Exec: func(ctx context.Context, c agent.Command) (agent.Exit, error) {
			cancel()
			<-ctx.Done()
			return agent.Exit{}, ctx.Err()
		}}
		turn, err := (&Command{ID: "mine", Argv: []string{"x"}}).Turn(ctx, r)
		if err != nil || turn.Kind != failure.Cancelled {
			t.Errorf("%+v, %v", turn, err)
		}
	})
	for name, c := range map[string]struct {
		exit agent.Exit
		says string
		want failure.Kind
	}{
		"E19 an exit code beside a cancel":         {agent.Exit{Code: 130}, "", failure.Cancelled},
		"E19 a reported failure beside a cancel":   {agent.Exit{Code: 1}, `{"kind": "cli_error", "message": "interrupted"}`, failure.Cancelled},
		"a signal beside a cancel":                 {agent.Exit{Code: 130, Signal: "SIGINT"}, "", failure.Cancelled},
		"cancelled after the end":                  {agent.Exit{}, "done", ""},
		"silent, and cancelled only after that":    {agent.Exit{Code: 124, IdledOut: true}, "", failure.IdleTimeout},
		"the wall clock, and cancelled after that": {agent.Exit{Code: 124, TimedOut: true}, "", failure.WallTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			r := agent.Request{Dir: t.TempDir(), Exec: func(_ context.Context, a agent.Command) (agent.Exit, error) {
				_, _ = io.WriteString(a.Stdout, c.says)
				cancel()
				return c.exit, nil
			}}
			turn, err := (&Command{ID: "mine", Argv: []string{"x"}}).Turn(ctx, r)
			if err != nil || turn.Kind != c.want || turn.Exit.Cancelled != (c.want == failure.Cancelled) {
				t.Errorf("%q %+v, %v", turn.Kind, turn.Exit, err)
			}
		})
	}
	t.Run("a deadline of the context is the wall clock", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		r := agent.Request{Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}, Exec: run}
		turn, err := (&Command{ID: "mine", Argv: []string{"sleep", "30"}}).Turn(ctx, r)
		if err != nil || turn.Kind != failure.WallTimeout || !turn.Exit.TimedOut || turn.Exit.Cancelled {
			t.Errorf("%+v, %v", turn, err)
		}
	})
	t.Run("could not be done at all", func(t *testing.T) {
		t.Parallel()
		broken := errors.New("no box")
		_, err := (&Command{ID: "mine", Argv: []string{"x"}}).Turn(t.Context(), agent.Request{Exec: func(context.Context, agent.Command) (agent.Exit, error) { return agent.Exit{}, broken }})
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), `agent "mine"`) {
			t.Error(err)
		}
	})
	t.Run("a broken pipe of its stdin is nothing", func(t *testing.T) {
		t.Parallel()
		turn, err := (&Command{ID: "mine", Argv: []string{"x"}}).Turn(t.Context(), agent.Request{Exec: func(_ context.Context, c agent.Command) (agent.Exit, error) {
			_, _ = io.WriteString(c.Stdout, fixedObject)
			return agent.Exit{}, fmt.Errorf("write |1: %w", syscall.EPIPE)
		}})
		if err != nil || turn.Control == nil || turn.Kind != "" {
			t.Errorf("%+v, %v", turn, err)
		}
	})
	t.Run("the idle limit goes to whoever watches", func(t *testing.T) {
		t.Parallel()
		turn, err := (&Command{ID: "mine", Argv: []string{"x"}}).Turn(t.Context(), agent.Request{Idle: time.Minute, Exec: func(_ context.Context, c agent.Command) (agent.Exit, error) {
			return agent.Exit{Code: 143, Signal: "SIGTERM", IdledOut: c.Idle == time.Minute}, nil
		}})
		if err != nil || turn.Kind != failure.IdleTimeout {
			t.Errorf("%+v, %v", turn, err)
		}
	})
}

// What an agent prints when it is told to end is no report: it says nothing of the work that was cut short. What it had
// printed before counts.
func TestReportWhileItEnds(t *testing.T) {
	t.Parallel()
	const early, late = `{"outcome":"fixed","summary":"early"}`, `{"outcome":"no_fix","summary":"late"}`
	for name, c := range map[string]struct {
		exit   agent.Exit
		before string
		ends   bool // the context, before late
		want   string
	}{
		"G50 after a cancel":                     {agent.Exit{Code: 1}, "", true, ""},
		"H09 after the wall clock":               {agent.Exit{Code: 124, TimedOut: true}, "", true, ""},
		"after the idle limit":                   {agent.Exit{Code: 124, IdledOut: true}, "", false, ""},
		"after the idle limit, and one before":   {agent.Exit{Code: 124, IdledOut: true}, early, false, "early"},
		"after a cancel, and one before":         {agent.Exit{Code: 1}, early, true, "early"},
		"after a long silence that ended itself": {agent.Exit{}, early, false, "late"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r := agent.Request{Idle: time.Minute, Exec: func(_ context.Context, a agent.Command) (agent.Exit, error) {
					time.Sleep(time.Second)
					_, _ = io.WriteString(a.Stdout, c.before+"\n")
					if c.ends {
						cancel()
					} else {
						time.Sleep(time.Minute)
					}
					_, _ = io.WriteString(a.Stdout, late)
					return c.exit, nil
				}}
				turn, err := (&Command{ID: "mine", Argv: []string{"x"}}).Turn(ctx, r)
				got := ""
				if turn.Control != nil {
					got = turn.Control.Summary
				}
				if err != nil || got != c.want {
					t.Errorf("report %q, %v", got, err)
				}
			})
		})
	}
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	speak := func(write func(out io.Writer)) (agent.Turn, []agent.Line, int) {
		var (
			lines []agent.Line
			raw   bytes.Buffer
		)
		turn, err := (&Command{ID: "mine", Argv: []string{"x"}}).Turn(t.Context(), agent.Request{
			Raw: &raw, Note: func(l agent.Line) { lines = append(lines, l) },
			Exec: func(_ context.Context, c agent.Command) (agent.Exit, error) {
				write(c.Stdout)
				return agent.Exit{}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return turn, lines, raw.Len()
	}
	t.Run("C37 more than 10 MiB, exit 0", func(t *testing.T) {
		t.Parallel()
		line := []byte(strings.Repeat("x", 99) + "\n")
		turn, lines, raw := speak(func(out io.Writer) {
			for range maxTotal/len(line) + 2 {
				_, _ = out.Write(line)
			}
		})
		if turn.Kind != failure.OutputTruncated || raw != maxTotal || len(turn.Text) > agent.TailLimit || len(lines) > maxLines+4 {
			t.Errorf("kind %q, raw %d, text %d, lines %d", turn.Kind, raw, len(turn.Text), len(lines))
		}
		if !strings.Contains(said(lines, "notice"), "bytes of stdout are not in this transcript") {
			t.Error("nothing says what was left out")
		}
	})
	t.Run("more than 10 MiB and a control object at the end", func(t *testing.T) {
		t.Parallel()
		turn, lines, _ := speak(func(out io.Writer) {
			_, _ = out.Write(bytes.Repeat([]byte("line of noise\n"), 1<<20))
			_, _ = io.WriteString(out, fixedObject)
		})
		if turn.Kind != "" || turn.Control == nil || turn.Control.Outcome != agent.Fixed {
			t.Errorf("kind %q, control %v", turn.Kind, turn.Control)
		}
		if n := len(said(lines, "text")); n > maxTotal {
			t.Errorf("%d bytes in the transcript", n)
		}
	})
	t.Run("C38 a line of more than a MiB is dropped, the stream goes on", func(t *testing.T) {
		t.Parallel()
		for name, long := range map[string]int{"in one write": maxLine + 5, "endless": 3 * maxLine} {
			turn, lines, raw := speak(func(out io.Writer) {
				_, _ = io.WriteString(out, "before\npart")
				_, _ = out.Write(bytes.Repeat([]byte("y"), long))
				_, _ = io.WriteString(out, "end\nafter\n"+fixedObject+"\n")
			})
			if got := said(lines, "text"); got != "before\nafter\n"+fixedObject+"\n" {
				t.Errorf("%s: %.100q", name, got)
			}
			if turn.Control == nil || raw < long || !strings.Contains(said(lines, "notice"), "longer than") {
				t.Errorf("%s: control %v, raw %d", name, turn.Control, raw)
			}
		}
	})
	t.Run("lines and runes cut by writes are put together", func(t *testing.T) {
		t.Parallel()
		turn, lines, _ := speak(func(out io.Writer) {
			for _, b := range []byte("grün\nrot") {
				_, _ = out.Write([]byte{b})
			}
		})
		if got := said(lines, "text"); got != "grün\nrot" || turn.Text != got {
			t.Errorf("%q, %q", got, turn.Text)
		}
	})
	t.Run("garbage", func(t *testing.T) {
		t.Parallel()
		turn, lines, _ := speak(func(out io.Writer) { _, _ = io.WriteString(out, "\xff\x00\xfe\n"+fixedObject) })
		if turn.Control == nil || !strings.Contains(said(lines, "text"), "\uFFFD") {
			t.Errorf("%+v", turn)
		}
	})
	t.Run("a raw stream that cannot be written ends nothing", func(t *testing.T) {
		t.Parallel()
		var lines []agent.Line
		turn, err := (&Command{ID: "mine", Argv: []string{"x"}}).Turn(t.Context(), agent.Request{
			Raw: full{}, Note: func(l agent.Line) { lines = append(lines, l) },
			Exec: func(_ context.Context, c agent.Command) (agent.Exit, error) {
				_, err := io.WriteString(c.Stdout, fixedObject)
				return agent.Exit{}, err
			},
		})
		if err != nil || turn.Control == nil || !strings.Contains(said(lines, "notice"), "disk full") {
			t.Errorf("%+v, %v", turn, err)
		}
	})
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestReady(t *testing.T) {
	t.Parallel()
	t.Run("H13 a missing program is known before anything is copied", func(t *testing.T) {
		t.Parallel()
		gone := errors.New("not on PATH")
		c := &Command{ID: "mine", Argv: []string{"frobnicate", "-x"}, Look: func(argv0 string) error {
			if argv0 != "frobnicate" {
				t.Errorf("looked for %q", argv0)
			}
			return gone
		}}
		err := c.Ready()
		if !errors.Is(err, gone) || !strings.Contains(err.Error(), "frobnicate") || !strings.Contains(err.Error(), `"mine"`) {
			t.Error(err)
		}
		if c.Name() != "mine" {
			t.Error(c.Name())
		}
	})
	for name, c := range map[string]struct {
		c  *Command
		ok bool
	}{
		"no command":    {&Command{ID: "a"}, false},
		"nobody to ask": {&Command{ID: "a", Argv: []string{"x"}}, true},
		"there":         {&Command{ID: "a", Argv: []string{"x"}, Look: func(string) error { return nil }}, true},
	} {
		if err := c.c.Ready(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (&Command{ID: "a"}).Turn(t.Context(), agent.Request{}); err == nil {
		t.Error("a turn without a command")
	}
}

func TestConclude(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   ending
		want failure.Kind
		says string
	}{
		"exit 0 with output":                        {in: ending{said: true}},
		"exit 0 with a control object":              {in: ending{said: true, control: true}},
		"1 a cancel wins over everything":           {ending{exit: agent.Exit{Cancelled: true, TimedOut: true, IdledOut: true, Signal: "SIGTERM", Code: 143}}, failure.Cancelled, "cancelled"},
		"4 wall clock":                              {ending{exit: agent.Exit{TimedOut: true, Signal: "SIGKILL", Code: 124}, said: true, control: true}, failure.WallTimeout, "wall clock"},
		"4 wall clock wins over idling":             {ending{exit: agent.Exit{TimedOut: true, IdledOut: true}}, failure.WallTimeout, "wall clock"},
		"4 wall clock, though it ended with exit 0": {ending{exit: agent.Exit{TimedOut: true}, said: true}, failure.WallTimeout, "wall clock"},
		"4 idle":                                {ending{exit: agent.Exit{IdledOut: true, Signal: "SIGTERM", Code: 143}}, failure.IdleTimeout, "idle"},
		"E18 killed for want of memory":         {ending{exit: agent.Exit{Code: 137, OutOfMemory: true}}, failure.KilledExternally, "not enough memory"},
		"E17 a signal that nobody of ours sent": {ending{exit: agent.Exit{Signal: "SIGKILL", Code: 137}}, failure.KilledExternally, "SIGKILL"},
		"C44 exit 127":                          {ending{exit: agent.Exit{Code: 127}, stderr: "sh: foo: not found"}, failure.CLINotInPath, "foo: not found"},
		"exit 126":                              {ending{exit: agent.Exit{Code: 126}}, failure.SpawnFailed, "exit 126"},
		"C46 a vague exit takes nothing from a kind it named": {
			ending{exit: agent.Exit{Code: 1}, said: true, failure: &agent.Failure{Kind: failure.QuotaExhausted, Message: "used up"}, stderr: "Error: it ended with an error"}, failure.QuotaExhausted, "used up",
		},
		"5 exit 1": {ending{exit: agent.Exit{Code: 1}, said: true, stderr: "boom"}, failure.CLIError, "exit 1; stderr: boom"},
		"5 a control object excuses no exit code":    {ending{exit: agent.Exit{Code: 2}, said: true, control: true}, failure.CLIError, "exit 2"},
		"E16 words of stderr are evidence, no kind":  {ending{exit: agent.Exit{Code: 1}, stderr: "fix the 401 unauthorized"}, failure.CLIError, "401"},
		"5 an exit wins over what was cut":           {ending{exit: agent.Exit{Code: 1}, said: true, truncated: true}, failure.CLIError, "exit 1"},
		"E17 the same, and a shell waited for it":    {ending{exit: agent.Exit{Code: 137}, said: true, control: true}, failure.KilledExternally, "exit 137"},
		"E17 the shell tells more":                   {ending{exit: agent.Exit{Code: 143}, failure: &agent.Failure{Kind: failure.QuotaExhausted}}, failure.QuotaExhausted, "says so"},
		"E17 a signal wins over what it said":        {ending{exit: agent.Exit{Signal: "SIGKILL", Code: 137}, failure: &agent.Failure{Kind: failure.QuotaExhausted}}, failure.KilledExternally, "SIGKILL"},
		"an exit that stands for no such signal":     {ending{exit: agent.Exit{Code: 139}}, failure.CLIError, "exit 139"},
		"7 C30 exit 0, nothing said":                 {ending{}, failure.NoOutput, "exit 0, nothing on stdout"},
		"C37 cut, exit 0":                            {ending{said: true, truncated: true}, failure.OutputTruncated, "10 MiB"},
		"cut, but the control object is in the tail": {in: ending{said: true, truncated: true, control: true}},
	} {
		kind, evidence := conclude(c.in)
		if kind != c.want || !strings.Contains(evidence, c.says) || (kind == "") != (evidence == "") || strings.Contains(evidence, "\n") {
			t.Errorf("%s: %q, %q", name, kind, evidence)
		}
	}
}

// Of a program that leaves a process behind the program's own report counts. Where it has none, that of the process does.
func TestReportOfProcessLeftBehind(t *testing.T) {
	t.Parallel()
	const late = `{"outcome":"no_fix","summary":"late"}`
	for first, want := range map[string]string{`{"outcome":"fixed","summary":"in time"}`: agent.Fixed, "prose": agent.NoFix} {
		turn, _, _ := talk(t, "", func(r *agent.Request) {
			r.Exec = func(_ context.Context, c agent.Command) (agent.Exit, error) {
				_, _ = io.WriteString(c.Stdout, first+"\n")
				c.Exited()
				time.Sleep(2 * exitDelay)
				_, _ = io.WriteString(c.Stdout, late+"\n")
				return agent.Exit{ProcessesLeft: 1}, nil
			}
		})
		if turn.Control == nil || turn.Control.Outcome != want {
			t.Errorf("%s, then %s: %+v", first, late, turn.Control)
		}
	}
}
