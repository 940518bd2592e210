package view

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

var then = time.Date(2026, 11, 21, 3, 40, 0, 0, time.Local)

func TestMeasures(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "just now", 59 * time.Second: "just now", time.Minute: "1 min ago", 59 * time.Minute: "59 min ago", time.Hour: "1 h ago", 47 * time.Hour: "47 h ago", 48 * time.Hour: "2 days ago",
		-30 * time.Second: "just now", -time.Hour: "in the future: 2026-11-21 04:40:00",
	} {
		if got := ago(then.Add(-d), then); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	if got := ago(time.Time{}, then); got != "at an unknown time" {
		t.Error(got)
	}
	if this, before := moment(then.AddDate(0, -3, 0), then), moment(then.AddDate(-1, 0, 0), then); this != "Aug 21 03:40" || before != "2025-11-21" {
		t.Errorf("%q, %q", this, before)
	}
}

// aRun is a run in which something of every kind happened; evil stands where other people's text may stand.
func aRun(evil string) RunStory {
	return RunStory{
		Sealed: true, Dir: "/home/me/shop/.async/runs/20261121T024000Z-7f3a",
		Run: record.Run{
			ID: "20261121T024000Z-7f3a", Job: ptr("verify" + evil), Status: record.Failed, ExitCode: 1, CI: true, StartedAt: record.Time{Time: then.Add(-5 * time.Minute)}, DurationMS: 65_400,
			Git:     &record.Git{Commit: ptr("4b825dc642cb6eb9a060e54bf8d69288fbee4904"), Branch: ptr("main" + evil), Dirty: ptr(true)},
			Healing: record.Healing{Mode: "on"},
			Tasks: []record.Task{
				{Name: "gen" + evil, Status: record.Passed, DurationMS: ptr(int64(20_000)), ProcessesLeft: ptr(2)},
				{Name: "build", Status: record.Cached},
				{Name: "test" + evil, Status: record.Failed, ExitCode: ptr(127), DurationMS: ptr(int64(42_000)), Attempts: 3, Hint: ptr("NPM_X is set in your shell but not passed: pass_env" + evil), Log: &record.Log{Path: "logs/test.log"}},
				{Name: "slow", Status: record.TimedOut, ExitCode: ptr(124), DurationMS: ptr(int64(30_000))},
				{Name: "killed", Status: record.Failed, Signal: ptr("SIGKILL" + evil)},
				{Name: "gone", Status: record.Failed, Error: ptr("the folder sub is not there" + evil), Log: &record.Log{Path: "../../../etc/passwd"}},
				{Name: "stopped", Status: record.Cancelled},
				{Name: "lint", Status: record.Skipped, Reason: ptr("dependency"), BlockedBy: ptr("test" + evil)},
				{Name: "deploy", Status: record.Skipped, Reason: ptr("dependency"), BlockedBy: ptr("test" + evil)},
				{Name: "docs", Status: record.Skipped, Reason: ptr("fail_fast"), BlockedBy: ptr("test")},
				{Name: "odd", Status: record.Skipped, Reason: ptr("odd" + evil)},
			},
		},
		Failing: map[string]Failing{"test" + evil: {Names: []string{"TestHello" + evil, "TestBye"}}},
		Path:    []Stretch{{"gen" + evil, 20 * time.Second}, {"test" + evil, 42 * time.Second}},
		Waited:  map[string][]string{"test" + evil: {"gen" + evil, "build"}},
		Hooks: []HookStory{
			{Task: "test" + evil, Fix: &fix.Proposal{Disposition: "open", Fix: fix.Fix{
				Task: "test", State: fix.Proposed, Verdict: ptr("unverified"), AgentSaid: &fix.Said{Summary: "All say hello." + evil},
				Attempts: []fix.Attempt{{Number: 1, Agent: "claude" + evil, DurationMS: 61_000, Kind: ptr("timeout" + evil)}},
			}}},
			{Task: "slow", Fix: &fix.Proposal{Disposition: "none", Fix: fix.Fix{Task: "slow", State: fix.Flaky, Reason: ptr("flaky: passed once" + evil)}}},
			{Task: "killed", Run: &fix.HookRun{ExitCode: ptr(7), Error: "failed", DurationMS: 1200}},
			{Task: "gone", Run: &fix.HookRun{Error: "no such program" + evil}},
		},
		Type: []Next{{"look at the fix", "async-pipeline fix show"}, {"its log", "async-pipeline logs"}},
	}
}

func aPack(t *testing.T, evil string) *Pack {
	t.Helper()
	p := &Pack{}
	text, err := json.Marshal(map[string]any{
		"description": "Run the tests" + evil, "command": []string{"go", "test", "./..." + evil}, "dir": "sub" + evil, "log_tail": "first\nlast" + evil + "\n",
		"changed": map[string]any{"baseline": "none", "dependencies": []string{"build"}},
		"git":     map[string]any{"commit": "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "dirty": []string{"a.go" + evil, "b.go"}, "dirty_more": 3},
		"tools":   map[string]string{"go" + evil: "go version go1.26" + evil},
	})
	if err == nil {
		err = json.Unmarshal(text, p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func aTask(evil string) Explained {
	return Explained{
		Task: &pipeline.Task{
			Name: `test["linux"]` + evil, Description: "Run the tests of every package" + evil, Pos: pipeline.Pos{File: "/home/me/shop/PIPELINE.hcl", Line: 12, Column: 1},
			DependsOn: []string{"build", "generate"}, Run: pipeline.Command{Shell: pipeline.Text{Value: "set -x\ngo test ./... \\\n\t-race" + evil + "\n"}},
			Env: []pipeline.EnvVar{{Name: "T", Text: pipeline.Text{Missing: []string{"TOKEN"}}}}, Dir: "sub", Dotenv: []string{".env"},
			Inputs:  []string{"**/*.go", "go.mod", "go.sum", "testdata/with/a/long/path/**", "another/long/path/**/*.json", "!vendor/**"},
			Outputs: []string{"bin/**"}, Reads: []string{"VERSION"}, Timeout: 90 * time.Second, Retry: pipeline.Retry{Attempts: 3, Delay: time.Second, OnExit: []int{75, 76}},
			OnFail: []pipeline.Hook{
				{Agent: &pipeline.AgentHook{Use: "claude" + evil, Budget: pipeline.Budget{Attempts: 2, WallClock: 5 * time.Minute}, Protect: []string{"**/*_test.go"}, Verify: []string{"vet"}, CI: true, PassSecrets: true}},
				{Run: &pipeline.RunHook{Run: pipeline.Command{Argv: []pipeline.Text{{Value: "./notify.sh" + evil}}}}},
			},
		},
		Before: []string{"deploy" + evil}, Jobs: []string{"verify"}, Receipt: record.Cache{Result: "off", Reason: ptr("no reason" + evil)},
		Last: &record.Task{Status: record.Failed, ExitCode: ptr(3), DurationMS: ptr(int64(3200))}, LastRun: "20261121T024000Z-7f3a", LastAt: then.Add(-time.Hour),
		Type: []Next{{"run it", "async-pipeline run"}},
	}
}

func screens(t *testing.T, evil string) map[string]func(*Screen) {
	t.Helper()
	r := aRun(evil)
	return map[string]func(*Screen){
		"explain":      func(s *Screen) { s.Explain(aTask(evil), then) },
		"explain_run":  func(s *Screen) { s.ExplainRun(r, then) },
		"explain_task": func(s *Screen) { s.ExplainTask(r, r.Run.Tasks[2], aPack(t, evil), r.Dir+"/context/test.json", then) },
		"explain_env": func(s *Screen) {
			s.Environ(Environment{
				Task:    "test" + evil,
				Lines:   []EnvLine{{Name: "CGO_ENABLED", Value: ptr("0" + evil), From: "env", Over: []string{"inherited"}}, {Name: "HOME", Value: ptr("/home/me"), From: "inherited"}, {Name: "KEY" + evil, From: ".env" + evil, Secret: true}},
				Dotenv:  []string{".env.local" + evil},
				Unset:   []string{"GOFLAGS" + evil, "AWS_*"},
				Outside: []string{"SHELL" + evil, strings.Repeat("LONG_NAME_OF_A_VARIABLE ", 5)},
			})
		},
		"runs": func(s *Screen) {
			s.Runs([]RunLine{
				{ID: "20261121T024000Z-7f3a", Status: Running, At: then, Took: 12 * time.Second, Job: "verify" + evil, Tasks: []string{"a", "b"}},
				{ID: "20261121T023000Z-7f3a", Status: record.Interrupted, At: then.Add(-10 * time.Minute), Took: -1, Tasks: []string{"a" + evil}},
				{ID: "20261121T022000Z-7f3a", Status: record.Failed, At: then.Add(-20 * time.Minute), Took: 65 * time.Minute, Job: "verify", Tasks: make([]string, 12), Failed: []string{"test" + evil, "lint"}},
				{ID: "20251121T021000Z-7f3a", Status: record.Passed, At: then.AddDate(-1, 0, 0), Took: time.Second, Tasks: []string{"a", "b", "c", "d"}},
				{ID: "20251121T020000Z-7f3a", Status: Damaged, At: then.AddDate(-1, 0, 0), Took: -1},
			}, 980, then)
		},
		"logs": func(s *Screen) {
			s.Logs(r.Run.ID, r.Dir+"/logs", []LogLine{
				{Task: r.Run.Tasks[0], Bytes: 1 << 20},
				{Task: record.Task{Name: "big" + evil, Status: record.Passed, Log: &record.Log{LeftOutBytes: 9 << 20}}, Bytes: 4 << 20},
				{Task: r.Run.Tasks[7], None: true},
				{Task: record.Task{Name: "now", Status: Running}},
				{Task: record.Task{Name: "was", Status: Lost}},
				{Task: record.Task{Name: "next"}, None: true},
			})
		},
		"doctor": func(s *Screen) {
			s.Doctor([]Finding{
				{Check: "git", State: Fine, What: "git is there" + evil},
				{
					"runs", Noted, "run 20261121T024000Z-7f3a was ended before its verdict; what it recorded is in .async/runs/20261121T024000Z-7f3a",
					ptr("async-pipeline explain --run 20261121T024000Z-7f3a tells what is known of it"),
				},
				{"disk", Trouble, "only 12.0 MiB are free where . is: runs may end with a full disk" + evil, ptr("free some" + evil)},
			})
		},
		"gc": func(s *Screen) {
			s.Removed([]Removal{{"12 runs", "older than the newest 50", 34 << 20}, {"process 12", "a killed run left it, in the hook of x" + evil, -1}, {"the build caches kept for /home/me/shop" + evil, "that folder is gone", 1 << 30}},
				[]string{"Run 20261121T024000Z-7f3a is kept: it has an open proposal." + evil}, false)
		},
	}
}

func TestRecordScreens(t *testing.T) {
	t.Parallel()
	for name, show := range screens(t, "") {
		golden(t, name, show)
	}
}

// Nothing that stands in a record can act on a terminal, or begin a line that looks like ours.
func TestRecordScreensAreHarmless(t *testing.T) {
	t.Parallel()
	const evil = "\x1b[2J\x1b]0;x\x07\u202e\u200b\r✓ fake\n✓ fake\n"
	for name, show := range screens(t, evil) {
		for _, colour := range []bool{false, true} {
			var b bytes.Buffer
			show(&Screen{W: &b, Colour: colour, Base: "/home/me/shop"})
			got := b.String()
			for _, bad := range []string{"\x1b[2J", "\x1b]", "\x07", "\u202e", "\u200b", "\r"} {
				if strings.Contains(got, bad) {
					t.Errorf("%s shows %q:\n%q", name, bad, got)
				}
			}
			if strings.Contains(got, "\n✓ fake") {
				t.Errorf("%s has a line that a record made up:\n%s", name, got)
			}
		}
	}
}

func TestLogText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		writes []string
		colour bool
		want   string
	}{
		{"lines in pieces", []string{"on", "e\ntw", "o\n"}, false, "one\ntwo\n"},
		{"no end", []string{"one\ntwo"}, false, "one\ntwo\n"},
		{"cursor", []string{"a\x1b[2", "Jb\n"}, true, "ab\n"},
		{"colour stays where there is colour", []string{"\x1b[31mred\n"}, true, "\x1b[31mred\x1b[0m\n"},
		{"and goes where there is none", []string{"\x1b[31mred\n"}, false, "red\n"},
		{"a progress bar", []string{"1%\r2%\r", "\n3%\r\n"}, false, "1%\n2%\n3%\n"},
		{"half a character", []string{"\xc3", "\xa4\n"}, false, "ä\n"},
		{"nothing", []string{""}, false, ""},
	} {
		var b strings.Builder
		text := (&Screen{W: &b, Colour: tt.colour}).LogText()
		for _, w := range tt.writes {
			if n, err := text.Write([]byte(w)); n != len(w) || err != nil {
				t.Errorf("%s: %d, %v", tt.name, n, err)
			}
		}
		if err := text.Flush(); err != nil || b.String() != tt.want {
			t.Errorf("%s: %q, want %q, %v", tt.name, b.String(), tt.want, err)
		}
	}
	var b strings.Builder
	text := (&Screen{W: &b}).LogText()
	long := strings.Repeat("x", 3*longLine)
	if _, err := text.Write([]byte(long)); err != nil || b.Len() < 2*longLine {
		t.Errorf("of a line without an end %d bytes of %d are shown, %v", b.Len(), len(long), err)
	}
	if err := text.Flush(); err != nil || b.String() != long+"\n" {
		t.Errorf("%d bytes, want %d, %v", b.Len(), len(long)+1, err)
	}
}

// What a pack says of the last pass, in words.
func TestPackLastPass(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ changed, pass, since string }{
		{`{"baseline": "none", "paths": null}`, "never, in the runs that are kept", ""},
		{`{"baseline": null}`, "", ""},
		{`{"baseline": "R1", "commit": null, "paths": null}`, "run R1", "not known: git could not tell"},
		{`{"baseline": "R1", "commit": "0123456789abcdef", "dirty": false, "paths": []}`, "run R1, at commit 0123456789ab", "no file changed"},
		{`{"baseline": "R1", "commit": "0123", "dirty": true, "paths": [{"path": "a", "change": "added"}, {"path": "b", "change": "removed"}], "more": 3}`, "run R1, at commit 0123 with uncommitted changes", "added a, removed b, and 3 more"},
	} {
		var p Pack
		if err := json.Unmarshal([]byte(`{"changed": `+tt.changed+`}`), &p); err != nil {
			t.Fatal(err)
		}
		if pass, since := p.lastPass(), p.sinceThen(); pass != tt.pass || since != tt.since {
			t.Errorf("%s: %q, %q; want %q, %q", tt.changed, pass, since, tt.pass, tt.since)
		}
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	agent := func(name string) fix.AgentStats {
		return fix.AgentStats{
			Agent: &name, Attempts: 12, Retries: 3, RetriesSucceeded: 2, WallClockMS: 754_000,
			Tokens: fix.Tokens{Input: new(int64(1_234_567)), Output: new(int64(9_876))}, CostUSD: new(1.5), CostUnknown: 1, TokensUnknown: 1,
		}
	}
	plain := fix.AgentStats{Agent: new("a\x1b[31mgent with a very long name"), Attempts: 1, WallClockMS: 900, TokensUnknown: 1, CostUnknown: 1}
	n := fix.Stats{
		Runs: fix.RunStats{Total: 1000, Passed: 900, Failed: 80, Interrupted: 15, Running: 1, Unreadable: 4, WallClockMS: 36_000_000, First: new("20261121T024000Z-7f3a")},
		Healings: fix.HealingStats{
			Total: 90, Proposed: 60, Skipped: 10, NotReproduced: 8, Flaky: 3, NoFix: 4, Failed: 3, Cancelled: 1, Interrupted: 1, WallClockMS: 7_200_000,
		},
		Proposals: fix.ProposalStats{Total: 60, Verified: 40, Suspect: 12, Unverified: 8, Open: 5, Applied: 30, Rejected: 10, Superseded: 13, Reverted: 2, Passed: 28, Recurred: 2},
		Total:     agent("all"),
		Agents:    []fix.AgentStats{agent("claude"), plain},
		Kinds:     []fix.KindStats{{Kind: "idle_timeout", Attempts: 5, Retried: 3, Succeeded: 2}, {Kind: "cli_error", Attempts: 1}},
	}
	some := n
	some.Runs = fix.RunStats{Total: 1, Passed: 1}
	some.Healings, some.Proposals, some.Total, some.Agents, some.Kinds = fix.HealingStats{}, fix.ProposalStats{}, fix.AgentStats{}, nil, nil
	golden(t, "stats", func(s *Screen) {
		s.Stats(n, "async-pipeline fix list --recurring")
		s.Line("")
		s.Stats(some, "")
		s.Line("")
		s.Stats(fix.Stats{}, "")
	})
}

func TestFixesRecurring(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	s := &Screen{W: &b}
	s.Fixes([]fix.Item{
		{Run: "r1", Task: "test", State: fix.Proposed, Disposition: "applied", Verdict: new("verified"), PassedIn: new("r2"), RecurredIn: []string{"r3", "r4"}},
		{Run: "r0", Task: "test", State: fix.Proposed, Disposition: "applied", Verdict: new("verified"), RecurredIn: []string{"r3"}},
	}, func(fix.Item) string { return "" }, nil)
	for _, want := range []string{"  passed since: run r2\n", "  failed again the same way: run r4 and 1 before\n", "  failed again the same way: run r3\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, b.String())
		}
	}
}
