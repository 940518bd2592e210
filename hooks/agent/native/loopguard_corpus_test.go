package native

// Two folders of small scripts: models that go in circles and end where the script says, and models that repeat
// themselves for a good reason and are never disturbed. A case is a file: comment, header, an empty line, and one
// line a call:
//
//	TOOL JSON -> ok|empty|fail|refused TEXT      %d is the number of the round; a line that ends in " &" and the next are one round
//	say TEXT                       a text cut by its length limit, without a call
//
// Header: "model NAME"; for circles "ends DETECTOR ROUND after ROUND…" (the rounds of the reminders; a + behind it:
// whatever the arguments), the lines being repeated until then; for the others "times N".

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// codes are the words for what a call came to.
var codes = map[string]tools.Code{"ok": "", "empty": tools.Empty, "fail": tools.Failed, "refused": tools.NotRun}

// A tale is such a file.
type tale struct {
	model  string
	ends   string // detector
	round  int
	after  []int
	times  int
	rounds [][]string
}

func tell(t *testing.T, file string) tale {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s tale
	head, body, ok := strings.Cut(string(data), "\n\n")
	if !ok || !strings.HasPrefix(head, "# ") {
		t.Fatalf("%s has no comment or no empty line", file)
	}
	for line := range strings.Lines(head) {
		words := strings.Fields(line)
		switch words[0] {
		case "#":
		case "model":
			s.model = words[1]
		case "times":
			_, err = fmt.Sscan(words[1], &s.times)
		case "ends":
			s.ends = words[1]
			_, err = fmt.Sscan(words[2], &s.round)
			for _, w := range words[4:] {
				n := 0
				if _, scanErr := fmt.Sscan(w, &n); scanErr != nil {
					err = scanErr
				}
				s.after = append(s.after, n)
			}
		default:
			t.Fatalf("%s: what is %q?", file, line)
		}
		if err != nil {
			t.Fatalf("%s: %q: %v", file, line, err)
		}
	}
	var calls []string
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		more := strings.HasSuffix(line, " &")
		calls = append(calls, strings.TrimSuffix(line, " &"))
		if !more {
			s.rounds = append(s.rounds, calls)
			calls = nil
		}
	}
	return s
}

// play gives the model and the tools of a tale.
func (s tale) play(d *desk) {
	outcomes := map[string]tools.Outcome{}
	d.Model = s.model
	d.MaxTurns = 100
	d.tools.do = func(_ context.Context, c model.Call) tools.Outcome {
		d.tools.mu.Lock()
		defer d.tools.mu.Unlock()
		return outcomes[c.ID]
	}
	d.script.more = func(n int) step {
		if s.ends == "" && n >= s.times*len(s.rounds) || s.ends != "" && n >= s.round {
			return step{text: finalText}
		}
		var st step
		for k, line := range s.rounds[n%len(s.rounds)] {
			line = strings.ReplaceAll(line, "%d", fmt.Sprint(n))
			if text, ok := strings.CutPrefix(line, "say "); ok {
				return step{text: text, stop: model.MaxTokens}
			}
			what, came, _ := strings.Cut(line, " -> ")
			name, args, _ := strings.Cut(what, " ")
			how, text, _ := strings.Cut(came, " ")
			c := call(fmt.Sprintf("%d.%d", n, k), name, args)
			var of struct{ Path string }
			_ = json.Unmarshal(c.Args, &of)
			d.tools.mu.Lock()
			outcomes[c.ID] = tools.Outcome{Text: text, Code: codes[how], Path: of.Path}
			d.tools.mu.Unlock()
			st.calls = append(st.calls, c)
		}
		if n%2 == 1 {
			slices.Reverse(st.calls)
		}
		return st
	}
}

func corpus(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "loops", folder, "*.txt"))
	if err != nil || len(files) < 25 {
		t.Fatalf("%d scripts, %v; at least 25 are asked for", len(files), err)
	}
	return files
}

// reminded gives the rounds after which the model was reminded, and by which detector.
func (d *desk) reminded() (rounds []int, by []string) {
	n := 0
	for _, l := range d.lines {
		switch l.Type {
		case "request":
			n++
		case "reminder":
			if why := l.Data["why"].(string); why != "final" {
				rounds, by = append(rounds, n), append(by, why)
			}
		}
	}
	return rounds, by
}

// saidBy are words of the detectors that end a turn; a person is not told their names.
var saidBy = map[string]string{
	"D1": "made the same call", "D2": "repeat the same few calls", "D3": "gave the same results", "D5": "empty or invalid arguments",
	"D6": "have said the same", "D7": "failed 3 times, and was tried again",
	"D1+": "last 21 rounds failed, each time", "D3+": "failed or found nothing",
}

func TestCirclesAreStopped(t *testing.T) {
	t.Parallel()
	for _, file := range corpus(t, "stopped") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			s := tell(t, file)
			d := newDesk(t)
			s.play(d)
			turn := d.turn(context.Background())
			rounds, by := d.reminded()
			if turn.Kind != failure.LoopDetected || saidBy[s.ends] == "" || !strings.Contains(turn.Evidence, saidBy[s.ends]) || *turn.Turns != s.round+1 {
				t.Errorf("kind %q (%s) after %d rounds, want loop_detected by %s after %d", turn.Kind, turn.Evidence, *turn.Turns-1, s.ends, s.round)
			}
			if !slices.Equal(rounds, s.after) {
				t.Errorf("reminded after %v by %v, want %v", rounds, by, s.after)
			}
			if turn.Control == nil {
				t.Error("its last words were not heard")
			}
		})
	}
}

func TestGoodReasonsAreNotDisturbed(t *testing.T) {
	t.Parallel()
	for _, file := range corpus(t, "legitimate") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			s := tell(t, file)
			d := newDesk(t)
			s.play(d)
			turn := d.turn(context.Background())
			if rounds, by := d.reminded(); turn.Kind != "" || len(rounds) > 0 {
				t.Errorf("kind %q (%s), reminded after %v by %v", turn.Kind, turn.Evidence, rounds, by)
			}
			if want := s.times*len(s.rounds) + 1; *turn.Turns != want {
				t.Errorf("%d rounds, want %d", *turn.Turns, want)
			}
		})
	}
}
