package hclfile

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"

	"github.com/async-pipeline/async-pipeline/pipeline/hclfile/guard"
)

// A jsonFile turns PIPELINE.hcl.json into bodies of the native syntax, so that everything after it reads one syntax.
// Objects become blocks where the table of words has a block, texts become templates, and texts that are references
// or types become expressions.
type jsonFile struct {
	*parser
	broken bool // what it became cannot be believed
}

// json parses the whole file, or adds its faults.
func (r *parser) json(src []byte) (*hclsyntax.Body, bool) {
	if !r.passes(guard.JSON(r.path, src)) {
		return nil, false
	}
	expr, diags := hcljson.ParseExpression(src, r.path)
	if !r.syntax(diags) {
		return nil, false
	}
	j := &jsonFile{parser: r}
	body := j.body(expr, &language, "the file")
	return body, !j.broken
}

// A pair is one property of an object.
type pair struct {
	name   string
	nameAt hcl.Range
	value  hcl.Expression
}

// pairs returns the properties of an object, or of a list of objects, without comments.
func (j *jsonFile) pairs(expr hcl.Expression, what string) []pair {
	objects := []hcl.Expression{expr}
	if list, diags := hcl.ExprList(expr); !diags.HasErrors() {
		objects = list
	}
	var all []pair
	for _, o := range objects {
		if !j.isObject(o, what) {
			continue
		}
		first := make(map[string]hcl.Range)
		members, _ := hcl.ExprMap(o)
		for _, m := range members {
			key, _ := guard.Evaluate(m.Key, nil)
			p := pair{key.AsString(), m.Key.Range(), m.Value}
			if p.name == "//" {
				continue
			}
			if j.fresh(p.name, p.nameAt, first) {
				all = append(all, p)
			}
		}
	}
	return all
}

func (j *jsonFile) fresh(name string, at hcl.Range, first map[string]hcl.Range) bool {
	if before, ok := first[name]; ok {
		j.addf(at, fmt.Sprintf("The first is on line %d; write each name once.", before.Start.Line), "%q is written twice", name)
		return false
	}
	first[name] = at
	return true
}

// body makes the body of a block, or of the file.
func (j *jsonFile) body(expr hcl.Expression, w *word, what string) *hclsyntax.Body {
	b := &hclsyntax.Body{Attributes: make(hclsyntax.Attributes), SrcRange: expr.Range(), EndRange: expr.Range()}
	for _, p := range j.pairs(expr, what) {
		inner := find(w.inner, p.name)
		if !w.free && (inner != nil && inner.block || inner == nil && isObject(p.value)) {
			b.Blocks = append(b.Blocks, j.blocks(p, inner)...)
			continue
		}
		if before, ok := b.Attributes[p.name]; ok { // the body is several objects in a list
			j.fresh(p.name, p.nameAt, map[string]hcl.Range{p.name: before.NameRange})
			continue
		}
		b.Attributes[p.name] = &hclsyntax.Attribute{
			Name: p.name, NameRange: p.nameAt, Expr: j.value(p.value, inner),
			SrcRange: hcl.RangeBetween(p.nameAt, p.value.Range()),
		}
	}
	return b
}

// isObject reports whether a property is an object, and adds a fault where it is not. Null is a fault too: nobody
// means a block that is silently dropped.
func isObject(expr hcl.Expression) bool {
	_, diags := hcl.ExprMap(expr)
	return !diags.HasErrors()
}

// blocks returns the blocks of one property: one for each label, and for each object where there is a list of them.
func (j *jsonFile) blocks(p pair, w *word) []*hclsyntax.Block {
	if w == nil || w.later != "" { // it is refused; what is in it does not matter
		return []*hclsyntax.Block{{Type: p.name, TypeRange: p.nameAt, Body: &hclsyntax.Body{}}}
	}
	if w.label == "" && w.kinds == nil {
		var all []*hclsyntax.Block
		for _, o := range j.objects(p.value, p.name) {
			all = append(all, &hclsyntax.Block{Type: p.name, TypeRange: p.nameAt, Body: j.body(o, w, p.name)})
		}
		return all
	}
	var all []*hclsyntax.Block
	for _, label := range j.pairs(p.value, p.name) {
		inner := w
		if w.kinds != nil {
			if inner = find(w.kinds, label.name); inner == nil {
				inner = &word{free: true}
			}
		}
		for _, o := range j.objects(label.value, fmt.Sprintf("%s %q", p.name, label.name)) {
			all = append(all, &hclsyntax.Block{
				Type: p.name, TypeRange: label.nameAt, Labels: []string{label.name}, LabelRanges: []hcl.Range{label.nameAt},
				Body: j.body(o, inner, fmt.Sprintf("%s %q", p.name, label.name)),
			})
		}
	}
	return all
}

// isObject says that a property is an object, or adds the fault. Null is one too: a block that is dropped without a word is
// not what anybody meant.
func (j *jsonFile) isObject(expr hcl.Expression, what string) bool {
	if isObject(expr) {
		return true
	}
	j.broken = true
	if v, _ := guard.Evaluate(expr, nil); v.IsNull() {
		j.addf(expr.Range(), `Leave it out, or write { "NAME": … }.`, "%s is null", what)
	} else {
		j.addf(expr.Range(), `Write { "NAME": … }.`, "%s must be an object", what)
	}
	return false
}

// objects returns the objects that are blocks: one, or those of a list.
func (j *jsonFile) objects(expr hcl.Expression, what string) []hcl.Expression {
	all := []hcl.Expression{expr}
	if list, diags := hcl.ExprList(expr); !diags.HasErrors() {
		all = list
	}
	return slices.DeleteFunc(slices.Clone(all), func(o hcl.Expression) bool {
		return !j.isObject(o, what)
	})
}

// value returns the expression of an attribute.
func (j *jsonFile) value(expr hcl.Expression, w *word) hclsyntax.Expression {
	if w == nil || w.typ != "type" && w.typ != "agent" && w.typ != "list(agent)" && w.typ != "list(task)" {
		return j.expression(expr)
	}
	list, diags := hcl.ExprList(expr)
	if diags.HasErrors() {
		return j.code(expr)
	}
	tuple := &hclsyntax.TupleConsExpr{SrcRange: expr.Range(), OpenRange: expr.Range()}
	for _, e := range list {
		tuple.Exprs = append(tuple.Exprs, j.code(e))
	}
	return tuple
}

func (j *jsonFile) expression(expr hcl.Expression) hclsyntax.Expression {
	at := expr.Range()
	if list, diags := hcl.ExprList(expr); !diags.HasErrors() {
		tuple := &hclsyntax.TupleConsExpr{SrcRange: at, OpenRange: at}
		for _, e := range list {
			tuple.Exprs = append(tuple.Exprs, j.expression(e))
		}
		return tuple
	}
	if members, diags := hcl.ExprMap(expr); !diags.HasErrors() {
		object := &hclsyntax.ObjectConsExpr{SrcRange: at, OpenRange: at}
		first := make(map[string]hcl.Range)
		for _, m := range members {
			if key, _ := guard.Evaluate(m.Key, nil); j.fresh(key.AsString(), m.Key.Range(), first) {
				object.Items = append(object.Items, hclsyntax.ObjectConsItem{KeyExpr: j.expression(m.Key), ValueExpr: j.expression(m.Value)})
			}
		}
		return object
	}
	v, _ := guard.Evaluate(expr, nil) // without a context a text is what it says
	if v.Type() == cty.String && !v.IsNull() {
		return j.template(v.AsString(), at)
	}
	return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: at}
}
