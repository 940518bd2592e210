package hclfile

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile/guard"
)

// VarPrefix begins the names of environment variables that set variables.
const VarPrefix = "ASYNC_PIPELINE_VAR_"

// variables reads variable blocks, files of variables, and what comes from the command line and the environment.
type variables struct {
	*reader
	of  *source
	all *reading
}

// A variable is one variable block and the value it got.
type variable struct {
	value   cty.Value
	ok      bool   // false: the fault has been reported, value is unknown
	touched uses   // what went into it
	from    string // where its value comes from, for a person
}

// A given is a value from outside the file.
type given struct {
	value cty.Value
	text  string                       // as it was typed, where it was typed
	from  string                       // "It comes from --var go."
	uses  uses                         // what went into it
	fault func(summary, detail string) // adds a fault at the place to correct
}

// variables reads every variable block. It comes before locals, which may name them.
func (r *variables) read(blocks []*block) {
	first := make(map[string]hcl.Range)
	var fine []*block
	for _, b := range blocks {
		if r.name(b, first) {
			fine = append(fine, b)
		}
	}
	secret := make(map[string]bool)
	for _, b := range blocks {
		secret[b.name] = r.sensitive(b) || secret[b.name]
	}
	files := r.varFiles(slices.Contains(slices.Collect(maps.Values(secret)), true))
	for _, b := range blocks {
		v := r.variable(b, secret[b.name], files)
		if slices.Contains(fine, b) {
			r.vars[b.name] = v
		}
	}
	for _, b := range fine {
		r.validations(b)
	}
	for _, name := range slices.Sorted(maps.Keys(r.of.vars)) {
		if _, ok := r.vars[name]; !ok && !strings.Contains(name, ":") { // with one: see strayVars
			e := pipeline.Error{Pos: pipeline.Pos{File: r.path}, Summary: fmt.Sprintf("--var gives %q, but there is no variable of that name", r.of.variable(name))}
			r.put(r.noVariable(e, name))
		}
	}
	for name, p := range r.of.given {
		if _, ok := r.vars[name]; !ok {
			p.in.wrongWord(p.nameAt, fmt.Sprintf("include %q has no variable %q", r.of.name, name), name, r.varNames(),
				fmt.Sprintf("Declare it in %s: variable %q { … }", r.of.rel, name))
		}
	}
	for _, f := range files {
		for _, name := range slices.Sorted(maps.Keys(f.values)) {
			if _, ok := r.vars[name]; !ok {
				r.put(r.noVariable(f.at(name, fmt.Sprintf("there is no variable %q", name), ""), name))
			}
		}
		for _, e := range f.faults {
			r.put(e)
		}
	}
}

// noVariable adds to a fault which variable was probably meant.
func (r *variables) noVariable(e pipeline.Error, name string) pipeline.Error {
	e.Detail = fmt.Sprintf("Declare it: variable %q { … }", name)
	if len(r.faults) < maxFaults/5 {
		e.Suggestion = pipeline.Nearest(name, r.varNames())
	}
	if e.Suggestion != "" {
		e.Detail = fmt.Sprintf("Did you mean %s?", e.Suggestion)
	}
	return e
}

func (r *variables) variable(b *block, secret bool, files []*varFile) *variable {
	bad := &variable{value: cty.DynamicVal}
	r.str(b, "description")
	typ, defaults, ok := r.varType(b)
	if !ok {
		return bad
	}
	saved := r.touched
	r.touched = newUses()
	fallback, ok := r.varDefault(b, typ, defaults, secret)
	touched := r.touched
	r.touched = saved
	if !ok {
		return bad
	}
	// Each of the values must be right, also one that another wins over: else the fault comes on the day the other
	// is gone.
	var value cty.Value
	var from string
	outside := newUses()
	for _, g := range r.givens(b, typ, files, secret) {
		v, fine := r.fromOutside(b, g, typ, defaults, secret)
		if ok = ok && fine; fine {
			value, from, outside = v, g.from, newUses()
			outside.add(g.uses)
		}
	}
	switch {
	case !ok:
		return bad
	case value != cty.NilVal:
		touched = outside
	case fallback != cty.NilVal:
		value, from = fallback, "It is the default."
	default:
		if !b.faulty {
			do := fmt.Sprintf("with --var-file or with %s%s", VarPrefix, b.name)
			if r.of.by != nil {
				do = "in variables of the include block"
			}
			r.addf(b.at, fmt.Sprintf("Give one with --var %s=VALUE, %s, or write a default.", r.of.variable(b.name), do),
				"variable %q has no value", b.name)
		}
		return bad
	}
	if secret {
		name := "var." + b.name
		value = value.Mark(secretMark{name})
		touched.secrets[name] = true
	}
	return &variable{value, true, touched, from}
}

// varDefault returns NilVal when there is no default.
func (r *variables) varDefault(b *block, typ cty.Type, defaults *typeexpr.Defaults, secret bool) (cty.Value, bool) {
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
		r.add(at, "a default may not be made from a secret",
			"Write secret() where the value is needed: in env or run.")
		return cty.NilVal, false
	}
	if v.IsNull() {
		r.add(at, "default is null", "Leave it out if the variable must be given a value.")
		return cty.NilVal, false
	}
	value, err := fit(v.Value, typ, defaults)
	if secret { // also one that is not used: what the file says is a secret is one
		r.close(at)
		r.keepLeaves(v.Value, "var."+b.name)
		r.keepLeaves(value, "var."+b.name)
	}
	if err != nil {
		r.addf(at, reason(err, b.name, secret), "the default of variable %q does not have its type", b.name)
		return cty.NilVal, false
	}
	return value, true
}

// reason explains why a value does not have its type. The library may quote the value, so for a secret it is left
// out.
func reason(err error, name string, secret bool) string {
	switch {
	case secret:
		return fmt.Sprintf("The reason is not shown, because it may contain the value of var.%s.", name)
	case err != nil:
		return fmt.Sprintf("%s%s.", placeIn(err), err)
	}
	return "It is null."
}

// givens returns the values that come from outside. A later one replaces those before it.
func (r *variables) givens(b *block, typ cty.Type, files []*varFile, secret bool) []given {
	var all []given
	typed := func(text, how string) {
		g := given{value: r.outside(text), text: text, from: fmt.Sprintf("It comes from %s.", how)}
		g.fault = func(summary, detail string) {
			r.add(b.at, fmt.Sprintf("the value that %s gives %s", how, summary), detail)
		}
		if !typ.IsPrimitiveType() && typ != cty.DynamicPseudoType {
			g.value = cty.NilVal // a list or map is read as HCL
		}
		all = append(all, g)
	}
	if text, ok := r.env(VarPrefix + b.name); ok && r.of.by == nil {
		typed(text, VarPrefix+b.name)
	}
	if p := r.of.given[b.name]; p != nil {
		all = append(all, given{
			value: p.value, from: fmt.Sprintf("It comes from variables of include %q.", r.of.name), uses: r.of.touched,
			fault: func(summary, detail string) {
				p.in.addf(p.at, detail, "the value of %q %s", b.name, summary)
			},
		})
		if p.secret && !secret {
			all[len(all)-1].fault("is secret, and the variable is not", fmt.Sprintf("Write sensitive = true in variable %q of %s.", b.name, r.of.rel))
		}
	}
	for _, f := range files {
		if v, ok := f.values[b.name]; ok {
			all = append(all, given{
				value: v.value,
				from:  fmt.Sprintf("It comes from line %d of %s.", v.nameAt.Start.Line, filepath.Base(f.path)),
				fault: func(summary, detail string) {
					f.put(f.at(b.name, fmt.Sprintf("the value of %q %s", b.name, summary), detail))
				},
			})
		}
	}
	if text, ok := r.of.vars[b.name]; ok {
		typed(text, "--var "+r.of.variable(b.name))
	}
	return all
}

// fromOutside converts a value to the variable's type. Text is taken literally; a list or map is parsed as HCL.
func (r *variables) fromOutside(b *block, g given, typ cty.Type, defaults *typeexpr.Defaults, secret bool) (cty.Value, bool) {
	if secret && g.value != cty.NilVal {
		r.keep(g.text, "var."+b.name)
		r.raw["var."+b.name] = append(r.raw["var."+b.name], g.text)
		r.keepLeaves(g.value, "var."+b.name) // what cty composes of it
	}
	v := g.value
	if v == cty.NilVal {
		parsed, ok := parseValue(g.text)
		if !ok {
			g.fault("cannot be read", fmt.Sprintf(`Write it as in the file, for example ["a", "b"] or { a = "b" }. It is read as %s.`, typeexpr.TypeString(typ)))
			return cty.DynamicVal, false
		}
		v = parsed
	}
	value, err := fit(v, typ, defaults)
	if err != nil || value.IsNull() {
		g.fault("does not have the type "+typeexpr.TypeString(typ), reason(err, b.name, secret))
		return cty.DynamicVal, false
	}
	if secret {
		r.keepLeaves(value, "var."+b.name)
	}
	return value, true
}

// parseValue parses a value without names or functions, with the same limits as a file.
func parseValue(text string) (cty.Value, bool) {
	src := []byte(text)
	if guard.HCL("", src) != nil {
		return cty.NilVal, false
	}
	expr, diags := hclsyntax.ParseExpression(src, "", hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilVal, false
	}
	v, diags := guard.Constant(expr)
	return v, !diags.HasErrors() && v.IsWhollyKnown()
}

// validations checks the value of a variable against every validation block. It runs after all variables have values,
// so that a condition can compare them.
func (r *variables) validations(b *block) {
	for _, c := range b.of("validation") {
		condition := r.need(c, "condition", fmt.Sprintf("Write condition = length(var.%s) > 0.", b.name),
			"a validation of variable %q has no condition", b.name)
		message := r.need(c, "error_message", fmt.Sprintf(`Write error_message = "%s must …".`, b.name),
			"a validation of variable %q has no error_message", b.name)
		if condition == nil || message == nil || !r.onlyVars(message) || !r.onlyVars(condition) {
			continue
		}
		text, ok := r.str(c, "error_message")
		if ok && strings.TrimSpace(text) == "" {
			r.addf(message.Expr.Range(), fmt.Sprintf(`Write error_message = "%s must …".`, b.name),
				"error_message is empty")
			ok = false
		}
		if holds, known := r.holds(condition); ok && known && !holds {
			r.addf(condition.Expr.Range(), r.vars[b.name].from, "var.%s is refused: %s", b.name,
				strings.Join(strings.Fields(text), " "))
		}
	}
}

// onlyVars adds a fault where an attribute names anything but variables: nothing else is known at this time.
func (r *variables) onlyVars(a *hcl.Attribute) bool {
	fine := true
	for _, t := range a.Expr.Variables() {
		if slices.Contains([]string{"local", "path", "each", "matrix", "run"}, t.RootName()) {
			r.addf(t.SourceRange(), "Write the value itself, or make it a variable.",
				"%s can name variables only", a.Name)
			fine = false
		}
	}
	return fine
}

// holds evaluates a condition. known is false where a fault has been reported.
func (r *variables) holds(a *hcl.Attribute) (holds, known bool) {
	v := r.eval(a.Expr, place{})
	if !v.ok {
		return false, false
	}
	at := a.Expr.Range()
	plain, marks := v.Unmark()
	for _, name := range markNames(marks) {
		if !strings.HasPrefix(name, "var.") {
			r.add(at, "a condition may not ask for secret()",
				"It is checked while the file is read, when a secret need not be set. Make it a sensitive variable.")
			return false, false
		}
	}
	if plain.Type() != cty.Bool || plain.IsNull() || !plain.IsKnown() {
		r.wrongType(at, a.Name, "true or false", plain)
		return false, false
	}
	return plain.True(), true
}
