package hclfile

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// typeNames are the words of which the type of a variable is made, and typeForms how they are written.
var typeNames = []string{"string", "number", "bool", "any", "list", "set", "map", "object", "tuple"}

const typeForms = "Write string, number, bool, any, list(TYPE), set(TYPE), map(TYPE), object({ NAME = TYPE }) or tuple([TYPE]), without quotes. " +
	"In an object a TYPE may be optional(TYPE) or optional(TYPE, DEFAULT)."

// unknownType matches the library's message for an unknown type.
var unknownType = regexp.MustCompile(`^(?:The k|K)eyword "(.*)" is not a valid type`)

// wrongTypeName adds a fault for what the library says of a type.
func (r *variables) wrongTypeName(at hcl.Range, d *hcl.Diagnostic) {
	if m := unknownType.FindStringSubmatch(d.Detail); m != nil {
		r.wrongWord(at, fmt.Sprintf("there is no type %q", m[1]), m[1], typeNames, typeForms)
		return
	}
	if _, why, ok := strings.Cut(d.Detail, "type constraint: "); ok {
		r.add(at, "the default of an optional attribute does not have its type", fmt.Sprintf("In it: %s", why))
		return
	}
	r.add(at, "this is no type", typeForms)
}

// placeIn names the element or attribute of a value that an error is about, where only the error's path does.
func placeIn(err error) string {
	var e cty.PathError
	if !errors.As(err, &e) {
		return ""
	}
	var b strings.Builder
	for _, s := range e.Path {
		switch s := s.(type) {
		case cty.GetAttrStep:
			fmt.Fprintf(&b, "attribute %q: ", s.Name)
		case cty.IndexStep:
			switch k := s.Key; {
			case !k.IsKnown() || k.IsNull(): // an element of a set has no name
			case k.Type() == cty.String:
				fmt.Fprintf(&b, "element %q: ", k.AsString())
			case k.Type() == cty.Number:
				n, _ := k.AsBigFloat().Int64()
				fmt.Fprintf(&b, "element %d (counted from 0): ", n)
			}
		}
	}
	return b.String()
}
