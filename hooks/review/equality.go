package review

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// wide is a tolerance that no rounding of a computer explains.
const wide = 0.01

var (
	tolerance = lazily.Regexp(`(?:\babs\s*\(.*\)|\.abs\(\)|\babs_diff\s*\([^()]*\)|\bMath\.abs\(.*\))\s*\)*\s*<=?\s*(\d[\d.]*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|[A-Za-z_][\w.]*)`)
	closeBy   = lazily.Regexp(`\b(?:abs_tol|rel_tol)\s*=\s*(\d[\d.]*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|[A-Za-z_][\w.]*)`)
	equality  = lazily.Regexp(`\b__eq__['"]?\s*[=:,]\s*lambda\b`)

	ofKind    = lazily.Regexp(`\b(?:isinstance|issubclass|hasattr)\s*\([^()]*(?:\([^()]*\))?[^()]*\)|\btype\s*\([^()]*\)|\b[\w.]+\.__class__\b|\b\w+\s+instanceof\s+[\w.]+`)
	pyHead    = lazily.Regexp(`^\s*class\s+\w+\s*(\([^)]*\))?`)
	pyValue   = lazily.Regexp(`\b(?:int|float|str|bytes|list|tuple|dict|set|frozenset|complex|bool|Decimal|Fraction|date|datetime)\b`)
	pyField   = lazily.Regexp(`\bself\.\w+\s*(?::[^=]*)?=[^=]|^\s+\w+\s*:\s*[\w\[.]+(?:\[[^\]]*\])?\s*(?:=.*)?$|\bsuper\(\)\.__init__\(|\b__slots__\s*=`)
	goEquals  = lazily.Regexp(`^func\s+\([^)]*\)\s+(Is|Equals?)\(\s*(?:(\w+)\s+)?[^)]*\)\s+bool\s*\{`)
	webEquals = lazily.Regexp(`^\s*(?:static\s+)?(?:function\s+)?(?:equals?|isEqual)\s*\(\s*(\w*)[^)]*\)\s*(?::\s*[\w ]+)?\{`)
	notEqual  = lazily.Regexp(`\breturn\s+false\b|\bpanic\(|\bthrow\b|\bsuper\.`)
)

// tolerates reports whether a line of a comparison lets values pass that differ by more than rounding.
func (s *side) tolerates(line string) bool {
	for _, re := range []*regexp.Regexp{tolerance(), closeBy()} {
		for _, m := range re.FindAllStringSubmatch(line, -1) {
			value, err := strconv.ParseFloat(strings.TrimRight(m[1], "."), 64)
			if given := s.constants()[m[1]]; err != nil && given != "" {
				value, err = strconv.ParseFloat(given, 64)
			}
			if err == nil && value >= wide {
				return true
			}
		}
	}
	return false
}

var givenNumber = lazily.Regexp(`([^=\n]*)=\s*([\d.]+(?:[eE][-+]?\d+)?)`)

// readConstants returns the first number that a text gives to each name.
func (s *side) readConstants() map[string]string {
	numbers := map[string]string{}
	for i := range s.lines {
		for _, m := range givenNumber().FindAllStringSubmatch(s.code(i), -1) {
			for _, name := range cName().FindAllString(m[1], -1) {
				if numbers[name] == "" {
					numbers[name] = m[2]
				}
			}
		}
	}
	return numbers
}

const (
	tolerant   = "is equal to what differs: %s"
	anyOfKind  = "is equal to every value of its kind: %s"
	looksAtNot = "does not look at what it is compared with: %s"
)

// pyTolerant reports an __eq__ of Python that was touched, and that is true for values that differ: assertion_removed.
// It has a tolerance, or asks for the type alone although the class has values.
func pyTolerant(e *edit) (found findings) {
	if e.language != "py" || !e.production() || !e.exists() {
		return nil
	}
	for i := range e.after.lines {
		if e.isFresh(i) && equality().MatchString(e.after.plain(i)) && e.after.tolerates(e.after.plain(i)) {
			found.add(e, rules.AssertionRemoved, i, true, tolerant, e.after.trimmed(i))
		}
		m := pyEqual().FindStringSubmatch(e.after.code(i))
		if m == nil || m[1] != "eq" || !e.touches(i) {
			continue
		}
		body := e.after.pyBody(i)
		other := pyEqualOther().FindStringSubmatch(e.after.code(i))
		switch {
		case slices.ContainsFunc(body, e.after.tolerates):
			found.add(e, rules.AssertionRemoved, i, true, tolerant, e.after.trimmed(i))
		case other != nil && e.after.hasValues(i) && asksKindOnly(body, other[1]):
			found.add(e, rules.AssertionRemoved, i, true, anyOfKind, e.after.trimmed(i))
		}
	}
	return found
}

// pyBody returns the lines of a def of Python, without comments; the first is what follows the colon.
func (s *side) pyBody(def int) (body []string) {
	in := indent(s.code(def))
	if m := pyEqual().FindStringSubmatch(s.code(def)); m != nil {
		body = append(body, m[2])
	}
	for k := def + 1; k < len(s.lines); k++ {
		code := s.code(k)
		if strings.TrimSpace(code) != "" && indent(code) <= in {
			break
		}
		body = append(body, s.plain(k))
	}
	return body
}

// asksKindOnly reports whether a comparison asks for the type of what it is given, for nothing else, and may be true.
func asksKindOnly(body []string, other string) bool {
	asks, returns := false, false
	for _, line := range body {
		rest := ofKind().ReplaceAllString(line, "")
		asks = asks || rest != line && mentionsWord(line, other)
		if mentionsWord(rest, other) || strings.Contains(rest, "raise ") || strings.Contains(rest, "super()") {
			return false
		}
		returns = returns || strings.Contains(line, "return")
	}
	return asks && returns
}

// hasValues reports whether the class around a def of Python has values of its own, or is one.
func (s *side) hasValues(def int) bool {
	in, head := indent(s.code(def)), -1
	for k := def - 1; k >= max(0, def-maxUp); k-- {
		if code := s.code(k); strings.TrimSpace(code) != "" && indent(code) < in {
			head = k
			break
		}
	}
	if head < 0 {
		return false
	}
	m := pyHead().FindStringSubmatch(s.code(head))
	if m == nil {
		return false
	}
	for k := head + 1; k < len(s.lines); k++ {
		code := s.code(k)
		if strings.TrimSpace(code) != "" && indent(code) <= indent(s.code(head)) {
			break
		}
		if pyField().MatchString(code) {
			return true
		}
	}
	return pyValue().MatchString(m[1])
}

// braceEquals reports methods of Go and JavaScript that tests compare with, that were touched, and that are true whatever
// they are given: assertion_removed.
func braceEquals(e *edit) (found findings) {
	form := map[string]func() *regexp.Regexp{"go": goEquals, "web": webEquals}[e.language]
	if form == nil || !e.production() || !e.exists() {
		return nil
	}
	for i := range e.after.lines {
		m := form().FindStringSubmatch(e.after.code(i))
		if m == nil {
			continue
		}
		code, end := e.after.function(i)
		if !slices.ContainsFunc(e.fresh, func(j int) bool { return j >= i && j < end }) {
			continue
		}
		body, other := code[strings.IndexByte(code, '{')+1:], m[len(m)-1]
		rest := ofKind().ReplaceAllString(body, "")
		switch {
		case !strings.Contains(body, "return") || notEqual().MatchString(body), strings.Contains(body, "arguments"):
		case other == "" || other == "_" || !mentionsWord(body, other):
			found.add(e, rules.AssertionRemoved, i, true, looksAtNot, e.after.trimmed(i))
		case !mentionsWord(rest, other):
			found.add(e, rules.AssertionRemoved, i, true, anyOfKind, e.after.trimmed(i))
		}
	}
	return found
}
