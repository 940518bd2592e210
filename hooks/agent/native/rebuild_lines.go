package native

// The lines of a transcript that Rebuild reads: calls and their ends, as the loop writes them.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
)

// A line is one line of the attempt in question.
type line struct {
	n    int // from 1
	kind string
	raw  json.RawMessage
}

// A called is a line tool_call.
type called struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Args      json.RawMessage `json:"args"`
	ArgsBytes int64           `json:"args_bytes"` // of arguments that are too long for a line

	line int
}

// An endOfCall is a line tool_result.
type endOfCall struct {
	ID          string     `json:"id"`
	Text        string     `json:"text"`
	Failed      bool       `json:"failed"`
	Interrupted bool       `json:"interrupted"`
	Started     *bool      `json:"started"` // nil: it was
	Code        tools.Code `json:"code"`    // older transcripts have none
	Path        string     `json:"path"`
	Warnings    []string   `json:"warnings"`
}

// refused reports whether a call of run or check started nothing. Of transcripts without codes the text tells.
func (e endOfCall) refused(name string) bool {
	if e.Code != "" {
		return e.Code == tools.NotRun || e.Code == tools.Invalid
	}
	return e.Failed && (strings.HasPrefix(e.Text, "not run: ") || strings.HasPrefix(e.Text, name+" was not "))
}

// eachLine calls do for the lines of an attempt, up to the question of a finalizer.
func eachLine(transcript io.Reader, attempt int, do func(line) error) error {
	d := json.NewDecoder(transcript)
	over := false
	for n := 1; ; n++ {
		l := line{n: n}
		err := d.Decode(&l.raw)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return l.unreadable(err)
		}
		head, err := readLine[struct {
			Attempt int    `json:"attempt"`
			Type    string `json:"type"`
		}](l)
		if err != nil {
			return err
		}
		l.kind = head.Type
		if head.Attempt != attempt || over {
			continue
		}
		if over = l.kind == "finalizer"; over {
			continue
		}
		if err := do(l); err != nil {
			return err
		}
	}
}

func readLine[T any](l line) (T, error) {
	var v T
	if err := json.Unmarshal(l.raw, &v); err != nil {
		return v, l.unreadable(err)
	}
	return v, nil
}

func (l line) holds(field string) bool {
	var all map[string]json.RawMessage
	return json.Unmarshal(l.raw, &all) == nil && all[field] != nil
}

func (l line) unreadable(err error) error {
	return fmt.Errorf("line %d of the transcript cannot be read: %w", l.n, err)
}
