package draft

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// cleaned returns a copy of f without secrets in its free text. Names, states, digests, and the paths by which a fix
// is found and applied stay what they are, even if a secret is spelled so: Propose refuses a patch whose paths hold
// one. Other paths (left out of the patch, changed in the tree) may be an agent's, and are free text. The digest of
// the policy is of what is left of it.
func cleaned(f *fix.Fix, clean func([]byte) []byte) (*fix.Fix, error) {
	text, err := recordfile.JSON(f)
	if err != nil {
		return nil, err
	}
	c := &fix.Fix{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, err
	}
	words := func(texts ...*string) {
		for _, s := range texts {
			if s != nil {
				*s = string(clean([]byte(*s)))
			}
		}
	}
	reason := func(s *string) { // a code, and perhaps free text after ": "
		if s == nil {
			return
		}
		head, rest, more := strings.Cut(*s, ": ")
		switch {
		case strings.Trim(head, "abcdefghijklmnopqrstuvwxyz_") != "":
			words(s)
		case more:
			words(&rest)
			*s = head + ": " + rest
		}
	}
	reason(c.Reason)
	words(c.Note)
	if c.AgentSaid != nil {
		words(&c.AgentSaid.Summary, c.AgentSaid.RootCause)
	}
	if c.Tree != nil {
		words(each(c.Tree.Changed)...)
	}
	for i := range c.Omitted {
		words(&c.Omitted[i].Path)
	}
	for i := range c.Flags {
		words(&c.Flags[i].Detail)
	}
	if r := c.Reproduction; r != nil {
		words(&r.Signature.Run, r.Signature.Copy)
	}
	if c.Verification != nil {
		reason(c.Verification.Reason)
	}
	for i := range c.Attempts {
		a := &c.Attempts[i]
		words(a.Evidence, a.CLIVersion, a.Model)
		if a.Decision != nil {
			words(&a.Decision.Why)
		}
		if a.Finalizer != nil {
			words(a.Finalizer.Reason)
		}
	}
	if c.Provenance == nil {
		return c, nil
	}
	if a := c.Provenance.Agent; a != nil {
		words(append(each(a.Command), a.Path)...)
	}
	if p := c.Provenance.Policy; p != nil {
		words(append(each(p.Protect), &p.Command, p.Prompt)...)
		p.Digest, err = p.Sum()
	}
	return c, err
}

// each returns pointers to the elements of a list.
func each(texts []string) []*string {
	var all []*string
	for i := range texts {
		all = append(all, &texts[i])
	}
	return all
}

// longLine is where a line without an end is cut, in bytes.
const longLine = 1 << 20

// A lineCleaner cleans a stream line by line, so that a value split over two writes is found.
type lineCleaner struct {
	w     io.Writer
	clean func([]byte) []byte
	held  []byte
}

func (c *lineCleaner) Write(p []byte) (int, error) {
	c.held = append(c.held, p...)
	end := bytes.LastIndexByte(c.held, '\n') + 1
	if end == 0 && len(c.held) > longLine {
		end = len(c.held)
	}
	if end == 0 {
		return len(p), nil
	}
	lines := c.held[:end]
	_, err := c.w.Write(c.clean(bytes.Clone(lines)))
	c.held = append(c.held[:0], c.held[end:]...)
	return len(p), err
}

// flush writes what was held back.
func (c *lineCleaner) flush() error {
	if len(c.held) == 0 {
		return nil
	}
	_, err := c.w.Write(c.clean(bytes.Clone(c.held)))
	c.held = nil
	return err
}
