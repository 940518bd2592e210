package cli

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// wrapped is text in lines of width characters.
func wrapped(text string, width int) string {
	var b strings.Builder
	for len(text) > width {
		b.WriteString(text[:width] + "\n")
		text = text[width:]
	}
	return b.String() + text
}

// However an agent encodes a secret, and however its output is cut into writes and lines of the transcript: no line
// of it, and no two together, hold it. What the diff is taken from is as it was said.
func TestTranscriptHoldsNoEncodedSecret(t *testing.T) {
	t.Parallel()
	const secret = "p@ss w0rd/with=odd&signs"
	encoders := []func(string) string{
		func(s string) string { return s },
		func(s string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + s + ":x")) },
		func(s string) string {
			return wrapped(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("y", 40)+s+"\n")), 76)
		},
		func(s string) string { return wrapped(hex.EncodeToString([]byte("zzzzzzzzz"+s)), 60) },
		url.QueryEscape,
		func(s string) string { b, _ := json.Marshal(s); return string(b) },
	}
	secrets := new(redact.Set)
	secrets.Add("TOKEN", secret)
	rapid.Check(t, func(t *rapid.T) {
		var said strings.Builder
		for range rapid.IntRange(1, 4).Draw(t, "parts") {
			said.WriteString(rapid.SampledFrom([]string{"", "look: ", "\n", "{\"x\": 1}\n"}).Draw(t, "before"))
			said.WriteString(encoders[rapid.IntRange(0, len(encoders)-1).Draw(t, "encoder")](secret))
			said.WriteString("\n")
		}
		var text strings.Builder // of all lines together
		var lines []string
		r := agent.Request{
			Secrets: secrets,
			Note: func(l agent.Line) {
				lines = append(lines, fmt.Sprint(l.Data["text"], l.Data["evidence"]))
				if l.Type == "text" || l.Type == "notice" {
					fmt.Fprint(&text, l.Data["text"])
				}
			},
			Exec: func(_ context.Context, c agent.Command) (agent.Exit, error) {
				to := c.Stdout
				if rapid.Bool().Draw(t, "stderr") {
					to = c.Stderr
				}
				for rest := said.String(); rest != ""; {
					n := min(len(rest), rapid.IntRange(1, 70).Draw(t, "chunk"))
					_, _ = to.Write([]byte(rest[:n]))
					rest = rest[n:]
				}
				return agent.Exit{Code: 1}, nil
			},
		}
		turn, err := (&Command{ID: "a", Argv: []string{"x"}}).Turn(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if turn.Text != "" && turn.Text != said.String() {
			t.Fatalf("the answer was changed: %q", turn.Text)
		}
		for _, held := range append(lines, text.String(), turn.Evidence) {
			if name, found := secrets.Find([]byte(held)); found {
				t.Fatalf("%s is left in %q", name, held)
			}
		}
		if !strings.Contains(text.String(), redact.Mark) {
			t.Fatalf("nothing was removed from %q", text.String())
		}
		if strings.Contains(text.String(), "are not in this transcript") {
			t.Fatalf("what was removed counts as left out: %q", text.String())
		}
	})
}
