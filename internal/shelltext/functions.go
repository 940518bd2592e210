package shelltext

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Functions splits a text into the functions at its top, name to body, and the lines around them, without comments
// and blank ones. ok is false for a text that does not parse, is too long, or defines a function twice.
func Functions(src string) (functions map[string]string, around []string, ok bool) {
	if len(src) > maxText {
		return nil, nil, false
	}
	file, err := parser().Parse(shallow{strings.NewReader(src)}, "")
	if err != nil {
		return nil, nil, false
	}
	functions = map[string]string{}
	rest := []byte(src)
	blank := func(from, to syntax.Pos) {
		for i := from.Offset(); i < to.Offset(); i++ {
			if rest[i] != '\n' {
				rest[i] = ' '
			}
		}
	}
	for _, s := range file.Stmts {
		for _, c := range s.Comments {
			if !strings.HasPrefix(c.Text, "!") || c.Hash.Offset() > 0 {
				blank(c.Pos(), c.End())
			}
		}
		f, is := s.Cmd.(*syntax.FuncDecl)
		if !is || f.Name == nil || len(s.Redirs) > 0 || s.Negated || s.Background || s.Coprocess {
			continue
		}
		name := f.Name.Value
		if _, twice := functions[name]; twice {
			return nil, nil, false
		}
		functions[name] = src[f.Body.Pos().Offset():f.Body.End().Offset()]
		blank(f.Pos(), f.End())
	}
	for _, c := range file.Last {
		blank(c.Pos(), c.End())
	}
	for line := range strings.Lines(string(rest)) {
		if line = strings.TrimRight(line, " \t\r\n;"); line != "" {
			around = append(around, line)
		}
	}
	return functions, around, true
}
