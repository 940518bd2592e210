package scratch

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
)

// A waiter keeps what a command writes, and calls act once when a line of it is "ready".
type waiter struct {
	bytes.Buffer
	act func()
}

func (w *waiter) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if w.act != nil && strings.Contains(w.String(), "ready\n") {
		act := w.act
		w.act = nil
		act()
	}
	return n, err
}

// A person who edits, deletes and changes the branch while an agent works changes nothing in the copy.
func TestPersonWorksMeanwhile(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"plain", "layered"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			top := newRepo(t, map[string]string{"a/one": "1\n", "a/two": "2\n", "d/e/f": "3\n", "top": "4\n", "nine": "9\n"})
			run(t, top, "checkout", "-q", "-b", "other")
			run(t, top, "rm", "-q", "-r", "d")
			write(t, top, map[string]string{"a/one": "other\n", "d": "a file here\n", "x/y": "new\n"})
			run(t, top, "add", "-A")
			run(t, top, "commit", "-q", "-m", "other")
			run(t, top, "checkout", "-q", "main")
			b := makeBase(t, Source{Root: top})
			if err := sandbox.TryOverlay(filepath.Dir(b.holder)); err != nil {
				t.Skip("no overlay here: " + err.Error())
			}
			at := filepath.Join(filepath.Dir(b.holder), "copy")
			box := sandbox.Box{Tier: sandbox.View, Tree: top}
			var c *Copy
			var err error
			if kind == "plain" {
				c, err = b.Copy(t.Context(), at)
				must(t, err)
			} else {
				c, err = b.Layer(at)
				must(t, err)
				box.Base, box.Work = b.Dir, c.Work
			}
			box.Copy = c.Dir
			in, goOn := io.Pipe()
			w := &waiter{act: func() {
				run(t, top, "checkout", "-q", "other")
				write(t, top, map[string]string{"nine": "the person's\n", "a/two": "the person's\n", "new": "1\n"})
				must(t, os.Remove(filepath.Join(top, "top")), goOn.Close())
			}}
			const agent = `list() { find . -name .git -prune -o -type f -print | sort | xargs sha256sum; git log --format=%s; git status -s; }
				echo agent > a/one; echo agent > own; mkdir -p x; list; echo ready; cat; list`
			res, err := box.Run(t.Context(), sandbox.Command{
				Argv: []string{"sh", "-c", agent}, Dir: top, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere"},
				Stdin: in, Stdout: w, Stderr: w,
			})
			if err != nil || res.ExitCode != 0 {
				t.Fatalf("%+v, %v: %s", res, err, w)
			}
			before, after, _ := strings.Cut(w.String(), "ready\n")
			if before != after || !strings.Contains(before, " ./d/e/f\n") {
				t.Errorf("before the person worked:\n%s\nafterwards:\n%s", before, after)
			}
			changes, omitted, err := c.Changes(t.Context())
			if got := said(changes, omitted); err != nil || !slices.Equal(got, []string{"~a/one", "+own"}) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// The private index fits the files as an overlay shows them: git has to read none of them.
func TestIndexFitsTheOverlay(t *testing.T) {
	t.Parallel()
	top := newRepo(t, map[string]string{"a/one": "1\n", "a/two": "2\n", "d/e/f": "3\n", "top": "4\n"})
	b := makeBase(t, Source{Root: top})
	parent := filepath.Dir(b.holder)
	if err := sandbox.TryOverlay(parent); err != nil {
		t.Skip("no overlay here: " + err.Error())
	}
	c, err := b.Layer(filepath.Join(parent, "copy"))
	must(t, err)
	var out bytes.Buffer
	// diff-files compares stat data with the index, and reads no file.
	const look = "git diff-files --name-only; echo changed > top; git diff-files --name-only"
	box := sandbox.Box{Tier: sandbox.View, Tree: top, Copy: c.Dir, Base: b.Dir, Work: c.Work}
	res, err := box.Run(t.Context(), sandbox.Command{
		Argv: []string{"sh", "-c", look}, Dir: top, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere"},
		Stdout: &out, Stderr: &out,
	})
	if err != nil || res.ExitCode != 0 || out.String() != "top\n" {
		t.Errorf("%+v, %v: %s", res, err, out.String())
	}
}
