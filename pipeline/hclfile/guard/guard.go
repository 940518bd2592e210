// Package guard limits what HCL's parser and evaluator are given, so that no PIPELINE.hcl can overflow the stack,
// fill the memory or take minutes. Only pipeline/hclfile uses it.
//
// Before parsing: HCL and JSON check the bytes of a file, Tokens a template inside JSON. Before evaluating: Bound
// makes the loops and divisions of an expression check themselves, Limited wraps functions whose results can be
// much larger than their arguments. Evaluate then turns what is left, a panic of the library, into a diagnostic.
// SizeOf measures finished values.
package guard

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const (
	// MaxSize is the largest file, in bytes.
	MaxSize = 1 << 20
	// The parser and the evaluator call themselves once for every bracket, operator and template inside another:
	// 100,000 of them overflow the stack, which recover() cannot catch. The lexer does not recurse, so it counts
	// first.
	maxDepth = 200
	// The template parser joins neighbouring pieces of text one by one, in the square of their number:
	// a heredoc of 260,000 lines takes it a minute.
	maxPieces = 5000
	maxNumber = 300 // characters of a number, and its exponent: 1e999999999 is a gigabyte of digits
)

// A Fault is the reason why a file is refused before it is parsed.
type Fault struct {
	At      hcl.Range // the zero Range is the whole file
	Summary string
	Detail  string // what to do
}

// longNumber is what is wrong with a number beyond maxNumber.
const longNumber = "this number is too long"

// HCL returns why the parser of HCL's native syntax must not see a file, or nil.
func HCL(name string, src []byte) *Fault {
	if f := text(name, src); f != nil || plain(src) {
		return f
	}
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos) // the parser reports what is not a token
	return Tokens(tokens)
}

// JSON returns why the parser of HCL's JSON syntax must not see a file, or nil.
func JSON(name string, src []byte) *Fault {
	if f := text(name, src); f != nil {
		return f
	}
	if at, what, ok := tooMuchJSON(src); !ok {
		return &Fault{placeOf(name, src, at), what, "Write fewer levels of lists and objects, and shorter numbers."}
	}
	return nil
}

// Tokens returns why the parser must not see what was lexed as tokens, or nil.
func Tokens(tokens hclsyntax.Tokens) *Fault {
	if at, what, ok := tooMuch(tokens); !ok {
		do := "Give the parts names in a locals block, or put a long script into a file of its own."
		if what == longNumber {
			do = fmt.Sprintf("Write at most %d characters, and an exponent of at most %d; what is text belongs in quotes.", maxNumber, maxNumber)
		}
		return &Fault{at, what, do}
	}
	return nil
}

// text refuses what is too large or not UTF-8 text.
func text(name string, src []byte) *Fault {
	switch {
	case len(src) > MaxSize:
		return &Fault{Summary: "the file is larger than 1 MiB", Detail: "Keep data in files of their own."}
	case bytes.HasPrefix(src, []byte("\xef\xbb\xbf")):
		return &Fault{Summary: "the file begins with a byte order mark", Detail: "Save it as UTF-8 without BOM."}
	case bytes.HasPrefix(src, []byte("\xff\xfe")), bytes.HasPrefix(src, []byte("\xfe\xff")):
		return &Fault{Summary: "the file is UTF-16", Detail: "Save it as UTF-8."}
	}
	if at := bytes.IndexByte(src, 0); at >= 0 {
		return &Fault{placeOf(name, src, at), "the file contains a NUL byte", "This is not a text file; write PIPELINE.hcl as UTF-8 text."}
	}
	if utf8.Valid(src) {
		return nil
	}
	at := 0
	for {
		c, n := utf8.DecodeRune(src[at:])
		if c == utf8.RuneError && n == 1 {
			return &Fault{
				placeOf(name, src, at), "the file is not UTF-8",
				fmt.Sprintf("The byte 0x%02x is not valid here. Save the file as UTF-8.", src[at]),
			}
		}
		at += n
	}
}

// placeOf is the place of one byte of a file.
func placeOf(name string, src []byte, offset int) hcl.Range {
	line := bytes.Count(src[:offset], []byte("\n")) + 1
	start := bytes.LastIndexByte(src[:offset], '\n') + 1
	column := utf8.RuneCount(src[start:offset]) + 1
	return hcl.Range{
		Filename: name,
		Start:    hcl.Pos{Line: line, Column: column, Byte: offset},
		End:      hcl.Pos{Line: line, Column: column + 1, Byte: offset + 1},
	}
}
