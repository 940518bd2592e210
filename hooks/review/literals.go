package review

import (
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazyregexp"
)

const (
	leastText   = 4 // bytes of a literal that may come from a test
	leastDigits = 3
)

var (
	longNumber = lazyregexp.New(`\b\d[\d_]*(?:\.\d+)?\b`)
	imports    = lazyregexp.New(`^\s*#?\s*(?:import|from|use|require|include)\b|\brequire\s*\(|\bfrom\s*['"]`)
)

// fromTests reports new literals of production code that a failing test has too, and the code before did not:
// literal_from_test. A special case for what the test uses looks like that; so does many an honest message.
func fromTests(p *proposal) (found findings) {
	type place struct {
		e    *edit
		line int
	}
	fresh := map[string]place{}
	for _, e := range p.edits {
		if e.production() && e.exists() && !e.opaque {
			for _, j := range e.fresh {
				if imports().MatchString(e.after.plain(j)) {
					continue // everybody imports the same libraries
				}
				for _, value := range e.after.literals(j) {
					if _, ok := fresh[value]; !ok {
						fresh[value] = place{e, j}
					}
				}
			}
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	in := map[string]string{} // where a test has it
	for _, path := range p.checks.FailingTests() {
		s := newSide(lang.Of(path, ""), p.checks.Text(path))
		for i := range s.lines {
			for _, value := range s.literals(i) {
				if _, ok := fresh[value]; ok && in[value] == "" {
					in[value] = fmt.Sprintf("%s:%d", path, i+1)
				}
			}
		}
	}
	for _, path := range p.checks.Production() {
		if len(in) == 0 {
			return nil
		}
		text := p.checks.Text(path)
		for value := range in {
			if strings.Contains(text, value) {
				delete(in, value)
			}
		}
	}
	for value, test := range in {
		at := fresh[value]
		found.add(at.e, rules.LiteralFromTest, at.line, false, "%s is new here, and is in %s", oneLine(value, 30), test)
	}
	return found
}

// literals returns the strings of at least leastText bytes and the numbers of at least leastDigits digits in a line.
func (s *side) literals(i int) (list []string) {
	for _, value := range longNumber().FindAllString(s.code(i), -1) {
		if len(strings.Map(digit, value)) >= leastDigits {
			list = append(list, value)
		}
	}
	line := s.lines[i]
	for k := 0; k < len(line); k++ {
		from := k
		for k < len(line) && s.kinds[s.start[i]+k] == lang.InString {
			k++
		}
		if value := strings.TrimSuffix(strings.Trim(line[from:k], "\"'`"), `\n`); len(value) >= leastText && strings.TrimSpace(value) != "" {
			list = append(list, value)
		}
	}
	return list
}

func digit(c rune) rune {
	if c < '0' || c > '9' {
		return -1
	}
	return c
}
