package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

func TestGiven(t *testing.T) {
	t.Parallel()
	person, home := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(person, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(".config/mine/token", "tok-0123456789abcdef\n")
	write(".mine.json", `{"url": "https://example.com/v1/api", "list": ["tok-fedcba9876543210"]}`)
	write("huge", strings.Repeat("x", mostGiven+1))
	if err := os.Mkdir(filepath.Join(person, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}

	t.Run("variables and files are there, and their values are hidden", func(t *testing.T) {
		t.Parallel()
		c := &Command{ID: "mine", Argv: []string{"/bin/sh", "-c", `cat ~/.config/mine/token ~/.mine.json; echo $MODE $PASSED
			ls -l ~/.config/mine | grep -o 'r--------.*token$' >/dev/null && echo only to read`}}
		c.Given = Given{
			Env: []string{"MODE=old", "PASSED=1", "MODE=headless"}, Home: person,
			Files: []string{"~/.config/mine/token", "~/.mine.json"},
		}
		if err := c.Ready(); err != nil {
			t.Fatal(err)
		}
		var seen []string
		turn, err := c.Turn(t.Context(), agent.Request{
			Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, Exec: run, Secrets: &redact.Set{},
			Note: func(l agent.Line) {
				if l.Type == "text" {
					seen = append(seen, l.Data["text"].(string))
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(seen, "")
		for _, want := range []string{"https://example.com/v1/api", "headless 1\n", "only to read\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in %q", want, got)
			}
		}
		if strings.Contains(got, "tok-") || strings.Count(got, redact.Mark) != 2 {
			t.Errorf("a value is shown: %q", got)
		}
		g := turn.Given
		if g == nil || !slices.Equal(g.Variables, []string{"MODE", "PASSED"}) || !slices.Equal(g.Files, c.Given.Files) {
			t.Errorf("%+v", g)
		}
	})
	for name, c := range map[string]struct {
		given Given
		want  string
	}{
		"no such file":     {Given{Files: []string{"~/.none"}, Home: person}, "is given ~/.none, which does not exist: make it, or"},
		"a folder":         {Given{Files: []string{"~/folder"}, Home: person}, "~/folder, which is no file"},
		"a huge file":      {Given{Files: []string{"~/huge"}, Home: person}, "~/huge, which is larger than 1 MiB"},
		"no home":          {Given{Files: []string{"~/.none"}}, "HOME is not set"},
		"an unset secret":  {Given{Lacks: []string{"MY_TOKEN"}}, "needs MY_TOKEN, which is not set"},
		"nothing is given": {Given{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := (&Command{ID: "mine", Argv: []string{"x"}, Given: c.given}).Ready()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Error(err)
			}
		})
	}
	t.Run("a HOME that leads elsewhere by a link", func(t *testing.T) {
		t.Parallel()
		trap, outside := t.TempDir(), t.TempDir()
		if err := os.Symlink(outside, filepath.Join(trap, ".config")); err != nil {
			t.Fatal(err)
		}
		g := Given{Files: []string{"~/.config/mine/token"}, Home: person}
		if err := g.place([]string{"HOME=" + trap}, nil); err == nil {
			t.Error("it was written through the link")
		}
		if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
			t.Errorf("%v, %v", left, err)
		}
	})
}
