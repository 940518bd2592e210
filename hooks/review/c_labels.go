package review

import (
	"regexp"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// maxLabel is the number of lines that an asm label goes on.
const maxLabel = 6

var (
	cAsm = lazily.Regexp(`\b(?:__)?asm(?:__)?\b`)

	// cLabelToken matches what the argument of asm is made of.
	cLabelToken = lazily.Regexp(`"((?:[^"\\]|\\.)*)"|([A-Za-z_]\w*)|[():]`)

	// cSymbols matches the names that assembly defines: of a label, and of directives.
	cSymbols = lazily.Regexp(`(?:^|\.(?:globa?l|set|equ|weak|type)\s+)(\w+)`)

	// cDeclared matches the end of a declaration in front of its label.
	cDeclared = lazily.Regexp(`(\w+)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*$`)
)

// replacedName returns what it is to define a name: exit_swallowed for what ends a process or an assert,
// library_shadowed for another function of the C library that tests depend on, else "".
func replacedName(name string) string {
	is := func(list []string) bool {
		return slices.Contains(list, name) || slices.Contains(list, strings.TrimPrefix(name, "_")) // as some systems have it
	}
	switch {
	case is(rules.CEnds()) || strings.HasPrefix(name, "__assert"):
		return rules.ExitSwallowed
	case is(rules.CCompares()), is(rules.CLibrary()):
		return rules.LibraryShadowed
	}
	return ""
}

// cLabels reports functions of C that assembly gives the name of another one of the C library. The name may be in
// pieces, and in macros of the patch.
func cLabels(p *proposal) (found findings) {
	macros, words := map[string]string{}, "(?:__)?asm(?:__)?"
	sources := map[*edit]*side{}
	for _, e := range p.edits {
		s := e.cText()
		if s == nil {
			continue
		}
		sources[e] = s
		for i, line := range s.lines {
			if !strings.Contains(line, "define") {
				continue
			}
			switch m := cDefine().FindStringSubmatch(s.plain(i)); {
			case m != nil && cAsm().MatchString(m[3]):
				words += "|" + m[1]
			case m != nil:
				macros[m[1]] = m[3]
			}
		}
	}
	label := regexp.MustCompile(`\b(?:` + words + `)\s*(?:\b(?:volatile|__volatile__|inline|goto)\s*)*\(`)
	for _, e := range p.edits {
		s := sources[e]
		if s == nil {
			continue
		}
		for _, j := range e.fresh {
			line := s.plain(j)
			text := line
			for k := j + 1; k < min(len(s.lines), j+maxLabel); k++ {
				text += "\n" + s.plain(k)
			}
			at := label.FindStringIndex(text)
			if at == nil || at[0] >= len(line) || cDirective().MatchString(line) {
				continue
			}
			assembly := labelText(text[at[1]:], macros)
			for i, m := range cSymbols().FindAllStringSubmatch(assembly, -1) {
				kind := replacedName(m[1])
				declared := cDeclared().FindStringSubmatch(s.plain(max(0, j-1)) + " " + text[:at[0]])
				only := i == 0 && m[0] == m[1] && declared != nil && !p.definesC(sources, declared[1]) // it is called by another name
				if kind == rules.ExitSwallowed || kind != "" && !only {
					found.add(e, kind, j, true, "another %s: %s", m[1], s.trimmed(j))
					break
				}
			}
		}
	}
	return found
}

// definesC reports whether one of the patch's sources of C defines a function.
func (p *proposal) definesC(sources map[*edit]*side, name string) bool {
	for _, s := range sources {
		for i := range s.lines {
			if strings.Contains(s.lines[i], name) && defines(s, i, name) {
				return true
			}
		}
	}
	return false
}

// labelText returns the strings of an argument of asm as one, up to its operands. What a macro is given counts as a
// string, and a macro of the patch as its own strings.
func labelText(text string, macros map[string]string) string {
	var b strings.Builder
	depth := 1
	for _, m := range cLabelToken().FindAllStringSubmatch(text, -1) {
		switch {
		case m[0] == "(":
			depth++
		case m[0] == ")":
			depth--
		case m[2] != "" && macros[m[2]] != "":
			for _, part := range cLabelToken().FindAllStringSubmatch(macros[m[2]], -1) {
				b.WriteString(part[1])
			}
		case m[2] != "" && depth == 1:
		default:
			b.WriteString(m[1] + m[2])
		}
		if depth == 0 || m[0] == ":" && depth == 1 {
			break
		}
	}
	return b.String()
}
