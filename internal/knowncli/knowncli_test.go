package knowncli

import "testing"

func TestReserved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cli, arg, want string
	}{
		{"claude", "--output-format", "--output-format"},
		{"claude", "--output-format=json", "--output-format"},
		{"claude", "-p", "-p"},
		{"codex", "-mgpt", "-mgpt"},
		{"codex", "resume", "resume"},
		{"pi", "--api-key=x", "--api-key"},
		{"claude", "--max-turns", ""},
		{"claude", "--permission-mode=plan", ""},
		{"codex", "--oss", ""},
	} {
		cli, ok := Find(c.cli)
		if got := cli.Reserved([]string{"--fine", c.arg}); got != c.want || !ok {
			t.Errorf("G92 %s %s: %q, want %q", c.cli, c.arg, got, c.want)
		}
	}
	if _, ok := Find("cursor"); ok || len(Names()) != 6 {
		t.Error("the table has other CLIs")
	}
}
