package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

// nativePipeline is answered by the native agent; %s, here and below, is the tag of what its command leaves running.
const nativePipeline = `
task "fine" {
  run = ["true"]
}
task "check" {
  run = ["grep", "-qx", "hello", "greeting.txt"]
  on_fail "agent" {
    use = agent.native
    budget {
      attempts   = 1
      wall_clock = "15m"
    }
    allow = [["sh", "work.sh", "%s"]]
  }
}
agent "native" {
  provider = "openai_chat"
  model    = "scripted"
  base_url = env("MODEL_URL", "http://127.0.0.1:1")
  api_key  = secret("MODEL_KEY")
}
`

const nativeWork = `
(setsid sleep "$1" </dev/null >/dev/null 2>&1 &)
echo ran >>witness
sleep 0.1
`

// nativeStory is the whole session of the agent, with a moment before each answer.
func nativeStory(tag string) []modeltest.Turn {
	args := func(format string, a ...any) json.RawMessage { return json.RawMessage(fmt.Sprintf(format, a...)) }
	return []modeltest.Turn{
		{DelayMS: 40, Thinking: "A word.", Text: "I look at it.", Calls: []modeltest.Call{{Name: "read", Args: args(`{"path":"greeting.txt"}`)}, {Name: "list", Args: args(`{"path":"."}`)}}},
		{DelayMS: 40, Calls: []modeltest.Call{
			{Name: "write", Args: args(`{"path":"new.txt","content":"written\n"}`)},
			{Name: "edit", Args: args(`{"path":"greeting.txt","old":"goodbye","new":"hello"}`)},
		}},
		{DelayMS: 40, Text: "Now it works.", Calls: []modeltest.Call{{Name: "run", Args: args(`{"argv":["sh","work.sh","%s"]}`, tag)}}},
		{DelayMS: 40, Calls: []modeltest.Call{{Name: "check"}}},
		{DelayMS: 40, Calls: []modeltest.Call{{Name: "finish", Args: args(`{"outcome":"fixed","summary":"It says hello."}`)}}},
	}
}

// leaves is the line of a patch that a call of the story leaves, by the name of its tool.
var leaves = map[string]string{"write": "+written\n", "edit": "+hello\n", "run": "+ran\n"}

func newNativeVictim(t *testing.T) (*victim, *modeltest.Server) {
	t.Helper()
	v := emptyVictim(t)
	s := v.asks(t)
	v.write(t, map[string]string{
		"PIPELINE.hcl": fmt.Sprintf(nativePipeline, v.tag), "work.sh": nativeWork, "greeting.txt": "goodbye\n",
	})
	return v, s
}

// asks starts a model for the commands that are started from now on.
func (v *victim) asks(t *testing.T) *modeltest.Server {
	t.Helper()
	s := &modeltest.Server{Key: "key-of-the-sweep", Scenario: modeltest.Scenario{Turns: nativeStory(v.tag)}}
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		web.Close()
	})
	v.env = append(v.env, "MODEL_URL="+web.URL, "MODEL_KEY="+s.Key) // the last of a name counts
	return s
}

// transcript returns the transcript of the only run of the project; nil: there is none yet.
func (v *victim) transcript(t *testing.T) []byte {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(v.dir, ".async", "runs", "*", "fixes", "check.transcript.jsonl"))
	must(t, err)
	if len(found) == 0 {
		return nil
	}
	text, err := os.ReadFile(found[0])
	must(t, err)
	return text
}

// killAtLine starts a run and ends it with kill -9 as soon as its transcript has n lines.
func (v *victim) killAtLine(t *testing.T, n int) (pid int, killed bool) {
	t.Helper()
	c, _ := v.start(t, "run", "check")
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	stuck := time.After(stuckAfter)
	var err error
	for over := false; !over; {
		select {
		case err = <-ended:
			over = true
		case <-stuck:
			t.Error("the run did not come so far")
			_ = c.Process.Kill() // it may have ended by itself, here and below
		case <-time.After(time.Millisecond):
			if bytes.Count(v.transcript(t), []byte("\n")) >= n {
				_ = c.Process.Kill()
			}
		}
	}
	return c.Process.Pid, exitCode(err) == 128+9
}

// The native agent's runner is ended with kill -9 at each line of the transcript: the next command keeps what had
// been done, which is what the transcript says and nothing else, ends what is left, and neither asks the model nor
// runs a tool again.
func TestKilledNativeAgent(t *testing.T) {
	t.Parallel()
	needProc(t)
	v, s := newNativeVictim(t)
	if code, out := v.run(t, "run", "check"); code != 1 || !strings.Contains(out, "verified") {
		t.Fatalf("without a kill: exit %d\n%s", code, out)
	}
	whole := v.transcript(t)
	lines := bytes.Count(whole, []byte("\n"))
	if asked := len(s.Asked()); asked != len(nativeStory("")) || lines < 4*asked {
		t.Fatalf("without a kill: %d requests and %d lines\n%s", asked, lines, whole)
	}
	step := 4
	if os.Getenv("ASYNC_PIPELINE_SWEEP") == "full" {
		step = 1
	}
	var killed, rescued atomic.Int32
	rounds := (lines + step - 1) / step
	eachRound(t, rounds, func(t *testing.T, round int) {
		n := 1 + round*step
		v, s := newNativeVictim(t)
		before := v.tree(t)
		pid, wasKilled := v.killAtLine(t, n)
		dead := time.Now()
		t.Logf("killed at line %d of %d: %v", n, lines, wasKilled)
		tally(&killed, wasKilled)
		v.allEnd(t, pid, dead)
		journal := v.transcript(t)
		v.rescues(t)
		// From here the model is another server: the killed run's last request may reach the first one only now.
		later := v.asks(t)

		next := [][]string{{"run", "--only", "fine"}, {"gc"}}[round%2]
		if code, out := v.run(t, next...); code != 0 {
			t.Errorf("%v: exit %d\n%s", next, code, out)
		}
		if n := len(later.Asked()); n > 0 || len(s.Wrong()) > 0 {
			t.Errorf("%v asked the model %d times more; %v", next, n, s.Wrong())
		}
		if after := v.transcript(t); !bytes.HasPrefix(after, journal) || bytes.Contains(after[len(journal):], []byte(`"tool_call"`)) {
			t.Errorf("%v changed the transcript: after\n%s\nit has\n%s", next, journal, after)
		}
		if wasKilled {
			tally(&rescued, v.keptWhatWasDone(t, journal))
		}
		v.interruptedShows(t, v.records(t))
		if code, out := v.run(t, "fix", "audit"); code != 0 {
			t.Errorf("fix audit: exit %d\n%s", code, out)
		}
		if now := v.tree(t); !maps.Equal(now, before) {
			t.Errorf("the tree was %q and is %q", before, now)
		}
		if left := append(v.scratchLeft(t), v.alive(t, 0)...); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
	t.Logf("of %d: %d killed, %d with a rescue patch", rounds, killed.Load(), rescued.Load())
	if killed.Load() == 0 || rescued.Load() == 0 {
		t.Error("nothing was swept")
	}
}

// keptWhatWasDone compares the rescue patch with the transcript: what that says to be done is there, once, and what
// it does not name has not been done. It reports whether there is a patch.
func (v *victim) keptWhatWasDone(t *testing.T, journal []byte) bool {
	t.Helper()
	fixes := filepath.Join(v.dir, ".async", "runs", v.runs(t)[0], "fixes")
	record, err := os.ReadFile(filepath.Join(fixes, "check.json"))
	must(t, err)
	var sealed struct {
		State string
		Patch *struct{ Path string }
	}
	must(t, json.Unmarshal(record, &sealed))
	path := filepath.Join(fixes, "check", "attempt-1.patch")
	switch sealed.State {
	case "interrupted":
	case "proposed": // it was sealed when the kill came
		path = filepath.Join(fixes, "check.patch")
	default:
		t.Errorf("the healing is recorded as %s", sealed.State)
	}
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	calls, done := map[string]string{}, map[string]bool{} // a call's tool, and what is said to be done
	for line := range bytes.Lines(journal) {
		var l struct {
			Type, ID, Name string
			Failed         bool
		}
		if !bytes.HasSuffix(line, []byte("\n")) || json.Unmarshal(line, &l) != nil {
			continue // cut by the kill
		}
		switch l.Type {
		case "tool_call":
			calls[l.ID] = l.Name
		case "tool_result":
			done[calls[l.ID]] = !l.Failed
		}
	}
	begun := map[string]bool{}
	for _, name := range calls {
		begun[name] = true
	}
	for name, line := range leaves {
		n := bytes.Count(text, []byte(line))
		if n > 1 || n == 0 && done[name] || n == 1 && !begun[name] {
			t.Errorf("%s stands %d times in the patch; in the transcript it has begun: %v, is done: %v\n%s", name, n, begun[name], done[name], text)
		}
	}
	return len(text) > 0
}
