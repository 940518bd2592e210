package task

import (
	"fmt"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// HintTail is how much of the end of a failed task's output Hint needs, in bytes.
const HintTail = 64 << 10

// mostHints is the largest number of names in a hint.
const mostHints = 3

// common are names that most shells set, words of test output, and what a panic tells to set: a hint about them would be
// noise.
var common = lazily.Words(`
	PWD OLDPWD SHLVL SHELL LOGNAME USERNAME MAIL HOST HOSTNAME HOSTTYPE MACHTYPE OSTYPE NAME LINES COLUMNS PAGER LESS
	EDITOR VISUAL DISPLAY TTY COLORTERM LS_COLORS IFS PS1 PS2 PS4 PPID UID EUID GID RANDOM SECONDS LINENO OPTARG OPTIND
	XDG_SESSION_ID XDG_RUNTIME_DIR XDG_SESSION_TYPE SSH_TTY SSH_CLIENT SSH_CONNECTION TERM_PROGRAM WINDOWID
	RUST_BACKTRACE RUST_LIB_BACKTRACE GOTRACEBACK
	DEBUG TRACE INFO WARN WARNING ERROR FATAL FAIL FAILED PASS PASSED SKIP TEST TODO OK YES NO TRUE FALSE NULL NONE
`)

// Hint returns a sentence on the variables that a failed task's command or its redacted output name, that the
// person's environment has and the task's lacks; nil when there are none. It contains names and never values. The
// task ran in the tree.
func (r *Runner) Hint(t *pipeline.Task, output []byte) *string {
	return r.hint(t, sandbox.Box{Tier: sandbox.None, Secrets: true}, output)
}

func (r *Runner) hint(t *pipeline.Task, box sandbox.Box, output []byte) *string {
	b, err := r.build(box.At(r.Config.Root), t, box)
	if err != nil {
		return nil
	}
	command := t.Run.Shell.Show()
	for _, w := range t.Run.Argv {
		command += " " + w.Show()
	}
	lacks := func(name string) bool {
		_, set := b.at[name]
		return r.parsed().set[name] != "" && !set && !b.held[name] &&
			!slices.Contains(common(), name) && !strings.HasPrefix(name, ours)
	}
	var names []string
	own := make(map[string]bool) // set by the command itself
	for name, rest := range capitals(command) {
		if strings.HasPrefix(rest, "=") {
			own[name] = true
		}
	}
	for _, text := range []string{command, string(output)} {
		for name := range capitals(text) {
			if len(names) < mostHints && !own[name] && !slices.Contains(names, name) && lacks(name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	list, are := names[0], "is"
	if last := len(names) - 1; last > 0 {
		list, are = strings.Join(names[:last], ", ")+" and "+names[last], "are"
	}
	text := fmt.Sprintf("%s %s set in your shell but not passed: pass_env = [%s]", list, are,
		strings.Join(english.Quoted(names), ", "))
	return new(r.Redact.String(text))
}

// capitals yields each whole word of three or more capital letters, digits and _, with the text after it.
func capitals(text string) func(yield func(word, rest string) bool) {
	letter := func(c byte) bool {
		return c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
	}
	return func(yield func(word, rest string) bool) {
		for i := 0; i < len(text); {
			if !letter(text[i]) {
				i++
				continue
			}
			from, capital := i, text[i] < '0' || text[i] > '9'
			for i < len(text) && letter(text[i]) {
				capital = capital && (text[i] < 'a' || text[i] > 'z')
				i++
			}
			if capital && i-from >= 3 && !yield(text[from:i], text[i:]) {
				return
			}
		}
	}
}
