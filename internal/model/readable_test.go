package model

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestReadable(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("9", 400)
	for in, want := range map[string]string{
		`{"a":"\ud83d"}`:                 `{"a":"�"}`,
		`{"a":"\uDE00 <x>"}`:             `{"a":"� <x>"}`,
		`{"a":"\ude00\ud83d"}`:           `{"a":"��"}`,
		`{"a":["\ud83d\u0041"]}`:         `{"a":["�A"]}`,
		`{"a":"\ud83d\\ude00"}`:          `{"a":"�\\ude00"}`,
		`{"a":1e999,"b":{"c":[-1E400]}}`: `{"a":"1e999","b":{"c":["-1E400"]}}`,
		`{"a":` + digits + `}`:           `{"a":"` + digits + `"}`,
		`{"\ud83d":1}`:                   `{"�":1}`,
		// As they are.
		`{"a":"\ud83d\ude00"}`:                        "",
		`{"a":"\\ud83d", "b" : "\"\\"}`:               "",
		`{"a":"1e999","b":1e300,"c":1e-999,"d":-0.5}`: "",
		`{"a":12345678901234567890123,"b":"\u00e9"}`:  "",
		`{}`: "",
	} {
		if want == "" {
			want = in
		}
		if got := string(readable(json.RawMessage(in))); got != want {
			t.Errorf("%.80s became %.80s, want %.80s", in, got, want)
		}
	}
}

// What a model wrote by half goes back as what every provider can read.
func TestHalfAPairIsNotSentBack(t *testing.T) {
	t.Parallel()
	for _, provider := range Providers() {
		r := Request{Messages: []Message{
			hello.Messages[0],
			{Role: Assistant, Blocks: []Block{
				{Thinking: "x", Raw: json.RawMessage(`{"type":"thinking","thinking":"\ude00"}`), Provider: provider},
				{Call: &Call{ID: "c1", Name: "write", Args: json.RawMessage(`{"content":"\ud83d"}`)}},
			}},
			{Role: User, Blocks: []Block{{Result: &Result{ID: "c1", Name: "write", Text: "ok"}}}},
		}}
		var body []byte
		m := talk(provider, func(q *http.Request) (*http.Response, error) {
			var err error
			body, err = io.ReadAll(q.Body)
			return streamOf(text("")), err
		})
		_, _ = m.Turn(t.Context(), r, nil) // only what it is asked is of interest
		if q := string(body); strings.Contains(q, "ud83d") || strings.Contains(q, "ude00") || !strings.Contains(q, "�") {
			t.Errorf("%s: %s", provider, q)
		}
	}
}

func FuzzReadable(f *testing.F) {
	for _, s := range []string{`{"a":"\ud83d"}`, `{"a":1e999}`, `{"a":"\\\"","b":[1,2e5,"\ud83d\ude00"]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !isObject(json.RawMessage(s)) {
			return
		}
		got := readable(json.RawMessage(s))
		var v map[string]any
		if err := json.Unmarshal(got, &v); err != nil || odd(got) {
			t.Fatalf("%q became %q: %v", s, got, err)
		}
	})
}
