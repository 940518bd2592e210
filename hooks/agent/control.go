package agent

// The control object: an agent's report on its own work, and the rules by which it is accepted.

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Outcomes of a Control.
const (
	Fixed      = "fixed"
	NoFix      = "no_fix"
	NeedsHuman = "needs_human"
)

// A Control is the JSON object that an agent ends with. It is advisory: the patch never comes from it.
type Control struct {
	Outcome          string   `json:"outcome"` // fixed | no_fix | needs_human
	Summary          string   `json:"summary"`
	RootCause        string   `json:"root_cause"`
	VerifiedCommands []string `json:"verified_commands"`
	Touched          []string `json:"touched"`
}

// ControlForm shows an agent the object that it must end with.
const ControlForm = `{"outcome": "fixed" | "no_fix" | "needs_human", "summary": "what was changed and why, in two sentences", "root_cause": "why it failed", "verified_commands": ["commands that passed"], "touched": ["files that were changed"]}`

// ErrNoObject means that there is no JSON object in an output. Any other error of ParseControl names the field at
// fault.
var ErrNoObject = errors.New("no parseable JSON object in output")

// ParseControl returns the control object in the last output of an agent: the object that the whole text is, or the
// last valid one in it. If there is none, the error describes what is wrong with the object that came nearest, or is
// ErrNoObject.
func ParseControl(text string) (*Control, error) {
	var found *Control
	accept := func(raw []byte) bool {
		c, err := decodeControl(raw)
		if err == nil {
			found = c
		}
		return err == nil
	}
	if find(text, accept) != nil {
		return found, nil
	}
	near := find(text, meant)
	if near == nil {
		near = find(text, nil)
	}
	if near == nil {
		return nil, ErrNoObject
	}
	_, err := decodeControl(near)
	return nil, err
}

// meant reports whether raw was meant as a control object: no error is reported for an unrelated object after it.
func meant(raw []byte) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return false
	}
	_, outcome := fields["outcome"]
	_, summary := fields["summary"]
	return outcome || summary
}

var (
	controlFields   = []string{"outcome", "summary", "root_cause", "verified_commands", "touched"}
	controlRequired = []string{"outcome", "summary"}
	outcomes        = []string{Fixed, NoFix, NeedsHuman}
)

// decodeControl validates in a fixed order and returns the first error: object, unknown fields, required fields,
// lists, strings, the enum. An optional field may be null.
func decodeControl(raw []byte) (*Control, error) {
	keys, fields, err := object(raw)
	if err != nil {
		return nil, fmt.Errorf("control object: %w", err)
	}
	for _, key := range keys {
		if !slices.Contains(controlFields, key) {
			return nil, fmt.Errorf("control object: unknown field %q; the fields are %s", key,
				strings.Join(controlFields, ", "))
		}
	}
	for _, key := range controlRequired {
		if _, ok := fields[key]; !ok {
			return nil, fmt.Errorf("control object: required field %q is missing", key)
		}
	}
	maps.DeleteFunc(fields, func(key string, value json.RawMessage) bool {
		return string(value) == "null" && !slices.Contains(controlRequired, key)
	})
	c := &Control{VerifiedCommands: []string{}, Touched: []string{}}
	for _, list := range []struct {
		name string
		to   *[]string
	}{{"verified_commands", &c.VerifiedCommands}, {"touched", &c.Touched}} {
		value, ok := fields[list.name]
		if !ok {
			continue
		}
		var items []json.RawMessage
		if json.Unmarshal(value, &items) != nil {
			return nil, fmt.Errorf("control object: field %q must be a list of strings", list.name)
		}
		for _, item := range items {
			s, ok := text(item)
			if !ok {
				return nil, fmt.Errorf("control object: field %q must be a list of strings", list.name)
			}
			*list.to = append(*list.to, s)
		}
	}
	for _, str := range []struct {
		name string
		to   *string
	}{{"outcome", &c.Outcome}, {"summary", &c.Summary}, {"root_cause", &c.RootCause}} {
		value, ok := fields[str.name]
		if !ok {
			continue
		}
		if *str.to, ok = text(value); !ok {
			return nil, fmt.Errorf("control object: field %q must be a string", str.name)
		}
	}
	if !slices.Contains(outcomes, c.Outcome) {
		return nil, fmt.Errorf("control object: field %q must be one of %s, not %q", "outcome",
			strings.Join(outcomes, ", "), Tail(c.Outcome, 40))
	}
	return c, nil
}
