package man

import "testing"

func TestRoff(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		".so /etc/passwd": `\&.so /etc/passwd`,
		"'br":             `\&\(aqbr`,
		`a \n b`:          `a \en b`,
		"--json":          `\-\-json`,
		"“…”":             `\[u201C]\[u2026]\[u201D]`,
		"in .async/runs":  "in .async/runs",
		"":                "",
	} {
		if got := roff(line); got != want {
			t.Errorf("roff(%q) = %q, want %q", line, got, want)
		}
	}
}
