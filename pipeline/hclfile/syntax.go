package hclfile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/async-pipeline/async-pipeline/pipeline/hclfile/guard"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// For the faults behind a fault a file is parsed again: so often, and so many bytes all together.
const (
	maxAgain      = 40
	maxAgainBytes = 1 << 20
)

// A parser parses a file into the bodies of HCL's native syntax.
type parser struct{ *report }

// native parses HCL's native syntax, or adds its faults. It returns false when the result cannot be trusted. A ${…}
// that was meant for the shell is reported and covered up, so that the faults behind it are reported too.
func (r *parser) native(src []byte) (*hclsyntax.Body, bool) {
	for again := 1; ; again++ {
		file, diags := hclsyntax.ParseConfig(src, r.path, hcl.InitialPos)
		if !diags.HasErrors() {
			body, ok := file.Body.(*hclsyntax.Body)
			return body, ok
		}
		tokens, _ := hclsyntax.LexConfig(src, r.path, hcl.InitialPos)
		diags = untorn(tokens, diags)
		meant, at := r.meantForShell(src, diags)
		if meant == nil || again > maxAgain || again*len(src) > maxAgainBytes || sensitive().Match(src) { // a secret that is covered up would not be found again
			body, ok := file.Body.(*hclsyntax.Body)
			return body, r.syntax(diags) && ok
		}
		r.syntax(meant)
		r.covered = append(r.covered, at...)
		src = slices.Clone(src)
		for _, i := range at {
			src[i] = '_'
		}
		if !r.passes(guard.HCL(r.path, src)) { // what was a comment, or a part of a text, no longer is
			return nil, false
		}
	}
}

// isCovered reports whether a fault within a place was reported and covered up.
func (r *report) isCovered(at hcl.Range) bool {
	return slices.ContainsFunc(r.covered, func(i int) bool { return at.Start.Byte <= i && i < at.End.Byte })
}

// untorn removes what follows from a text without its closing quote, or from a comment that begins inside a text: the
// parser misunderstands everything behind it.
func untorn(tokens hclsyntax.Tokens, diags hcl.Diagnostics) hcl.Diagnostics {
	const unread = " What comes after this line was not read."
	cut := func(at hcl.Range, summary, detail string) hcl.Diagnostics {
		d := &hcl.Diagnostic{Severity: hcl.DiagError, Subject: &at, Summary: summary, Detail: detail}
		return append(above(diags, at), d)
	}
	open := 0 // the last quote that begins a text
	for i, t := range tokens {
		switch {
		case t.Type == hclsyntax.TokenOQuote:
			open = i
		case t.Type == hclsyntax.TokenQuotedNewline:
			at := tokens[open].Range
			at.End = t.Range.Start
			return cut(at, "a quote is missing in this line",
				"A text ends in the line in which it begins. For one of several lines write \\n in it, or <<EOT."+unread)
		case t.Type == hclsyntax.TokenComment && hidesQuote(t.Bytes):
			at := t.Range
			at.End = at.Start
			at.End.Byte, at.End.Column = at.End.Byte+2, at.End.Column+2
			return cut(at, "a quote is missing in this line",
				"Outside of quotes /* begins a comment, up to the next */."+unread)
		case t.Type == hclsyntax.TokenComment && i > 0 && tokens[i-1].Type == hclsyntax.TokenTemplateInterp &&
			tokens[i-1].Range.End.Byte == t.Range.Start.Byte && t.Bytes[0] == '#' && bytes.IndexByte(t.Bytes, '}') > 0:
			return cut(tokens[i-1].Range, "a comment begins in this text",
				"Behind ${ a # begins a comment, to the end of the line.")
		}
	}
	return diags
}

// hidesQuote reports whether a comment of several lines was probably meant as a pattern without its opening quote,
// such as **/*.go": its first line has one quote.
func hidesQuote(comment []byte) bool {
	line, _, several := bytes.Cut(comment, []byte("\n"))
	return several && bytes.HasPrefix(line, []byte("/*")) && bytes.Count(line, []byte(`"`))%2 == 1
}

// above returns the faults in lines above a place, without those of something that is opened and never closed: their
// cause is further down.
func above(diags hcl.Diagnostics, at hcl.Range) hcl.Diagnostics {
	var all hcl.Diagnostics
	for _, d := range diags {
		unclosed := strings.HasPrefix(d.Summary, "Unclosed") || strings.HasPrefix(d.Summary, "Unterminated")
		if d.Subject != nil && d.Subject.Start.Line < at.Start.Line && !unclosed {
			all = append(all, d)
		}
	}
	return all
}

// meantForShell returns the faults of a ${…} or %{…} that was probably meant for the shell, one a line, and the bytes
// where those begin.
func (r *parser) meantForShell(src []byte, diags hcl.Diagnostics) (meant hcl.Diagnostics, at []int) {
	line := 0
	for i, d := range diags {
		if d.Severity != hcl.DiagError || d.Subject == nil || d.Subject.Start.Line <= line || i > maxFaults {
			continue
		}
		if m := r.shellAt(*d.Subject); m != nil && src[m[0]] != '_' && src[m[1]-1] == '}' {
			line, meant, at = d.Subject.Start.Line, append(meant, d), append(at, m[0])
		}
	}
	return meant, at
}

// syntax adds the parser's faults. It returns false when the parsed body cannot be trusted.
func (r *parser) syntax(diags hcl.Diagnostics) bool {
	fine := true
	mask := sensitive().Match(r.src)
	begun := make(map[int]bool) // bytes where a fault begins: the next one there is only a consequence
	for i, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		if i > 10*maxFaults { // each is looked at in its line
			r.more += len(diags) - i
			return false
		}
		if d.Summary != redefined { // the parser took the first and went on
			fine = false
		}
		var at hcl.Range
		if d.Subject != nil {
			at = *d.Subject
		}
		if begun[at.Start.Byte] && at.Start.Line > 0 {
			continue
		}
		begun[at.Start.Byte] = true
		summary := strings.TrimSuffix(d.Summary, ".")
		if d.Summary == redefined {
			summary = fmt.Sprintf("%q is written twice", at.SliceBytes(r.src))
		}
		e := r.at(at, summary, r.remedy(d, at))
		if mask { // nobody knows which values are secret in a file that is not parsed
			e.Source = strings.Map(func(c rune) rune {
				if unicode.IsSpace(c) {
					return c
				}
				return '*'
			}, e.Source)
		}
		r.put(e)
	}
	return fine
}

// redefined is the parser's summary for an attribute that is written twice.
const redefined = "Attribute redefined"

// sensitive matches the word that makes a value of the file a secret.
var sensitive = lazily.Regexp(`\bsensitive\b`)

var shellExpansion = lazily.Regexp(`[$%]\{(?:[^{}"]|\{[^{}"]*\})*\}?`)

// remedy returns the parser's explanation, or ours where the fault is a known habit.
func (r *parser) remedy(d *hcl.Diagnostic, at hcl.Range) string {
	detail := strings.Join(strings.Fields(d.Detail), " ")
	switch d.Summary {
	case "Invalid single-argument block definition":
		return "A block on one line can have one argument only; write this one over several lines."
	case redefined:
		return "Write each attribute once; take one of them out."
	}
	if m := r.shellAt(at); m != nil {
		detail, _, _ = strings.Cut(detail, " Did you intend")
		return strings.TrimSpace(detail + " " + meant(string(r.src[m[0]:m[1]])))
	}
	return detail
}

// meant returns what to write where the text of a template was meant for another program.
func meant(text string) string {
	if !strings.HasSuffix(text, "}") {
		text = text[:2] + "…}"
	}
	if text[0] == '%' {
		return fmt.Sprintf("Inside %%{ } is a directive such as if or for. If a program is meant, write %%%s.", text)
	}
	return fmt.Sprintf("Inside ${ } is an expression of the pipeline. If the shell is meant, write $%s.", text)
}

// shellAt returns where the ${…} or %{…} around a place begins and ends, in its line, or nil.
func (r *parser) shellAt(at hcl.Range) []int {
	line := at.Start.Line
	if line < 1 || line > len(r.quotable()) || len(r.lines[line-1]) > 4096 {
		return nil
	}
	text := r.lines[line-1]
	begin := bytes.LastIndexByte(r.src[:min(at.Start.Byte, len(r.src))], '\n') + 1
	offset := at.Start.Byte - begin
	for _, m := range shellExpansion().FindAllStringIndex(text, -1) {
		if m[0] <= offset && offset <= m[1] && (m[0] == 0 || text[m[0]-1] != text[m[0]]) {
			return []int{begin + m[0], begin + m[1]}
		}
	}
	return nil
}
