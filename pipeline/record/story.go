package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A Story is what the journal of a run says, whether there is a verdict or not.
type Story struct {
	ID      string
	Root    string
	Job     *string
	CI      bool
	Healing Healing
	Resumes *Resumed
	Args    map[string]Args // by task, of run TASK -- ARGS
	Names   []string        // the selected tasks
	Started map[string]Time // when each task that was started began
	Ended   map[string]Task // tasks that have ended, or were not started and never will be

	dir     string
	read    int64 // bytes of whole lines that were taken
	verdict *told // the line run_finished
}

// told is one line of events.jsonl: the fields that a Story needs.
type told struct {
	Type    string          `json:"type"`
	At      Time            `json:"at"`
	Task    string          `json:"task"`
	Root    string          `json:"root"`
	Job     *string         `json:"job"`
	CI      bool            `json:"ci"`
	Healing Healing         `json:"healing"`
	Resumes *Resumed        `json:"resumes"`
	Given   map[string]Args `json:"arguments"`
	Tasks   []string        `json:"tasks"`

	Status   string `json:"status"`
	ExitCode int    `json:"exit_code"`
}

// Story reads the journal of a run as far as it goes now. The error is fs.ErrNotExist where there is none, as in a
// run that was ended before its first line.
func (s *Store) Story(id string) (*Story, error) {
	story := &Story{ID: id, dir: filepath.Join(s.runs(), id), Started: map[string]Time{}, Ended: map[string]Task{}}
	return story, story.More()
}

// More reads the lines that were written since. It stops at the first line that is torn, or damaged (an error; the
// lines before it are kept). It does not check the hash chain: Check does.
func (s *Story) More() error {
	f, size, err := openFile(s.dir, "events.jsonl")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading
	if size-s.read > recordfile.MaxJSON {
		return fmt.Errorf("%s has %d bytes, more than the %d that are read", f.Name(), size, recordfile.MaxJSON)
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

// Beginning is Story of the first line alone: what was asked for, not how it went.
func (s *Store) Beginning(id string) (*Story, error) {
	story := &Story{ID: id, dir: filepath.Join(s.runs(), id)}
	f, _, err := openFile(story.dir, "events.jsonl")
	if err == nil {
		defer func() { _ = f.Close() }() // opened for reading
		var line []byte
		if line, err = bufio.NewReader(io.LimitReader(f, recordfile.MaxJSON)).ReadBytes('\n'); err == nil {
			return story, story.take(line)
		}
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.EOF) {
		err = nil // the run was ended before that line
	}
	return story, err
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
		s.Args = l.Given
		s.Root, s.Job, s.CI, s.Healing, s.Resumes, s.Names = l.Root, l.Job, l.CI, l.Healing, l.Resumes, l.Tasks
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
