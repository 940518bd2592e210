package tools

// The arguments of a call. One table of fields a tool is its schema, its validation, and the form in error messages.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A holding is the type of a field.
type holding int

const (
	aText  holding = iota
	aCount         // a whole number, 1 or more
	aList          // of texts, at least one
)

// A field is one argument of a tool.
type field struct {
	name    string
	kind    holding
	must    bool
	says    string
	choices []string // of a text; nil: any
}

// args are the arguments of a call. A field that was left out has no entry.
type args struct {
	texts  map[string]string
	counts map[string]int
	lists  map[string][]string
	extra  []string // names that are of no field
}

// A property is a field in JSON schema; the order of the struct is the order in the JSON.
type property struct {
	Type        string            `json:"type"`
	Description string            `json:"description"`
	Enum        []string          `json:"enum,omitempty"`
	Minimum     *int              `json:"minimum,omitempty"`
	Items       map[string]string `json:"items,omitempty"`
	MinItems    *int              `json:"minItems,omitempty"`
}

// schema returns the JSON schema of fields. Their order is kept, because models write arguments in it: a path before
// the content.
func schema(fields []field) json.RawMessage {
	one := 1
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	required := []string{}
	for i, f := range fields {
		p := property{Description: f.says, Enum: f.choices}
		switch f.kind {
		case aText:
			p.Type = "string"
		case aCount:
			p.Type, p.Minimum = "integer", &one
		case aList:
			p.Type, p.Items, p.MinItems = "array", map[string]string{"type": "string"}, &one
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%s", must(json.Marshal(f.name)), must(json.Marshal(p)))
		if f.must {
			required = append(required, f.name)
		}
	}
	fmt.Fprintf(&b, `},"required":%s,"additionalProperties":false}`, must(json.Marshal(required)))
	return b.Bytes()
}

// must panics on an error: plain texts and numbers always become JSON.
func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// parse parses the arguments of a call strictly. Its error describes what is wrong and how the call is written.
func (d declared) parse(raw json.RawMessage) (args, error) {
	a := args{texts: map[string]string{}, counts: map[string]int{}, lists: map[string][]string{}}
	given, err := members(raw)
	if err == nil {
		err = a.take(d.fields, given)
	}
	wrong := slices.IndexFunc(a.extra, func(name string) bool { return err != nil || d.spare == nil || !d.spare(name) })
	if wrong >= 0 {
		err = fmt.Errorf("there is no argument %s", quoted(a.extra[wrong]))
	}
	if err != nil {
		return args{}, fmt.Errorf("%s was not carried out: %w. Write: %s", d.name, err, form(d.fields))
	}
	return a, nil
}

func (a *args) take(fields []field, given map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			a.extra = append(a.extra, name)
		}
	}
	for _, f := range fields {
		raw, ok := given[f.name]
		if !ok || !f.must && string(raw) == "null" {
			if f.must {
				return fmt.Errorf("%q is missing", f.name)
			}
			continue
		}
		if err := a.put(f, raw); err != nil {
			return err
		}
	}
	return nil
}

func (a *args) put(f field, raw json.RawMessage) error {
	switch f.kind {
	case aText:
		s, ok := str(raw)
		if !ok {
			return fmt.Errorf("%q must be a string", f.name)
		}
		if f.choices != nil && !slices.Contains(f.choices, s) {
			return fmt.Errorf("%q must be one of %s, not %s", f.name, strings.Join(f.choices, ", "), quoted(s))
		}
		a.texts[f.name] = s
	case aCount:
		n, err := strconv.ParseFloat(string(raw), 64)
		if err != nil || n != math.Trunc(n) || n < 1 {
			return fmt.Errorf("%q must be a whole number, 1 or more", f.name)
		}
		a.counts[f.name] = int(min(n, math.MaxInt32))
	case aList:
		var items []*string // nil: null, which is no string
		if json.Unmarshal(raw, &items) != nil || items == nil || slices.Contains(items, nil) {
			return fmt.Errorf("%q must be a list of strings, one for each word", f.name)
		}
		if len(items) == 0 {
			return fmt.Errorf("%q is empty", f.name)
		}
		for _, item := range items {
			a.lists[f.name] = append(a.lists[f.name], *item)
		}
	}
	return nil
}

func str(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// members returns the members of one JSON object. A name that appears twice is an error: nobody can tell which was
// meant.
func members(raw []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("its arguments are not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	begin, err := d.Token()
	if err != nil || begin != json.Delim('{') {
		return nil, errors.New("its arguments are not a JSON object")
	}
	all := map[string]json.RawMessage{}
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, errors.New("its arguments are not a JSON object")
		}
		if _, twice := all[name]; twice {
			return nil, fmt.Errorf("%s is given twice", quoted(name))
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, errors.New("its arguments are not a JSON object")
		}
		all[name] = bytes.TrimSpace(value)
	}
	if _, err := d.Token(); err != nil {
		return nil, errors.New("its arguments are not a whole JSON object")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("its arguments are more than one JSON object")
	}
	return all, nil
}

// form shows how a call is written.
func form(fields []field) string {
	var all []string
	for _, f := range fields {
		value := map[holding]string{aText: `"…"`, aCount: "1", aList: `["program", "argument"]`}[f.kind]
		if f.choices != nil {
			value = `"` + strings.Join(f.choices, `" | "`) + `"`
		}
		s := strconv.Quote(f.name) + ": " + value
		if !f.must {
			s = "(" + s + ")"
		}
		all = append(all, s)
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// quoted returns a word of the model's for a message, shortened.
func quoted(s string) string {
	const most = 60
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}

// SafeName returns a tool's name as every provider accepts it back: a model may have made one up that none accepts.
func SafeName(name string) string {
	const most = 64
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, strings.ToValidUTF8(name[:min(len(name), most)], "_"))
}
