package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Whoever throws his marks, his session and his parent away is still inside of the root that his runner holds, and
// of no other one.
func TestInside(t *testing.T) {
	t.Parallel()
	held, other := t.TempDir(), t.TempDir()
	Hold(held)
	alias := filepath.Join(other, "alias")
	must(t, os.Symlink(held, alias))
	if got := Inside(other); got != Neither {
		t.Errorf("no runner of %s started this test: %q", other, got)
	}
	const bare = `env -i sh -c 'echo $$ > "$1.new"; mv "$1.new" "$1"; exec sleep 600' sh "$1"`
	for name, c := range map[string]struct {
		hook   string
		script string
		root   string
		want   Starter
	}{
		"a task":                     {"", "exec " + bare, held, ATask},
		"a hook":                     {"run/check", "exec " + bare, held, AHook},
		"in a session of its own":    {"run/check", "setsid -w " + bare, held, AHook},
		"an orphan":                  {"", "(setsid " + bare + " &); sleep 600", held, ATask},
		"a root by another name":     {"", "exec " + bare, alias, ATask},
		"a root above the held one":  {"", "exec " + bare, filepath.Dir(held), ATask},
		"a task of another root":     {"", "exec " + bare, other, Neither},
		"a hook of another root":     {"run/check", "exec " + bare, other, Neither},
		"a root that is not there":   {"", "exec " + bare, filepath.Join(held, "gone"), Neither},
		"a folder in the held one":   {"", "exec " + bare, mkdir(t, held), Neither},
		"a bare process's own child": {"", strings.Replace("exec "+bare, "exec sleep", "setsid -w env -i sleep", 1), held, ATask},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pids := filepath.Join(t.TempDir(), "pid")
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := Box{Tier: None, Hook: c.hook}.Run(ctx, sh(c.script, pids))
				done <- err
			}()
			var pid string
			for end := time.Now().Add(soon); pid == ""; time.Sleep(2 * time.Millisecond) {
				b, _ := os.ReadFile(pids)
				pid = strings.TrimSpace(string(b))
				if time.Now().After(end) {
					t.Error("it did not start")
					break
				}
			}
			if got := insideOf(pid, c.root); pid != "" && got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

func mkdir(t *testing.T, in string) string {
	t.Helper()
	dir := filepath.Join(in, "sub")
	must(t, os.Mkdir(dir, 0o755))
	return dir
}
