package knowncli

import (
	"strings"
	"testing"
)

func TestReserved(t *testing.T) {
	t.Parallel()
	const ours, prompt, settings = "gives it to", "as a prompt", "another provider"
	for _, c := range []struct {
		cli, args, want, why string
	}{
		{"claude", "--output-format", "--output-format", ours},
		{"claude", "--output-format=json", "--output-format", ours},
		{"claude", "-p", "-p", ours},
		{"codex", "-mgpt", "-mgpt", ours},
		{"gemini", "--outputFormat=text", "--outputFormat", ours},
		{"gemini", "--approvalMode yolo", "--approvalMode", ours},
		{"gemini", "--allowedTools x", "", ""},
		{"codex", "resume", "resume", ours},
		{"pi", "--api-key=x", "--api-key", ours},
		{"claude", "--max-turns", "", ""},
		{"claude", "--permission-mode=plan", "", ""},
		{"codex", "--oss", "", ""},
		{"codex", "-c model_provider=x", "-c", settings},
		{"codex", "-cmodel_provider=x", "-cmodel_provider", settings},
		{"codex", "--config=x=y", "--config", settings},
		{"codex", "-p other", "-p", ours},
		{"claude", "say", "say", prompt},
		{"claude", "--max-turns 5 --effort=high", "", ""},
		{"claude", "--allowedTools Bash Edit", "", ""},
		{"claude", "--effort=high say", "say", prompt},
		{"claude", "--safe-mode say", "say", prompt},
		{"claude", "--max-turns 5 -- say", "--", prompt},
		{"pi", "update", "update", prompt},
	} {
		cli, ok := Find(c.cli)
		got, why := cli.Reserved(strings.Fields(c.args))
		if got != c.want || !strings.Contains(why, c.why) || (why == "") != (got == "") || !ok {
			t.Errorf("G92 %s %s: %q (%s), want %q", c.cli, c.args, got, why, c.want)
		}
	}
	if _, ok := Find("cursor"); ok || len(Names()) != 6 {
		t.Error("the table has other CLIs")
	}
}
