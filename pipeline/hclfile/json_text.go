package hclfile

import (
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/async-pipeline/async-pipeline/pipeline/hclfile/guard"
)

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
