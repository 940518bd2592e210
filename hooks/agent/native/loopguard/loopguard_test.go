package loopguard

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
)

// letters are rounds: a capital letter is a round with one call that fails, a small one the same call succeeding, a
// digit a read, a question mark a search that finds nothing, a dot a round without calls.
func letters(s string) []Round {
	var all []Round
	for i, c := range s {
		o := Call{Name: "edit", Args: fmt.Sprintf(`{"path":%q}`, strings.ToUpper(string(c))), Effect: tools.Writes, Result: "same"}
		o.Target, o.Path = strings.ToUpper(string(c)), strings.ToUpper(string(c))
		switch {
		case c == '.':
			all = append(all, Round{Text: fmt.Sprint("thought ", i)})
			continue
		case c == '?':
			o = Call{Name: "search", Args: `{"pattern":"x"}`, Target: "x", Effect: tools.Reads, Code: tools.Empty, Result: "nothing"}
		case c >= 'A' && c <= 'Z':
			o.Code, o.Result = tools.Failed, "no match"
		case c >= '0' && c <= '9':
			o = Call{Name: "read", Args: fmt.Sprintf(`{"path":%q}`, string(c)), Target: string(c), Path: string(c), Effect: tools.Reads, Result: "same"}
		}
		all = append(all, Round{Calls: []Call{o}})
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
		{"B41 so does one that finds nothing", "", "AAAAAA?AAAAAAAAA", "D1@3 D1@6 D1@10 D1@13 D1@16"},
		{"B41 and a round without calls", "", "AAAAAA.AAAAAAAAA", "D1@3 D1@6 D1@10 D1@13 D1@16"},
		{"B41 to the end", "", "AAAAAA?AAAAAAAAAAAA", "D1@3 D1@6 D1@10 D1@13 D1@16 D1@19!"},
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
			w := New(tt.model)
			var got []string
			for i, r := range letters(tt.rounds) {
				if f := w.Round(r); f.Found() {
					s := fmt.Sprintf("%s@%d", f.ID, i+1)
					if f.Ends {
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
	w := New("")
	w.threshold = 0
	if f := w.Round(letters("A")[0]); f.ID != "D1" {
		t.Errorf("found %+v", f)
	}
	if f := w.Round(letters("A")[0]); f.ID != "D1" {
		t.Errorf("found %+v", f)
	}
}

// B40: the same calls in another order are the same round.
func TestB40SignatureHasNoOrder(t *testing.T) {
	t.Parallel()
	a, b := letters("A")[0].Calls[0], letters("B")[0].Calls[0]
	if signature(Round{Calls: []Call{a, b}}) != signature(Round{Calls: []Call{b, a}}) {
		t.Error("the order of the calls counts")
	}
	long := strings.Repeat("x", 200)
	c, d := a, a
	c.Args, d.Args = `{"c":"`+long+`1"}`, `{"c":"`+long+`2"}`
	if signature(Round{Calls: []Call{c}}) == signature(Round{Calls: []Call{d}}) {
		t.Error("long arguments of one length and one beginning are the same")
	}
	if n := len(signature(Round{Calls: []Call{c}})); n > 200 {
		t.Errorf("a signature of %d bytes", n)
	}
}

func TestRewrites(t *testing.T) {
	t.Parallel()
	write := func(path, content string) Call {
		return Call{Name: "write", Args: fmt.Sprintf(`{"path":%q,"content":%q}`, path, content), Path: path, Target: path, Effect: tools.Writes, Result: content}
	}
	look := func(path string) Call {
		return Call{Name: "read", Args: path, Path: path, Effect: tools.Reads, Result: path}
	}
	check := Call{Name: "check", Args: "{}", Effect: tools.Runs, Result: "failed", Code: tools.Failed}
	for _, tt := range []struct {
		name  string
		calls []Call
		want  int // the round of the reminder; 0: none
	}{
		{"four times", []Call{write("a", "1"), write("a", "2"), write("a", "3"), write("a", "4")}, 4},
		{"a look at itself is no test", []Call{write("a", "1"), look("a"), write("a", "2"), write("a", "3"), look("a"), write("a", "4")}, 6},
		{"a look at another file", []Call{write("a", "1"), write("a", "2"), look("b"), write("a", "3"), write("a", "4")}, 0},
		{"a check, even one that fails", []Call{write("a", "1"), write("a", "2"), check, write("a", "3"), write("a", "4")}, 0},
		{"two files in turn", []Call{write("a", "1"), write("b", "1"), write("a", "2"), write("b", "2"), write("a", "3"), write("b", "3"), write("a", "4")}, 7},
	} {
		w := New("")
		got := 0
		for i, c := range tt.calls {
			if f := w.Round(Round{Calls: []Call{c}}); f.Found() {
				if f.ID != "D4" || f.Ends {
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
	w := New("")
	var got []string
	for i := range 12 { // another tool each time: no signature comes twice
		f := w.Round(Round{Calls: []Call{{Name: fmt.Sprint("tool", i), Args: "{}", Code: tools.Invalid, Result: "missing"}}})
		if f.Found() {
			got = append(got, fmt.Sprintf("%s@%d %v", f.ID, i+1, f.Ends))
		}
	}
	if !slices.Equal(got, []string{"D5@3 false", "D5@6 false", "D5@9 false", "D5@12 true"}) {
		t.Errorf("found %v", got)
	}
}

func TestTextAlone(t *testing.T) {
	t.Parallel()
	w := New("")
	var got []string
	for i := range 12 {
		text := "I will now FIX it."
		if i%2 == 1 {
			text = "i will\nnow fix it."
		}
		if f := w.Round(Round{Text: text}); f.Found() {
			got = append(got, fmt.Sprintf("%s@%d %v", f.ID, i+1, f.Ends))
		}
		if i == 4 {
			w.Compacted() // the window was summarised: what came before is no repetition
		}
	}
	if !slices.Equal(got, []string{"D6@3 false", "D6@8 false", "D6@11 false"}) {
		t.Errorf("found %v", got)
	}
}

// The reminders that D6 counts on are not restored by the text that it counts.
func TestTextAloneEnds(t *testing.T) {
	t.Parallel()
	w := New("")
	for i := range 12 {
		if f := w.Round(Round{Text: "I will now fix it."}); f.Found() != (i%3 == 2) || f.Ends != (i == 11) {
			t.Errorf("round %d: %+v", i+1, f)
		}
	}
}

// Nor those of a long run of rounds that find nothing, by the rounds themselves.
func TestNothingFoundEnds(t *testing.T) {
	t.Parallel()
	w := New("")
	for i := range 33 {
		c := Call{Name: "search", Args: fmt.Sprint(i), Effect: tools.Reads, Code: tools.Empty}
		if f := w.Round(Round{Calls: []Call{c}}); f.Found() != (i >= 23 && (i-23)%3 == 0) || f.Ends != (i == 32) {
			t.Errorf("round %d: %+v", i+1, f)
		}
	}
}

func TestGateOfTargets(t *testing.T) {
	t.Parallel()
	codeIf := map[bool]tools.Code{true: tools.Failed}
	try := func(n int, failed bool) Call {
		return Call{Name: "edit", Args: fmt.Sprintf(`{"path":"a.go","old":"%d"}`, n), Target: "a.go", Path: "a.go", Effect: tools.Writes, Code: codeIf[failed], Result: fmt.Sprint(n)}
	}
	t.Run("P90 P92 one target, other arguments", func(t *testing.T) {
		t.Parallel()
		w := New("")
		var got []string
		for i := range 5 {
			c := try(i, true)
			if refused := w.Refuse(c) != ""; refused != (i >= 3) {
				t.Errorf("try %d is refused: %v", i+1, refused)
			}
			if f := w.Round(Round{Calls: []Call{c}}); f.Found() {
				got = append(got, fmt.Sprintf("%s@%d %v", f.ID, i+1, f.Ends))
			}
		}
		if !slices.Equal(got, []string{"D7@3 false", "D7@5 true"}) {
			t.Errorf("found %v", got)
		}
	})
	t.Run("P90 P92 one input, other times and ids in what it says", func(t *testing.T) {
		t.Parallel()
		w := New("")
		var got []string
		for i := range 5 {
			c := Call{Name: "run", Args: `{"argv":["go","test"]}`, Target: "go test", Effect: tools.Runs, Code: tools.Failed}
			c.Result = fmt.Sprintf("exit code 1 after %d.5s\n--- FAIL: TestSum (0.0%ds)\n/tmp/go-build%d/b001", i, i, i+7919123)
			if refused := w.Refuse(c) != ""; refused != (i >= 3) {
				t.Errorf("try %d is refused: %v", i+1, refused)
			}
			look := Call{Name: "read", Args: fmt.Sprint(i), Target: fmt.Sprint(i), Path: fmt.Sprint(i), Effect: tools.Reads, Result: fmt.Sprint(i)}
			for _, c := range []Call{c, look} {
				if f := w.Round(Round{Calls: []Call{c}}); f.Found() {
					got = append(got, fmt.Sprintf("%s@%d %v", f.ID, i+1, f.Ends))
				}
			}
		}
		if !slices.Equal(got, []string{"D7@3 false", "D7@5 true"}) {
			t.Errorf("found %v", got)
		}
	})
	t.Run("P93 five at once", func(t *testing.T) {
		t.Parallel()
		w := New("")
		c := try(1, true)
		if f := w.Round(Round{Calls: []Call{c, c, c, c, c}}); f.Found() || w.Refuse(c) != "" {
			t.Errorf("found %+v", f)
		}
	})
	t.Run("P93 five different at once", func(t *testing.T) {
		t.Parallel()
		w := New("")
		if f := w.Round(Round{Calls: []Call{try(1, true), try(2, true), try(3, true), try(4, true)}}); f.Found() || w.Refuse(try(5, true)) != "" {
			t.Errorf("found %+v", f)
		}
	})
	t.Run("P94 one file in pieces", func(t *testing.T) {
		t.Parallel()
		w := New("")
		for i := range 20 {
			c := Call{Name: "read", Args: fmt.Sprintf(`{"path":"a.go","from":%d}`, i), Target: "a.go", Path: "a.go", Effect: tools.Reads, Result: fmt.Sprint(i)}
			if w.Refuse(c) != "" {
				t.Fatal("a read is refused")
			}
			if f := w.Round(Round{Calls: []Call{c}}); f.Found() {
				t.Errorf("found %+v", f)
			}
		}
	})
	t.Run("a success forgets", func(t *testing.T) {
		t.Parallel()
		w := New("")
		for i := range 9 {
			if f := w.Round(Round{Calls: []Call{try(i, i%3 != 2)}}); f.Found() {
				t.Errorf("round %d: found %+v", i+1, f)
			}
		}
	})
}

func TestWeak(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"gpt-5-mini": true, "claude-haiku-4-5": true, "google/gemini-2.5-flash": true, "gemini-2.5-flash-lite": true, "gpt-4.1-nano": true,
		"mistral-small:24b": true, "mistral-small3.1": true, "gpt-5.4-mini(high)": true, "phi3mini": true, "gpt-4o-mini": true, "claude-sonnet-4": false, "gpt-5": false, "gemini-3-pro": false, "minimax-m2": false, "smallville": false, "": false,
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
		if got := Canonical(json.RawMessage(in)); got != want {
			t.Errorf("canonical(%s) = %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		`{"path":"a","pattern":"p"}`: "p", `{"path":" a "}`: "a", `{"argv":["go","vet"]}`: `["go" "vet"]`, `{"path":" "}`: "", `{}`: "", `[]`: "",
	} {
		if got := Target(json.RawMessage(in)); got != want {
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

// Names that a model made up do not break the lines of a message.
func TestMadeUpNamesInFindings(t *testing.T) {
	t.Parallel()
	d := New("")
	for i := range rewriteLimit {
		if f := d.Round(Round{Calls: []Call{{Name: "write", Args: strings.Repeat("x", i), Path: "a\nb\x1b[2J", Effect: tools.Writes}}}); strings.Contains(f.Says, "\n") || f.Found() != (i == rewriteLimit-1) {
			t.Errorf("round %d: %+v", i, f)
		}
	}
	w := New("")
	for i := range targetEnd { // it is in the evidence of an end
		c := Call{Name: "a\x1b[2J\n", Args: strings.Repeat("x", i), Target: "t", Code: tools.Failed}
		if f := w.Round(Round{Calls: []Call{c}}); strings.ContainsAny(f.Says, "\x1b\n") || f.Ends != (i == targetEnd-1) {
			t.Errorf("round %d: %+v", i+1, f)
		}
	}
}

// A summary removes what was seen: reading it again is new.
func TestSummaryMakesLooksNew(t *testing.T) {
	t.Parallel()
	w := New("")
	for i := range 3 * staleRemind {
		if i%staleRemind == staleRemind-1 {
			w.Compacted()
		}
		if f := w.Round(letters("1")[0]); f.Found() {
			t.Fatalf("round %d: %+v", i+1, f)
		}
	}
}
