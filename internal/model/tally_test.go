package model

import (
	"fmt"
	"strings"
	"testing"
)

// A count that is none is unknown: a budget must not grow by it, and the answer stands.
func TestTally(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want int64 // -1: unknown
	}{
		{"0", 0},
		{"300", 300},
		{"1e3", 1000},
		{"-100000", -1},
		{"9223372036854775807", mostTokens},
		{"4611686018427387904", mostTokens},
		{"1e30", mostTokens},
		{`"300"`, -1},
		{"300.5", -1},
		{"null", -1},
		{"true", -1},
		{"{}", -1},
		{"[1]", -1},
	} {
		for _, provider := range []string{Anthropic, OpenAI, OpenAIChat, Gemini} {
			t.Run(provider+" "+c.text, func(t *testing.T) {
				t.Parallel()
				stream := recorded[provider]
				for _, was := range []string{`"input_tokens":7,`, `"input_tokens":1007,`, `"prompt_tokens":1007,`, `"promptTokenCount":1007,`} {
					name, _, _ := strings.Cut(was, ":")
					stream = strings.ReplaceAll(stream, was, name+":"+c.text+",")
				}
				a, err := answering(provider, stream).Turn(t.Context(), hello, nil)
				if err != nil {
					t.Fatal(err)
				}
				want := fmt.Sprint(c.want)
				if c.want >= 0 && provider == Anthropic {
					want = fmt.Sprint(c.want + 1000) // what was read from the cache and put there
				}
				got := "-1"
				if a.Usage.Input != nil {
					got = fmt.Sprint(*a.Usage.Input)
				}
				if got != want {
					t.Errorf("%s tokens, want %s", got, want)
				}
			})
		}
	}
}
