package native

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/async-pipeline/async-pipeline/internal/model"
)

func saysCall(id string) model.Message {
	return model.Message{Role: model.Assistant, Blocks: []model.Block{{Call: new(call(id, "read", `{}`))}}}
}

func userResult(id, text string) model.Message {
	return model.Message{Role: model.User, Blocks: []model.Block{{Result: &model.Result{ID: id, Name: "read", Text: text}}}}
}

func TestLegal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		talk []model.Message
		want []string // parts of what is shown
	}{
		{"nothing", nil, []string{`user: "Go on."`}},
		{"P48 a call whose result was never written", []model.Message{fromUser("a"), saysCall("1"), fromUser("b")}, []string{`result 1 "Interrupted: what came of this call is not known.`, `"b"`}},
		{"P48 at the end", []model.Message{fromUser("a"), saysCall("1")}, []string{`result 1 "Interrupted`}},
		{"two assistants in a row", []model.Message{fromUser("a"), saysCall("1"), saysCall("2"), userResult("2", "two")}, []string{`result 1 "Interrupted`, `result 2 "two"`}},
		{"two results of one call", []model.Message{fromUser("a"), saysCall("1"), userResult("1", "one"), userResult("1", "other")}, []string{`result 1 "one"`}},
		{"a result of nothing", []model.Message{fromUser("a"), userResult("9", "nine"), fromUser("b")}, []string{`user: "a""" "b"""`}},
		{"a result after words", []model.Message{fromUser("a"), saysCall("1"), {Role: model.User, Blocks: []model.Block{{Text: "w"}, {Result: &model.Result{ID: "1", Text: "one"}}}}}, []string{`user: result 1 "one" "w"`}},
		{"one ID in two rounds", []model.Message{fromUser("a"), saysCall("1"), userResult("1", "one"), saysCall("1"), userResult("1", "two")}, []string{`call 1 read`, `result 1 "one"`, `call 1_2 read`, `result 1_2 "two"`}},
		{"one ID twice in an answer", []model.Message{fromUser("a"), {Role: model.Assistant, Blocks: []model.Block{{Call: new(call("1", "read", `{}`))}, {Call: new(call("1", "list", `{}`))}}}, userResult("1", "one"), userResult("1", "two")}, []string{`call 1 read {} call 1_2 list {}`, `result 1 "one" result 1_2 "two"`}},
		{"a trailing assistant", []model.Message{fromUser("a"), {Role: model.Assistant, Blocks: []model.Block{{Text: "b"}}}}, []string{`user: "Go on."`}},
		{"blanks", []model.Message{fromUser("a"), {Role: model.Assistant, Blocks: []model.Block{{Text: " \n"}, {Thinking: " "}, {}}}, fromUser(" "), fromUser("b")}, []string{`user: "a""" "b"""`}},
		{"thinking alone", []model.Message{fromUser("a"), {Role: model.Assistant, Blocks: []model.Block{{Thinking: "hm"}}}, fromUser("b")}, []string{`user: "a""" "b"""`}},
		{"an empty result", []model.Message{fromUser("a"), saysCall("1"), userResult("1", "")}, []string{`result 1 "(no output)"`}},
		{"arguments that are no object", []model.Message{fromUser("a"), {Role: model.Assistant, Blocks: []model.Block{{Call: new(call("1", "read", `{"a`))}}}}, []string{`call 1 read {}`}},
		{"an assistant first", []model.Message{saysCall("1"), userResult("1", "one")}, []string{`user: "Go on."`, `result 1 "one"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := legal(tt.talk)
			if err := illegal(got); err != nil {
				t.Fatalf("%v\n%s", err, show(got))
			}
			rest := show(got)
			for _, part := range tt.want {
				_, after, ok := strings.Cut(rest, part)
				if !ok {
					t.Fatalf("no %q, in this order, in\n%s", part, show(got))
				}
				rest = after
			}
			for _, m := range got {
				for _, b := range m.Blocks {
					if b.Result != nil && b.Result.Failed != (b.Result.Text == saidOrphan) {
						t.Errorf("the result %q is an error: %v", b.Result.Text, b.Result.Failed)
					}
				}
			}
			if strings.Contains(show(got), "other") || strings.Contains(show(got), "nine") {
				t.Errorf("a result that answers nothing is there:\n%s", show(got))
			}
		})
	}
}

// What the provider sent word for word goes back word for word, unless something in it had to be changed.
func TestLegalKeepsRaw(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(`{"signature":"x"}`)
	talk := []model.Message{
		fromUser("a"),
		{Role: model.Assistant, Blocks: []model.Block{
			{Thinking: "hm", Raw: raw, Provider: "anthropic"},
			{Raw: raw, Provider: "anthropic"},
			{Call: new(call("1", "read", `{}`)), Raw: raw, Provider: "gemini"},
			{Call: new(call("2", "read", `{`)), Raw: raw, Provider: "gemini"},
		}},
		userResult("1", "one"),
	}
	got := legal(talk)[1].Blocks
	for i, want := range []bool{true, true, true, false} {
		if (len(got[i].Raw) > 0) != want {
			t.Errorf("block %d has its raw bytes: %v, want %v", i, !want, want)
		}
	}
	if talk[1].Blocks[3].Raw == nil || string(talk[1].Blocks[3].Call.Args) != "{" {
		t.Error("the history itself was changed")
	}
}

func TestTurnOf(t *testing.T) {
	t.Parallel()
	one, two, half := call("1", "read", `{"path":"a"}`), call("2", "run", `{"argv":["x"]}`), call("3", "write", `{}`)
	blocks := []model.Block{{Thinking: "unsigned"}, {Thinking: "signed", Raw: json.RawMessage(`{}`)}, {Text: "I will"}, {Call: &two}, {Call: &one}, {Call: &two}}
	ended := []ended{
		{call: one, result: model.Result{ID: "1", Text: "one"}},
		{call: two, result: model.Result{ID: "2", Text: saidDead}},
		{call: half, result: model.Result{ID: "3", Text: saidBroken}},
	}
	got := turnOf(blocks, ended, true, goOnNote)
	if err := illegal(append([]model.Message{fromUser("a")}, got...)); err != nil {
		t.Error(err)
	}
	want := `assistant: """signed" "I will""" call 2 run {"argv":["x"]} call 1 read {"path":"a"} call 3 write {}
user: result 2 "` + saidDead + `" result 1 "one" result 3 "` + saidBroken + `" "` + goOnNote + `"""
`
	if show(got) != want {
		t.Errorf("got\n%swant\n%s", show(got), want)
	}
	if whole := turnOf(blocks, ended, false, ""); !strings.Contains(show(whole), "unsigned") {
		t.Error("the thinking of a whole answer is gone")
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("abcdefghij", 60)
	for _, tt := range []struct{ name, before, after, want string }{
		{"no overlap", "The cause is", " a typo", "The cause is a typo"},
		{"a sentence again", "The cause is a typo in ", "a typo in main.go", "The cause is a typo in main.go"},
		{"all of it again", "Hm, so", "Hm, so it is", "Hm, so it is"},
		{"too little to be sure", "it is on on", "on it goes", "it is on onon it goes"},
		{"one letter", "a", "ab", "aab"},
		{"more than the limit is not looked at", long, long, long + long[400:]},
		{"nothing before", "", "x", "x"},
		{"nothing after", "x", "", "x"},
		{"letters of several bytes", "Fehler: größer als ", "größer als null", "Fehler: größer als null"},
	} {
		if got := join(tt.before, tt.after); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Whatever a history holds, what is sent is legal, and stays as it is when it goes through a second time.
func FuzzLegal(f *testing.F) {
	f.Add([]byte("uacarr"))
	f.Add([]byte("utactTrRa"))
	f.Add([]byte("ccccuuaaRRRR1212"))
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 2000 {
			return // nothing new, only slow
		}
		mustBeLegal(t, script)
	})
}

func TestLegalWhateverComes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mustBeLegal(t, rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "script"))
	})
}

func mustBeLegal(t interface{ Fatalf(string, ...any) }, script []byte) {
	talk := talkOf(script)
	before := show(talk)
	got := legal(talk)
	if err := illegal(got); err != nil {
		t.Fatalf("%v\n%s\nfrom\n%s", err, show(got), before)
	}
	if again := legal(got); !reflect.DeepEqual(again, got) {
		t.Fatalf("a second time it becomes\n%s\nfrom\n%s", show(again), show(got))
	}
	if show(talk) != before {
		t.Fatalf("the history itself was changed")
	}
}

// talkOf makes a conversation of anything: a letter begins a message or adds a block.
func talkOf(script []byte) []model.Message {
	var talk []model.Message
	role := model.User
	add := func(b model.Block) {
		if len(talk) == 0 {
			talk = append(talk, model.Message{Role: role})
		}
		m := &talk[len(talk)-1]
		m.Blocks = append(m.Blocks, b)
	}
	for i, c := range script {
		id := string(rune('0' + int(c)%4))
		if i > 0 && script[i-1]%5 == 0 {
			id = ""
		}
		switch c % 11 {
		case 0, 1:
			role = model.User
			talk = append(talk, model.Message{Role: role})
		case 2, 3:
			role = model.Assistant
			talk = append(talk, model.Message{Role: role})
		case 4:
			add(model.Block{Text: "text " + id})
		case 5:
			add(model.Block{Text: "  "})
		case 6:
			add(model.Block{Thinking: "hm", Raw: json.RawMessage(`{"t":1}`)})
		case 7:
			add(model.Block{Call: &model.Call{ID: id, Name: "read", Args: json.RawMessage(`{"a":1}`)}})
		case 8:
			add(model.Block{Call: &model.Call{ID: id, Name: "write", Args: json.RawMessage(`{"a`)}})
		case 9:
			add(model.Block{Call: &model.Call{ID: id, Args: json.RawMessage(`{}`)}})
		case 10:
			add(model.Block{Result: &model.Result{ID: id, Name: "read", Text: strings.Repeat("r", int(c)%3)}})
		}
	}
	return talk
}
