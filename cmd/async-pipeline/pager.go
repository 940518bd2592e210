package main

import (
	"bytes"
	"strings"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/agentprobe"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
)

// paged prints what show writes. Where it does not fit on the terminal it is read in the person's pager: the command
// in PAGER, else less. An empty PAGER, or cat, is none.
func paged(prog *program, show func(*view.Screen)) error {
	var text bytes.Buffer
	screen := *prog.Results()
	screen.W = &text
	show(&screen)
	pager, named := prog.Lookup("PAGER")
	if !named && agentprobe.Find("less", prog.Env("PATH")) != "" {
		pager = "less"
	}
	_, rows := prog.Size()
	if !prog.CanDraw() || strings.TrimSpace(pager) == "" || pager == "cat" || bytes.Count(text.Bytes(), []byte("\n")) < rows {
		_, err := prog.Out.Write(text.Bytes())
		return err
	}
	env := prog.Environ
	if _, set := prog.Lookup("LESS"); !set {
		env = append(env[:len(env):len(env)], "LESS=FRX") // colours; it stays where it fits; the text stays afterwards
	}
	prog.Out.Flush()
	// The variable is a command as a shell has it, perhaps with arguments: git takes it so too.
	argv, in := []string{"/bin/sh", "-c", pager}, bytes.NewReader(prog.Secrets.Bytes(text.Bytes()))
	if err := sandbox.Foreground(argv, env, prog.Dir, in, prog.Stdout, prog.Stderr); err != nil {
		return exit.Refuse("the pager %q ended with %v; PAGER=cat prints without one", pager, err)
	}
	return nil
}
