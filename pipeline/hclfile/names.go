package hclfile

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// check looks at all names in an expression, also in branches that are not taken.
func (r *reading) check(expr hcl.Expression, p place) bool {
	fine := true
	for _, t := range expr.Variables() {
		fine = r.checkName(t, p) && fine
	}
	node, ok := expr.(hclsyntax.Node)
	if !ok {
		return fine
	}
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics { // it gives back what the visitor gives: nothing
		call, ok := n.(*hclsyntax.FunctionCallExpr)
		if !ok {
			return nil
		}
		if _, ok := r.funcs[call.Name]; ok {
			return nil
		}
		fine = false
		if later, ok := laterFunctions[call.Name]; ok {
			r.addf(call.NameRange, "Write the value instead.", "`%s()` needs %s, which this version does not have", call.Name, later)
			return nil
		}
		r.wrongWord(call.NameRange, fmt.Sprintf("there is no function %q", call.Name), call.Name,
			slices.Sorted(maps.Keys(r.funcs)), "The functions are those of HCL's standard library, env() and secret().")
		return nil
	})
	return fine
}

func (r *reading) checkName(t hcl.Traversal, p place) bool {
	at := t.SourceRange()
	root := t.RootName()
	second, has := step(t)
	switch root {
	case "var", "local", "path":
		if !has {
			r.addf(at, fmt.Sprintf("Write %s.NAME.", root), "%s alone is not a value", root)
			return false
		}
		if p.constant {
			r.add(at, "a default cannot name other values", "Use a locals block for what is made from variables.")
			return false
		}
	}
	switch root {
	case "var":
		if _, ok := r.vars[second]; !ok {
			r.wrongWord(at, fmt.Sprintf("there is no variable %q", second), second, r.varNames(), fmt.Sprintf("Declare it: variable %q { … }", second))
			return false
		}
	case "local":
		if _, ok := r.locals[second]; !ok {
			r.wrongWord(at, fmt.Sprintf("there is no local %q", second), second, slices.Sorted(maps.Keys(r.locals)), "Declare it in a locals block.")
			return false
		}
	case "path":
		if second != "root" {
			r.addf(at, "There is path.root, the folder of PIPELINE.hcl.", "there is no path.%s", second)
			return false
		}
	default:
		r.foreignName(t, at, root, p)
		return false
	}
	return true
}

// foreignName explains a name that is no value of the pipeline, most often one that was meant for the shell.
func (r *reading) foreignName(t hcl.Traversal, at hcl.Range, root string, p place) {
	if later, ok := laterRoots[root]; ok && len(t) > 1 {
		r.addf(at, "Write the value instead.", "`%s` needs %s, which this version does not have", root, later)
		return
	}
	_, isVar := r.vars[root]
	_, isLocal := r.locals[root]
	summary := root + " is not a pipeline value"
	switch {
	case len(t) > 1 && (root == "task" || root == "agent"):
		r.addf(at, "It may stand in depends_on, verify, tasks and use only.", "%s.… names a block and is not a value", root)
	case isVar:
		r.wrongWord(at, summary, "var."+root, []string{"var." + root}, "")
	case isLocal:
		r.wrongWord(at, summary, "local."+root, []string{"local." + root}, "")
	case p.shell && len(t) == 1 && r.inTemplate(at):
		r.add(at, summary, fmt.Sprintf("write $%s, or $${%s}", root, root))
	case len(t) == 1 && r.inTemplate(at):
		r.add(at, summary, fmt.Sprintf("write env(%q) for the environment's, or $${%s} for a shell to read", root, root))
	case len(t) > 1 && (root == "env" || root == "secret"):
		second, _ := step(t)
		r.add(at, summary, fmt.Sprintf("Write %s(%q).", root, second))
	case len(t) > 1:
		r.wrongWord(at, summary, root, []string{"var", "local", "path"}, "The values are var.NAME, local.NAME and path.root.")
	default:
		r.add(at, summary, fmt.Sprintf("Text stands in quotes: %q. A variable of the environment is env(%q).", root, root))
	}
}

// inTemplate says that what stands at a place begins an interpolation.
func (r *reading) inTemplate(at hcl.Range) bool {
	if at.Start.Byte > len(r.src) {
		return false
	}
	before := bytes.TrimRight(r.src[:at.Start.Byte], " \t~")
	return bytes.HasSuffix(before, []byte("${"))
}

// step gives the name after the root of a traversal: var.x and var["x"].
func step(t hcl.Traversal) (string, bool) {
	if len(t) < 2 {
		return "", false
	}
	switch s := t[1].(type) {
	case hcl.TraverseAttr:
		return s.Name, true
	case hcl.TraverseIndex:
		if k := s.Key; k.Type() == cty.String && k.IsKnown() && !k.IsNull() {
			return k.AsString(), true
		}
	}
	return "", false
}
