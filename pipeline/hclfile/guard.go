package hclfile

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const (
	maxSize = 1 << 20 // bytes of a file
	// The parser and the evaluator call themselves once for every bracket, operator and template inside another:
	// 100,000 of them overflow the stack, which recover() cannot catch. So the lexer, which does not, counts first.
	maxDepth = 200
	// The template parser joins neighbouring pieces of text one by one, in the square of their number:
	// a heredoc of 260,000 lines takes it a minute.
	maxPieces = 5000
	maxNumber = 300 // characters of a number, and its exponent: 1e999999999 is a gigabyte of digits
)

// guard refuses what would hurt the parser, before it is asked.
func (r *reading) guard(src []byte) bool {
	if !r.guardText(src) {
		return false
	}
	if calm(src) {
		return true
	}
	tokens, _ := hclsyntax.LexConfig(src, r.path, hcl.InitialPos) // what is no token the parser reports
	at, what, ok := tooMuch(tokens)
	if !ok {
		r.add(at, what, "Give the parts names in a locals block, or put a long script into a file of its own.")
	}
	return ok
}

// guardText refuses what is no text of a bearable size.
func (r *reading) guardText(src []byte) bool {
	if len(src) > maxSize {
		r.whole("the file is larger than 1 MiB", "Keep data in files of their own.")
		return false
	}
	switch {
	case bytes.HasPrefix(src, []byte("\xef\xbb\xbf")):
		r.whole("the file begins with a byte order mark", "Save it as UTF-8 without BOM.")
		return false
	case bytes.HasPrefix(src, []byte("\xff\xfe")), bytes.HasPrefix(src, []byte("\xfe\xff")):
		r.whole("the file is UTF-16", "Save it as UTF-8.")
		return false
	}
	if at := bytes.IndexByte(src, 0); at >= 0 {
		r.add(r.placeOf(at), "the file holds a NUL byte", "This is not a text file; write PIPELINE.hcl as UTF-8 text.")
		return false
	}
	if !utf8.Valid(src) {
		at := 0
		for {
			c, n := utf8.DecodeRune(src[at:])
			if c == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		r.add(r.placeOf(at), "the file is not UTF-8", fmt.Sprintf("The byte 0x%02x cannot stand here. Save the file as UTF-8.", src[at]))
		return false
	}
	return true
}

// A level is what is open at one place of the file.
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
	newline := false // one stands between last and this token
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

// separates says that a line end inside the level that ends with closer ends an expression.
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
