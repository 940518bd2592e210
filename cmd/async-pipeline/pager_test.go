package main

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
)

// What does not fit on a terminal is read in the person's pager; elsewhere, and where there is none, it is printed.
func TestPaged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pager, term   string
		lines         int
		pages, broken bool
	}{
		"it does not fit": {pager: "sed s/^/paged:/", term: "xterm", lines: 40, pages: true},
		"it fits":         {pager: "sed s/^/paged:/", term: "xterm", lines: 5},
		"a dumb terminal": {pager: "sed s/^/paged:/", term: "dumb", lines: 40},
		"no pager":        {pager: "cat", term: "xterm", lines: 40},
		"an empty one":    {pager: " ", term: "xterm", lines: 40},
		"it ends badly":   {pager: "cat >/dev/null; exit 3", term: "xterm", lines: 40, broken: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			master, tty, err := pty.Open()
			must(t, err)
			defer master.Close()
			must(t, pty.Setsize(tty, &pty.Winsize{Rows: 20, Cols: 80}))
			read := make(chan string, 1)
			go func() {
				text, _ := io.ReadAll(master) // its end is an error of input and output
				read <- string(text)
			}()
			prog := process{
				program: "async-pipeline", stdin: strings.NewReader(""), stdout: tty, stderr: io.Discard, dir: t.TempDir(),
				environ: []string{"PATH=" + os.Getenv("PATH"), "TERM=" + c.term, "PAGER=" + c.pager},
			}.open()
			err = paged(prog, func(s *view.Screen) {
				for i := range c.lines {
					s.Line("line %d of the text", i)
				}
			})
			prog.Out.Flush()
			must(t, tty.Close())
			var text string
			select {
			case text = <-read:
			case <-time.After(time.Minute):
				t.Fatal("the terminal did not end")
			}
			if c.broken {
				if err == nil || !strings.Contains(err.Error(), "PAGER=cat prints without one") {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || strings.Contains(text, "paged:line 3 of") != c.pages || !strings.Contains(text, "line 4 of the text") {
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
}
