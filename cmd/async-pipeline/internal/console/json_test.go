package console

import (
	"encoding/json"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/redact"
)

func TestCleanJSON(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, secret, text, want string }{
		{"nothing", "swordfish", `{"a": "b"}`, `{"a": "b"}`},
		{"a value", "swordfish", `{"a": "the swordfish"}`, `{"a": "the [redacted]"}`},
		{"a value in a list, and one after it", "swordfish", `["swordfish", "<b>", 1]`, `["[redacted]", "<b>", 1]`},
		{"a field", "depends_on", `{"depends_on": ["depends_on"]}`, `{"depends_on": ["[redacted]"]}`},
		{"a piece of the format", `"cat":"task"`, `{"cat":"task"}`, `{"cat":"task"}`},
		{"a number", "1795286416", `{"ts":1795286416,"name":"at 1795286416"}`, `{"ts":1795286416,"name":"at [redacted]"}`},
		{"a word of the format", "passed", `{"status":"passed","why":"it passed"}`, `{"status":"passed","why":"it [redacted]"}`},
		{"one with quotes and ends of lines", "sword\"fi\nsh\\", `{"a":"x sword\"fi\nsh\\"}`, `{"a":"x [redacted]"}`},
		{"one like the end of a text", `: "abcdef`, `{"a\\": "abcdef", "b": "x: \"abcdef"}`, `{"a\\": "abcdef", "b": "x[redacted]"}`},
		{"more than one text", "swordfish", "{\"a\":1}\n\"swordfish\"\n", "{\"a\":1}\n\"[redacted]\"\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			secrets := &redact.Set{}
			if !secrets.Add("S", tt.secret) {
				t.Fatal("it cannot be kept out")
			}
			got := string(CleanJSON([]byte(tt.text), secrets))
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if tt.name != "more than one text" && !json.Valid([]byte(got)) {
				t.Errorf("no JSON: %s", got)
			}
		})
	}
}
