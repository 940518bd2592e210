package hclfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// warnVars warns of values that become part of a shell text: once for each, at its own name if the text has it.
func (r *commands) warnVars(a *hcl.Attribute) {
	told := make(map[string]bool)
	names := a.Expr.Variables()
	isVar := func(t hcl.Traversal) bool { return t.RootName() == "var" }
	direct := slices.DeleteFunc(slices.Clone(names), func(t hcl.Traversal) bool { return !isVar(t) })
	for _, t := range append(direct, slices.DeleteFunc(names, isVar)...) {
		vars := r.varsOf(t)
		name, _ := step(t)
		if value := t.RootName() + "." + name; r.inst.of != nil && t.RootName() == r.inst.of.root && len(vars) > 0 &&
			!whole(a.Expr) {
			if !told[value] {
				r.warnText(t, fmt.Sprintf("%s, which is made from var.%s,", value, strings.Join(vars, ", var.")), name,
					value, r.isText(t))
			}
			told[value] = true
			continue
		}
		for _, name := range vars {
			if v := r.vars[name]; !told["var."+name] {
				r.warnText(t, "var."+name, name, "var."+name, v != nil && v.value.Type().IsPrimitiveType())
			}
			told["var."+name] = true
		}
	}
}

// warnText warns of one name in a text for the shell, of which value is a part.
func (r *commands) warnText(t hcl.Traversal, what, name, value string, isText bool) {
	upper := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	if !isText { // a list or a map, of which the text takes something
		value = "…"
	}
	r.warn(t.SourceRange(), what+" becomes part of a shell text",
		fmt.Sprintf(`The shell reads what is in it. Write env = { %s = %s } and "$%s" in the text.`, upper,
			value, upper))
}

// whole reports whether an expression is a single name: the text is then written somewhere else.
func whole(expr hcl.Expression) bool {
	if w, ok := expr.(*hclsyntax.TemplateWrapExpr); ok {
		expr = w.Wrapped
	}
	_, ok := expr.(*hclsyntax.ScopeTraversalExpr)
	return ok
}

// isText reports whether a name of an instance is a text, not a list or map.
func (r *commands) isText(t hcl.Traversal) bool {
	name, _ := step(t)
	v := r.inst.of.values[r.inst.number]
	return v.Type().IsObjectType() && v.Type().HasAttribute(name) && v.GetAttr(name).Type().IsPrimitiveType()
}

// eachVars lists the variables that went into the keys and into the values of for_each.
func (r *multiplier) eachVars(expr hcl.Expression) map[string][]string {
	pairs, diags := hcl.ExprMap(expr)
	if diags.HasErrors() {
		all := r.textVars(expr)
		return map[string][]string{"key": all, "value": all}
	}
	var keys, values []string
	for _, p := range pairs {
		keys, values = append(keys, r.textVars(p.Key)...), append(values, r.textVars(p.Value)...)
	}
	slices.Sort(keys)
	slices.Sort(values)
	return map[string][]string{"key": slices.Compact(keys), "value": slices.Compact(values)}
}

// matrixVars lists the variables that went into each axis of a matrix.
func (r *multiplier) matrixVars(expr hcl.Expression, axes []string) map[string][]string {
	all := make(map[string][]string)
	pairs, diags := hcl.ExprMap(expr)
	for _, p := range pairs {
		if k, ok := keyOf(p); ok {
			all[k] = r.textVars(p.Value)
		}
	}
	for _, x := range axes {
		if _, ok := all[x]; !ok || diags.HasErrors() {
			all[x] = r.textVars(expr)
		}
	}
	return all
}
