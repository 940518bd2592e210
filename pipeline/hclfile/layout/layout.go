// Package layout is the canonical form of an HCL file: where its tokens stand. It is that of hclwrite.Format, which the
// tests compare with. hclwrite itself is not part of the program: a library that it imports took a sixth of the time in
// which the program starts, of every verb.
package layout

import (
	"bytes"

	"github.com/apparentlymart/go-textseg/v15/textseg"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// A placed token has so many spaces before it.
type placed struct {
	hclsyntax.Token
	spaces int
}

// A line is a line of a file, in parts that are aligned with those of the lines around it. A heredoc is one line.
type line struct {
	lead    []placed // all that is in no other part
	assign  []placed // from the = of an attribute whose value ends in this line
	comment []placed // behind something else
}

// Of returns a file, which has no faults of syntax, with the spaces before its tokens changed.
func Of(src []byte) []byte {
	found, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos)
	tokens := make([]placed, len(found))
	end := 0
	for i, t := range found {
		tokens[i] = placed{t, t.Range.Start.Byte - end}
		end = t.Range.End.Byte
	}
	lines := linesOf(tokens)
	indent(lines)
	for _, l := range lines {
		space(l.lead)
		space(l.assign)
	}
	align(lines, func(l line) (before int, part []placed) { return width(l.lead), l.assign })
	align(lines, func(l line) (before int, part []placed) { return width(l.lead) + width(l.assign), l.comment })

	out := make([]byte, 0, len(src)+len(src)/8)
	for _, t := range tokens {
		out = append(out, bytes.Repeat([]byte{' '}, t.spaces)...)
		out = append(out, t.Bytes...)
	}
	return out
}

// linesOf returns the lines, whose parts are parts of tokens. The token at the end of the file is in none.
func linesOf(tokens []placed) []line {
	var lines []line
	for start, i := 0, 0; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.Type == hclsyntax.TokenEOF:
			lines = append(lines, lineOf(tokens[start:i]))
		case t.Type == hclsyntax.TokenNewline, t.Type == hclsyntax.TokenComment && bytes.HasSuffix(t.Bytes, []byte{'\n'}):
			lines = append(lines, lineOf(tokens[start:i+1]))
			start = i + 1
		}
	}
	return lines
}

func lineOf(tokens []placed) line {
	l := line{lead: tokens}
	if last := len(tokens) - 1; last > 0 && tokens[last].Type == hclsyntax.TokenComment {
		l.lead, l.comment = tokens[:last], tokens[last:]
	}
	for i, t := range l.lead {
		if i > 0 && t.Type == hclsyntax.TokenEqual {
			if opened(l.lead[i:]) == 0 {
				l.lead, l.assign = l.lead[:i], l.lead[i:]
			}
			break
		}
	}
	return l
}

// indent puts two spaces before a line for each line above that opened brackets which are still open.
func indent(lines []line) {
	var open []int // how many brackets each of those lines opened
	for _, l := range lines {
		if len(l.lead) == 0 {
			continue
		}
		if l.lead[0].Type == hclsyntax.TokenNewline {
			l.lead[0].spaces = 0
			continue
		}
		n := opened(untilHeredoc(l.lead)) + opened(l.assign)
		for close := -n; close > 0 && len(open) > 0; {
			last := &open[len(open)-1]
			closing := min(close, *last)
			close -= closing
			if *last -= closing; *last == 0 {
				open = open[:len(open)-1]
			}
		}
		l.lead[0].spaces = 2 * len(open)
		if n > 0 {
			open = append(open, n)
		}
	}
}

func untilHeredoc(tokens []placed) []placed {
	for i, t := range tokens {
		if t.Type == hclsyntax.TokenOHeredoc {
			return tokens[:i]
		}
	}
	return tokens
}

// opened returns how many more brackets tokens open than they close.
func opened(tokens []placed) (n int) {
	for _, t := range tokens {
		n += bracket(t.Type)
	}
	return n
}

// bracket returns 1 for a token that opens a bracket, -1 for one that closes it.
func bracket(t hclsyntax.TokenType) int {
	switch t {
	case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateControl, hclsyntax.TokenTemplateInterp:
		return 1
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd:
		return -1
	}
	return 0
}

// space puts one space or none between the tokens of a part.
func space(part []placed) {
	before := hclsyntax.TokenNil
	for i := 0; i+1 < len(part); i++ {
		part[i+1].spaces = 0
		if apart(before, part[i].Token, part[i+1].Type) {
			part[i+1].spaces = 1
		}
		before = part[i].Type
	}
}

// align puts spaces before a part of consecutive lines that have it, so that all begin in the same column. part returns
// it, and how many columns are before it.
func align(lines []line, part func(line) (int, []placed)) {
	for len(lines) > 0 {
		n, widest := 0, 0
		for ; n < len(lines); n++ {
			before, p := part(lines[n])
			if len(p) == 0 {
				break
			}
			widest = max(widest, before)
		}
		for _, l := range lines[:n] {
			before, p := part(l)
			p[0].spaces = widest - before + 1
		}
		lines = lines[min(n+1, len(lines)):]
	}
}

// width returns the columns of tokens, as hclwrite counts them.
func width(tokens []placed) (columns int) {
	for _, t := range tokens {
		n, _ := textseg.TokenCount(t.Bytes, textseg.ScanGraphemeClusters) // it fails only as its reader does
		columns += t.spaces + n
	}
	return columns
}

// apart reports whether there is a space between t and the next token. before is what stands before t in its part, or
// TokenNil.
func apart(before hclsyntax.TokenType, t hclsyntax.Token, next hclsyntax.TokenType) bool {
	switch is := t.Type; {
	case next == hclsyntax.TokenNewline, next == hclsyntax.TokenComma, next == hclsyntax.TokenEllipsis,
		next == hclsyntax.TokenDot, is == hclsyntax.TokenDot,
		is == hclsyntax.TokenIdent && (next == hclsyntax.TokenOParen || next == hclsyntax.TokenDoubleColon),
		is == hclsyntax.TokenDoubleColon && next == hclsyntax.TokenIdent:
		return false
	case is == hclsyntax.TokenComma:
		return true
	case inTemplate(is), is == hclsyntax.TokenOQuote, is == hclsyntax.TokenOHeredoc,
		inTemplate(next), next == hclsyntax.TokenCQuote, next == hclsyntax.TokenCHeredoc:
		return false
	case is == hclsyntax.TokenIdent && before == hclsyntax.TokenIdent && string(t.Bytes) == "in": // of a for expression
		return true
	case is == hclsyntax.TokenBang, next == hclsyntax.TokenOBrack &&
		(is == hclsyntax.TokenIdent || is == hclsyntax.TokenNumberLit || bracket(is) < 0):
		return false
	case is == hclsyntax.TokenMinus:
		return endsOperand(before)
	case is == hclsyntax.TokenOBrace || next == hclsyntax.TokenCBrace:
		return is != hclsyntax.TokenOBrace || next != hclsyntax.TokenCBrace
	case (is == hclsyntax.TokenTemplateInterp || is == hclsyntax.TokenTemplateControl) && next == hclsyntax.TokenOBrace,
		is == hclsyntax.TokenCBrace && next == hclsyntax.TokenTemplateSeqEnd:
		return true
	case is == hclsyntax.TokenTemplateSeqEnd && (next == hclsyntax.TokenTemplateInterp || next == hclsyntax.TokenTemplateControl):
		return false
	default:
		return bracket(is) <= 0 && bracket(next) >= 0
	}
}

func inTemplate(t hclsyntax.TokenType) bool {
	return t == hclsyntax.TokenQuotedLit || t == hclsyntax.TokenStringLit
}

// endsOperand reports whether a minus behind such a token is a subtraction.
func endsOperand(t hclsyntax.TokenType) bool {
	switch t {
	case hclsyntax.TokenNil, hclsyntax.TokenOParen, hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenEqual,
		hclsyntax.TokenColon, hclsyntax.TokenComma, hclsyntax.TokenQuestion,
		hclsyntax.TokenPlus, hclsyntax.TokenStar, hclsyntax.TokenSlash, hclsyntax.TokenPercent, hclsyntax.TokenMinus,
		hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual, hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq,
		hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq, hclsyntax.TokenAnd, hclsyntax.TokenOr, hclsyntax.TokenBang:
		return false
	}
	return true
}
