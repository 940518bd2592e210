package hclfile

import (
	"bytes"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/async-pipeline/async-pipeline/pipeline/hclfile/guard"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile/layout"
)

// Format returns a PIPELINE.hcl in canonical form. It changes only spaces and the end of the file; a line keeps its
// end, also \r\n, which is part of a text in a heredoc. The error is a pipeline.Errors: a file with faults of syntax
// is not formatted.
func Format(path string, src []byte) ([]byte, error) {
	r := &parser{newReport(path, src)}
	if strings.HasSuffix(path, ".json") {
		r.whole("JSON is not formatted", "Format it with a tool for JSON.")
		return nil, r.errors()
	}
	if !r.passes(guard.HCL(r.path, src)) {
		return nil, r.errors()
	}
	r.native(src)
	if err := r.errors(); err != nil {
		return nil, err
	}
	out := layout.Of(src)
	if trimmed := bytes.TrimRight(out, " \t\r\n"); len(trimmed) > 0 {
		out = append(slices.Clip(trimmed), lineEnd(src)...)
	} else {
		out = trimmed
	}
	if len(out) > guard.MaxSize {
		r.whole("formatted, the file would be larger than 1 MiB", "Keep data in files of their own.")
		return nil, r.errors()
	}
	if !sameTokens(src, out) {
		r.whole("this file cannot be formatted without changing what it says",
			"Report it, with the file, as a fault of async-pipeline.")
		return nil, r.errors()
	}
	return out, nil
}

// lineEnd returns what the first line of a file ends with.
func lineEnd(src []byte) string {
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// sameTokens reports whether two files differ only in the spaces between tokens and at their end.
func sameTokens(a, b []byte) bool {
	return slices.EqualFunc(tokensOf(a), tokensOf(b), func(x, y hclsyntax.Token) bool {
		return x.Type == y.Type && bytes.Equal(x.Bytes, y.Bytes)
	})
}

func tokensOf(src []byte) hclsyntax.Tokens {
	all, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos) // it has been parsed
	for i, t := range all {
		if t.Type == hclsyntax.TokenComment {
			all[i].Bytes = bytes.TrimRight(t.Bytes, " \t\r\n")
		}
	}
	for len(all) > 0 && (all[len(all)-1].Type == hclsyntax.TokenEOF ||
		all[len(all)-1].Type == hclsyntax.TokenNewline) {
		all = all[:len(all)-1]
	}
	return all
}
