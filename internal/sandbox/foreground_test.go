package sandbox

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
)

// A program in the foreground has the person's input, output and environment, and a ^C that it gets ends nobody else.
func TestForeground(t *testing.T) {
	var out, errs bytes.Buffer
	dir := t.TempDir()
	script := `read line; echo "$line $WHO $(pwd -P)"; echo loud >&2; kill -INT $PPID`
	err := Foreground([]string{"/bin/sh", "-c", script}, []string{"WHO=me", "PATH=/usr/bin:/bin"}, dir, strings.NewReader("hello\n"), &out, &errs)
	if err != nil || !strings.HasPrefix(out.String(), "hello me /") || errs.String() != "loud\n" {
		t.Errorf("%v %q %q", err, out.String(), errs.String())
	}
	if err := Foreground([]string{"/bin/sh", "-c", "exit 3"}, nil, dir, nil, &out, &errs); err == nil || err.Error() != "exit status 3" {
		t.Errorf("%v", err)
	}
	// The program itself hears ^C: it was not started with it ignored.
	if err := Foreground([]string{"/bin/sh", "-c", "kill -INT $$; sleep 5"}, nil, dir, nil, &out, &errs); err == nil || !strings.Contains(err.Error(), syscall.SIGINT.String()) {
		t.Errorf("%v", err)
	}
}
