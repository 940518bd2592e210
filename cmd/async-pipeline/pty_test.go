// The program in a pseudo-terminal: what a person sees of it, and what the keys do.
package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

// A seat is a program in a terminal that a test looks at.
type seat struct {
	t    *testing.T
	cmd  *exec.Cmd
	pty  *os.File
	read chan struct{} // closed when the program's output has ended

	mu   sync.Mutex
	rows int
	vt   vt10x.Terminal
	raw  []byte
	torn []byte    // not shown yet: an unfinished character, or a frame that has not ended
	late time.Time // when torn is shown all the same
}

// sit starts a program in a terminal; async-pipeline is this test, started by that name. The environment has
// nothing of the machine's but PATH.
func sit(t *testing.T, columns, rows int, dir string, args ...string) *seat {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	t.Cleanup(cancel)
	home, bin := t.TempDir(), t.TempDir()
	program, err := os.Executable()
	must(t, err)
	must(t, os.Symlink(program, filepath.Join(bin, "async-pipeline")))
	if args[0] != "async-pipeline" {
		if program, err = exec.LookPath(args[0]); err != nil {
			t.Skipf("no %s on this machine", args[0])
		}
	}
	s := &seat{t: t, rows: rows, read: make(chan struct{}), vt: vt10x.New(vt10x.WithSize(columns, rows))}
	s.cmd = exec.CommandContext(ctx, program)
	s.cmd.Args = args
	s.cmd.Dir = dir
	s.cmd.Env = []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "USER=somebody", "LANG=C.UTF-8", "TERM=xterm-256color", "PS1=> ",
		"TMPDIR=" + home, "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
	}
	s.pty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)})
	must(t, err)
	t.Cleanup(func() { _ = s.pty.Close() })
	return s
}

// look reads what the program prints, until it ends.
func (s *seat) look() *seat {
	go func() {
		defer close(s.read)
		buf := make([]byte, 32<<10)
		for {
			n, err := s.pty.Read(buf)
			s.mu.Lock()
			s.raw = append(s.raw, buf[:n]...)
			text := append(s.torn, buf[:n]...)
			whole := len(text)
			if err == nil {
				whole = shownOf(text)
			}
			_, _ = s.vt.Write(text[:whole])
			s.torn, s.late = slices.Clone(text[whole:]), time.Now().Add(frameLimit)
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

// A frame begins and ends with these, and appears at once: a terminal shows no half of one, but waits no longer
// than a while.
const (
	frameBegins, frameEnds = "\x1b[?2026h", "\x1b[?2026l"
	frameLimit             = 5 * time.Second
)

// shownOf is how much of text is shown now: neither half a character nor half a frame.
func shownOf(text []byte) int {
	whole := len(text)
	for k := 1; k < utf8.UTFMax && k <= len(text); k++ {
		if c := text[len(text)-k]; utf8.RuneStart(c) {
			if !utf8.FullRune(text[len(text)-k:]) {
				whole = len(text) - k
			}
			break
		}
	}
	for k := len(frameBegins) - 1; k > 0; k-- {
		if bytes.HasSuffix(text[:whole], []byte(frameBegins[:k])) {
			whole -= k
			break
		}
	}
	if i := bytes.LastIndex(text[:whole], []byte(frameBegins)); i >= 0 && !bytes.Contains(text[i:whole], []byte(frameEnds)) {
		whole = i
	}
	return whole
}

// screen returns what the terminal shows, without the spaces at the ends and the empty rows below.
func (s *seat) screen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.torn) > 0 && time.Now().After(s.late) {
		_, _ = s.vt.Write(s.torn)
		s.torn = nil
	}
	var lines []string
	for line := range strings.SplitSeq(s.vt.String(), "\n") {
		lines = append(lines, strings.TrimRight(line, " \x00"))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

func (s *seat) output() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.raw)
}

// until waits until the screen shows every one of words.
func (s *seat) until(words ...string) {
	s.t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		screen := s.screen()
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(screen, w) }) {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%q is not on the screen:\n%s\n%q", words, screen, s.output())
		}
	}
}

// press types keys.
func (s *seat) press(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.pty, keys); err != nil {
		s.t.Fatal(err)
	}
}

func (s *seat) resize(columns, rows int) {
	s.t.Helper()
	s.mu.Lock()
	s.vt.Resize(columns, rows)
	s.rows = max(s.rows, rows)
	s.mu.Unlock()
	if err := pty.Setsize(s.pty, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil {
		s.t.Fatal(err)
	}
}

// ends waits for the end, which must have this exit code and leave the terminal as it was.
func (s *seat) ends(code int) {
	s.t.Helper()
	err := s.cmd.Wait()
	select {
	case <-s.read:
	case <-time.After(5 * time.Minute):
		s.t.Fatal("somebody still holds the terminal")
	}
	if got := exitCode(err); got != code {
		s.t.Errorf("exit code %d, want %d\n%s", got, code, s.screen())
	}
	s.restored()
}

var (
	modes  = regexp.MustCompile(`\x1b\[\?([0-9]+)([hl])`)
	frames = regexp.MustCompile(`(?s)\x1b\[\?7l(.*?)\x1b\[\?7h`)
)

// restored checks that every mode that was switched is switched back, that the cursor is to be seen and begins a
// line, that nothing was asked of the terminal, and that no frame is as high as the screen.
func (s *seat) restored() {
	s.t.Helper()
	raw := s.output()
	last := map[string]string{}
	for _, m := range modes.FindAllSubmatch(raw, -1) {
		last[string(m[1])] = string(m[2])
	}
	for mode, end := range map[string]string{"7": "h", "2026": "l"} {
		if got, ok := last[mode]; ok && got != end {
			s.t.Errorf("mode %s was left at %s", mode, got)
		}
		delete(last, mode)
	}
	if len(last) > 0 {
		s.t.Errorf("other modes were changed: %v", last)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.vt.CursorVisible() {
		s.t.Error("the cursor is hidden")
	}
	if c := s.vt.Cursor(); c.X != 0 && s.cmd.Args[0] == "async-pipeline" { // a shell ends behind its prompt
		s.t.Errorf("the cursor is left in column %d", c.X)
	}
	for _, f := range frames.FindAllSubmatch(raw, -1) {
		if n := bytes.Count(f[1], []byte("\n")); n >= s.rows {
			s.t.Errorf("a frame of %d lines on %d rows: %q", n, s.rows, f[0])
		}
	}
}

// newProject writes a PIPELINE.hcl and other files (name, content, …) into a new folder.
func newProject(t *testing.T, hcl string, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	files = append(files, "PIPELINE.hcl", hcl)
	for i := 0; i < len(files); i += 2 {
		must(t, writeProgram(filepath.Join(dir, files[i]), []byte(files[i+1])))
	}
	return dir
}

// allow makes the file that the tasks of a project wait for.
func allow(t *testing.T, dir, name string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, name), []byte("now\n"), 0o644))
}
