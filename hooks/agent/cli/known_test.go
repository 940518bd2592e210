package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// relayTo is a relay that is none: the CLI asks the provider of the test itself.
func relayTo(wire, url string) func(context.Context, agent.Request) (*Relay, error) {
	return func(context.Context, agent.Request) (*Relay, error) {
		so := Used{Tokens: agent.Tokens{Input: new(int64(1200)), Output: new(int64(34))}, CostAtLeast: new(0.0123)}
		return &Relay{
			Wire: wire, URL: url, Key: "dummy", SoFar: func() Used { return so },
			Close: func() (Used, error) { return Used{Requests: 1}, nil },
		}, nil
	}
}

// fake takes a turn with a shell script in place of a CLI.
func fake(t *testing.T, k *Known, script string, change func(*agent.Request)) (agent.Turn, []agent.Line) {
	t.Helper()
	var (
		mu    sync.Mutex
		lines []agent.Line
	)
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, k.CLI), []byte("#!/bin/sh\n[ \"$1\" != --version ] || { echo 'v 1.2.3.'; exit 0; }\n"+script), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	r := agent.Request{
		Prompt: "Repair it.", Pack: []byte(`{"task":"test"}`), Dir: t.TempDir(), Exec: found, Copy: "elsewhere",
		Env: []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir()},
		Note: func(l agent.Line) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, l)
		},
	}
	if change != nil {
		change(&r)
	}
	turn, err := k.Turn(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return turn, lines
}

func viaRelay(name string) *Known {
	return &Known{ID: "mine", CLI: name, Model: "m", Relay: relayTo(find(name).name, "http://127.0.0.1:1"), linger: 200 * time.Millisecond}
}

func say(lines ...string) string {
	return "cat > $HOME/seen; cat <<'END'\n" + strings.Join(lines, "\n") + "\nEND\n"
}

func TestKnown(t *testing.T) {
	t.Parallel()
	good := strings.TrimSpace(claudeGood)
	t.Run("its prompt, version, relay and end", func(t *testing.T) {
		t.Parallel()
		var home string
		var shown []string
		turn, lines := fake(t, viaRelay("claude"), say(strings.TrimSpace(claudeSays), `{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"go test"}}]}}`, `{"type":"result","subtype":"success","result":"{\"outcome\":\"fixed\",\"summary\":\"x\"}"}`)+`echo "$ANTHROPIC_BASE_URL $ANTHROPIC_API_KEY" > $HOME/env`, func(r *agent.Request) {
			home = value(r.Env, "HOME")
			r.Notice = func(s string) { shown = append(shown, s) }
		})
		if turn.Kind != "" || turn.Control == nil || turn.CLI != "claude" || turn.CLIVersion != "1.2.3" || !*turn.Metered || *turn.Requests != 1 {
			t.Errorf("%+v", turn)
		}
		seen, _ := os.ReadFile(filepath.Join(home, "seen"))
		env, _ := os.ReadFile(filepath.Join(home, "env"))
		if !strings.HasPrefix(string(seen), "Repair it.\n") || !strings.Contains(string(seen), `{"task":"test"}`) || string(env) != "http://127.0.0.1:1 dummy\n" {
			t.Errorf("stdin %q, environment %q", seen, env)
		}
		if lines[0].Type != "prompt" || lines[len(lines)-1].Type != "end" || lines[len(lines)-1].Data["cli_version"] != "1.2.3" || len(shown) != 1 || shown[0] != "Bash go test (1234 tokens, $0.0123 so far)" {
			t.Errorf("%v, shown %q", lines, shown)
		}
	})
	t.Run("G85 it is done and does not end", func(t *testing.T) {
		t.Parallel()
		turn, _ := fake(t, viaRelay("claude"), say(good)+"exec sleep 1000", nil)
		if turn.Kind != "" || turn.Text != "done" {
			t.Errorf("%+v", turn)
		}
	})
	t.Run("G88 it failed and does not end", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, context.DeadlineExceeded)
		defer cancel()
		k := viaRelay("claude")
		turn, _ := fake(t, k, say(`{"type":"result","subtype":"error_max_turns","is_error":true}`)+"exec sleep 1000", func(r *agent.Request) {
			exec := r.Exec
			r.Exec = func(own context.Context, c agent.Command) (agent.Exit, error) {
				if c.Stdin == nil {
					return exec(own, c)
				}
				started := time.Now()
				x, err := exec(ctx, c)
				if time.Since(started) < time.Second {
					t.Error("an error ended it early")
				}
				x.Cancelled, x.TimedOut = false, true
				return x, err
			}
		})
		if turn.Kind != failure.AgentMaxTurns {
			t.Errorf("%+v", turn)
		}
	})
	t.Run("C42 waiting is of no use", func(t *testing.T) {
		t.Parallel()
		turn, _ := fake(t, viaRelay("codex"), "echo 'ERROR: handshaking with MCP server failed: x' >&2; exec sleep 1000", nil)
		if turn.Kind != failure.MCPHandshakeFailed {
			t.Errorf("%+v", turn)
		}
	})
	t.Run("C48 a limit with a time", func(t *testing.T) {
		t.Parallel()
		at := time.Now().Add(50 * time.Hour)
		turn, _ := fake(t, viaRelay("codex"), fmt.Sprintf("echo \"ERROR: You've hit your usage limit. Try again at %s.\" >&2; exit 1", at.Format("Jan 2, 2006 3:04 PM")), nil)
		if turn.Kind != failure.QuotaExhausted || turn.RetryAfter == nil || *turn.RetryAfter < 50*time.Hour-time.Minute || *turn.RetryAfter > 50*time.Hour+time.Minute {
			t.Errorf("%+v", turn)
		}
	})
	t.Run("C48 a limit with an absurd time", func(t *testing.T) {
		t.Parallel()
		turn, _ := fake(t, viaRelay("codex"), "echo \"ERROR: You've hit your usage limit. Try again at Apr 28th, 2136 10:03 PM.\" >&2; exit 1", nil)
		if turn.Kind != failure.QuotaExhausted || turn.RetryAfter != nil {
			t.Errorf("%+v", turn)
		}
	})
	t.Run("E16 a prompt about the same is echoed", func(t *testing.T) {
		t.Parallel()
		turn, _ := fake(t, viaRelay("codex"), "cat >&2; sleep 0.3\n"+say(`{"type":"item.completed","item":{"type":"agent_message","text":"done"}}`, `{"type":"turn.completed","usage":{"input_tokens":1}}`), func(r *agent.Request) {
			r.Prompt = "Repair it.\nERROR: your access token could not be refreshed."
			r.Pack = []byte("ERROR: handshaking with MCP server failed")
		})
		if turn.Kind != "" || turn.Text != "done" {
			t.Errorf("%+v", turn)
		}
	})
	t.Run("the relay's budget ended it", func(t *testing.T) {
		t.Parallel()
		k := viaRelay("codex")
		k.Relay = func(context.Context, agent.Request) (*Relay, error) {
			return &Relay{Wire: "openai", Close: func() (Used, error) {
				return Used{Requests: 7, Stopped: failure.TokenBudget, Why: "tokens are spent"}, nil
			}}, nil
		}
		turn, _ := fake(t, k, say(`{"type":"turn.failed","error":{"message":"400 spent"}}`)+"exit 1", nil)
		if turn.Kind != failure.TokenBudget || turn.Evidence != "tokens are spent" || *turn.Requests != 7 {
			t.Errorf("%+v", turn)
		}
	})
	t.Run("the relay does not reach the provider", func(t *testing.T) {
		t.Parallel()
		k := viaRelay("codex")
		used := Used{Requests: 9, Lost: failure.DNSNotFound, LostWhy: "no such host"}
		k.Relay = func(context.Context, agent.Request) (*Relay, error) {
			return &Relay{Wire: "openai", Close: func() (Used, error) { return used, nil }}, nil
		}
		turn, _ := fake(t, k, say(`{"type":"turn.failed","error":{"message":"unexpected status 502 Bad Gateway"}}`)+"exit 1", nil)
		if turn.Kind != failure.DNSNotFound || turn.Evidence != "the provider cannot be reached: no such host" {
			t.Errorf("%+v", turn)
		}
	})
	t.Run("its session is gone on with in another HOME", func(t *testing.T) {
		t.Parallel()
		k := viaRelay("codex")
		done := `{"type":"item.completed","item":{"type":"agent_message","text":"done"}}`
		end := `{"type":"turn.completed","usage":{"input_tokens":1}}`
		turn, _ := fake(t, k, `mkdir -p $HOME/.codex/sessions; ln -s /etc/passwd $HOME/.codex/sessions/link; echo "$*" >> $HOME/.codex/sessions/s`+"\n"+say(`{"type":"thread.started","thread_id":"t-1"}`, done, end), nil)
		if turn.Resume == nil {
			t.Fatalf("%+v", turn)
		}
		home, bin := t.TempDir(), t.TempDir()
		if err := os.WriteFile(filepath.Join(bin, "codex"), []byte("#!/bin/sh\necho \"$*\" >> $HOME/.codex/sessions/s\n"+say(done, end)), 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
		again, err := turn.Resume(t.Context(), agent.Request{Prompt: "Only the object.", Dir: t.TempDir(), Exec: found, Env: []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home}})
		asked, _ := os.ReadFile(filepath.Join(home, ".codex/sessions/s"))
		seen, _ := os.ReadFile(filepath.Join(home, "seen"))
		_, link := os.Lstat(filepath.Join(home, ".codex/sessions/link"))
		if err != nil || again.Text != "done" || strings.Count(string(asked), "\n") != 2 || !strings.Contains(string(asked), "t-1 -\n") || string(seen) != "Only the object." || !errors.Is(link, fs.ErrNotExist) {
			t.Errorf("%v, %+v, asked %q, told %q, link %v", err, again, asked, seen, link)
		}
	})
}

// Without a key the person's sign-in, and nothing else of theirs, is in the private HOME, and is a secret.
func TestSignIn(t *testing.T) {
	t.Parallel()
	const token = "tok-0123456789abcdef0123456789"
	person := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		at := filepath.Join(person, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	k := &Known{ID: "mine", CLI: "claude", Given: Given{Home: person}}
	if err := k.Ready(); err == nil || !strings.Contains(err.Error(), "claude is not signed in") {
		t.Errorf("ready without a sign-in: %v", err)
	}
	put(".claude/.credentials.json", `{"claudeAiOauth":{"accessToken":"`+token+`"},"other":"`+token+`x"}`)
	put(".claude/settings.json", `{"hooks":{}}`)
	if err := k.Ready(); err != nil {
		t.Error(err)
	}
	secrets := &redact.Set{}
	var home, outside string
	turn, lines := fake(t, k, "cat $HOME/.claude/.credentials.json > $HOME/out; ls -A $HOME/.claude > $HOME/list; echo '{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"I see "+token+"\"}]}}'\n"+say(strings.TrimSpace(claudeGood)), func(r *agent.Request) {
		home, r.Secrets = value(r.Env, "HOME"), secrets
		outside = t.TempDir()
		if err := os.Symlink(outside, filepath.Join(home, ".claude")); err != nil { // as an agent may have left it
			t.Fatal(err)
		}
		if err := find("claude").prepare(home, "", person, nil, secrets); err == nil {
			t.Error("a link to the outside was followed")
		}
		if err := os.Remove(filepath.Join(home, ".claude")); err != nil {
			t.Fatal(err)
		}
	})
	got, _ := os.ReadFile(filepath.Join(home, "out"))
	list, _ := os.ReadFile(filepath.Join(home, "list"))
	if turn.Kind != "" || *turn.Metered || turn.Requests != nil || !strings.Contains(string(got), token) || strings.Contains(string(got), "other") || string(list) != ".credentials.json\n" {
		t.Errorf("%+v\n%s\n%s", turn, got, list)
	}
	for _, l := range lines {
		if text, _ := l.Data["text"].(string); strings.Contains(text, token) {
			t.Errorf("the transcript has the token: %q", text)
		}
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Errorf("%v was written outside", entries)
	}
	put(".pi/agent/auth.json", `{"anthropic":{"type":"api_key","key":"!cat /etc/passwd"}}`)
	if err := find("pi").prepare(t.TempDir(), "", person, nil, nil); err == nil || !strings.Contains(err.Error(), "command") {
		t.Errorf("a command of the person's was copied: %v", err)
	}
}

// How each CLI is started: never with its prompt or a key among the arguments, always with a configuration of its own.
func TestLaunch(t *testing.T) {
	t.Parallel()
	for _, p := range programs {
		s := setup{home: "/h", dir: "/w", model: "m-1", args: []string{"--more"}, prompt: "the prompt", wire: "anthropic", url: "http://127.0.0.1:7", key: "dummy-key"}
		l := p.launch(s)
		args, env, files := strings.Join(l.args, " "), strings.Join(l.env, " "), ""
		for name, text := range l.files {
			if !filepath.IsLocal(name) {
				t.Errorf("%s writes %s", p.name, name)
			}
			files += text
		}
		if strings.Contains(args, "the prompt") || strings.Contains(args, "dummy-key") || strings.Contains(files, "dummy-key") || l.stdin != "the prompt" || !strings.Contains(args, "--more") {
			t.Errorf("%s %s, stdin %q, files %s", p.name, args, l.stdin, files)
		}
		if !strings.Contains(env, "dummy-key") || !strings.Contains(env+files, "http://127.0.0.1:7") || !strings.Contains(args+env+files, "m-1") {
			t.Errorf("%s does not know the relay or the model: %s; %s; %s", p.name, args, env, files)
		}
		s.url, s.key, s.resume = "", "", "session-1"
		if l := p.launch(s); strings.Contains(strings.Join(l.env, " "), "KEY=") || !strings.Contains(strings.Join(l.args, " "), "session-1") {
			t.Errorf("%s without a relay: %q %q", p.name, l.env, l.args)
		}
	}
}

// A session of Gemini CLI that has calls of tools is not gone on with: its provider would refuse the conversation. Nor is
// one that was not stored.
func TestResumesWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p       *program
		called  bool
		stored  bool
		resumes bool
	}{{gemini, false, true, true}, {gemini, true, true, false}, {claude, true, true, true}, {claude, true, false, false}} {
		home := t.TempDir()
		if c.stored {
			if err := os.MkdirAll(filepath.Join(home, c.p.sessions), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		rep := &report{session: "s", end: succeeded}
		if c.called {
			rep.call("1", "Bash", nil)
		}
		if got := (&Known{}).resumes(c.p, rep, agent.Request{Dir: "a", Copy: "b", Env: []string{"HOME=" + home}}); got != c.resumes {
			t.Errorf("%s, a tool was called: %t, stored: %t: %t", c.p.name, c.called, c.stored, got)
		}
	}
}
