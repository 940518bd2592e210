package native

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// letters are rounds: a capital letter is a round with one call that fails, a small one the same call succeeding, a digit a
// look at something, a dot a round without calls.
func letters(s string) []round {
	var all []round
	for i, c := range s {
		o := observed{name: "edit", args: fmt.Sprintf(`{"path":%q}`, strings.ToUpper(string(c))), effect: writes, result: "same"}
		o.target, o.path = strings.ToUpper(string(c)), strings.ToUpper(string(c))
		switch {
		case c == '.':
			all = append(all, round{text: fmt.Sprint("thought ", i)})
			continue
		case c >= 'A' && c <= 'Z':
			o.code, o.result = codeFailed, "no match"
		case c >= '0' && c <= '9':
			o = observed{name: "read", args: fmt.Sprintf(`{"path":%q}`, string(c)), target: string(c), path: string(c), effect: reads, result: "same"}
		}
		all = append(all, round{calls: []observed{o}})
	}
	return all
}

func TestDetect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		model  string
		rounds string
		want   string // what was found, "D1@3"; "!" at its end: the turn ends
	}{
		{"B30 one call that fails", "", "AAA", "D1@3"},
		{"B32 two in turn", "", "ABABAB", "D2@6"},
		{"B33 three in turn", "", "ABCABC", "D2@6"},
		{"B34 all different", "", "ABCDEF", ""},
		{"B36 different, then two in turn", "", "XYZABABAB", "D2@9"},
		{"B37 too short", "", "ABABA", ""},
		{"B41 a success between", "", "AAbA", ""},
		{"B41 it restores the budget", "", "AAAAAAbAAAAAAAAA", "D1@3 D1@6 D1@10 D1@13 D1@16"},
		{"B42 twelve times", "", "AAAAAAAAAAAA", "D1@3 D1@6 D1@9 D1@12!"},
		{"two in turn, for ever", "", "ABABABABABABABABABABABAB", "D2@6 D2@12 D2@18 D2@24!"},
		{"B48 a success that gives the same", "", "aaa", "D3@3"},
		{"a success that gives the same, for ever", "", "aaaaaa", "D3@3 D4@4 D3@6!"},
		{"B49 a look between", "", "a1a1a1", ""},
		{"B50 a weak model", "gpt-x-mini", "AA", "D1@2"},
		{"a weak model, two in turn", "claude-3-haiku", "ABAB", "D2@4"},
		{"a name that only contains it", "gemini-x", "AA", ""},
		{"words between", "", "AA.A", ""},
		{"P90 the same failure with a success between", "", "A1A2A3", "D7@5"},
		{"P92 tried again after it was refused", "", "A1A2A3A4A5", "D7@5 D7@9!"},
		{"a file that was written makes it new", "", "A1A2bA1A2bA1A2", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWatch(tt.model)
			var got []string
			for i, r := range letters(tt.rounds) {
				if f := w.round(r); f.found() {
					s := fmt.Sprintf("%s@%d", f.id, i+1)
					if f.end {
						s += "!"
					}
					got = append(got, s)
				}
			}
			if found := strings.Join(got, " "); found != tt.want {
				t.Errorf("found %q, want %q", found, tt.want)
			}
		})
	}
}

// B38: a threshold of nothing counts as one.
func TestB38ThresholdOfNothing(t *testing.T) {
	t.Parallel()
	w := newWatch("")
	w.threshold = 0
	if f := w.round(letters("A")[0]); f.id != "D1" {
		t.Errorf("found %+v", f)
	}
	if f := w.round(letters("A")[0]); f.id != "D1" {
		t.Errorf("found %+v", f)
	}
}

// B40: the same calls in another order are the same round.
func TestB40SignatureHasNoOrder(t *testing.T) {
	t.Parallel()
	a, b := letters("A")[0].calls[0], letters("B")[0].calls[0]
	if signature(round{calls: []observed{a, b}}) != signature(round{calls: []observed{b, a}}) {
		t.Error("the order of the calls counts")
	}
	long := strings.Repeat("x", 200)
	c, d := a, a
	c.args, d.args = `{"c":"`+long+`1"}`, `{"c":"`+long+`2"}`
	if signature(round{calls: []observed{c}}) == signature(round{calls: []observed{d}}) {
		t.Error("long arguments of one length and one beginning are the same")
	}
	if n := len(signature(round{calls: []observed{c}})); n > 200 {
		t.Errorf("a signature of %d bytes", n)
	}
}

func TestRewrites(t *testing.T) {
	t.Parallel()
	write := func(path, content string) observed {
		return observed{name: "write", args: fmt.Sprintf(`{"path":%q,"content":%q}`, path, content), path: path, target: path, effect: writes, result: content}
	}
	look := func(path string) observed {
		return observed{name: "read", args: path, path: path, effect: reads, result: path}
	}
	check := observed{name: "check", args: "{}", effect: runs, result: "failed", code: codeFailed}
	for _, tt := range []struct {
		name  string
		calls []observed
		want  int // the round of the reminder; 0: none
	}{
		{"four times", []observed{write("a", "1"), write("a", "2"), write("a", "3"), write("a", "4")}, 4},
		{"a look at itself is no test", []observed{write("a", "1"), look("a"), write("a", "2"), write("a", "3"), look("a"), write("a", "4")}, 6},
		{"a look at another file", []observed{write("a", "1"), write("a", "2"), look("b"), write("a", "3"), write("a", "4")}, 0},
		{"a check, even one that fails", []observed{write("a", "1"), write("a", "2"), check, write("a", "3"), write("a", "4")}, 0},
		{"two files in turn", []observed{write("a", "1"), write("b", "1"), write("a", "2"), write("b", "2"), write("a", "3"), write("b", "3"), write("a", "4")}, 7},
	} {
		w := newWatch("")
		got := 0
		for i, c := range tt.calls {
			if f := w.round(round{calls: []observed{c}}); f.found() {
				if f.id != "D4" || f.end {
					t.Errorf("%s: found %+v", tt.name, f)
				}
				got = i + 1
			}
		}
		if got != tt.want {
			t.Errorf("%s: found in round %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestInvalidArguments(t *testing.T) {
	t.Parallel()
	w := newWatch("")
	var got []string
	for i := range 12 { // another tool each time: no signature comes twice
		f := w.round(round{calls: []observed{{name: fmt.Sprint("tool", i), args: "{}", code: codeInvalid, result: "missing"}}})
		if f.found() {
			got = append(got, fmt.Sprintf("%s@%d %v", f.id, i+1, f.end))
		}
	}
	if !slices.Equal(got, []string{"D5@3 false", "D5@6 false", "D5@9 false", "D5@12 true"}) {
		t.Errorf("found %v", got)
	}
}

func TestTextAlone(t *testing.T) {
	t.Parallel()
	w := newWatch("")
	var got []string
	for i := range 12 {
		text := "I will now FIX it."
		if i%2 == 1 {
			text = "i will\nnow fix it."
		}
		if f := w.round(round{text: text}); f.found() {
			got = append(got, fmt.Sprintf("%s@%d %v", f.id, i+1, f.end))
		}
		if i == 4 {
			w.compacted() // the window was summarised: what came before is no repetition
		}
	}
	if !slices.Equal(got, []string{"D6@3 false", "D6@8 false", "D6@11 false"}) {
		t.Errorf("found %v", got)
	}
}

func TestGateOfTargets(t *testing.T) {
	t.Parallel()
	codeIf := map[bool]code{true: codeFailed}
	try := func(n int, failed bool) observed {
		return observed{name: "edit", args: fmt.Sprintf(`{"path":"a.go","old":"%d"}`, n), target: "a.go", path: "a.go", effect: writes, code: codeIf[failed], result: fmt.Sprint(n)}
	}
	t.Run("P90 P92 one target, other arguments", func(t *testing.T) {
		t.Parallel()
		w := newWatch("")
		var got []string
		for i := range 5 {
			c := try(i, true)
			if refused := w.refuse(c) != ""; refused != (i >= 3) {
				t.Errorf("try %d is refused: %v", i+1, refused)
			}
			if f := w.round(round{calls: []observed{c}}); f.found() {
				got = append(got, fmt.Sprintf("%s@%d %v", f.id, i+1, f.end))
			}
		}
		if !slices.Equal(got, []string{"D7@3 false", "D7@5 true"}) {
			t.Errorf("found %v", got)
		}
	})
	t.Run("P93 five at once", func(t *testing.T) {
		t.Parallel()
		w := newWatch("")
		c := try(1, true)
		if f := w.round(round{calls: []observed{c, c, c, c, c}}); f.found() || w.refuse(c) != "" {
			t.Errorf("found %+v", f)
		}
	})
	t.Run("P93 five different at once", func(t *testing.T) {
		t.Parallel()
		w := newWatch("")
		if f := w.round(round{calls: []observed{try(1, true), try(2, true), try(3, true), try(4, true)}}); f.found() || w.refuse(try(5, true)) != "" {
			t.Errorf("found %+v", f)
		}
	})
	t.Run("P94 one file in pieces", func(t *testing.T) {
		t.Parallel()
		w := newWatch("")
		for i := range 20 {
			c := observed{name: "read", args: fmt.Sprintf(`{"path":"a.go","from":%d}`, i), target: "a.go", path: "a.go", effect: reads, result: fmt.Sprint(i)}
			if w.refuse(c) != "" {
				t.Fatal("a read is refused")
			}
			if f := w.round(round{calls: []observed{c}}); f.found() {
				t.Errorf("found %+v", f)
			}
		}
	})
	t.Run("a success forgets", func(t *testing.T) {
		t.Parallel()
		w := newWatch("")
		for i := range 9 {
			if f := w.round(round{calls: []observed{try(i, i%3 != 2)}}); f.found() {
				t.Errorf("round %d: found %+v", i+1, f)
			}
		}
	})
}

func TestWeak(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"gpt-5-mini": true, "claude-haiku-4-5": true, "google/gemini-2.5-flash": true, "gemini-2.5-flash-lite": true, "gpt-4.1-nano": true,
		"mistral-small:24b": true, "claude-sonnet-4": false, "gpt-5": false, "gemini-3-pro": false, "minimax-m2": false, "smallville": false, "": false,
	} {
		if weak(name) != want {
			t.Errorf("weak(%q) = %v", name, !want)
		}
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"b": 1, "a": " x "}`: `{"a":"x","b":1}`,
		`{"a":"x","request_id":"7","inner":{"nonce":1,"traceId":"z","n":9007199254740993}}`: `{"a":"x","inner":{"n":9007199254740993}}`,
		`{"a`:                    `{"a`,
		`{"argv":["go ","vet"]}`: `{"argv":["go","vet"]}`,
	} {
		if got := canonical(json.RawMessage(in)); got != want {
			t.Errorf("canonical(%s) = %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		`{"path":"a","pattern":"p"}`: "p", `{"path":" a "}`: "a", `{"argv":["go","vet"]}`: `["go" "vet"]`, `{"path":" "}`: "", `{}`: "", `[]`: "",
	} {
		if got := targetOf(json.RawMessage(in)); got != want {
			t.Errorf("targetOf(%s) = %q, want %q", in, got, want)
		}
	}
	if timeless("exit code 1 after 1.2s\nsee output:3 after 5s") != timeless("exit code 1 after 90ms\nsee output:4 after 5s") {
		t.Error("the time a command took makes its result another")
	}
	if timeless("exit code 1 after 1s\nup after 5s") == timeless("exit code 1 after 1s\nup after 6s") {
		t.Error("what a command says of time is not seen")
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
		{"it fails", []step{{err: lost()}}, "", true, 13},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.tools.do = func(context.Context, model.Call) outcome { return outcome{text: "no match", code: codeFailed} }
			d.script.more = func(n int) step {
				if n >= 12 {
					return tt.last[n-12]
				}
				return step{calls: []model.Call{call(fmt.Sprint(n), "edit", `{"path":"a.go","old":"x","new":"y"}`)}}
			}
			turn := d.turn(context.Background())
			if turn.Kind != failure.LoopDetected || !strings.Contains(turn.Evidence, "the same call 3 times in a row") || *turn.Requests != tt.asked {
				t.Errorf("kind %q, evidence %q, %d requests", turn.Kind, turn.Evidence, *turn.Requests)
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

// Names that a model made up do not break the lines of a message.
func TestMadeUpNamesInFindings(t *testing.T) {
	t.Parallel()
	d := newWatch("")
	for i := range rewriteLimit {
		if f := d.round(round{calls: []observed{{name: "write", args: strings.Repeat("x", i), path: "a\nb\x1b[2J", effect: writes}}}); strings.Contains(f.says, "\n") || f.found() != (i == rewriteLimit-1) {
			t.Errorf("round %d: %+v", i, f)
		}
	}
	w := newWatch("")
	for i := range gateStop { // it stands in the evidence of an end
		c := observed{name: "a\x1b[2J\n", args: strings.Repeat("x", i), target: "t", code: codeFailed}
		if f := w.round(round{calls: []observed{c}}); strings.ContainsAny(f.says, "\x1b\n") || f.end != (i == gateStop-1) {
			t.Errorf("round %d: %+v", i+1, f)
		}
	}
}
