package guard

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

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

		switch closer := closers[t.Type]; {
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
			return t.Range, longNumber, false
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
			return t.Range, fmt.Sprintf("this is nested deeper than %d levels of brackets, operators and templates",
				maxDepth), false
		}
		last = t.Type
	}
	return hcl.Range{}, "", true
}

// separates reports whether a line end inside the level that closer ends also ends an expression.
func separates(closer hclsyntax.TokenType) bool {
	return closer == 0 || closer == hclsyntax.TokenCBrace
}

// closers are the tokens that end what another one begins.
var closers = map[hclsyntax.TokenType]hclsyntax.TokenType{
	hclsyntax.TokenOParen:          hclsyntax.TokenCParen,
	hclsyntax.TokenOBrack:          hclsyntax.TokenCBrack,
	hclsyntax.TokenOBrace:          hclsyntax.TokenCBrace,
	hclsyntax.TokenOQuote:          hclsyntax.TokenCQuote,
	hclsyntax.TokenOHeredoc:        hclsyntax.TokenCHeredoc,
	hclsyntax.TokenTemplateInterp:  hclsyntax.TokenTemplateSeqEnd,
	hclsyntax.TokenTemplateControl: hclsyntax.TokenTemplateSeqEnd,
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

// prepended are the characters that the parser's scanner joins with the one behind them, even a quote: what it takes
// for one text is two for everybody else. (Unicode 15, Grapheme_Cluster_Break=Prepend)
var prepended = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x0600, 0x0605, 1},
		{0x06dd, 0x06dd, 1},
		{0x070f, 0x070f, 1},
		{0x0890, 0x0891, 1},
		{0x08e2, 0x08e2, 1},
		{0x0d4e, 0x0d4e, 1},
	},
	R32: []unicode.Range32{
		{0x110bd, 0x110bd, 1},
		{0x110cd, 0x110cd, 1},
		{0x111c2, 0x111c3, 1},
		{0x1193f, 0x1193f, 1},
		{0x11941, 0x11941, 1},
		{0x11a3a, 0x11a3a, 1},
		{0x11a84, 0x11a89, 1},
		{0x11d46, 0x11d46, 1},
		{0x11f02, 0x11f02, 1},
	},
}

// tooMuchJSON finds the first byte of JSON that nests deeper, or is part of a longer number, than the parser can
// follow. It ends texts where the parser's scanner does, whether they are complete or not.
func tooMuchJSON(src []byte) (at int, what string, ok bool) {
	depth := 0
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			end, ok := textEnd(src, i)
			if !ok {
				return end, "a quote or a backslash cannot follow this character", false
			}
			i = end - 1
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return i, fmt.Sprintf("this is nested deeper than %d levels of lists and objects", maxDepth), false
			}
		case c == ']' || c == '}':
			depth--
		case c >= '0' && c <= '9':
			end := i
			for end < len(src) && strings.IndexByte("0123456789.eE+-", src[end]) >= 0 {
				end++
			}
			if !smallNumber(src[i:end]) {
				return i, longNumber, false
			}
			i = end - 1
		}
	}
	return 0, "", true
}

// textEnd returns the byte behind a text that begins at a quote, or the place of a character that hides a quote.
func textEnd(src []byte, i int) (int, bool) {
	escaped := false
	for i++; i < len(src); i++ {
		c := src[i]
		switch {
		case c < ' ': // the scanner leaves an open text here
			return i, true
		case c == '"' && !escaped:
			return i + 1, true
		case c >= utf8.RuneSelf:
			if r, n := utf8.DecodeRune(src[i:]); unicode.Is(prepended, r) && i+n < len(src) &&
				(src[i+n] == '"' || src[i+n] == '\\') {
				return i, false
			}
		}
		escaped = c == '\\' && !escaped
	}
	return i, true
}
