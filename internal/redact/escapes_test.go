package redact

import (
	"encoding/base64"
	"encoding/hex"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What terminals are sent: a value with escapes between its characters is removed with them, one row each.
func TestColours(t *testing.T) {
	t.Parallel()
	const value, on, off = "hunter22-hunter22", "\x1b[01;31m\x1b[K", "\x1b[m\x1b[K"
	link := "\x1b]8;;https://host/\x1b\\"
	for _, tt := range []struct{ name, in, out string }{
		{"grep --color", "is hun" + on + "ter22" + off + "-hunter22.", "is [redacted]."},
		{"all of it", "is " + on + value + off + ".", "is " + on + "[redacted]" + off + "."},
		{"each character", "x" + strings.Join(strings.Split(value, ""), on) + "x", "x[redacted]x"},
		{"the first and the last one", "h" + on + value[1:16] + off + "2", "[redacted]"},
		{"a hyperlink", link + "hunter" + link + "22-hunter22", link + "[redacted]"},
		{"a title that ends with a bell", "hunter\x1b]0;some title\a22-hunter22", "[redacted]"},
		{"a character set", "hunter\x1b(B\x1b[m22-hunter22", "[redacted]"},
		{"two bytes", "hunter\x1b722-hunter22", "[redacted]"},
		{"in a value, and the next begins in one", "hunter" + on + "22-hunter" + value + on + value, "hunter" + on + "22-hunter[redacted]" + on + "[redacted]"},
		{"in hex", hex.EncodeToString([]byte(value))[:9] + on + hex.EncodeToString([]byte(value))[9:], "[redacted]"},
		{"in base64", base64.StdEncoding.EncodeToString([]byte(value))[:2] + on + base64.StdEncoding.EncodeToString([]byte(value))[2:], "[redacted]"},
		{"folded, each line coloured", on + value[:7] + off + "\n" + on + value[7:] + off, on + "[redacted]" + off},
		{"after a line end", value[:7] + "\n" + value[7:9] + on + value[9:], "[redacted]"},
		{"a quote of it", "a" + on + `\"b"c` + off + "defg", "a" + on + `\"b"c` + off + "defg"},
		{"a control character is no escape", "hunter\x1b[\n22-hunter22", "hunter\x1b[\n22-hunter22"},
		{"no final byte", "hunter\x1b[" + strings.Repeat("1;", maxEscapes), "hunter\x1b[" + strings.Repeat("1;", maxEscapes)},
		{"something between besides", "hunter" + on + " " + off + "22-hunter22", "hunter" + on + " " + off + "22-hunter22"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := setOf(value)
			if len(tt.in) < 1000 {
				wantEverywhere(t, s, tt.in, tt.out)
			} else if got := s.String(tt.in); got != tt.out {
				t.Errorf("got %q", got)
			}
			if _, found := s.Find([]byte(tt.in)); found != (tt.in != tt.out) {
				t.Errorf("Find says %v", found)
			}
		})
	}
}

func TestColoursOfGrep(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"h", "unter", "[0-9]", ".", "hunter22-hunter22", "2$"} {
		cmd := exec.CommandContext(t.Context(), "grep", "--color=always", pattern)
		cmd.Stdin = strings.NewReader("is hunter22-hunter22\n")
		out, err := cmd.Output()
		if err != nil {
			t.Skip("no grep that has --color:", err)
		}
		got := setOf("hunter22-hunter22").String(string(out))
		if plain := decolour(got); plain != "is "+Mark+"\n" {
			t.Errorf("%q became %q", out, got)
		}
	}
}

// decolour removes what grep writes around a match.
func decolour(s string) string {
	return strings.NewReplacer("\x1b[01;31m", "", "\x1b[m", "", "\x1b[K", "").Replace(s)
}

// A stream is not held for escapes behind a value, before one, or for ever.
func TestWriterHoldsNoEscapes(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	wantSteps(t, setOf("hunter22-with-more"), &out,
		step{"\x1b[1m", "\x1b[1m"},
		step{"hunter22-with-more\x1b[m", "\x1b[1m[redacted]\x1b[m"},
		step{"$ \x1b[", "\x1b[1m[redacted]\x1b[m$ \x1b["},
	)
	out.Reset()
	long := "h\x1b]0;" + strings.Repeat("x", maxEscapes)
	wantSteps(t, setOf("hunter22-hunter22"), &out, step{long[:len(long)-5], ""}, step{"x", long[:len(long)-5] + "x"})
}

// Wherever escapes are in a form of a value, the value and the escapes in it go, and nothing else.
func TestColouredProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-f0-9]{6,40}`).Draw(t, "secret")
		form := rapid.SampledFrom([]func(string) string{
			func(s string) string { return s },
			func(s string) string { return hex.EncodeToString([]byte(s)) },
			func(s string) string { return each(s, `\x%02x`)[2:] },
		}).Draw(t, "form")(secret)
		escapes := rapid.StringOfN(rapid.SampledFrom([]rune("abc")), 0, 3, -1)
		colours := strings.NewReplacer("a", "\x1b[01;31m\x1b[K", "b", "\x1b]8;;ab\x1b\\", "c", "\x1b(B")
		around := rapid.StringMatching(`([A-Z ]|\x1b\[1m){0,60}`)
		before, after := "x"+around.Draw(t, "before"), around.Draw(t, "after") // with a blank it might be a dump
		var text strings.Builder
		text.WriteString(before)
		for i := range len(form) {
			if i > 0 && rapid.IntRange(0, 2).Draw(t, "coloured") == 0 {
				text.WriteString(colours.Replace(escapes.Draw(t, "escapes")))
			}
			text.WriteByte(form[i])
		}
		wantBoth(t, setOf(secret), text.String()+after, before+Mark+after, 30)
	})
}
