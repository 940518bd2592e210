package hclfile

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

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
	var all []pair
	for _, o := range j.objects(expr, what) {
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
		j.addf(at, fmt.Sprintf("The first is on line %d; write each name once.", before.Start.Line),
			"%q is written twice", name)
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

// isObject reports whether an expression is an object.
func isObject(expr hcl.Expression) bool {
	_, diags := hcl.ExprMap(expr)
	return !diags.HasErrors()
}

// blocks returns the blocks of one property: one for each label, and for each object where there is a list of them.
func (j *jsonFile) blocks(p pair, w *word) []*hclsyntax.Block {
	if w == nil || w.later != "" { // it is refused; what is in it does not matter
		return []*hclsyntax.Block{{Type: p.name, TypeRange: p.nameAt, Body: &hclsyntax.Body{}}}
	}
	var all []*hclsyntax.Block
	if w.label == "" && w.kinds == nil {
		for _, o := range j.objects(p.value, p.name) {
			all = append(all, &hclsyntax.Block{Type: p.name, TypeRange: p.nameAt, Body: j.body(o, w, p.name)})
		}
		return all
	}
	for _, label := range j.pairs(p.value, p.name) {
		inner := w
		if w.kinds != nil {
			if inner = find(w.kinds, label.name); inner == nil {
				inner = &word{free: true}
			}
		}
		what := fmt.Sprintf("%s %q", p.name, label.name)
		if list, diags := hcl.ExprList(label.value); !diags.HasErrors() && len(list) == 0 {
			j.broken = true
			j.addf(label.value.Range(), `Leave it out, or write { "NAME": … }.`, "%s is an empty list", what)
		}
		for _, o := range j.objects(label.value, what) {
			all = append(all, &hclsyntax.Block{
				Type: p.name, TypeRange: label.nameAt, Labels: []string{label.name},
				LabelRanges: []hcl.Range{label.nameAt},
				Body:        j.body(o, inner, what),
			})
		}
	}
	return all
}

// isObject reports whether a property is an object, and adds a fault where it is not. Null is a fault too: nobody
// means a block that is silently dropped.
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
	if v, diags := guard.Evaluate(expr, nil); w != nil && w.typ == inputsType && !diags.HasErrors() && v.RawEquals(cty.StringVal(auto)) {
		return j.code(expr)
	}
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
				object.Items = append(object.Items,
					hclsyntax.ObjectConsItem{KeyExpr: j.expression(m.Key), ValueExpr: j.expression(m.Value)})
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

// template returns the expression of a text that may contain ${…}.
func (j *jsonFile) template(text string, at hcl.Range) hclsyntax.Expression {
	literal := &hclsyntax.TemplateExpr{SrcRange: at, Parts: []hclsyntax.Expression{
		&hclsyntax.LiteralValueExpr{Val: cty.StringVal(text), SrcRange: at},
	}}
	if !strings.Contains(text, "${") && !strings.Contains(text, "%{") {
		return literal
	}
	src := []byte(text)
	start := j.inside(at)
	tokens, _ := hclsyntax.LexTemplate(src, j.path, start) // what is no token the parser reports
	if !j.follow(tokens) {
		return literal
	}
	expr, diags := hclsyntax.ParseTemplate(src, j.path, start)
	if !j.parsed(diags) {
		return unknown(at)
	}
	return expr
}

// code returns the expression that a text spells: "task.build" is the reference task.build.
func (j *jsonFile) code(expr hcl.Expression) hclsyntax.Expression {
	at := expr.Range()
	v, _ := guard.Evaluate(expr, nil)
	if v.Type() != cty.String || v.IsNull() {
		return j.expression(expr)
	}
	src := []byte(v.AsString())
	start := j.inside(at)
	tokens, _ := hclsyntax.LexExpression(src, j.path, start)
	if !j.follow(tokens) {
		return unknown(at)
	}
	code, diags := hclsyntax.ParseExpression(src, j.path, start)
	if !j.parsed(diags) {
		return unknown(at)
	}
	return code
}

// unknown takes the place of an expression whose fault has been reported.
func unknown(at hcl.Range) hclsyntax.Expression {
	return &hclsyntax.LiteralValueExpr{Val: cty.NullVal(cty.DynamicPseudoType), SrcRange: at}
}

func (j *jsonFile) follow(tokens hclsyntax.Tokens) bool {
	if !j.passes(guard.Tokens(tokens)) {
		j.broken = true
		return false
	}
	return true
}

func (j *jsonFile) parsed(diags hcl.Diagnostics) bool {
	for _, d := range diags {
		if d.Severity == hcl.DiagError && d.Subject != nil {
			j.broken = true
			j.add(*d.Subject, strings.TrimSuffix(d.Summary, "."), j.remedy(d, j.real(*d.Subject)))
			return false
		}
	}
	return !diags.HasErrors()
}

// A text is a text of a JSON file that was parsed as an expression. Its parser sees it without its escapes, so places
// in it must be converted to places in the file.
type text struct {
	open  hcl.Pos // of the opening quote
	close int     // the byte of the closing one
}

// inside returns where the content of a text begins.
func (j *jsonFile) inside(at hcl.Range) hcl.Pos {
	j.texts = append(j.texts, text{at.Start, at.End.Byte - 1}) // in file order, as the file is walked
	return hcl.Pos{Line: at.Start.Line, Column: at.Start.Column + 1, Byte: at.Start.Byte + 1}
}

// real converts a place in a text of a JSON file to the place in the file. It returns any other place unchanged.
func (r *report) real(at hcl.Range) hcl.Range {
	i := sort.Search(len(r.texts), func(i int) bool { return r.texts[i].open.Byte >= at.Start.Byte }) - 1
	if i < 0 || at.Start.Byte > r.texts[i].close {
		return at
	}
	t := r.texts[i]
	at.Start = r.unescaped(t, at.Start.Byte-t.open.Byte-1)
	if at.End.Byte <= t.close {
		at.End = r.unescaped(t, at.End.Byte-t.open.Byte-1)
	}
	return at
}

// unescaped returns the place of the nth byte of a text, counted without escapes.
func (r *report) unescaped(t text, n int) hcl.Pos {
	from := t.open.Byte + 1
	i := from
	for n > 0 && i < t.close {
		rest := r.src[i:t.close]
		wide, narrow := escape(rest)
		i += wide
		n -= narrow
	}
	return hcl.Pos{Line: t.open.Line, Column: t.open.Column + 1 + utf8.RuneCount(r.src[from:i]), Byte: i}
}

// escape returns the size of the first character of a JSON text, and its size without escapes.
func escape(s []byte) (wide, narrow int) {
	if len(s) < 2 || s[0] != '\\' {
		_, n := utf8.DecodeRune(s)
		return n, n
	}
	if s[1] != 'u' {
		return 2, 1
	}
	c, ok := unit(s)
	if !ok {
		return 2, 1
	}
	if second, ok := unit(s[6:]); ok && utf16.IsSurrogate(c) {
		if both := utf16.DecodeRune(c, second); both != unicode.ReplacementChar {
			return 12, utf8.RuneLen(both)
		}
	}
	if utf16.IsSurrogate(c) {
		c = unicode.ReplacementChar
	}
	return 6, utf8.RuneLen(c)
}

// unit reads \uXXXX.
func unit(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	return rune(n), err == nil
}
