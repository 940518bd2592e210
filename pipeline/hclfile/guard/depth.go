package guard

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// A level is one open bracket, text or template.
type level struct {
	close  hclsyntax.TokenType
	ops    int // operators and directives since it was opened, or since the last comma or line end
	pieces int // of text in a template
}

// tooMuch finds the first token that goes deeper, or on longer, than the parser can follow.
func tooMuch(tokens hclsyntax.Tokens) (hcl.Range, string, bool) {
	open := []level{{}}
	depth := 0 // all the levels and their operators
	var last hclsyntax.TokenType
	newline := false // there is one between last and this token
	for _, t := range tokens {
		top := &open[len(open)-1]
		if t.Type == hclsyntax.TokenNewline || t.Type == hclsyntax.TokenComment {
			newline = newline || bytes.HasSuffix(t.Bytes, []byte("\n"))
			continue
		}
		if t.Type == hclsyntax.TokenComma || newline && separates(top.close) && !operator(last) && !operator(t.Type) {
			depth -= top.ops
			top.ops = 0
		}
		newline = false

		switch closer := closerOf(t.Type); {
		case closer != 0:
			open = append(open, level{close: closer})
			depth++
		case t.Type == top.close && len(open) > 1:
			depth -= 1 + top.ops
			open = open[:len(open)-1]
			if t.Type == hclsyntax.TokenCBrack { // a[0][0][0] nests to the left
				open[len(open)-1].ops++
				depth++
			}
		case operator(t.Type):
			top.ops++
			depth++
		case t.Type == hclsyntax.TokenStringLit || t.Type == hclsyntax.TokenQuotedLit:
			if top.pieces++; top.pieces > maxPieces {
				return t.Range, fmt.Sprintf("this text has more than %d lines or pieces", maxPieces), false
			}
		case t.Type == hclsyntax.TokenNumberLit && !smallNumber(t.Bytes):
			return t.Range, "this number is too long", false
		case t.Type == hclsyntax.TokenIdent && last == hclsyntax.TokenTemplateControl && len(open) > 1:
			template := &open[len(open)-2]
			switch string(t.Bytes) {
			case "if", "for":
				template.ops++
				depth++
			case "endif", "endfor":
				if template.ops > 0 {
					template.ops--
					depth--
				}
			}
		}
		if depth > maxDepth {
			return t.Range, fmt.Sprintf("this is nested deeper than %d levels of brackets, operators and templates", maxDepth), false
		}
		last = t.Type
	}
	return hcl.Range{}, "", true
}

// separates reports whether a line end inside the level that closer ends also ends an expression.
func separates(closer hclsyntax.TokenType) bool {
	return closer == 0 || closer == hclsyntax.TokenCBrace
}

func closerOf(t hclsyntax.TokenType) hclsyntax.TokenType {
	switch t {
	case hclsyntax.TokenOParen:
		return hclsyntax.TokenCParen
	case hclsyntax.TokenOBrack:
		return hclsyntax.TokenCBrack
	case hclsyntax.TokenOBrace:
		return hclsyntax.TokenCBrace
	case hclsyntax.TokenOQuote:
		return hclsyntax.TokenCQuote
	case hclsyntax.TokenOHeredoc:
		return hclsyntax.TokenCHeredoc
	case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		return hclsyntax.TokenTemplateSeqEnd
	}
	return 0
}

func operator(t hclsyntax.TokenType) bool {
	switch t {
	case hclsyntax.TokenBang, hclsyntax.TokenMinus, hclsyntax.TokenPlus, hclsyntax.TokenStar, hclsyntax.TokenSlash,
		hclsyntax.TokenPercent, hclsyntax.TokenAnd, hclsyntax.TokenOr, hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual,
		hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq, hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq,
		hclsyntax.TokenQuestion, hclsyntax.TokenColon, hclsyntax.TokenFatArrow, hclsyntax.TokenDoubleColon:
		return true
	}
	return false
}

func smallNumber(b []byte) bool {
	if len(b) > maxNumber {
		return false
	}
	_, exponent, ok := bytes.Cut(bytes.ToLower(b), []byte("e"))
	if !ok {
		return true
	}
	n, err := strconv.Atoi(string(exponent))
	return err == nil && n <= maxNumber && n >= -maxNumber
}
