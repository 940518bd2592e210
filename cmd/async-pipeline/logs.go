package main

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// logsCall has the flags of one `logs`.
type logsCall struct {
	follow bool
	tail   int // lines; below zero: all
}

func logsCommand(prog *program) *cobra.Command {
	l := logsCall{tail: -1}
	c := &cobra.Command{
		Use:   "logs [RUN] [TASK]",
		Short: "Print the log of a task, or list the logs of a run",
		Long: `Prints what a task of a recorded run printed, without secrets; of more than
4 MiB the end. Without TASK it lists the logs of the run. Without RUN it is the
newest run with a verdict; a newer one that goes on or was killed is named, and
taken where only it has the task. A pipe gets the bytes as they are; on a
terminal control characters are shown by name, so that none can act.

--follow goes on until the task has ended; without RUN it is the run that goes
on now, if one does.`,
		Example: `  async-pipeline logs test
  async-pipeline logs latest
  async-pipeline logs 20261121T024000Z-7f3a test --tail 50
  async-pipeline logs --follow test`,
		Args: atMost(2),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("tail") && l.tail < 0 {
				return exit.Misused("--tail %d: write how many lines to begin with", l.tail)
			}
			return showLogs(prog, l, args)
		},
	}
	c.Flags().BoolVarP(&l.follow, "follow", "f", false, "go on with what is printed until the task has ended")
	c.Flags().IntVar(&l.tail, "tail", l.tail, "only the last `N` lines (default: all)")
	return c
}

func showLogs(prog *program, l logsCall, args []string) error {
	store, err := recordStore(prog)
	if err != nil {
		return err
	}
	e, task, err := logOf(prog, store, l, recordedNames(store, args))
	if err != nil {
		return err
	}
	if task == "" {
		if l.follow || l.tail >= 0 {
			return exit.Misused("--follow and --tail are for the log of one task\nname the task too")
		}
		return listLogs(prog, store, e)
	}
	return printLog(prog, store, e, task, l)
}

// logOf reads the arguments: RUN TASK, RUN alone, or TASK alone for the newest run; with --follow, for the one in
// progress.
func logOf(prog *program, store *record.Store, l logsCall, args []string) (record.Entry, string, error) {
	switch {
	case len(args) == 2:
		e, err := prog.lookRun(store, args[0])
		return e, args[1], err
	case len(args) == 1 && args[0] == "latest":
		e, err := prog.lookRun(store, "latest")
		return e, "", err
	case len(args) == 1:
		e, err := store.Look(args[0])
		if !errors.Is(err, record.ErrNoRun) {
			return e, "", err
		}
		e, err = newestWith(prog, store, l, args[0])
		return e, args[0], err
	}
	e, err := newestRun(prog, store, "", func(newer record.Entry) string { return prog.Typed("logs", newer.ID) + " lists its logs" })
	return e, "", err
}

// newestWith returns the run that is meant where only the task is named.
func newestWith(prog *program, store *record.Store, l logsCall, task string) (record.Entry, error) {
	if l.follow {
		if going, goes := store.Going(); goes {
			return going, nil
		}
	}
	e, err := newestRun(prog, store, task, func(newer record.Entry) string {
		if newer.Live {
			return "--follow shows its log"
		}
		return prog.Typed("logs", newer.ID, task) + " prints its log"
	})
	if err == nil && e.Sealed != nil && e.Sealed.Task(task) == nil {
		return e, prog.noTask(task, e.ID, namesOf(e.Sealed.Tasks), "neither a recorded run nor")
	}
	return e, err
}

// noTask returns the error for a name that is not a task of a run.
func (prog *program) noTask(task, run string, names []string, neither string) error {
	remedy := prog.Typed("logs", run) + " lists them"
	var instances []string
	for _, n := range names {
		if strings.HasPrefix(n, task+"[") {
			instances = append(instances, n)
		}
	}
	if len(instances) > 0 {
		remedy = "it has " + english.List(view.TaskNames(instances), 8)
	} else if near := pipeline.Nearest(task, names); near != "" {
		remedy = "did you mean " + view.TaskName(near) + "?"
	}
	return exit.Refuse("%q is %s a task of run %s: %s", view.TaskName(task), cmp.Or(neither, "not"), run, remedy)
}

func namesOf(tasks []record.Task) []string {
	names := make([]string, len(tasks))
	for i, t := range tasks {
		names[i] = t.Name
	}
	return names
}

// listLogs prints how much each task of a run printed.
func listLogs(prog *program, store *record.Store, e record.Entry) error {
	var lines []view.LogLine
	add := func(t record.Task) {
		line := view.LogLine{Task: t}
		var err error
		if line.Bytes, err = record.ReadLog(e.Dir, t.Name).Size(); errors.Is(err, fs.ErrNotExist) {
			line.None = t.Status != view.Running && t.Status != view.Lost // its first output makes it
		} else if err != nil {
			prog.Messages().Warning(err.Error())
		}
		lines = append(lines, line)
	}
	if e.Sealed != nil {
		for _, t := range e.Sealed.Tasks {
			add(t)
		}
	} else {
		story, err := store.Story(e.ID)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // ended before its first line
			prog.Messages().Warning(err.Error())
		}
		for _, name := range story.Names {
			add(asTold(story, e, name))
		}
	}
	prog.Results().Logs(e.ID, filepath.Join(e.Dir, "logs"), lines)
	return nil
}

// asTold returns a task of a run without a verdict: ended, running, lost with its run, or, with an empty status, not
// started.
func asTold(story *record.Story, e record.Entry, name string) record.Task {
	if t, ok := story.Ended[name]; ok {
		return t
	}
	t := record.Task{Name: name}
	if at, ok := story.Started[name]; ok {
		t.StartedAt = &at
		t.Status = view.Running
		if !e.Live {
			t.Status = view.Lost
		}
	}
	return t
}

// printLog prints a log and, with --follow, goes on while the task runs.
func printLog(prog *program, store *record.Store, e record.Entry, task string, l logsCall) error {
	story := &record.Story{}
	if e.Sealed == nil {
		var err error
		if story, err = store.Story(e.ID); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if e.Sealed != nil && e.Sealed.Task(task) == nil {
		return prog.noTask(task, e.ID, namesOf(e.Sealed.Tasks), "")
	}
	if e.Sealed == nil && story.Names != nil && !slices.Contains(story.Names, task) {
		return prog.noTask(task, e.ID, story.Names, "")
	}
	log := record.ReadLog(e.Dir, task)
	if l.tail >= 0 {
		if err := log.Skip(l.tail); err != nil {
			return err
		}
	}
	out, flush := logTo(prog)
	if err := log.Next(out); err != nil {
		return err
	}
	if l.follow && e.Live {
		if err := followLog(prog, store, &e, story, task, log, out); err != nil {
			return err
		}
	}
	if err := flush(); err != nil {
		return err
	}
	afterLog(prog, e, story, task, log)
	return nil
}

// logTo returns where a log is printed: on a terminal control characters are shown by name.
func logTo(prog *program) (io.Writer, func() error) {
	if prog.OnTerminal() {
		text := prog.Results().LogText()
		return text, text.Flush
	}
	return prog.Out, func() error { return nil }
}

// logEvery is how often a followed log is read.
const logEvery = 100 * time.Millisecond

// followLog prints a log until its task or run has ended, nobody reads any more, or a signal arrives. It updates e.
func followLog(prog *program, store *record.Store, e *record.Entry, story *record.Story, task string, log *record.LogReader, out io.Writer) error {
	stop := prog.Listen(func(syscall.Signal) {})
	defer stop.Stop()
	prog.Out.OnFailure(stop.Unread)
	defer prog.Out.OnFailure(nil)
	tick := time.NewTicker(logEvery)
	defer tick.Stop()
	for {
		_, ended := story.Ended[task]
		if !ended {
			if *e = store.Entry(e.ID); e.Err != nil {
				return e.Err
			}
			ended = !e.Live
		}
		// Read after the end was seen: then nothing can be missing.
		if err := log.Next(out); err != nil || ended {
			return err
		}
		if prog.ReaderGone() { // while nothing is printed no write says so
			prog.Out.Fail(syscall.EPIPE)
		}
		select {
		case <-stop.Ctx.Done():
			if sig := stop.First(); sig != 0 {
				return exit.With(exit.Signal + int(sig))
			}
			return nil // nobody reads any more: main says so
		case <-tick.C:
		}
		if err := story.More(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if story.Names != nil && !slices.Contains(story.Names, task) {
			return prog.noTask(task, e.ID, story.Names, "")
		}
	}
}

// afterLog prints why there is nothing to read, where there is nothing.
func afterLog(prog *program, e record.Entry, story *record.Story, task string, log *record.LogReader) {
	t := asTold(story, e, task)
	if e.Sealed != nil {
		t = *e.Sealed.Task(task)
	}
	_, err := log.Size()
	exists := !errors.Is(err, fs.ErrNotExist)
	switch {
	case t.Status == record.Skipped:
		prog.Messages().NoLog(e.ID, t)
	case !exists && t.Log != nil:
		prog.Messages().Warning("the log of task " + view.TaskName(task) + " of run " + e.ID +
			" is gone: it was removed")
	case !exists && t.Status == "":
		prog.Messages().Note("task " + view.TaskName(task) + " of run " + e.ID + " has not started")
	case !exists:
		prog.Messages().NoLog(e.ID, t)
	case e.Sealed == nil && !e.Live:
		prog.Messages().Note("run " + e.ID + " was ended before its verdict: the log may lack its end")
	}
}
