package hclfile

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A naming is what an expression names, also in branches that are not taken.
type naming struct {
	names  []hcl.Traversal
	fine   bool // all of it exists; if not, the faults have been reported
	varies bool // each or matrix is among it
}

// namesIn checks all names in an expression: of a task with several instances only once.
func (r *evaluator) namesIn(expr hcl.Expression, p place) naming {
	if m := r.inst.of; m != nil && m.checked != nil {
		n, ok := m.checked[expr]
		if !ok {
			n = r.check(expr, p)
			m.checked[expr] = n
		}
		return n
	}
	return r.check(expr, p)
}

func (r *evaluator) check(expr hcl.Expression, p place) naming {
	n := naming{names: expr.Variables(), fine: true}
	for _, t := range n.names {
		n.fine = r.checkName(t, p) && n.fine
	}
	n.varies = n.fine && slices.ContainsFunc(n.names, func(t hcl.Traversal) bool {
		return t.RootName() == "each" || t.RootName() == "matrix"
	})
	r.rounds.Bound(expr, func(call *hclsyntax.FunctionCallExpr) {
		if _, ok := r.funcs[call.Name]; !ok {
			n.fine = false
			r.wrongWord(call.NameRange, fmt.Sprintf("there is no function %q", call.Name), call.Name,
				slices.Sorted(maps.Keys(r.funcs)), "async-pipeline schema --markdown lists the functions.")
		}
	})
	return n
}

// of lists the names after one root: a, b for var.a and var.b.
func (n naming) of(root string) []string {
	var all []string
	for _, t := range n.names {
		if t.RootName() == root {
			if second, ok := step(t); ok {
				all = append(all, second)
			}
		}
	}
	return all
}

// checkName adds a fault where a name does not exist, and reports whether it does.
func (r *evaluator) checkName(t hcl.Traversal, p place) bool {
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
			r.wrongWord(at, fmt.Sprintf("there is no variable %q", second), second, r.varNames(),
				fmt.Sprintf("Declare it: variable %q { … }", second))
			return false
		}
	case "local":
		if _, ok := r.locals[second]; !ok {
			r.wrongWord(at, fmt.Sprintf("there is no local %q", second), second, slices.Sorted(maps.Keys(r.locals)),
				"Declare it in a locals block.")
			return false
		}
	case "path":
		if second != "root" {
			r.addf(at, "There is path.root, the folder of PIPELINE.hcl.", "there is no path.%s", second)
			return false
		}
	case "each", "matrix":
		return r.rootName(t, at, root)
	default:
		r.foreignName(t, at, root, p)
		return false
	}
	return true
}

// foreignName explains a name that is no value of the pipeline, most often one that was meant for the shell.
func (r *evaluator) foreignName(t hcl.Traversal, at hcl.Range, root string, p place) {
	if later, ok := laterRoots[root]; ok && len(t) > 1 {
		r.addf(at, "Write the value instead.", "`%s` needs %s, which this version does not have", root, later)
		return
	}
	_, isVar := r.vars[root]
	_, isLocal := r.locals[root]
	summary := root + " is not a pipeline value"
	switch {
	case len(t) > 1 && (root == "task" || root == "agent" || root == "include"):
		r.addf(at, "It may be used in depends_on, verify, tasks and use only.",
			"%s.… names a block and is not a value", root)
	case isVar:
		r.wrongWord(at, summary, "var."+root, []string{"var." + root}, "")
	case isLocal:
		r.wrongWord(at, summary, "local."+root, []string{"local." + root}, "")
	case p.shell && len(t) == 1 && r.inTemplate(at):
		r.add(at, summary, fmt.Sprintf("write $%s, or $${%s}", root, root))
	case len(t) == 1 && r.inTemplate(at):
		r.add(at, summary, fmt.Sprintf("write env(%q) for the environment's, or $${%s} for a shell to read",
			root, root))
	case len(t) > 1 && (root == "env" || root == "secret"):
		second, _ := step(t)
		r.add(at, summary, fmt.Sprintf("Write %s(%q).", root, second))
	case len(t) > 1:
		r.wrongWord(at, summary, root, []string{"var", "local", "path", "each", "matrix"},
			"The values are var.NAME, local.NAME and path.root, and each or matrix in a task that has several instances.")
	default:
		r.add(at, summary, fmt.Sprintf("Put text in quotes: %q. A variable of the environment is env(%q).",
			root, root))
	}
}

// inTemplate reports whether a place is the beginning of an interpolation.
func (r *evaluator) inTemplate(at hcl.Range) bool {
	at = r.real(at)
	if at.Start.Byte > len(r.src) {
		return false
	}
	before := bytes.TrimRight(r.src[:at.Start.Byte], " \t~")
	return bytes.HasSuffix(before, []byte("${"))
}

// step returns the name after the root of a traversal: x of var.x and var["x"].
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

// rootName checks a name that begins with each or matrix.
func (r *evaluator) rootName(t hcl.Traversal, at hcl.Range, root string) bool {
	from := map[string]string{"each": "for_each", "matrix": "matrix"}[root]
	in := r.inst.of
	second, has := step(t)
	switch {
	case r.inst.base == "":
		r.addf(at, "It has another value in each instance of the task.",
			"%s may be used in a task with %s only", root, from)
	case in == nil: // in for_each or matrix themselves
		r.addf(at, "The instances are made from this value; it may name var, local and path.",
			"%s cannot be used in for_each or matrix", root)
	case in.root == "" && in.broken: // both of them
		return true
	case in.root == "":
		r.addf(at, fmt.Sprintf("Give the task a %s, or write the value instead.", from),
			"%s needs a %s, which task %q does not have", root, from, r.inst.base)
	case in.root != root && root == "each":
		r.addf(at, "Write matrix.AXIS.", "each needs a for_each, and task %q has a matrix", r.inst.base)
	case in.root != root:
		r.addf(at, "Write each.key or each.value.", "matrix needs a matrix, and task %q has a for_each", r.inst.base)
	case !has && root == "each":
		r.add(at, "each alone is not a value", "Write each.key or each.value.")
	case !has:
		r.add(at, "matrix alone is not a value", "Write matrix.AXIS.")
	case in.broken && len(in.names) == 0:
		return true
	default:
		if slices.Contains(in.names, second) {
			return true
		}
		r.wrongWord(at, fmt.Sprintf("there is no %s.%s", root, second), second, in.names,
			fmt.Sprintf("There are %s.%s.", root, strings.Join(in.names, ", "+root+".")))
	}
	return false
}

func (r *evaluator) varNames() []string { return slices.Sorted(maps.Keys(r.vars)) }

// textVars lists the variables whose text goes into an expression, directly or through locals or instances.
func (r *evaluator) textVars(expr hcl.Expression) []string {
	if _, ok := literal(expr); ok {
		return nil
	}
	var all []string
	for _, t := range expr.Variables() {
		all = append(all, r.varsOf(t)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// varsOf lists the variables whose text is part of a named value.
func (r *evaluator) varsOf(t hcl.Traversal) []string {
	name, ok := step(t)
	if !ok {
		return nil
	}
	switch root := t.RootName(); {
	case root == "var":
		if v := r.vars[name]; v != nil && v.value.Type() != cty.Number && v.value.Type() != cty.Bool {
			return []string{name}
		}
	case root == "local":
		if l := r.locals[name]; l != nil {
			return l.vars
		}
	case r.inst.of != nil && root == r.inst.of.root:
		return r.inst.of.vars[name]
	}
	return nil
}
