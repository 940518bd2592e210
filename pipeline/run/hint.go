package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// hintTail is how much of the end of a failed task's output is looked at, in bytes.
const hintTail = 64 << 10

// mostHints is how many names a hint has at most.
const mostHints = 3

// idle are names that most shells set and that stand in output for other reasons: a hint about them would be noise.
var idle = words(`
	PWD OLDPWD SHLVL SHELL LOGNAME USERNAME MAIL HOST HOSTNAME HOSTTYPE MACHTYPE OSTYPE NAME LINES COLUMNS PAGER LESS
	EDITOR VISUAL DISPLAY TTY COLORTERM LS_COLORS IFS PS1 PS2 PS4 PPID UID EUID GID RANDOM SECONDS LINENO OPTARG OPTIND
	XDG_SESSION_ID XDG_RUNTIME_DIR XDG_SESSION_TYPE SSH_TTY SSH_CLIENT SSH_CONNECTION TERM_PROGRAM WINDOWID
	DEBUG TRACE INFO WARN WARNING ERROR FATAL FAIL FAILED PASS PASSED SKIP TEST TODO OK YES NO TRUE FALSE NULL NONE
`)

func words(text string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

// hint says of a task that has failed which variables its command or its output (redacted) names that the person's
// environment has and the task's lacks; nil when there are none. It holds names and never values.
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
		return r.whose().set[name] != "" && !set && !b.held[name] && !idle[name] && !strings.HasPrefix(name, ours)
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
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	list, are := names[0], "is"
	if last := len(names) - 1; last > 0 {
		list, are = strings.Join(names[:last], ", ")+" and "+names[last], "are"
	}
	text := fmt.Sprintf("%s %s set in your shell but not passed: pass_env = [%s]", list, are, strings.Join(quoted, ", "))
	return ptr(r.Redact.String(text))
}

// capitals gives each word of three or more capital letters, digits and _ that stands alone, with what follows it.
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
