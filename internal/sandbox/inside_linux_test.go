package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Whoever throws his marks, his session and his parent away is still inside of the root that his runner holds. A hook
// is known in every root, a task in no other one.
func TestInside(t *testing.T) {
	t.Parallel()
	held, other := t.TempDir(), t.TempDir()
	Hold(held)
	alias := filepath.Join(other, "alias")
	must(t, os.Symlink(held, alias))
	if Inside(other) {
		t.Errorf("no runner of %s started this test", other)
	}
	const bare = `env -i sh -c 'echo $$ > "$1.new"; mv "$1.new" "$1"; exec sleep 600' sh "$1"`
	for name, c := range map[string]struct {
		hook   string
		script string
		root   string
		want   bool
	}{
		"a task":                     {"", "exec " + bare, held, true},
		"a hook":                     {"run/check", "exec " + bare, held, true},
		"in a session of its own":    {"run/check", "setsid -w " + bare, held, true},
		"an orphan":                  {"", "(setsid " + bare + " &); sleep 600", held, true},
		"a root by another name":     {"", "exec " + bare, alias, true},
		"a root above the held one":  {"", "exec " + bare, filepath.Dir(held), true},
		"a task of another root":     {"", "exec " + bare, other, false},
		"a hook of another root":     {"run/check", "exec " + bare, other, true},
		"a root that is not there":   {"", "exec " + bare, filepath.Join(held, "gone"), false},
		"a folder in the held one":   {"", "exec " + bare, mkdir(t, held), false},
		"a bare process's own child": {"", strings.Replace("exec "+bare, "exec sleep", "setsid -w env -i sleep", 1), held, true},
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
				t.Errorf("inside: %v, want %v", got, c.want)
			}
			if got := hookAbove(pid); pid != "" && got != (c.hook != "") {
				t.Errorf("in a hook: %v", got)
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
