package native

// Rebuild repeats the changes of an attempt from its transcript: the tools carry out its calls again. No model is
// asked, and no command runs.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// ErrOthers means that a transcript is not one of our own agent.
var ErrOthers = errors.New("the transcript is not of an agent of our own")

// A Rebuilt is the result of Rebuild. Files are below the top of the copy, with slashes.
type Rebuilt struct {
	Calls    int // of write, edit and delete that ended as the transcript says
	Commands int // what is not repeated: run and check, and calls of which nobody knows what they did
	// Sure has the files that are as a call left them, with no command after it. Without commands all other files are
	// sure too.
	Sure  map[string]bool
	Open  map[string]string // files that cannot be known, and why: the transcript does not hold all of a call
	Wrong []string          // what cannot have been as the transcript says, for nothing but calls came before it
}

// A rebuilding is a Rebuild that is going on.
type rebuilding struct {
	Rebuilt
	w     *tools.Toolset
	begun map[string]called // calls without an end yet, by ID
}

// Rebuild carries out the calls of attempt r.Attempt again in a fresh copy of the base, in their order: those of
// write, edit and delete that succeeded according to the transcript. Of r it reads Attempt, Copy, Top, Dir (the
// working directory as the agent's commands saw it, as far as that is known) and Secrets. Calls after a finalizer's
// question do not count, because they were thrown away. It returns ErrOthers for a transcript of another agent.
func Rebuild(ctx context.Context, r agent.Request, transcript io.Reader) (_ Rebuilt, err error) {
	w, err := tools.Open(&r)
	if err != nil {
		return Rebuilt{}, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	b := &rebuilding{w: w, begun: map[string]called{}, Rebuilt: Rebuilt{
		Sure: map[string]bool{},
		Open: map[string]string{},
	}}
	ours := false
	err = eachLine(transcript, r.Attempt, func(l line) error {
		switch {
		case l.kind == "prompt":
			ours = ours || l.holds("system") // only ours has one
		case !ours: // whatever it is
		case l.kind == "tool_call":
			c, err := readLine[called](l)
			c.line = l.n
			b.begun[c.ID] = c
			return err
		case l.kind == "tool_result":
			e, err := readLine[endOfCall](l)
			c, began := b.begun[e.ID]
			if err != nil || !began || e.Started != nil && !*e.Started {
				return err
			}
			delete(b.begun, e.ID)
			return b.ended(ctx, c, e)
		}
		return nil
	})
	if err == nil && !ours {
		err = ErrOthers
	}
	for _, c := range b.begun { // in no order: none is carried out
		if w.Effect(c.Name) != tools.Reads {
			b.loosen()
		}
	}
	return b.Rebuilt, err
}

// ended handles one call and its end.
func (b *rebuilding) ended(ctx context.Context, c called, e endOfCall) error {
	known := b.w.Has(c.Name)
	effect := b.w.Effect(c.Name)
	switch {
	case !known && !e.Failed, // a tool of another version
		effect == tools.Writes && !e.Failed && e.Path == "",
		effect == tools.Writes && e.Interrupted,
		effect == tools.Runs && !e.refused(c.Name):
		b.loosen()
	case effect == tools.Writes && !e.Failed:
		return b.again(ctx, c, e)
	}
	return nil
}

// loosen counts something that may have changed any file.
func (b *rebuilding) loosen() {
	b.Commands++
	clear(b.Sure)
}

// again carries out a call that succeeded. After a command its files may have been different, and then a different
// end proves nothing.
func (b *rebuilding) again(ctx context.Context, c called, e endOfCall) error {
	switch {
	case c.ArgsBytes > 0:
		b.Open[e.Path] = "the transcript holds only the beginning of a call that changed it"
		return nil
	case !isObject(c.Args):
		b.Open[e.Path] = "the transcript does not hold the arguments of a call that changed it"
		return nil
	case bytes.Contains(c.Args, []byte(redact.Mark)): // it may be the file's own word: the outcome tells
		b.Open[e.Path] = "a call that changed it holds " + redact.Mark + " in the transcript"
	}
	o := b.w.Again(ctx, model.Call{ID: c.ID, Name: c.Name, Args: c.Args}, e.Path)
	if err := ctx.Err(); err != nil {
		return err
	}
	switch same := !o.Code.Failed() && o.Path == e.Path; {
	case same:
		b.Calls++
		if b.Commands == 0 || c.Name != tools.Edit && slices.Equal(o.Warnings, e.Warnings) {
			b.Sure[e.Path] = true // an edit keeps it so; the warnings tell what of the file before a write depends on
		}
	case b.Commands > 0 || b.Open[e.Path] != "":
		delete(b.Sure, e.Path)
		delete(b.Sure, o.Path)
	case o.Code.Failed():
		b.Wrong = append(b.Wrong, fmt.Sprintf("line %d of the transcript says that %s of %s ended well, and it cannot "+
			"have: %s", c.line, c.Name, e.Path, firstLine(o.Text)))
	default:
		b.Wrong = append(b.Wrong, fmt.Sprintf("line %d of the transcript says that %s changed %s, and what it changes is "+
			"%s", c.line, c.Name, e.Path, o.Path))
	}
	return nil
}

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
