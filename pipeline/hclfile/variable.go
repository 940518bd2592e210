package hclfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// VarPrefix is what the environment's names of variables begin with.
const VarPrefix = "ASYNC_PIPELINE_VAR_"

// A variable is one variable block and the value it got.
type variable struct {
	value cty.Value
	ok    bool // false: the fault has been told, value is unknown
}

func (r *reading) varNames() []string { return slices.Sorted(maps.Keys(r.vars)) }

// variables reads every variable block. It comes before locals, which may name them.
func (r *reading) variables(blocks []*block) {
	first := make(map[string]hcl.Range)
	for _, b := range blocks {
		v := r.variable(b)
		if r.name(b, first) {
			r.vars[b.name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.o.Vars)) {
		if _, ok := r.vars[name]; ok {
			continue
		}
		e := pipeline.Error{
			Pos:        pipeline.Pos{File: r.path},
			Summary:    fmt.Sprintf("--var gives %q, but there is no variable of that name", name),
			Suggestion: pipeline.Nearest(name, r.varNames()),
		}
		switch {
		case e.Suggestion != "":
			e.Detail = fmt.Sprintf("Did you mean %s?", e.Suggestion)
		default:
			e.Detail = fmt.Sprintf("Declare it: variable %q { … }", name)
		}
		r.put(e)
	}
}

func (r *reading) variable(b *block) *variable {
	bad := &variable{value: cty.DynamicVal}
	r.str(b, "description")
	typ, defaults, ok := r.varType(b)
	if !ok {
		return bad
	}
	fallback, ok := r.varDefault(b, typ, defaults)
	if !ok {
		return bad
	}
	text, how, given := r.given(b.name)
	switch {
	case given:
		v, ok := r.fromOutside(b, text, how, typ, defaults)
		return &variable{v, ok}
	case fallback != cty.NilVal:
		return &variable{fallback, true}
	case !b.faulty:
		r.addf(b.at, fmt.Sprintf("Give one with --var %s=VALUE or with %s%s, or write a default.", b.name, VarPrefix, b.name),
			"variable %q has no value", b.name)
	}
	return bad
}

// varType reads the type, which is any when none is written.
func (r *reading) varType(b *block) (cty.Type, *typeexpr.Defaults, bool) {
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
		r.add(at, strings.TrimSuffix(d.Summary, "."), d.Detail)
	}
	return typ, defaults, !diags.HasErrors()
}

// varDefault gives NilVal when no default is written.
func (r *reading) varDefault(b *block, typ cty.Type, defaults *typeexpr.Defaults) (cty.Value, bool) {
	a := b.attrs["default"]
	if a == nil {
		return cty.NilVal, true
	}
	v := r.eval(a.Expr, place{constant: true})
	if !v.ok {
		return cty.NilVal, false
	}
	at := a.Expr.Range()
	if v.ContainsMarked() {
		r.add(at, "a default may not be made from a secret", "Write secret() where the value is needed: in env or run.")
		return cty.NilVal, false
	}
	if v.IsNull() {
		r.add(at, "default is null", "Leave it out if the variable must be given a value.")
		return cty.NilVal, false
	}
	value, err := fit(v.Value, typ, defaults)
	if err != nil {
		r.addf(at, fmt.Sprintf("%s.", err), "the default of variable %q does not have its type", b.name)
		return cty.NilVal, false
	}
	return value, true
}

// given finds the value that comes from outside, and the way it came.
func (r *reading) given(name string) (text, how string, ok bool) {
	if text, ok := r.o.Vars[name]; ok {
		return text, "--var " + name, true
	}
	if text, ok := r.o.Env(VarPrefix + name); ok {
		return text, VarPrefix + name, true
	}
	return "", "", false
}

// fromOutside makes a value of the variable's type: text is taken as it stands, a list or map is read as HCL.
func (r *reading) fromOutside(b *block, text, how string, typ cty.Type, defaults *typeexpr.Defaults) (cty.Value, bool) {
	v := cty.StringVal(text)
	if !typ.IsPrimitiveType() && typ != cty.DynamicPseudoType {
		parsed, ok := parseValue(text)
		if !ok {
			r.addf(b.at, fmt.Sprintf(`Write it as in the file, for example ["a", "b"] or { a = "b" }. It is read as %s.`, typeexpr.TypeString(typ)),
				"the value that %s gives cannot be read", how)
			return cty.DynamicVal, false
		}
		v = parsed
	}
	value, err := fit(v, typ, defaults)
	if err != nil || value.IsNull() {
		detail := "It is null."
		if err != nil {
			detail = fmt.Sprintf("%s.", err)
		}
		r.addf(b.at, detail, "the value that %s gives does not have the type %s", how, typeexpr.TypeString(typ))
		return cty.DynamicVal, false
	}
	return value, true
}

// parseValue reads a value without names or functions in it, as carefully as a file.
func parseValue(text string) (cty.Value, bool) {
	src := []byte(text)
	r := newReading("", "", src, Options{})
	if !r.guard(src) {
		return cty.NilVal, false
	}
	expr, diags := hclsyntax.ParseExpression(src, "", hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilVal, false
	}
	v, diags := evaluate(expr, nil)
	return v, !diags.HasErrors() && v.IsWhollyKnown()
}

// fit converts a value to a type, filling in what is optional.
func fit(v cty.Value, typ cty.Type, defaults *typeexpr.Defaults) (out cty.Value, err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("it cannot be converted to %s", typeexpr.TypeString(typ))
		}
	}()
	if defaults != nil && !v.IsNull() {
		v = defaults.Apply(v)
	}
	return convert.Convert(v, typ)
}
