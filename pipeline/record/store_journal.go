package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/internal/journal"
)

// A Story is what the journal of a run tells of it, whether there is a verdict or not.
type Story struct {
	ID      string
	Root    string
	Job     *string
	CI      bool
	Healing Healing
	Names   []string        // the selected tasks
	Started map[string]Time // when each task that was started began
	Ended   map[string]Task // tasks that have ended, or were not started and never will be

	dir     string
	read    int64 // bytes of whole lines that were taken
	verdict *told // the line run_finished
}

// told is one line of events.jsonl, as far as a Story needs it.
type told struct {
	Type    string   `json:"type"`
	At      Time     `json:"at"`
	Task    string   `json:"task"`
	Root    string   `json:"root"`
	Job     *string  `json:"job"`
	CI      bool     `json:"ci"`
	Healing Healing  `json:"healing"`
	Tasks   []string `json:"tasks"`

	Status   string `json:"status"`
	ExitCode int    `json:"exit_code"`
}

// Story reads the journal of a run as far as it goes now. The error is fs.ErrNotExist where there is none, as in a run that was
// ended before its first line.
func (s *Store) Story(id string) (*Story, error) {
	story := &Story{ID: id, dir: filepath.Join(s.runs(), id), Started: map[string]Time{}, Ended: map[string]Task{}}
	return story, story.More()
}

// More reads what was written since. It goes up to the first line that is damaged (an error, with what stands before it) or
// torn. Whether one line follows from the other is what Check says.
func (s *Story) More() error {
	f, size, err := openFile(s.dir, "events.jsonl")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading
	if size-s.read > maxRun {
		return fmt.Errorf("%s has %d bytes, more than the %d that are read", filepath.Join(s.dir, "events.jsonl"), size, maxRun)
	}
	in := bufio.NewReaderSize(io.NewSectionReader(f, s.read, max(size-s.read, 0)), 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.take(line); err != nil {
			return err
		}
	}
}

// Beginning is Story of the first line alone: what was asked for, not what became of it.
func (s *Store) Beginning(id string) (*Story, error) {
	story := &Story{ID: id, dir: filepath.Join(s.runs(), id)}
	f, _, err := openFile(story.dir, "events.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		return story, nil // it was ended before that line
	}
	if err != nil {
		return story, err
	}
	defer func() { _ = f.Close() }() // opened for reading
	line, err := bufio.NewReader(io.LimitReader(f, maxRun)).ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return story, nil // nothing was told yet
	}
	if err != nil {
		return story, err
	}
	return story, story.take(line)
}

// take adds one line.
func (s *Story) take(line []byte) error {
	var l told
	if err := json.Unmarshal(line, &l); err != nil {
		return fmt.Errorf("%s is damaged: %w", filepath.Join(s.dir, "events.jsonl"), err)
	}
	s.read += int64(len(line))
	switch l.Type {
	case "run_started":
		s.Root, s.Job, s.CI, s.Healing, s.Names = l.Root, l.Job, l.CI, l.Healing, l.Tasks
	case "task_started":
		if s.Started != nil {
			s.Started[l.Task] = l.At
		}
	case "run_finished":
		s.verdict = &l
	case "task_finished", "task_skipped":
		t := Task{}
		if s.Ended == nil || json.Unmarshal(line, &t) != nil {
			return nil //nolint:nilerr // a field that is not what it was: the task counts as one that has not ended
		}
		t.Name = l.Task
		if l.Type == "task_skipped" {
			t.Status = Skipped
		}
		if at, ok := s.Started[l.Task]; ok {
			t.StartedAt = &at
		}
		s.Ended[l.Task] = t
	}
	return nil
}

// Check says whether the journal beside a verdict is the one that the verdict was made from: every line follows from the
// one before, none is missing, the last is the last, and what they tell is what the verdict says.
func (s *Sealed) Check() error {
	path := filepath.Join(s.Dir, "events.jsonl")
	b, err := readFile(s.Dir, "events.jsonl", maxRun)
	switch {
	case errors.Is(err, fs.ErrNotExist) && s.Journal == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is gone: it was removed", path)
	case err != nil:
		return err
	}
	lines, torn, err := journal.Read(bytes.NewReader(b), nil)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case s.Journal == nil:
		return fmt.Errorf("%s is there, and run.json knows of no journal: run.json was changed", path)
	case torn || int64(len(lines)) != s.Journal.Lines:
		return fmt.Errorf("%s has %d whole lines, and run.json says %d: one of the two was changed after the verdict", path, len(lines), s.Journal.Lines)
	case len(lines) > 0 && (s.Journal.Head == nil || digest(lines[len(lines)-1]) != *s.Journal.Head):
		return fmt.Errorf("%s does not end with the line that run.json names: one of the two was changed after the verdict", path)
	}
	return s.agrees(path, lines)
}

// agrees says where the verdict is not what the journal, which is whole, tells.
func (s *Sealed) agrees(path string, lines [][]byte) error {
	story := &Story{dir: s.Dir, Started: map[string]Time{}, Ended: map[string]Task{}}
	for _, line := range lines {
		if err := story.take(line); err != nil {
			return err
		}
	}
	differs := func(what, is, was string) error {
		return fmt.Errorf("run.json in %s says that %s is %s, and %s says %s: one of the two was changed after the verdict", s.Dir, what, is, filepath.Base(path), was)
	}
	if v := story.verdict; v != nil && (v.Status != s.Status || v.ExitCode != s.ExitCode) {
		return differs("the run", fmt.Sprintf("%s (exit %d)", s.Status, s.ExitCode), fmt.Sprintf("%s (exit %d)", v.Status, v.ExitCode))
	}
	for i := range s.Tasks {
		name := s.Tasks[i].Name
		if t, ok := story.Ended[name]; ok && t.Status != s.Tasks[i].Status {
			return differs(fmt.Sprintf("task %q", name), s.Tasks[i].Status, t.Status)
		}
		delete(story.Ended, name)
	}
	for name := range story.Ended {
		return differs(fmt.Sprintf("task %q", name), "not in the run", story.Ended[name].Status)
	}
	return nil
}
