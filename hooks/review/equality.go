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

	ofKind = lazily.Regexp(`\b(?:isinstance|issubclass|hasattr)\s*\([^()]*(?:\([^()]*\))?[^()]*\)|\btype\s*\([^()]*\)|\b[\w.]+\.__class__\b|\b\w+\s+instanceof\s+[\w.]+` +
		`|\blen\s*\([^()]*\)|\b\w+\.length\b`)
	// otherEqual is another method in the place of __eq__; its name does not speak of what is the same.
	otherEqual = lazily.Regexp(`\b__eq__['"]?\s*[=:,]\s*(?:\w+\.)*(?:__(?:contains|[gl][et]|ne|bool|len|hash|init|call|and|or)__|isinstance|issubclass|bool)\s*(?:[,)}]|$)`)
	pyOrders   = lazily.Regexp(`\bin\s+self\b|<=?[^<>=&|;]*<=?|>=?[^<>=&|;]*>=?`)
	pySame     = lazily.Regexp(`[=!]=|\bis\b|\bnot\b|\band\b|\b__\w+__\(|isclose|\b(?:eq|cmp|same|equals?|is_equal)\w*\(`)
	pyText     = lazily.Regexp(`\b(?:str|bytes|UserString)\b`)
	pyChanges  = lazily.Regexp(`\bre\.sub\(|\.(?:replace|split|translate)\(`)
	perlEqual  = lazily.Regexp(`['"]?(eq|==|cmp)['"]?\s*=>\s*(?:sub\s*\{|\\&\s*(?:\w+::)*(\w+))`)
	perlEdits  = lazily.Regexp(`=~\s*(?:s|tr|y)\s*[^\w\s,;=]|\bsubstr\b`)

	pyHead  = lazily.Regexp(`^\s*class\s+\w+\s*(\([^)]*\))?`)
	pyValue = lazily.Regexp(`\b(?:int|float|str|bytes|list|tuple|dict|set|frozenset|complex|bool|Decimal|Fraction|date|datetime)\b`)
	pyField = lazily.Regexp(`\bself\.\w+\s*(?::[^=]*)?=[^=]|^\s+\w+\s*:\s*[\w\[.]+(?:\[[^\]]*\])?\s*(?:=.*)?$|\bsuper\(\)\.__init__\(|\b__slots__\s*=`)
	// pyAnswers are methods of builtins that assertions lean on; pyReckons give a number.
	pyAnswers = lazily.Regexp(`^\s*def\s+__(?:contains|lt|le|gt|ge)__\s*\(\s*\w+\s*,\s*(\w+)[^)]*\)[^:]*:(.*)$`)
	pyReckons = lazily.Regexp(`^\s*def\s+__(?:r?sub__\s*\(\s*\w+\s*,|(?:abs|round|len)__\s*\()\s*(\w+)[^)]*\)[^:]*:(.*)$`)
	pyNothing = lazily.Regexp(`^\s*(?:NotImplemented|None)?\s*$`)
	// webAnswers are the same of JavaScript, webBuiltin the head of a class that has them.
	webAnswers = lazily.Regexp(`^\s*(?:includes|has|indexOf|startsWith|endsWith|some|every|test)\s*\(\s*(\w*)[^)]*\)[^{;]*\{`)
	webBuiltin = lazily.Regexp(`\bclass\b.*\bextends\s+(?:Array|String|Map|Set|Number|RegExp|\w+Array)\b`)

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
		if e.isFresh(i) && otherEqual().MatchString(e.after.plain(i)) {
			found.add(e, rules.AssertionRemoved, i, true, tolerant, e.after.trimmed(i))
		}
		m := pyEqual().FindStringSubmatch(e.after.code(i))
		if m == nil || m[1] != "eq" || !e.touches(i) {
			continue
		}
		body := e.after.pyBody(i)
		other := pyEqualOther().FindStringSubmatch(e.after.code(i))
		switch {
		case slices.ContainsFunc(body, e.after.tolerates), e.after.changesText(i, body), ordersOnly(body):
			found.add(e, rules.AssertionRemoved, i, true, tolerant, e.after.trimmed(i))
		case other != nil && e.after.hasValues(i) && asksKindOnly(body, other[1]):
			found.add(e, rules.AssertionRemoved, i, true, anyOfKind, e.after.trimmed(i))
		}
	}
	return found
}

// pyBuiltins reports classes made of builtins with a method that assertions lean on, and that does not look at what it is
// given: assertion_removed.
func pyBuiltins(e *edit) (found findings) {
	if e.language != "py" || !e.production() || !e.exists() {
		return nil
	}
	for i := range e.after.lines {
		answer := pyAnswers().FindStringSubmatch(e.after.code(i))
		if answer == nil && !pyReckons().MatchString(e.after.code(i)) || !e.touches(i) || !e.after.ofBuiltin(i, pyHead(), pyValue()) {
			continue
		}
		if (answer != nil && (e.ignoresOther(i, pyAnswers(), pyNotEqual()) || asksKindOnly(e.after.pyBody(i), answer[1])) ||
			e.ignoresOther(i, pyReckons(), pyNothing())) && !e.standsForAll(e.after.classHead(i)) {
			found.add(e, rules.AssertionRemoved, i, true, looksAtNot, e.after.trimmed(i))
		}
	}
	return found
}

// ofBuiltin reports whether the class around a method has a head, and in it the name of a builtin.
func (s *side) ofBuiltin(def int, class, builtin *regexp.Regexp) bool {
	head := s.classHead(def)
	return head >= 0 && builtin.MatchString(class.FindString(s.code(head)))
}

// ordersOnly reports whether a comparison asks whether a value is in another, or between two, and for nothing else.
func ordersOnly(body []string) bool {
	asked := func(re func() *regexp.Regexp) bool { return slices.ContainsFunc(body, re().MatchString) }
	return asked(pyOrders) && !asked(pySame)
}

// changesText reports whether the class around a def of Python is a text, and compares it without a part of it.
func (s *side) changesText(def int, body []string) bool {
	head := s.classHead(def)
	if head < 0 {
		return false
	}
	m := pyHead().FindStringSubmatch(s.code(head))
	return m != nil && pyText().MatchString(m[1]) && slices.ContainsFunc(body, pyChanges().MatchString)
}

// classHead returns the line of the class around a def of Python, from 0; -1: there is none.
func (s *side) classHead(def int) int {
	in := indent(s.code(def))
	for k := def - 1; k >= max(0, def-maxUp); k-- {
		if code := s.code(k); strings.TrimSpace(code) != "" && indent(code) < in {
			return k
		}
	}
	return -1
}

// perlEdited reports an overload of Perl that changes what it is given before it compares: assertion_removed.
func perlEdited(e *edit) (found findings) {
	if e.language != "perl" || !e.production() || !e.exists() {
		return nil
	}
	for i := range e.after.lines {
		for _, m := range perlEqual().FindAllStringSubmatchIndex(e.after.plain(i), -1) {
			line := e.after.plain(i)
			key, at, from := line[m[2]:m[3]], i, m[0]
			if m[4] >= 0 {
				sub := regexp.MustCompile(`^\s*sub\s+` + line[m[4]:m[5]] + `\b`)
				at, from = slices.IndexFunc(e.after.lines, sub.MatchString), 0
			}
			if at < 0 || key == "cmp" && strings.Contains(text(e.change.After), "'eq'") {
				continue
			}
			body, end := e.after.blockFrom(at, from)
			if perlEdits().MatchString(body) && slices.ContainsFunc(e.fresh, func(j int) bool { return j == i || j >= at && j <= end }) {
				found.add(e, rules.AssertionRemoved, i, true, tolerant, e.after.trimmed(i))
			}
		}
	}
	return found
}

// blockFrom returns the text of the block in braces that begins in a line, at a byte, and its last line.
func (s *side) blockFrom(line, from int) (body string, end int) {
	depth := 0
	var b strings.Builder
	for end = line; end < min(line+maxUp, len(s.lines)); end++ {
		for _, c := range []byte(s.plain(end)[from:]) {
			switch c {
			case '{':
				depth++
			case '}':
				if depth--; depth == 0 {
					return b.String(), end
				}
			}
			if depth > 0 {
				b.WriteByte(c)
			}
		}
		b.WriteByte('\n')
		from = 0
	}
	return b.String(), end
}

// pyBody returns the lines of a def of Python, without comments; the first is what follows the colon.
func (s *side) pyBody(def int) (body []string) {
	in := indent(s.code(def))
	if _, after, ok := strings.Cut(s.plain(def), "):"); ok {
		body = append(body, after)
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
	head := s.classHead(def)
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

// braceEquals reports methods of Go and JavaScript that tests compare with, or of builtins that assertions lean on, that
// were touched, and that are true whatever they are given: assertion_removed.
func braceEquals(e *edit) (found findings) {
	form := map[string]func() *regexp.Regexp{"go": goEquals, "web": webEquals}[e.language]
	if form == nil || !e.production() || !e.exists() {
		return nil
	}
	for i := range e.after.lines {
		m, ofBuiltin := form().FindStringSubmatch(e.after.code(i)), false
		if m == nil && e.language == "web" && e.after.ofBuiltin(i, webBuiltin(), webBuiltin()) {
			m, ofBuiltin = webAnswers().FindStringSubmatch(e.after.code(i)), true
		}
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
		case ofBuiltin && e.standsForAll(e.after.classHead(i)):
		case other == "" || other == "_" || !mentionsWord(body, other):
			found.add(e, rules.AssertionRemoved, i, true, looksAtNot, e.after.trimmed(i))
		case !mentionsWord(rest, other):
			found.add(e, rules.AssertionRemoved, i, true, anyOfKind, e.after.trimmed(i))
		}
	}
	return found
}
