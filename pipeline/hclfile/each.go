package hclfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/async-pipeline/async-pipeline/pipeline/hclfile/guard"
)

const (
	maxInstances    = 1000  // of one task
	maxAllInstances = 20000 // of all tasks that are multiplied
)

// A multiple is the instances that for_each or matrix make from one task. It belongs to the task's block.
type multiple struct {
	root    string              // each or matrix; empty for a task that is not multiplied
	keys    []string            // of the instances, in their order
	values  []cty.Value         // what root is in each of them, an object
	names   []string            // the attributes of root
	broken  bool                // a fault has been reported; the values are unknown, and one instance is read
	touched uses                // what went into it
	vars    map[string][]string // variables with text in them that went into each attribute

	checked map[hcl.Expression]naming  // what the expressions of the task name: it is the same in every instance
	fixed   map[*hcl.Attribute]refList // the references that are the same in every instance
}

// An instance is the task whose expressions are evaluated just now.
type instance struct {
	base   string // the name as declared; empty outside tasks
	name   string
	of     *multiple
	number int // among its siblings
}

// A multiplier reads for_each and matrix.
type multiplier struct{ *reader }

// multiple reads for_each and matrix of a task.
func (r *multiplier) multiple(b *block) *multiple {
	m := &multiple{}
	each, matrix := b.attrs["for_each"], b.attrs["matrix"]
	if each == nil && matrix == nil {
		if slices.Contains(b.misplaced, "for_each") || slices.Contains(b.misplaced, "matrix") {
			m.unknown()
		}
		return m
	}
	m.checked, m.fixed = make(map[hcl.Expression]naming), make(map[*hcl.Attribute]refList)
	outer := r.touched
	r.touched = newUses()
	defer func() { m.touched, r.touched = r.touched, outer }()
	ok := false
	switch {
	case each != nil && matrix != nil:
		second := each
		if matrix.NameRange.Start.Byte > each.NameRange.Start.Byte {
			second = matrix
		}
		r.addf(second.NameRange, "Take one of them out: a matrix with one more axis does the work of both.",
			"task %q has both for_each and matrix", b.name)
	case each != nil:
		m.root, m.names = "each", []string{"key", "value"}
		ok = r.forEach(each, b, m)
		m.vars = r.eachVars(each.Expr)
	default:
		m.root = "matrix"
		ok = r.matrix(matrix, b, m)
		m.vars = r.matrixVars(matrix.Expr, m.names)
	}
	if !ok {
		m.unknown()
	}
	return m
}

// unknown makes one instance with unknown values, after a fault.
func (m *multiple) unknown() {
	m.broken, m.keys, m.values = true, []string{"?"}, []cty.Value{cty.DynamicVal}
}

// forEach makes an instance for each element, in the order in which they are written; of a map or set that is not
// written out, in the order of its keys.
func (r *multiplier) forEach(a *hcl.Attribute, b *block, m *multiple) bool {
	const example = `Write for_each = ["a", "b"] or for_each = { a = 1, b = 2 }.`
	v, ok := r.value(a)
	if !ok {
		return false
	}
	at := a.Expr.Range()
	t := v.Type()
	isMap := t.IsMapType() || t.IsObjectType()
	if !isMap && !t.IsSetType() && !t.IsTupleType() && !t.IsListType() {
		r.addf(at, fmt.Sprintf("It is %s. %s", kind(v), example), "for_each must be a set or a map")
		return false
	}
	if !r.enough(v.LengthInt(), at, b) {
		return false
	}
	places, _ := hcl.ExprList(a.Expr) // where the elements are written out
	seen := make(map[string]bool)
	for i, pair := range r.inOrder(v, a.Expr) {
		k, e := pair[0], pair[1]
		if !isMap {
			k = e
		}
		where := at
		if i < len(places) {
			where = places[i].Range()
		}
		key, fine := r.key(k, where, a.Name)
		switch {
		case !fine:
			ok = false
			continue
		case seen[key]:
			r.addf(where, "A list counts as a set: write each element once. Take one of them out, or write distinct(…).", "for_each has %q twice", key)
			ok = false
			continue
		}
		seen[key] = true
		m.keys = append(m.keys, key)
		if !isMap {
			e = cty.StringVal(key)
		}
		m.values = append(m.values, cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(key), "value": e}))
	}
	if v.LengthInt() == 0 {
		r.none(at, b, "for_each is empty")
	}
	return ok
}

// An axis is one list of a matrix.
type axis struct {
	name   string
	values []cty.Value
	texts  []string
}

// matrix makes an instance for each combination. The axes are in the order in which they are written; where the map
// is not written out, in the order of their names. The last one changes fastest.
func (r *multiplier) matrix(a *hcl.Attribute, b *block, m *multiple) bool {
	v, ok := r.value(a)
	if !ok {
		return false
	}
	at := a.Expr.Range()
	const example = `Write matrix = { os = ["linux", "darwin"], arch = ["amd64"] }.`
	if t := v.Type(); !t.IsMapType() && !t.IsObjectType() {
		r.addf(at, fmt.Sprintf("It is %s. %s", kind(v), example), "matrix must be a map of lists")
		return false
	}
	if v.LengthInt() == 0 {
		r.add(at, "matrix has no axis", example)
		return false
	}
	places := writtenOut(a.Expr)
	var axes []axis
	count := 1
	for _, pair := range r.inOrder(v, a.Expr) {
		k, list := pair[0], pair[1]
		where := at
		if p, ok := places[k.AsString()]; ok {
			where = p
		}
		x, fine := r.axis(k.AsString(), list, where)
		ok = ok && fine
		axes = append(axes, x)
		m.names = append(m.names, x.name)
		count = min(count*len(x.values), guard.MaxSize) // no product of what is left can overflow
	}
	if !ok || !r.enough(count, at, b) {
		return false
	}
	if count == 0 {
		r.none(at, b, "an axis of its matrix is empty")
		return true
	}
	seen := make(map[string]bool)
	for i := range count {
		texts, values := make([]string, len(axes)), make(map[string]cty.Value)
		for j := len(axes) - 1; j >= 0; j-- {
			x := axes[j]
			texts[j], values[x.name] = x.texts[i%len(x.values)], x.values[i%len(x.values)]
			i /= len(x.values)
		}
		key := strings.Join(texts, ",")
		if seen[key] {
			r.addf(at, "The key of an instance is its values, joined by commas. Write each value once, and none with a comma that makes it ambiguous.",
				"two combinations of the matrix have the key %q", key)
			return false
		}
		seen[key] = true
		m.keys = append(m.keys, key)
		m.values = append(m.values, cty.ObjectVal(values))
	}
	return true
}

// axis reads one list of a matrix.
func (r *multiplier) axis(name string, list cty.Value, at hcl.Range) (axis, bool) {
	x := axis{name: name}
	if !hclsyntax.ValidIdentifier(name) {
		r.addf(at, "A name begins with a letter and goes on with letters, digits, _ and -.",
			"%q is not a valid name for an axis", name)
		return x, false
	}
	if t := list.Type(); list.IsNull() || !t.IsTupleType() && !t.IsListType() && !t.IsSetType() {
		r.addf(at, fmt.Sprintf("It is %s. Write %s = [\"a\", \"b\"].", kind(list), name),
			"the axis %s of the matrix must be a list", name)
		return x, false
	}
	if list.LengthInt() > maxInstances { // not one of them need be checked at
		x.values = make([]cty.Value, list.LengthInt())
		return x, true
	}
	ok := true
	for _, v := range list.Elements() {
		text, fine := r.key(v, at, "the axis "+name)
		ok = ok && fine
		x.values, x.texts = append(x.values, v), append(x.texts, text)
	}
	return x, ok
}

// inOrder lists the elements of a value, each with its key: those of a map in the order in which the expression, or
// the local that it names, writes them.
func (r *multiplier) inOrder(v cty.Value, expr hcl.Expression) [][2]cty.Value {
	for named := true; named; {
		switch e := expr.(type) {
		case *hclsyntax.TemplateWrapExpr: // "${…}", as JSON writes it
			expr = e.Wrapped
		case *hclsyntax.ScopeTraversalExpr:
			name, _ := step(e.Traversal)
			if named = e.Traversal.RootName() == "local" && len(e.Traversal) == 2; named {
				expr = r.locals[name].attr.Expr
			}
		default:
			named = false
		}
	}
	written := make(map[string]int)
	pairs, _ := hcl.ExprMap(expr)
	for i, p := range pairs {
		k, ok := keyOf(p)
		if !ok { // only evaluation tells which key this is
			clear(written)
			break
		}
		written[k] = i
	}
	var all [][2]cty.Value
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		all = append(all, [2]cty.Value{k, e})
	}
	if t := v.Type(); t.IsMapType() || t.IsObjectType() {
		slices.SortStableFunc(all, func(a, b [2]cty.Value) int {
			return cmp.Compare(written[a[0].AsString()], written[b[0].AsString()])
		})
	}
	return all
}

// writtenOut returns the places of the values of a map that is written out.
func writtenOut(expr hcl.Expression) map[string]hcl.Range {
	all := make(map[string]hcl.Range)
	pairs, _ := hcl.ExprMap(expr)
	for _, p := range pairs {
		if k, ok := keyOf(p); ok {
			all[k] = p.Value.Range()
		}
	}
	return all
}

// keyOf returns the key of a pair that is written out as text.
func keyOf(p hcl.KeyValuePair) (string, bool) {
	k, diags := guard.Evaluate(p.Key, nil)
	if diags.HasErrors() || k.Type() != cty.String || !k.IsKnown() || k.IsNull() {
		return "", false
	}
	return k.AsString(), true
}

// enough limits the number of instances of a task and of all tasks.
func (r *multiplier) enough(count int, at hcl.Range, b *block) bool {
	if count > maxInstances {
		r.addf(at, fmt.Sprintf("A task has at most %d.", maxInstances), "task %q has more than %d instances", b.name,
			maxInstances)
		return false
	}
	if r.instances += count; r.instances > maxAllInstances {
		r.addf(at, "Multiply fewer tasks.", "there are more than %d instances", maxAllInstances)
		return false
	}
	return true
}

func (r *multiplier) none(at hcl.Range, b *block, why string) {
	r.warn(at, fmt.Sprintf("task %q has no instances, because %s", b.name, why),
		"Nothing runs under this name, and nothing waits for it.")
}
