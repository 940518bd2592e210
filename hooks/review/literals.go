package review

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazyregexp"
)

const (
	leastText   = 4 // bytes of a literal that may come from a test
	leastDigits = 3
	leastPart   = 6   // bytes of a literal that may be a part of one of a test
	maxParts    = 500 // new literals that are looked for in those of tests
)

var (
	product    = lazyregexp.New(`\b(\d+)\s*(<<|\*)\s*(\d+)\b`)
	shellWord  = lazyregexp.New(`[\w.:/@+-]{6,}`)
	shellCase  = lazyregexp.New(`^\s*\(?[\w.:/@+|*?-]+\)`)
	shellEqual = lazyregexp.New(`(?:==?|!=)\s+["']?([\w.:/@+-]{6,})`)
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
	fresh, bare := map[string]place{}, map[string]bool{}
	for _, e := range p.edits {
		if e.production() && e.exists() && !e.opaque {
			for _, j := range e.fresh {
				if imports().MatchString(e.after.plain(j)) {
					continue // everybody imports the same libraries
				}
				values := e.after.literals(j)
				if e.language == "shell" {
					for _, word := range shellCompared(e.after.plain(j)) {
						bare[word], values = true, append(values, word)
					}
				}
				for _, value := range values {
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
		language := lang.Of(path, "")
		s := newSide(language, p.checks.Text(path))
		for i := range s.lines {
			has := func(value string) {
				if in[value] == "" {
					in[value] = fmt.Sprintf("%s:%d", path, i+1)
				}
			}
			if language == "shell" {
				for _, word := range shellWord().FindAllString(s.plain(i), -1) {
					if bare[word] {
						has(word)
					}
				}
			}
			values := append(s.literals(i), products(s.code(i))...)
			for _, value := range values {
				if _, ok := fresh[value]; ok {
					has(value)
				}
			}
			if len(fresh) > maxParts {
				continue
			}
			for value := range fresh {
				if len(value) >= leastPart && slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, value) }) {
					has(value)
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

// shellCompared returns the bare words that a line of shell compares with, but for options and plain words.
func shellCompared(line string) (words []string) {
	if head := shellCase().FindString(line); head != "" {
		words = shellWord().FindAllString(head, -1)
	}
	for _, m := range shellEqual().FindAllStringSubmatch(line, -1) {
		words = append(words, m[1])
	}
	return slices.DeleteFunc(words, func(w string) bool { return !strings.ContainsAny(w[1:], "./:_@0123456789") })
}

// products returns the values of products and shifts, which production code may have as one number.
func products(code string) (values []string) {
	for _, m := range product().FindAllStringSubmatch(code, -1) {
		a, errA := strconv.ParseUint(m[1], 10, 32)
		b, errB := strconv.ParseUint(m[3], 10, 32)
		switch {
		case errA != nil || errB != nil:
		case m[2] == "*":
			values = append(values, strconv.FormatUint(a*b, 10))
		case b < 32:
			values = append(values, strconv.FormatUint(a<<b, 10))
		}
	}
	return values
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
