package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// On a terminal a log cannot act: it is shown, colours and all, and control characters by name. A pipe gets its bytes.
func TestLogsOnTerminal(t *testing.T) {
	t.Parallel()
	dir := newProject(t, "task \"odd\" {\n  run = [\"sh\", \"odd.sh\"]\n}\n",
		"odd.sh", `printf 'first\n\033[2J\033[Hgone\n\033[31mred\033[0m\n1%%\r2%%\r\nno end'`)
	sit(t, 80, 24, dir, "async-pipeline", "run").look().ends(0)

	s := sit(t, 80, 24, dir, "async-pipeline", "logs", "odd").look()
	s.ends(0)
	if got, want := s.screen(), "first\ngone\nred\n1%\n2%\nno end\n"; got != want {
		t.Errorf("the screen shows\n%s\nwant\n%s", got, want)
	}
	if out := s.output(); !bytes.Contains(out, []byte("\x1b[31mred")) || bytes.Contains(out, []byte("\x1b[2J")) {
		t.Errorf("printed %q", out)
	}

	out, err := os.Create(filepath.Join(dir, "out"))
	must(t, err)
	defer func() { must(t, out.Close()) }()
	program, err := os.Executable()
	must(t, err)
	c := exec.CommandContext(t.Context(), program)
	c.Args, c.Dir, c.Stdout = []string{"async-pipeline", "logs", "odd"}, dir, out
	must(t, c.Run())
	got, err := os.ReadFile(out.Name())
	must(t, err)
	if !strings.Contains(string(got), "\x1b[2J\x1b[Hgone\n") || !strings.HasSuffix(string(got), "1%\r2%\r\nno end") {
		t.Errorf("a file got %q", got)
	}
}
