package man

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/verb"
)

// A manual is a page that is being written. Every text is escaped, so that no help text acts as a request.
type manual struct{ b bytes.Buffer }

// roff returns a line of text; a dot or quote at its beginning makes no request.
func roff(line string) string {
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		return `\&` + escaped(line)
	}
	return escaped(line)
}

var escapes = strings.NewReplacer(
	`\`, `\e`, "-", `\-`, "'", `\(aq`, `"`, `\(dq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// escaped returns text within a line. Characters that man would replace by typographic ones stay as they are.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range escapes.Replace(text) {
		if r >= utf8.RuneSelf {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func lower(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[n:]
}

func (p *manual) line(text string) { p.b.WriteString(text + "\n") }

// macro writes a request with quoted arguments.
func (p *manual) macro(name string, args ...string) {
	for _, a := range args {
		name += ` "` + escaped(a) + `"`
	}
	p.line(name)
}

// text writes one line of a paragraph.
func (p *manual) text(line string) { p.line(roff(line)) }

// verbatim writes lines as they are.
func (p *manual) verbatim(text string) {
	p.line(".PP")
	p.line(".RS 4")
	p.line(".nf")
	for line := range strings.Lines(text) {
		p.line(roff(strings.TrimPrefix(strings.TrimRight(line, "\n"), "  ")))
	}
	p.line(".fi")
	p.line(".RE")
}

// prose writes paragraphs. A paragraph with an indented line is verbatim.
func (p *manual) prose(text string) {
	for part := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		if strings.HasPrefix(part, " ") || strings.Contains(part, "\n ") {
			p.verbatim(part)
			continue
		}
		p.line(".PP")
		for line := range strings.Lines(part) {
			p.text(strings.TrimRight(line, "\n"))
		}
	}
}

// item writes a term and its meaning.
func (p *manual) item(term, meaning string) {
	p.line(".TP")
	p.line(`\fB` + escaped(term) + `\fP`)
	p.text(meaning)
}

func (p *manual) synopsis(c *cobra.Command) {
	use := c.UseLine()
	if c.HasSubCommands() && !strings.Contains(use, "VERB") {
		use = c.CommandPath() + " VERB [flags]"
	}
	name := c.CommandPath()
	p.line(`\fB` + escaped(name) + `\fP` + escaped(strings.TrimPrefix(use, name)))
}

func (p *manual) verbs(c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}
	p.macro(".SH", "VERBS")
	list := func(in string) {
		for _, sub := range c.Commands() {
			if verb.Listed(sub) && sub.GroupID == in {
				p.item(sub.Name(), sub.Short+".")
			}
		}
	}
	for _, g := range c.Groups() {
		p.macro(".SS", strings.TrimSuffix(g.Title, ":"))
		list(g.ID)
	}
	list("")
}

func (p *manual) flags(title string, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	p.macro(".SH", title)
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := f.Name
		if f.NoOptDefVal != "" && f.NoOptDefVal != "true" { // a value may be left out
			name += "[=" + f.NoOptDefVal + "]"
		}
		term := `\fB\-\-` + escaped(name) + `\fP`
		if f.Shorthand != "" {
			term = `\fB\-` + f.Shorthand + `\fP, ` + term
		}
		if value != "" {
			term += ` \fI` + escaped(value) + `\fP`
		}
		p.line(".TP")
		p.line(term)
		if !unsaid(f.DefValue) {
			usage += " (default " + f.DefValue + ")"
		}
		for line := range strings.Lines(usage) {
			p.text(strings.TrimSpace(line))
		}
	})
}

// unsaid reports whether a default is an empty value.
func unsaid(value string) bool {
	return slices.Contains([]string{"", "0", "0s", "false", "[]"}, value)
}

// seeAlso names the pages of the verbs above, below and beside a verb.
func (p *manual) seeAlso(c *cobra.Command) {
	var pages []string
	see := func(o *cobra.Command) {
		if o != c && (verb.Listed(o) || !o.HasParent()) {
			pages = append(pages, name(o))
		}
	}
	if c.HasParent() {
		see(c.Parent())
	}
	for _, sub := range c.Commands() {
		see(sub)
	}
	if c.HasParent() && c.Parent().HasParent() {
		for _, o := range c.Parent().Commands() {
			see(o)
		}
	}
	p.macro(".SH", "SEE ALSO")
	for i, name := range pages {
		end := ""
		if i < len(pages)-1 {
			end = ","
		}
		p.line(`\fB` + escaped(name) + `\fP(1)` + end)
	}
}
