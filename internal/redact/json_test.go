package redact

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, secret, text, want string }{
		{"nothing", "swordfish", `{"a": "b"}`, `{"a": "b"}`},
		{"a value", "swordfish", `{"a": "the swordfish"}`, `{"a": "the [redacted]"}`},
		{"a value in a list, and one after it", "swordfish", `["swordfish", "<b>", 1]`, `["[redacted]", "<b>", 1]`},
		{"a field", "depends_on", `{"depends_on": ["depends_on"]}`, `{"depends_on": ["[redacted]"]}`},
		{"a piece of the format", `"cat":"task"`, `{"cat":"task"}`, `{"cat":"task"}`},
		{"a number", "1795286416", `{"ts":1795286416,"name":"at 1795286416"}`, `{"ts":1795286416,"name":"at [redacted]"}`},
		{"a word of the format", "passed", `{"status":"passed","why":"it passed"}`, `{"status":"passed","why":"it [redacted]"}`},
		{"a reason of the format", "fail_fast", `{"reason":"fail_fast"}`, `{"reason":"fail_fast"}`},
		{"a state of a fix", "proposed", `{"state":"proposed","note":"proposed it"}`, `{"state":"proposed","note":"[redacted] it"}`},
		{"a short one that begins a line", "qz7x", `{"a":"x\nqz7x"}`, `{"a":"x\n[redacted]"}`},
		{"one in a text that ends early", "swordfish", `{"a":"swordfish`, `{"a":"\"[redacted]"`},
		{"one with quotes and ends of lines", "sword\"fi\nsh\\", `{"a":"x sword\"fi\nsh\\"}`, `{"a":"x [redacted]"}`},
		{"one like the end of a text", `: "abcdef`, `{"a\\": "abcdef", "b": "x: \"abcdef"}`, `{"a\\": "abcdef", "b": "x[redacted]"}`},
		{"more than one text", "swordfish", "{\"a\":1}\n\"swordfish\"\n", "{\"a\":1}\n\"[redacted]\"\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			secrets := &Set{}
			if !secrets.Add("S", tt.secret) {
				t.Fatal("it cannot be kept out")
			}
			got := string(JSON([]byte(tt.text), secrets.Bytes))
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if json.Valid([]byte(tt.text)) && !json.Valid([]byte(got)) {
				t.Errorf("no JSON: %s", got)
			}
		})
	}
}

// Of a text of others no field name stays, and no word.
func TestFreeJSON(t *testing.T) {
	t.Parallel()
	clean := func(b []byte) []byte {
		for secret, mark := range map[string]string{`pa"ss`: "[x]", "123456": "[n]", "passed": "[w]"} {
			b = bytes.ReplaceAll(b, []byte(secret), []byte(mark))
		}
		return b
	}
	for in, want := range map[string]string{
		`{"a":"my pa\"ss"}`:         `{"a":"my [x]"}`,
		`{"a":123456,"b":"123456"}`: `{"a":123456,"b":"[n]"}`,
		`{"pa\"ss":[null,true,""]}`: `{"[x]":[null,true,""]}`,
		`{"a":"\\"}`:                `{"a":"\\"}`,
		`{"a":"passed"}`:            `{"a":"[w]"}`,
	} {
		if got := string(FreeJSON([]byte(in), clean)); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
