package sandbox

// A program that the person uses themselves: on their terminal, with their environment, confined by nothing.

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// Foreground runs a program and waits for it: an editor that a person asked for, never a task, hook or agent. It has the
// terminal for itself: ^C and ^\ are its own meanwhile, and end nobody else. A program that does not exit with 0 is an error.
func Foreground(argv, env []string, dir string, stdin io.Reader, stdout, stderr io.Writer) error {
	theirs := make(chan os.Signal, 1)
	signal.Notify(theirs, syscall.SIGINT, syscall.SIGQUIT) // caught and not ignored: what is ignored stays so in the program
	defer signal.Stop(theirs)
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:gosec,noctx // it is the person's own, and theirs to end
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	return cmd.Run()
}
