package hclfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/async-pipeline/async-pipeline/pipeline/hclfile/guard"
)

// An evaluator evaluates the expressions of a file, after checking that what they name exists.
type evaluator struct {
	*report
	*secrets
	*totals
	env     func(string) (string, bool)
	fetch   func(at string, pattern bool) // see Options.Fetch
	vars    map[string]*variable
	locals  map[string]*local
	root    cty.Value // path.root
	funcs   map[string]function.Function
	touched uses          // what the evaluation in progress asked for
	ever    uses          // what all evaluations asked file functions for
	rounds  *guard.Rounds // of the loops
	way     []string      // the locals in progress
	inst    instance      // the task in progress
}

// uses are what evaluations asked for.
type uses struct {
	secrets map[string]bool // names given to secret()
	files   map[string]bool // what file functions read, relative to the root
	sets    map[string]bool // patterns that fileset() was asked for, relative to the root
	asked   map[string]bool // names that file() and filesha256() were asked for, whether there is such a file or not
}

func newUses() uses {
	return uses{make(map[string]bool), make(map[string]bool), make(map[string]bool), make(map[string]bool)}
}

func (u uses) add(more uses) {
	maps.Copy(u.secrets, more.secrets)
	maps.Copy(u.files, more.files)
	maps.Copy(u.sets, more.sets)
	maps.Copy(u.asked, more.asked)
}

// A local is one entry of a locals block, evaluated when it is first needed.
type local struct {
	attr    *hcl.Attribute
	state   int // 0 not begun, 1 in progress, 2 done
	value   cty.Value
	ok      bool     // false: a fault has been reported, value is unknown
	touched uses     // what went into it
	vars    []string // variables with text in them that went into it
}

const (
	inProgress = 1
	done       = 2
)

// A place describes where an expression is written.
type place struct {
	shell    bool // text for a shell
	constant bool // other values of the file may not be named
}

// An outcome is the value of an expression. It may be marked, and is unknown where a secret is not set.
type outcome struct {
	cty.Value
	ok bool // false: the fault has been reported
}

// newEvaluator returns the evaluator of a file in a folder; root is what it sees as path.root.
func newEvaluator(r *report, dir, root string, all *reading) *evaluator {
	e := &evaluator{
		report: r, secrets: all.secrets.of(r.src), totals: &all.totals, env: all.o.Env, fetch: all.o.Fetch, root: cty.StringVal(root),
		rounds:  new(guard.Rounds),
		touched: newUses(), ever: newUses(),
		vars: make(map[string]*variable), locals: make(map[string]*local),
	}
	e.funcs = e.functions(dir)
	return e
}

// inside begins an instance of a task; the zero instance is outside of tasks.
func (r *evaluator) inside(i instance) {
	r.inst, r.instance = i, ""
	if i.of != nil {
		r.instance = i.name
	}
}

// eval finds the value of an expression, after checking that what it names exists.
func (r *evaluator) eval(expr hcl.Expression, p place) outcome {
	r.varies = hcl.Range{}
	bad := outcome{Value: cty.DynamicVal}
	if v, ok := literal(expr); ok {
		size, _ := guard.SizeOf(v) // a file has no larger one
		if !r.spend(size, expr) {
			return bad
		}
		return outcome{v, true}
	}
	n := r.namesIn(expr, p)
	if !n.fine || r.broke {
		return bad
	}
	if n.varies {
		r.varies = expr.Range()
	}
	ctx, sound := r.context(n)
	saved := r.touched
	r.touched = newUses()
	for _, name := range n.of("var") {
		r.touched.add(r.vars[name].touched)
	}
	for _, name := range n.of("local") {
		r.touched.add(r.locals[name].touched)
	}
	r.rounds.Reset()
	value, diags := guard.Evaluate(expr, ctx)
	mine := r.touched
	r.touched = saved
	r.touched.add(mine)

	size, isSmall := guard.SizeOf(value)
	switch {
	case !sound: // the fault is where the value comes from
		return bad
	case diags.HasErrors():
		for _, d := range diags {
			r.evalFault(d, expr, mine.secrets)
		}
		return bad
	case !isSmall:
		r.add(expr.Range(), "this value is larger than 1 MiB", "Keep data in files of their own.")
		return bad
	case !r.spend(size, expr):
		return bad
	}
	if !value.IsWhollyKnown() {
		// Only a secret that is not set is unknown; try() and can() lose its mark.
		if value = r.markUnknown(value, mine.secrets); value == cty.NilVal {
			r.add(expr.Range(), "this value cannot be known while reading the file", "Write it in another way.")
			return bad
		}
	}
	r.derived(expr, value, ctx)
	return outcome{value, true}
}

// literal returns the value of one text, number, true, false or null that is written out. Most of a file is that.
func literal(expr hcl.Expression) (cty.Value, bool) {
	switch e := expr.(type) {
	case *hclsyntax.TemplateExpr:
		if len(e.Parts) == 1 {
			if part, ok := e.Parts[0].(*hclsyntax.LiteralValueExpr); ok && part.Val.Type() == cty.String {
				return part.Val, true
			}
		}
	case *hclsyntax.LiteralValueExpr:
		return e.Val, true
	}
	return cty.NilVal, false
}

func (r *evaluator) evalFault(d *hcl.Diagnostic, expr hcl.Expression, touched map[string]bool) {
	if d.Severity != hcl.DiagError {
		return
	}
	at := expr.Range()
	if d.Subject != nil {
		at = *d.Subject
	}
	detail := strings.Join(strings.Fields(d.Detail), " ")
	if i := strings.Index(detail, "panic in function"); i >= 0 {
		detail = "The function cannot take these values." // what follows is a stack trace
	}
	if len(touched) > 0 {
		// The library quotes values, cut and escaped as it likes, so that no redactor finds them again.
		detail = fmt.Sprintf("The reason is not shown, because it may contain what %s gave.", secretCalls(touched))
	}
	r.add(at, strings.TrimSuffix(d.Summary, "."), detail)
}

// context contains only what the expression names, so that a file of n locals does not cost n². It is not sound when
// one of the values has a fault.
func (r *evaluator) context(n naming) (*hcl.EvalContext, bool) {
	ctx := &hcl.EvalContext{Functions: r.funcs}
	if len(n.names) == 0 {
		return ctx, true
	}
	sound := true
	vars, locals := make(map[string]cty.Value), make(map[string]cty.Value)
	for _, name := range n.of("var") {
		v := r.vars[name]
		vars[name] = v.value
		sound = sound && v.ok
	}
	for _, name := range n.of("local") {
		l := r.locals[name]
		r.local(name, l)
		locals[name] = l.value
		sound = sound && l.ok
	}
	ctx.Variables = map[string]cty.Value{
		"var":   cty.ObjectVal(vars),
		"local": cty.ObjectVal(locals),
		"path":  cty.ObjectVal(map[string]cty.Value{"root": r.root}),
	}
	if n.varies {
		m := r.inst.of
		ctx.Variables[m.root] = m.values[r.inst.number]
		sound = sound && !m.broken
	}
	return ctx, sound
}

// local evaluates a local when it is first needed. One that is already in progress is part of a cycle.
func (r *evaluator) local(name string, l *local) {
	switch l.state {
	case done:
		return
	case inProgress:
		from := slices.Index(r.way, name)
		way := append(slices.Clone(r.way[from:]), name)
		r.add(l.attr.NameRange, "locals wait for each other: "+strings.Join(way, " → "),
			"Give one of them a value of its own.")
		l.value, l.ok = cty.DynamicVal, false
		return
	}
	l.state = inProgress
	r.way = append(r.way, name)
	saved := r.touched
	r.touched = newUses()
	v := r.eval(l.attr.Expr, place{})
	l.touched, r.touched = r.touched, saved
	r.way = r.way[:len(r.way)-1]
	l.value, l.ok, l.state = v.Value, v.ok, done
	l.vars = r.textVars(l.attr.Expr)
}

// maxSpent is how many bytes all values may take together, about: tasks that are multiplied, or that all take in a
// large local, would fill the memory.
const maxSpent = 64 << 20

// spend counts the size of a value towards the limit for all of them.
func (r *evaluator) spend(size int, expr hcl.Expression) bool {
	if r.spent += size; r.spent <= maxSpent {
		return true
	}
	if !r.broke {
		r.broke = true
		r.add(expr.Range(), "the values are larger than 64 MiB together",
			"Keep data in files of their own, or multiply fewer tasks.")
	}
	return false
}
