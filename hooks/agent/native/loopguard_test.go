package native

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// P90 P92: what failed three times on one target is said, then refused without running, and tried once more ends the
// turn.
func TestP90P92RefusedDoesNotRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.tools.do = func(context.Context, model.Call) tools.Outcome {
		return tools.Outcome{Text: "no match", Code: tools.Failed, Path: "a.go"}
	}
	d.script.more = func(n int) step {
		if n >= 5 {
			return step{text: finalText}
		}
		return step{calls: []model.Call{call(fmt.Sprint(n+1), "edit", fmt.Sprintf(`{"path":"a.go","old":"%d","new":"x"}`, n))}}
	}
	if turn, _ := d.ends(t.Context(), failure.LoopDetected, 6); !strings.Contains(turn.Evidence, saidBy["D7"]) {
		t.Errorf("evidence %q", turn.Evidence)
	}
	d.ran("1", "2", "3")
	if rounds, by := d.reminded(); !slices.Equal(rounds, []int{3}) || !slices.Equal(by, []string{"D7"}) {
		t.Errorf("reminded after %v by %v", rounds, by)
	}
	lines := d.of("tool_result")
	if len(lines) != 5 {
		t.Fatalf("%d results", len(lines))
	}
	for i, l := range lines {
		text, refused := l.Data["text"].(string), i >= 3
		if strings.HasPrefix(text, "Refused: this has failed 3 times already") != refused || l.Data["failed"] != true || (l.Data["started"] == false) != refused {
			t.Errorf("result %d: %v", i+1, l.Data)
		}
	}
}

// A model that reads the same again is told in the result that nothing can have changed, and is not disturbed
// otherwise; a change in between makes the read new.
func TestLookAgainIsToldInItsResult(t *testing.T) {
	t.Parallel()
	const told = "nothing changes by itself"
	look, other := `read {"path":"a"}`, `list {}`
	for _, tt := range []struct {
		name   string
		rounds []string // calls, " & " between those of one round
		told   []int    // rounds, from 1, whose last result says it
	}{
		{"five times", []string{look, look, look, look, look}, []int{3, 4, 5}},
		{"a look elsewhere between", []string{look, other, look, other, look, other}, []int{5, 6}},
		{"a command between", []string{look, look, `check {}`, look, look, look}, []int{6}},
		{"a write between", []string{look, look, `write {"path":"b"}`, look, look}, nil},
		{"three in one round", []string{look + " & " + look + " & " + look, look}, nil},
		{"what moves on", []string{`read {"path":"log"}`, `read {"path":"log"}`, `read {"path":"log"}`, `read {"path":"log"}`}, nil},
		{"what fails", []string{`read {"path":"gone"}`, `read {"path":"gone"}`, `read {"path":"gone"}`}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			n := 0
			d.tools.do = func(_ context.Context, c model.Call) tools.Outcome {
				d.tools.mu.Lock()
				defer d.tools.mu.Unlock()
				n++
				switch {
				case strings.Contains(string(c.Args), "log"):
					return tools.Outcome{Text: fmt.Sprint("line ", n)}
				case strings.Contains(string(c.Args), "gone"):
					return tools.Outcome{Text: "no such file", Code: tools.Failed}
				}
				return tools.Outcome{Text: "same"}
			}
			for i, r := range tt.rounds {
				var st step
				for k, s := range strings.Split(r, " & ") {
					name, args, _ := strings.Cut(s, " ")
					st.calls = append(st.calls, call(fmt.Sprintf("%d.%d", i+1, k), name, args))
				}
				d.script.steps = append(d.script.steps, st)
			}
			d.script.steps = append(d.script.steps, step{text: finalText})
			d.turn(t.Context())
			var got []int
			for id, r := range d.results() {
				if strings.Contains(r.Text, told) {
					var round int
					if _, err := fmt.Sscanf(id, "%d.", &round); err != nil || r.Failed || !strings.HasPrefix(r.Text, "same\n"+ours) {
						t.Errorf("%s: %+v", id, r)
					}
					got = append(got, round)
				}
			}
			if slices.Sort(got); !slices.Equal(got, tt.told) {
				t.Errorf("told in rounds %v, want %v", got, tt.told)
			}
			for _, l := range d.of("tool_result") {
				if l.Data["text"] != d.results()[l.Data["id"].(string)].Text {
					t.Errorf("the transcript has %q", l.Data["text"])
				}
			}
		})
	}
}

// B44 B46: a turn that ends by a detector: what the model sees, what is written down, and its last words.
func TestB44B46RemindersAndLastWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		last      []step
		text      string
		synthetic bool
		asked     int
	}{
		{"it says something", []step{{text: "The file is not there.\n" + finalText}}, "The file is not there.\n" + finalText, false, 13},
		{"empty once", []step{{}, {text: "sorry"}}, "sorry", false, 14},
		{"empty twice", []step{{}, {}}, "", true, 14},
		{"a call that cannot run", []step{{text: "I try", calls: []model.Call{call("x", "edit", `{}`)}}}, "I try", false, 13},
		{"it fails for good", []step{{err: fault5(failure.AuthInvalid, 401, "no")}}, "", true, 13},
		{"lost twice", []step{{err: lost()}, {err: lost()}}, "", true, 14},
		{"lost once", []step{{err: lost()}, {text: "sorry"}}, "sorry", false, 14},
		{"lost, then empty", []step{{err: lost()}, {}}, "", true, 14},
		{"empty, then lost", []step{{}, {err: lost()}}, "", true, 14},
		{"half of it, and lost", []step{{text: "The file is not there, because", err: lost()}}, "The file is not there, because", false, 13},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.tools.do = func(context.Context, model.Call) tools.Outcome {
				return tools.Outcome{Text: "no match", Code: tools.Failed}
			}
			d.script.more = func(n int) step {
				if n >= 12 {
					return tt.last[n-12]
				}
				return step{calls: []model.Call{call(fmt.Sprint(n), "edit", `{"path":"a.go","old":"x","new":"y"}`)}}
			}
			turn, _ := d.ends(t.Context(), failure.LoopDetected, tt.asked)
			if !strings.Contains(turn.Evidence, "the same call 3 times in a row") {
				t.Errorf("evidence %q", turn.Evidence)
			}
			end := d.of("end")[0].Data
			if (end["synthetic"] == true) != tt.synthetic || !tt.synthetic && turn.Text != tt.text || tt.synthetic && !strings.HasPrefix(turn.Text, ours) {
				t.Errorf("synthetic %v, text %q", end["synthetic"], turn.Text)
			}
			asked := d.script.requests()
			for i, r := range asked {
				if (len(r.Tools) == 0) != (i >= 12) {
					t.Errorf("request %d has %d tools", i+1, len(r.Tools))
				}
			}
			if len(d.tools.started()) != 12 {
				t.Errorf("%d calls ran, want 12", len(d.tools.started()))
			}
			reminders := d.of("reminder")
			if len(reminders) != 4 { // three, and the last words asked for
				t.Fatalf("B44 %d reminders in the transcript", len(reminders))
			}
			for i, r := range reminders[:3] {
				text := r.Data["text"].(string)
				if got := asked[3*(i+1)].Messages; !strings.Contains(show(got[len(got)-1:]), text[len(ours):len(ours)+40]) || got[len(got)-1].Role != model.User {
					t.Errorf("B44 reminder %d is not in the conversation:\n%s", i+1, show(got[len(got)-1:]))
				}
			}
		})
	}
}

// A tool's name that is made up goes back in a form that every provider takes, and the model is told which there are.
func TestMadeUpNamesOfTools(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"functions.read", "read file", "läs", strings.Repeat("read", 5000), "\n", "\xff\xfe"} {
		d := newDesk(t, step{calls: []model.Call{call("1", name, `{"path":"a"}`)}}, step{text: finalText})
		d.onCopy(t, nil)
		d.ends(t.Context(), "", 2) // the script refuses what is not legal
		if got := d.results()["1"]; !got.Failed || !strings.Contains(got.Text, "there is no tool") || len(got.Text) > 300 {
			t.Errorf("%.20q: %+v", name, got)
		}
	}
}

// Two folders of small scripts: models that go in circles and end where the script says, and models that repeat
// themselves for a good reason and are never disturbed. A case is a file: comment, header, an empty line, and one
// line a call:
//
//	TOOL JSON -> ok|empty|fail|refused TEXT      %d is the number of the round; a line that ends in " &" and the next are one round
//	say TEXT                       a text cut by its length limit, without a call
//
// Header: "model NAME"; for circles "ends DETECTOR ROUND after ROUND…" (the rounds of the reminders; a + behind it:
// whatever the arguments), the lines being repeated until then; for the others "times N".

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

// corpus plays each script of a folder, and gives check the turn and the rounds after which the model was reminded.
func corpus(t *testing.T, folder string, check func(t *testing.T, s tale, turn agent.Turn, reminded []int)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "loops", folder, "*.txt"))
	if err != nil || len(files) < 25 {
		t.Fatalf("%d scripts, %v; at least 25 are asked for", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			s, d := tell(t, file), newDesk(t)
			s.play(d)
			turn := d.turn(t.Context())
			rounds, by := d.reminded()
			if check(t, s, turn, rounds); t.Failed() {
				t.Logf("kind %q (%s) after %d answers; reminders %v", turn.Kind, turn.Evidence, *turn.Turns, by)
			}
		})
	}
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
	corpus(t, "stopped", func(t *testing.T, s tale, turn agent.Turn, reminded []int) {
		if turn.Kind != failure.LoopDetected || *turn.Turns != s.round+1 {
			t.Errorf("want loop_detected after %d rounds", s.round)
		}
		if saidBy[s.ends] == "" || !strings.Contains(turn.Evidence, saidBy[s.ends]) {
			t.Errorf("want an end by %s", s.ends)
		}
		if !slices.Equal(reminded, s.after) {
			t.Errorf("reminded after %v, want %v", reminded, s.after)
		}
		if turn.Control == nil {
			t.Error("its last words were not heard")
		}
	})
}

func TestGoodReasonsAreNotDisturbed(t *testing.T) {
	t.Parallel()
	corpus(t, "legitimate", func(t *testing.T, s tale, turn agent.Turn, reminded []int) {
		if want := s.times*len(s.rounds) + 1; turn.Kind != "" || len(reminded) > 0 || *turn.Turns != want {
			t.Errorf("reminded after %v; %d rounds, want %d", reminded, *turn.Turns, want)
		}
	})
}

// B34: calls that differ are no loop, though none of them arrives whole. B42: one that comes again is, wherever it is
// cut.
func TestB34CallsThatDoNotArrive(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		model string
		path  string // %d is the number of the round
		cut   bool   // by the length of the answer; else it is refused while it arrives
		kind  failure.Kind
		after []int
		by    string
	}{
		{"different files, refused", "", "f%d.go", false, "", nil, ""},
		{"different files, refused, a small model", "gpt-x-mini", "f%d.go", false, "", nil, ""},
		{"one file, refused", "", "f0.go", false, failure.LoopDetected, []int{3, 6, 9}, "D1"},
		{"one file, refused, a small model", "gpt-x-mini", "f0.go", false, failure.LoopDetected, []int{2, 4, 6}, "D1"},
		{"different files, too long", "", "f%d.go", true, "", []int{3, 6, 9}, "D5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			for i := range 11 {
				files[fmt.Sprintf("f%d.go", i)] = "old\n"
			}
			d := newDesk(t)
			d.Model = tt.model
			d.onCopy(t, files)
			d.script.more = func(n int) step {
				if tt.kind == "" && n >= len(files) || len(d.script.asked[n].Tools) == 0 {
					return step{text: finalText}
				}
				path := strings.ReplaceAll(tt.path, "%d", fmt.Sprint(n))
				half := call(fmt.Sprint(n), "write", fmt.Sprintf(`{"path":%q,"content":"%s`, path, strings.Repeat("y", 100+n)))
				if tt.cut {
					half.Args = json.RawMessage(strings.Replace(string(half.Args), "f", "new/f", 1))
					return step{half: &half, stop: model.MaxTokens}
				}
				return step{half: &half, hang: true}
			}
			turn := d.turn(t.Context())
			rounds, by := d.reminded()
			if turn.Kind != tt.kind || !slices.Equal(rounds, tt.after) || slices.ContainsFunc(by, func(s string) bool { return s != tt.by }) {
				t.Errorf("kind %q (%s), reminded after %v by %v", turn.Kind, turn.Evidence, rounds, by)
			}
		})
	}
}
