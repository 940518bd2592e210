package tools

// Commands, the check, and planted programs: the policy decides, the sandbox enforces.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/policy"
)

// runLimit is how long a command may take. The turn's own clock may end it sooner.
const runLimit = 10 * time.Minute

// mostQuoted is how much of a refused command is quoted, in bytes.
const mostQuoted = 1 << 10

var errRunLimit = errors.New("the command took too long")

var toolRun = declared{
	name: "run", effect: Runs, verb: "runs", noun: "command",
	says: "Runs a command that is allowed, in the working directory (the task's own where the task runs it), without " +
		"a shell. To run the task that failed use check.",
	fields: []field{{name: "argv", kind: aList, must: true, says: "the program and its arguments, a word each"}},
	do: func(ctx context.Context, w *Toolset, a args) Outcome {
		argv := a.lists["argv"]
		d := w.policy.Decide(argv)
		if !d.Allowed {
			w.mu.Lock()
			w.refused++
			w.mu.Unlock()
			return fail(NotRun, "not run: %s. %s", atMost(d.Reason, mostQuoted), w.allowed(argv))
		}
		if w.r.Exec == nil {
			return fail(NotRun, "not run: nothing can be run in this turn")
		}
		dir := w.r.Dir
		if d.Grant == policy.OwnCommand {
			dir = cmp.Or(w.r.RunDir, dir) // as the task would run it
		}
		return w.run(ctx, argv, dir)
	},
}

// allowed returns what may be run, and a hint for common mistakes.
func (w *Toolset) allowed(argv []string) string {
	var b strings.Builder
	if all := w.policy.Allowed(); len(all) > 0 {
		b.WriteString("Allowed are, ** standing for any further words:\n  " + strings.Join(all, "\n  "))
	} else {
		b.WriteString("No command is allowed; check runs the failed task.")
	}
	switch {
	case len(argv) == 1 && strings.Contains(argv[0], " "):
		b.WriteString("\nargv is a list of words: " + atMost(fmt.Sprintf("%q", strings.Fields(argv[0])), mostQuoted))
	case slices.ContainsFunc(argv, func(s string) bool { return slices.Contains(shellWords, s) }):
		b.WriteString("\nThere is no shell: write one command without cd, &&, |, ; or >.")
	}
	return b.String()
}

// shellWords are words that only a shell understands.
var shellWords = []string{"&&", "||", "|", ";", ">", ">>", "<", "2>&1", "cd"}

func (w *Toolset) run(ctx context.Context, argv []string, dir string) Outcome {
	limited, cancel := context.WithTimeoutCause(ctx, runLimit, errRunLimit)
	defer cancel()
	var c capture
	out := w.r.Secrets.Writer(&c)
	w.mu.Lock()
	w.ran++
	w.mu.Unlock()
	var exit agent.Exit
	var err error
	w.root.lend(func() {
		exit, err = w.r.Exec(limited, agent.Command{Argv: argv, Dir: dir, Env: w.r.Env, Stdout: out, Stderr: out})
	})
	_ = out.Close()
	head := endOf(limited, exit)
	if err != nil {
		head = "the command could not be carried out: " + err.Error()
	}
	passed := err == nil && exit.Code == 0 && !exit.Cancelled && !exit.TimedOut
	o := w.ended(policy.Show(argv), passed, head, &c, ShownHead)
	if exit.ProcessesLeft > 0 {
		o.Text += fmt.Sprintf("\n%s that it left behind were ended", english.Count(exit.ProcessesLeft, "process"))
	}
	return o
}

// ended returns the outcome of a command that has ended, with its output. One that passed is remembered by its name.
func (w *Toolset) ended(name string, passed bool, head string, c *capture, shownHead int) Outcome {
	if passed {
		w.mu.Lock()
		w.passed = append(w.passed, name)
		w.mu.Unlock()
	}
	text := head + ", no output"
	if c.total > 0 {
		text = head + "\n" + w.show(c, shownHead, shownTail)
	}
	return Outcome{Text: text, Code: failedIf(!passed)}
}

// endOf describes how a command ended.
func endOf(ctx context.Context, e agent.Exit) string {
	took := e.Duration.Round(10 * time.Millisecond)
	switch {
	case errors.Is(context.Cause(ctx), errRunLimit):
		return fmt.Sprintf("ended after %v, which is how long a command may take", runLimit)
	case e.IdledOut:
		return fmt.Sprintf("ended after %v, because it wrote nothing for too long", took)
	case e.TimedOut:
		return fmt.Sprintf("ended after %v: the time of the whole turn is over", took)
	case e.Cancelled:
		return fmt.Sprintf("ended after %v: the turn is ending", took)
	case e.Signal != "":
		return fmt.Sprintf("killed by %s after %v", e.Signal, took)
	}
	return fmt.Sprintf("exit code %d after %v", e.Code, took)
}

// planted returns where a program would be found, if the agent can write there. See policy.Policy.
func (w *Toolset) planted(name string) string {
	env := map[string]string{}
	for _, kv := range w.r.Env {
		if k, v, ok := strings.Cut(kv, "="); ok {
			env[k] = v
		}
	}
	at := policy.Lookup(name, w.r.Dir, env["PATH"], func(p string) bool {
		return w.runnable(p) || w.inTmp(p, env["TMPDIR"]) != ""
	})
	if at == "" {
		return ""
	}
	if _, ok := w.inCopy(at); ok || w.inTmp(at, env["TMPDIR"]) != "" { // it may replace one of the real /tmp
		return at
	}
	places := []string{at}
	if p, err := filepath.EvalSymlinks(at); err == nil {
		places = append(places, p)
	}
	for _, p := range places {
		if _, ok := w.inCopy(p); ok {
			return at
		}
		for _, own := range []string{"HOME", "TMPDIR", "XDG_CACHE_HOME", "GOCACHE"} {
			if rel, err := filepath.Rel(env[own], p); env[own] != "" && err == nil && filepath.IsLocal(rel) {
				return at
			}
		}
	}
	return ""
}

// runnable reports whether a path, as the agent's commands see it, is a program.
func (w *Toolset) runnable(p string) bool {
	stat := os.Stat
	if at, ok := w.inCopy(p); ok {
		if _, err := w.root.at(); err != nil {
			return true // it is not known, so it is refused
		}
		real, err := w.follow(at, true)
		out, leads := errors.AsType[*leadsOut](err)
		switch {
		case leads:
			p = out.to
		case err != nil:
			return false
		default:
			p, stat = real, w.root.Lstat
		}
	}
	info, err := stat(p)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// inTmp returns where a path below /tmp really is if commands have a /tmp of their own, which is their TMPDIR.
func (w *Toolset) inTmp(p, tmp string) string {
	rel, err := filepath.Rel("/tmp", p)
	if tmp == "" || err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	if at := filepath.Join(tmp, rel); w.runnable(at) {
		return at
	}
	return ""
}

var toolCheck = declared{
	name: Check, effect: Runs, verb: "runs the check",
	says: "Runs the task that failed, as it stands in the pipeline, and says whether it passes now.",
	do: func(ctx context.Context, w *Toolset, _ args) Outcome {
		if w.r.Check == nil {
			return fail(NotRun, "not run: the task cannot be run in this turn")
		}
		return w.check(ctx, w.r.Check)
	},
}

func (w *Toolset) check(ctx context.Context, check func(context.Context, io.Writer) (bool, error)) Outcome {
	var c capture
	out := w.r.Secrets.Writer(&c)
	var passed bool
	var err error
	w.root.lend(func() { passed, err = check(ctx, out) })
	_ = out.Close()
	head := "the check failed"
	switch {
	case err != nil:
		head = "the check could not be carried out: " + err.Error()
	case passed:
		head = "the check passed"
	}
	return w.ended(Check, passed && err == nil, head, &c, 0)
}
