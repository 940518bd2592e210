package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// counted returns the counter of an answer that came in pieces, and how often it called more.
func counted(provider, kind string, pieces ...string) (c *Counter, events int) {
	c = NewCounter(provider, kind)
	for _, p := range pieces {
		c.Feed([]byte(p), func() bool { events++; return true })
	}
	c.End()
	return c, events
}

// A counter reads what the strict reader reads, wherever the borders of the pieces are.
func TestCounterAtEveryBorder(t *testing.T) {
	t.Parallel()
	for provider, stream := range recorded {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			want, err := answering(provider, stream).Turn(t.Context(), hello, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, all := counted(provider, eventStream, stream)
			for cut := range len(stream) {
				for _, s := range []string{stream, strings.ReplaceAll(stream, "\n", "\r\n"), strings.ReplaceAll(stream, "\n", "\r")} {
					c, events := counted(provider, eventStream, s[:cut], s[cut:])
					if diff := cmp.Diff(want.Usage, c.Usage()); diff != "" || c.Model() != want.Model || !c.Stopped() {
						t.Fatalf("cut at %d: %s, %s", cut, diff, c.Model())
					}
					if s == stream && events != all {
						t.Fatalf("cut at %d: %d events of %d", cut, events, all)
					}
				}
				// and of half a stream
				c, _ := counted(provider, eventStream, strings.Split(stream[:cut], "")...)
				if u := c.Usage(); u.Output != nil && !c.Stopped() || u.Input != nil && *u.Input != 1007 {
					t.Fatalf("cut at %d: %+v", cut, u)
				}
				if least := *c.Least().Output; least > 42 || c.Stopped() && c.Usage().Output == nil && least == 0 {
					t.Fatalf("cut at %d: at least %d", cut, least)
				}
			}
		})
	}
}

// A stream that is stopped is counted up to the end of an event, and no further.
func TestCounterStops(t *testing.T) {
	t.Parallel()
	for provider, stream := range recorded {
		c := NewCounter(provider, eventStream)
		n := c.Feed([]byte(stream), func() bool { return *c.Least().Output < 5 }) // 20 bytes of text
		if end := stream[:n]; !strings.HasSuffix(end, "\n\n") || c.Stopped() || !strings.Contains(end, "I read") ||
			strings.Contains(end, "check") {
			t.Errorf("%s: %q", provider, end)
		}
	}
}

// What is too long, no JSON, or of another form, is not counted, and what follows is.
func TestCounterIsLenient(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", counterLine)
	for name, before := range map[string]string{
		"line":    "data: {\"" + long + "\"}\n\n",
		"comment": ":" + long + "\n",
		"data":    strings.Repeat("data: "+strings.Repeat("x", counterLine/8)+"\n", 9) + "\n",
		"nothing": "data: null\n\ndata: [[[\n\ndata: {\"usage\":7,\"message\":[],\"choices\":{}}\n\n",
		"types":   "data: {\"type\":1,\"usage\":{\"input_tokens\":-5},\"usageMetadata\":\"x\"}\n\n",
	} {
		for provider, stream := range recorded {
			var pieces []string
			for s := before + stream; s != ""; s = s[min(len(s), 100000):] {
				pieces = append(pieces, s[:min(len(s), 100000)])
			}
			c, _ := counted(provider, "", pieces...)
			if u := c.Usage(); u.Input == nil || *u.Input != 1007 || u.Output == nil || *u.Output != 42 {
				t.Errorf("%s, %s: %+v", provider, name, u)
			}
		}
	}
	for _, text := range []string{"", "{", `{"usage":{"input_tokens":1,"output_tokens":2}}` + strings.Repeat(" ", counterWhole)} {
		for _, provider := range append(Providers(), "other") {
			if c, _ := counted(provider, "application/json", text[:len(text)/2], text[len(text)/2:]); c.Usage() != (Usage{}) {
				t.Errorf("%s, %.20q: %+v", provider, text, c.Usage())
			}
		}
	}
}

// No bytes harm a counter, and pieces mean the same as the whole.
func FuzzCounter(f *testing.F) {
	for provider, stream := range recorded {
		f.Add(provider, []byte(stream), 7)
	}
	f.Add(Gemini, []byte(`[{"usageMetadata":{"promptTokenCount":1}}]`), 3)
	f.Fuzz(func(t *testing.T, provider string, data []byte, cut int) {
		cut = max(0, min(cut, len(data)))
		for _, kind := range []string{eventStream, "application/problem+json"} {
			one, _ := counted(provider, kind, string(data))
			two, _ := counted(provider, kind, string(data[:cut]), string(data[cut:]))
			if diff := cmp.Diff(one.Least(), two.Least()); diff != "" || one.Stopped() != two.Stopped() {
				t.Error(diff)
			}
			if u := one.Least(); *u.Output < 0 || u.Input != nil && *u.Input < 0 {
				t.Error(fmt.Sprint(*u.Output))
			}
		}
	})
}
