package hclfile

// The types of variables, and whether a value fits one.

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// varType reads the type, which is any when there is none.
func (r *variables) varType(b *block) (cty.Type, *typeexpr.Defaults, bool) {
	a := b.attrs["type"]
	if a == nil {
		return cty.DynamicPseudoType, nil, true
	}
	typ, defaults, diags := typeexpr.TypeConstraintWithDefaults(a.Expr)
	for _, d := range diags {
		at := a.Expr.Range()
		if d.Subject != nil {
			at = *d.Subject
		}
		r.wrongTypeName(at, d)
	}
	return typ, defaults, !diags.HasErrors()
}

// fit converts a value to a type, filling in what is optional.
func fit(v cty.Value, typ cty.Type, defaults *typeexpr.Defaults) (out cty.Value, err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("it cannot be converted to %s", typeexpr.TypeString(typ))
		}
	}()
	if name, known := stranger(v, typ); name != "" {
		if near := pipeline.Nearest(name, known); near != "" {
			return cty.NilVal, fmt.Errorf("there is no attribute %q in it: did you mean %s?", name, near)
		}
		return cty.NilVal, fmt.Errorf("there is no attribute %q in it: there are %s", name, strings.Join(known, ", "))
	}
	if t := v.Type(); typ.IsTupleType() && t.IsTupleType() && t.Length() != typ.Length() {
		return cty.NilVal, fmt.Errorf("its length is %d, and that of its type %d", t.Length(), typ.Length())
	}
	if defaults != nil && !v.IsNull() {
		v = defaults.Apply(v)
	}
	return convert.Convert(v, typ)
}

// stranger returns an attribute of v that typ does not have, which a conversion would silently drop, and the
// attributes that typ has there.
func stranger(v cty.Value, typ cty.Type) (name string, known []string) {
	v, _ = v.Unmark()
	if !v.IsKnown() || v.IsNull() || !v.CanIterateElements() {
		return "", nil
	}
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		inner := cty.DynamicPseudoType
		switch {
		case typ.IsObjectType() && (v.Type().IsObjectType() || v.Type().IsMapType()):
			if !typ.HasAttribute(k.AsString()) {
				return k.AsString(), slices.Sorted(maps.Keys(typ.AttributeTypes()))
			}
			inner = typ.AttributeType(k.AsString())
		case typ.IsCollectionType():
			inner = typ.ElementType()
		case typ.IsTupleType() && v.Type().IsTupleType() && typ.Length() == v.LengthInt():
			i, _ := k.AsBigFloat().Int64()
			inner = typ.TupleElementType(int(i))
		}
		if name, known := stranger(e, inner); name != "" {
			return name, known
		}
	}
	return "", nil
}

// typeNames are the words of which the type of a variable is made, and typeForms how they are written.
var typeNames = []string{"string", "number", "bool", "any", "list", "set", "map", "object", "tuple"}

const typeForms = "Write string, number, bool, any, list(TYPE), set(TYPE), map(TYPE), object({ NAME = TYPE }) or tuple([TYPE]), without quotes. " +
	"In an object a TYPE may be optional(TYPE) or optional(TYPE, DEFAULT)."

// unknownType matches the library's message for an unknown type.
var unknownType = lazily.Regexp(`^(?:The k|K)eyword "(.*)" is not a valid type`)

// wrongTypeName adds a fault for a type that the library refuses.
func (r *variables) wrongTypeName(at hcl.Range, d *hcl.Diagnostic) {
	if m := unknownType().FindStringSubmatch(d.Detail); m != nil {
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
