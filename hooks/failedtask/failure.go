// Package failedtask describes how a recorded task failed, recognises the same failure in a copy of the tree, and
// runs the task's check there.
package failedtask

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/testreport"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// LogLimit is how much of the end of a check's output, in bytes, is searched for names of tests.
const LogLimit = 4 << 20

// leastPatience is the least time that a check without a timeout may take in a copy, where its caches may be cold.
const leastPatience = 2 * time.Minute

// RunTask runs one task with its working directory below dir. It is the same function that ran the task in the tree.
type RunTask func(
	ctx context.Context, dir string, t *pipeline.Task, box sandbox.Box, out io.Writer,
) (record.Task, error)

// Define reads the PIPELINE.hcl in a folder, with what it includes and what its file functions ask for, as if the
// folder were the root. fetch is told what they ask for, see hclfile.Options. An error is a fault of those files.
type Define func(dir string, fetch func(at string, pattern bool)) (*pipeline.Config, error)

// A Failure is a failed task of a sealed run, with how it failed. Nothing changes it once Read returned it.
type Failure struct {
	Config  *pipeline.Config
	Run     *record.Sealed
	Ended   *record.Task   // the task's row of Run
	Task    *pipeline.Task // the same task in Config
	RunTask RunTask
	Define  Define              // nil: the definition stays as it is, whatever a patch changes
	Clean   func(string) string // removes secrets

	Signature testreport.Signature // failing tests include those of Reports
	Log       []byte               // the end of what the task printed
	Reports   *testreport.Reports  // what JUnit files in the tree say of it; nil where there are none
}

// Read fills in the signature, the log and the reports of f from the run's record and from the tree.
func Read(f Failure) *Failure {
	f.Signature, f.Log = Signature(f.Run, f.Ended)
	f.readReports()
	return &f
}

// Failed reports whether a task failed or timed out, which is what hooks answer. An interrupt is neither.
func Failed(t *record.Task) bool { return t.Status == record.Failed || t.Status == record.TimedOut }

// Signature returns how a recorded task failed, and the end of its log. Of a log that was cut it reads no names of
// tests: which of them are left differs from run to run.
func Signature(run *record.Sealed, ended *record.Task) (testreport.Signature, []byte) {
	s := SignatureOf(ended)
	if ended.Log == nil {
		return s, nil
	}
	log, err := run.Tail(ended.Name, LogLimit)
	if err != nil {
		return s, nil
	}
	if ended.Log.LeftOutBytes == 0 {
		s.Tests = testreport.Tests(log)
	}
	return s, log
}

// SignatureOf returns how a task failed as far as its record tells, without names of tests.
func SignatureOf(t *record.Task) testreport.Signature {
	s := testreport.Signature{TimedOut: t.Status == record.TimedOut}
	if t.ExitCode != nil {
		s.ExitCode = *t.ExitCode
	}
	if t.Signal != nil {
		s.Signal = *t.Signal
	}
	return s
}

// Fingerprint identifies the failure among those of all runs.
func (f *Failure) Fingerprint() string {
	return testreport.Fingerprint(called(f.Ended), f.Signature, f.Log)
}

// called returns the name of a task as it ended, with the arguments that a command line gave it: with others it is
// another command, and what repairs one does not repair the other.
func called(t *record.Task) string {
	if len(t.Args) == 0 {
		return t.Name
	}
	return t.Name + " --" + fmt.Sprintf(" %q", t.Args)
}

// Check runs a task in a copy. most limits a task without a timeout; 0 means no limit.
func (f *Failure) Check(
	ctx context.Context, t *pipeline.Task, box sandbox.Box, out io.Writer, most time.Duration,
) (record.Task, error) {
	bounded := *t
	bounded.Timeout = f.Limit(t, most)
	return f.RunTask(ctx, box.At(f.Config.Root), &bounded, box, out)
}

// Limit returns how long Check lets a task run. A task that failed by its timeout keeps it: with more time it could
// pass. Any other task gets more, because caches may be cold.
func (f *Failure) Limit(t *pipeline.Task, most time.Duration) time.Duration {
	switch {
	case f.Ended.Status == record.TimedOut && t.Name == f.Task.Name:
		return t.Timeout
	case t.Timeout > 0:
		return max(t.Timeout, f.Patience(t))
	}
	return most
}

// Patience returns how long a task may take in a copy: three times what it took in the run, and no less than two
// minutes.
func (f *Failure) Patience(t *pipeline.Task) time.Duration {
	limit := leastPatience
	if r := f.Run.Task(t.Name); r != nil && r.DurationMS != nil {
		limit = max(limit, 3*time.Duration(*r.DurationMS)*time.Millisecond)
	}
	return limit
}

// A Tail is a writer that keeps the last LogLimit bytes of what is written to it.
type Tail struct{ b []byte }

func (t *Tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p[max(0, len(p)-LogLimit):]...)
	if len(t.b) > 2*LogLimit {
		t.b = append(t.b[:0], t.Bytes()...)
	}
	return len(p), nil
}

// Bytes returns what was kept.
func (t *Tail) Bytes() []byte { return t.b[max(0, len(t.b)-LogLimit):] }

// CleanTail returns the end of a log, fit to be read by a model: without terminal control and without characters that
// hide or reorder text. The root's own path becomes ".", so that nobody follows it back to the tree.
func CleanTail(text, root string, limit int) string {
	text = agent.Clean(text)
	text = RootPath(root).ReplaceAllString(text, ".$1")
	return LastText(text, limit)
}

// RootPath matches a path where a name ends, so that /srv/shop is not found in /srv/shop-api. The first group is the
// character after it. Bytes of the path that are no UTF-8 match U+FFFD, or nothing where the text was cleaned.
func RootPath(root string) *regexp.Regexp {
	name := strings.ReplaceAll(regexp.QuoteMeta(strings.ToValidUTF8(root, "\uFFFD")), "\uFFFD", "\uFFFD*")
	return regexp.MustCompile(name + `([^-_.0-9A-Za-z\x80-\x{10FFFF}]|[.]?(?:$|\s))`)
}

// LastText returns the last bytes of text, from the start of a line where there is one, else of a character.
func LastText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = text[len(text)-limit:]
	if i := strings.IndexByte(text, '\n'); i >= 0 && i < len(text)-1 {
		return text[i+1:]
	}
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}

// CommandLine returns a task's command in one line, without the values of secrets. They are left out here because a
// redactor does not find what is quoted.
func CommandLine(t *pipeline.Task) string {
	if t.Run.Argv == nil {
		return ShellText(t.Run)
	}
	return inOneLine(t.Run.Argv)
}

// ShellText returns the text of a shell command, with what its "$@" stands for in a comment behind it.
func ShellText(c pipeline.Command) string {
	if len(c.Args) == 0 {
		return c.Shell.Show()
	}
	return c.Shell.Show() + ` # "$@" is ` + inOneLine(c.Args)
}

func inOneLine(argv []pipeline.Text) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = a.Show()
		if strings.ContainsAny(words[i], " \t\n\"'\\$") || words[i] == "" {
			words[i] = fmt.Sprintf("%q", words[i])
		}
	}
	return strings.Join(words, " ")
}
