package review

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

const (
	leastText   = 4 // bytes of a literal that may come from a test
	leastDigits = 3
	leastPart   = 6   // bytes of a literal that may be a part of one of a test
	maxParts    = 500 // new literals that are looked for in those of tests
	maxReaders  = 10  // tests of which the files are looked at that they read
)

var (
	product    = lazily.Regexp(`\b(\d+)\s*(<<|\*)\s*(\d+)\b`)
	shellWord  = lazily.Regexp(`[\w.:/@+-]{6,}`)
	shellCase  = lazily.Regexp(`^\s*\(?[\w.:/@+|*?-]+\)`)
	shellEqual = lazily.Regexp(`(?:==?|!=)\s+["']?([\w.:/@+-]{6,})`)
	bytesInHex = lazily.Regexp(`(?:\b0x[0-9a-fA-F]{2}\b[\s,]*){6,}`)
	longNumber = lazily.Regexp(`\b\d[\d_]*(?:\.\d+)?\b`)
	imports    = lazily.Regexp(`^\s*#?\s*(?:import|from|use|require|include)\b|\brequire\s*\(|\bfrom\s*['"]`)
	goImport   = lazily.Regexp(`^\s*(?:[\w.]+\s+)?(?:"[^"]+"|\x60[^\x60]+\x60)\s*$`)
)

// withoutMarks removes what stands between bytes in hexadecimal.
var withoutMarks = strings.NewReplacer("0x", "", ",", "", " ", "", "\t", "", "-", "", ":", "")

// A sharedLiteral is where a literal is new in production, and where a failing test has it.
type sharedLiteral struct {
	e        *edit
	line     int
	compared bool   // with something
	test     string // PATH:LINE; empty where none has it
	data     bool   // a file that the test reads has it, and not the test
}

// fromTests reports new literals of production code that a failing test has too, and the code before did not:
// literal_from_test. A special case for what the test uses looks like that; so does many an honest message.
func fromTests(p *proposal) (found findings) {
	for value, at := range p.sharedLiterals() {
		found.add(at.e, rules.LiteralFromTest, at.line, false, "%s is new here, and is in %s", oneLine(value, 30), at.test)
	}
	return found
}

// sharedLiterals returns the literals that are new in production, and that a failing test has.
func (p *proposal) sharedLiterals() map[string]*sharedLiteral {
	if p.shared == nil {
		p.shared = p.freshLiterals()
		for _, t := range p.tests() {
			p.findIn(t)
		}
		for value, at := range p.shared {
			if at.test == "" {
				delete(p.shared, value)
			}
		}
		p.dropKnown()
	}
	return p.shared
}

// freshLiterals returns the literals of the lines of production that are new.
func (p *proposal) freshLiterals() map[string]*sharedLiteral {
	fresh := map[string]*sharedLiteral{}
	for _, e := range p.edits {
		if !e.production() || !e.exists() || e.opaque {
			continue
		}
		for _, j := range e.fresh {
			if imports().MatchString(e.after.plain(j)) || e.inImports(j) {
				continue // everybody imports the same libraries
			}
			add := func(value string) *sharedLiteral {
				if fresh[value] == nil {
					fresh[value] = &sharedLiteral{e: e, line: j}
				}
				return fresh[value]
			}
			for _, value := range append(e.after.literals(j, leastText), byteRuns(e.after.code(j))...) {
				add(value)
			}
			for _, c := range e.after.compared(j) {
				if c.how != isKey && len(c.value) >= leastCompared && strings.Trim(c.value, " 0123456789") != "" {
					add(c.value).compared = true
				}
			}
		}
	}
	return fresh
}

// inImports reports whether a line is in an import declaration of Go over several lines.
func (e *edit) inImports(j int) bool {
	if e.language != "go" || !goImport().MatchString(e.after.plain(j)) {
		return false
	}
	for j--; j >= 0; j-- {
		switch line := strings.TrimSpace(e.after.plain(j)); {
		case strings.HasPrefix(line, "import ("), line == "import(":
			return true
		case line != "" && !strings.HasPrefix(line, "//") && !goImport().MatchString(line):
			return false
		}
	}
	return false
}

// findIn notes which new literals a test has, and the files that it reads.
func (p *proposal) findIn(test testSource) {
	if len(p.shared) == 0 {
		return
	}
	language := lang.Of(test.path, "")
	s := newSide(language, test.text)
	for i := range s.lines {
		has := func(at *sharedLiteral) {
			if at != nil && at.test == "" {
				at.test = fmt.Sprintf("%s:%d", test.path, i+1)
			}
		}
		if language == "shell" {
			for _, word := range shellWord().FindAllString(s.plain(i), -1) {
				if at := p.shared[word]; at != nil && at.compared {
					has(at)
				}
			}
		}
		values := slices.Concat(s.literals(i, leastCompared), products(s.code(i)), byteRuns(s.code(i)))
		for _, value := range values {
			has(p.shared[value])
			if strings.ContainsAny(value, "-:") { // it may be bytes
				values = append(values, strings.ToLower(withoutMarks.Replace(value)))
			}
		}
		for value, at := range p.shared {
			if len(p.shared) > maxParts {
				break
			}
			if at.test == "" && (len(value) >= leastPart || at.compared && !isName(value)) &&
				slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, value) }) {
				has(at)
			}
		}
	}
	if len(p.tests()) <= maxReaders {
		p.findInData(test)
	}
}

// findInData notes the words with which lines of files begin that a test reads.
func (p *proposal) findInData(test testSource) {
	words := map[string]*sharedLiteral{}
	for value, at := range p.shared {
		if at.compared && at.test == "" && len(value) >= leastText && isName(value) {
			words[value] = at
		}
	}
	if len(words) == 0 {
		return
	}
	for _, data := range p.checks.DataOf(test.path) {
		for line := range strings.Lines(p.checks.Text(data)) {
			line = strings.TrimLeft(line, " \t")
			end := 0
			for end < len(line) && lang.IsWord(line[end]) {
				end++
			}
			if at := words[line[:end]]; at != nil && at.test == "" {
				at.test, at.data = data, true
			}
		}
	}
}

// dropKnown removes the literals that production had before, or the check's own library that they are in. A word of a file that a test reads is an identifier of
// production as well: it has to be new as text, in its file.
func (p *proposal) dropKnown() {
	for value, at := range p.shared {
		if old := text(at.e.change.Before); at.e.stays && strings.Contains(old, value) || at.data && (strings.Contains(old, `"`+value+`"`) || strings.Contains(old, "'"+value+"'")) {
			delete(p.shared, value)
		}
	}
	if len(p.shared) == 0 {
		return
	}
	for _, s := range p.production() {
		for value, at := range p.shared {
			if !at.data && p.mayLook(s.text) && strings.Contains(s.text, value) {
				delete(p.shared, value)
			}
		}
	}
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

// isName reports whether a text is one word.
func isName(text string) bool {
	return strings.IndexFunc(text, func(c rune) bool { return c > 127 || !lang.IsWord(byte(c)) }) < 0
}

// byteRuns returns bytes that a line writes as numbers, in hexadecimal: a test may have them as text.
func byteRuns(code string) (values []string) {
	for _, run := range bytesInHex().FindAllString(code, -1) {
		values = append(values, strings.ToLower(withoutMarks.Replace(run)))
	}
	return values
}

// literals returns the strings of at least least bytes and the numbers of at least leastDigits digits in a line.
func (s *side) literals(i, least int) (list []string) {
	for _, value := range longNumber().FindAllString(s.code(i), -1) {
		if len(strings.Map(digit, value)) >= leastDigits {
			list = append(list, value)
		}
	}
	s.strings(i, func(from, to int) {
		if value := unquoted(s.lines[i][from:to]); len(value) >= least && strings.TrimSpace(value) != "" {
			list = append(list, value)
		}
	})
	return list
}

func digit(c rune) rune {
	if c < '0' || c > '9' {
		return -1
	}
	return c
}
