package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
)

// A captured is one run of a real CLI: testdata/streams/README.md has the fields.
type captured struct {
	CLI      string
	Exit     *int
	Signal   string
	Ended    *struct{ Why, Sent string } `json:"ended_by_runner"`
	Scenario string
	Expect   struct {
		Kind      string
		Class     string
		Accept    []string
		Finalizer bool
	}
}

// play reads a captured stream as if the CLI had just printed it, in pieces of size bytes.
func play(t *testing.T, base string, size int) (captured, *report, fault, []agent.Line) {
	t.Helper()
	read := func(name string) []byte {
		b, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return b
	}
	var c captured
	if err := json.Unmarshal(read(base+".meta.json"), &c); err != nil {
		t.Fatal(err)
	}
	stdout := read(base + ".jsonl")
	if stdout == nil {
		stdout = read(base + ".txt")
	}
	exit := agent.Exit{Signal: c.Signal}
	if c.Exit != nil {
		exit.Code = *c.Exit
	}
	ended := c.Ended != nil && c.Ended.Why == "wall limit"
	if ended { // stands for a clock of ours
		exit.Signal = ""
		silent := c.Expect.Kind == "idle_timeout" || c.Expect.Kind == "cold_start_timeout" || strings.HasPrefix(c.Expect.Kind, "rate") || c.Expect.Kind == "transport_disconnect"
		exit.IdledOut, exit.TimedOut = silent, !silent
	}
	var lines []agent.Line
	rep := &report{}
	s := newReading(find(c.CLI), agent.Request{Note: func(l agent.Line) { lines = append(lines, l) }}, rep)
	out, errs := s.stdout(), s.stderr()
	for piece := range slices.Chunk(stdout, size) {
		_, _ = out.Write(piece)
	}
	_, _ = errs.Write(read(base + ".stderr"))
	s.close()
	return c, rep, judge(rep, closing{exit: exit, said: s.said, lines: s.lines, prog: s.prog}), lines
}

// Every captured stream is understood as a careful reader understood it.
func TestStreams(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/streams/*/*.meta.json")
	if err != nil || len(files) < 200 {
		t.Fatalf("%d captured streams, %v", len(files), err)
	}
	for _, file := range files {
		base := strings.TrimSuffix(file, ".meta.json")
		name, _ := filepath.Rel("testdata/streams", base)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, r, f, lines := play(t, base, 4096)
			got := string(f.kind)
			if f.kind == "" { // as attempt.Run concludes
				got = "success"
				if _, err := agent.ParseControl(r.final); err != nil {
					got = "output_invalid"
				}
			}
			if got != c.Expect.Kind && !slices.Contains(c.Expect.Accept, got) {
				t.Errorf("%s (%s), want %s or %v", got, f.text, c.Expect.Kind, c.Expect.Accept)
			} else if got != c.Expect.Kind && c.Ended == nil {
				t.Logf("%s (%s), accepted for %s", got, f.text, c.Expect.Kind)
			}
			if f.kind != "" && f.text == "" {
				t.Error("a kind without evidence")
			}
			if c.Expect.Kind == "success" && c.CLI != "copilot" {
				if r.tokens.Input == nil || *r.tokens.Input < 1000 || *r.tokens.Output < 5 || *r.tokens.Cached > *r.tokens.Input {
					t.Errorf("tokens %+v", r.tokens)
				}
			}
			if c.Expect.Kind == "success" && (r.session == "" || len(lines) == 0) {
				t.Errorf("session %q, %d lines of transcript", r.session, len(lines))
			}
			// However the stream is cut into writes, it is understood in the same way.
			if _, again, g, _ := play(t, base, 61); g != f || again.final != r.final {
				t.Errorf("cut differently: %v, %q", g, again.final)
			}
		})
	}
}

// The good runs, to the token: what was read, what was used, what was done.
func TestGoodRuns(t *testing.T) {
	t.Parallel()
	for cli, want := range map[string]struct {
		in, out, cached int64
		cost            bool
	}{"claude": {7300, 185, 2700, true}, "codex": {4600, 185, 2700, false}, "gemini": {4600, 185, 2700, false}, "opencode": {4600, 185, 2700, false}, "pi": {4600, 185, 2700, true}, "copilot": {}} {
		_, r, f, lines := play(t, "testdata/streams/"+cli+"/ok", 4096)
		control, err := agent.ParseControl(r.final)
		if f.kind != "" || err != nil || control.Outcome != agent.Fixed || control.Touched[0] != "add.sh" {
			t.Errorf("%s: %v, %v", cli, f, err)
		}
		if want.in == 0 {
			if r.tokens.Input != nil {
				t.Errorf("%s: tokens that it does not say", cli)
			}
		} else if r.tokens.Input == nil || *r.tokens.Input != want.in || *r.tokens.Output != want.out || *r.tokens.Cached != want.cached || (r.cost != nil) != want.cost {
			t.Errorf("%s: %d %d %d, cost %v", cli, *r.tokens.Input, *r.tokens.Output, *r.tokens.Cached, r.cost)
		}
		var did []string
		for _, l := range lines {
			if l.Type == "tool_call" {
				did = append(did, l.Data["name"].(string)+" "+l.Data["target"].(string))
			}
		}
		if len(did) != 3 || !strings.HasSuffix(did[2], "sh test.sh") && !strings.HasSuffix(did[2], "'sh test.sh'") {
			t.Errorf("%s did %q", cli, did)
		}
	}
}
