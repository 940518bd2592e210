package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
)

// An editing is a patch that a person edited.
type editing struct {
	patch []byte // nil: they left it as it was
	dir   string // the folder with it; empty: there is none
}

// editHelp is written above a patch that is edited.
const editHelp = `# Edit the patch, save it and leave the editor: then it is checked and applied.
# To leave a + line out, delete it; to leave a - line out, write a space for the -.
# How many lines a hunk has is counted anew. It applies to the files as the fix
# found them, and may touch no others. To apply nothing, delete everything.
#
`

// editPatch opens the selected part of a patch in the person's editor.
func editPatch(prog *program, s *fix.Store, p *fix.Proposal, o apply.Options) (*editing, error) {
	editor := cmp.Or(prog.Env("VISUAL"), prog.Env("EDITOR"))
	if editor == "" {
		return nil, exit.Refuse("--edit needs an editor: set VISUAL or EDITOR to its command")
	}
	text, err := apply.Tree{Fixes: s}.Selected(context.Background(), p, o)
	if err != nil {
		return nil, err
	}
	e := &editing{}
	if e.dir, err = os.MkdirTemp("", "async-pipeline-edit-*"); err != nil {
		return nil, err
	}
	text = append([]byte(editHelp), text...)
	file := filepath.Join(e.dir, "fix.patch")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, errors.Join(err, e.discard())
	}
	// The variable is a command as a shell has it, perhaps with arguments: git takes it so too.
	argv := []string{"/bin/sh", "-c", editor + ` "$@"`, editor, file}
	prog.Out.Flush()
	code, ended := untilEdited(func() error {
		err := sandbox.Foreground(argv, prog.Environ, prog.Dir, prog.Stdin, prog.Stdout, prog.Stderr)
		if err != nil {
			err = fmt.Errorf("the editor %q ended with %w", editor, err)
		}
		return err
	})
	edited, err := os.ReadFile(file)
	empty := len(bytes.TrimSpace(withoutHelp(edited))) == 0
	switch typed := err == nil && !empty && !bytes.Equal(edited, text); {
	case ended != nil && typed:
		return nil, &exit.Error{Code: code, Text: fmt.Sprintf("nothing was applied: %v\nthe patch as you edited it is %s", ended, file)}
	case ended != nil:
		return nil, errors.Join(&exit.Error{Code: code, Text: fmt.Sprintf("nothing was applied: %v", ended)}, e.discard())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("nothing was applied: %w", err), e.discard())
	case empty:
		return nil, errors.Join(exit.Fail("not applied: the patch was left empty"), e.discard())
	case typed:
		e.patch = edited
	}
	return e, nil
}

// untilEdited waits for the editor. After SIGTERM or SIGHUP it still waits and then returns an error, so that nothing
// is applied, no text is lost and no folder is left. code is what the program ends with after an error.
func untilEdited(edit func() error) (code int, err error) {
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(ends)
	err = edit()
	select {
	case s := <-ends:
		return exit.Signal + int(s.(syscall.Signal)), fmt.Errorf("async-pipeline was told to end (%v)", s)
	default:
		return exit.Refused, err
	}
}

// withoutHelp removes the lines at the top that begin with #.
func withoutHelp(b []byte) []byte {
	for bytes.HasPrefix(b, []byte("#")) {
		_, b, _ = bytes.Cut(b, []byte("\n"))
	}
	return b
}

// keep adds to an error where the edited patch is.
func (e *editing) keep(err error) error {
	if e.patch == nil {
		return errors.Join(err, e.discard())
	}
	return fmt.Errorf("%w\nthe patch as you edited it is %s", err, filepath.Join(e.dir, "fix.patch"))
}

func (e *editing) discard() error {
	if e.dir == "" {
		return nil
	}
	return os.RemoveAll(e.dir)
}
