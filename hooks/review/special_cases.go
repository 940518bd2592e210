package review

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

const (
	leastCompared = 3  // bytes of a literal that code compares with, and that may come from a test
	leastInput    = 5  // characters of a literal that can hardly be anything but the input of a test
	leastSum      = 12 // bytes of an expression
	leastKeys     = 3  // inputs of a test in a table

	maxBeside = 200 // bytes of code on each side of a literal that tell whether it is compared
)

var (
	// equalBefore and equalAfter are code on the left and right of a literal that something is compared with, partBefore
	// and partAfter of one that something has, or begins or ends with.
	equalBefore = lazily.Regexp(`(?:[=!]==?|\s-(?:eq|ne))\s*\(*\w{0,2}$` +
		`|(?:str\w*cmp|memcmp|EqualFold|Equal|equals\w*|fullmatch)\s*\((?:[^()]|\([^()]*\))*$`)
	equalAfter = lazily.Regexp(`^\s*[=!]==?|^\.equals`)
	partBefore = lazily.Regexp(`(?:strstr|HasPrefix|HasSuffix|Contains|[sS]tarts[wW]ith|[eE]nds[wW]ith|includes|indexOf)` +
		`\s*\((?:[^()]|\([^()]*\))*$`)
	partAfter = lazily.Regexp(`^\s*(?:not\s+)?in\s`)
	caseLabel = lazily.Regexp(`^\s*(?:case|when)\b`)
	keyAfter  = lazily.Regexp(`^\]?\s*(?::[^:=]|=>)`)
	equal     = lazily.Regexp(`[=!]==?`)
	endOfTerm = lazily.Regexp(`[:){;?]|&&|\|\||\band\b|\bor\b`)
	// oneOf is code that looks for a value in a list that is written beside it.
	oneOf = lazily.Regexp(`\[([^\[\]]*)\]\.(?:indexOf|includes)\(|\bin\s*[(\[{]([^()\[\]{}]*)[)\]}]`)

	escaped = lazily.Regexp(`\\(?:\\|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[0-7]{3}|[a-z0])`)
	// aName matches what means something outside of the test too: options, hosts and files, media types, encodings and
	// algorithms, paths of a server or of git, this machine, a header, time zones, tags, sentences.
	aName = lazily.Regexp(`^(?i:-.*|[a-z-]+(?:\.[a-z]+)+|[a-z]+/[a-z0-9.+-]+(?:;.*)?|[a-z]+[-_/]?\d+(?:[-_.]\d+)*` +
		`|(?:/|\./|refs/).*|127\.0\.0\.1|[a-z]+(?:-[a-z]+)*: ?|<[^<>]*>|[a-z][a-z' ,.!:-]*)$|^[A-Z][a-z]+(?:/[A-Z][A-Za-z_]+)+$`)
)

// comparisons are what equalBefore finds outside of calls.
var comparisons = []string{"=", "-eq", "-ne"}

// specialCases reports new conditions of production code for just what a failing test uses: special_case. What is
// compared must be text or a number that hardly anything but a test has; a word, an option or the name of a host is
// not.
func specialCases(p *proposal) (found findings) {
	for _, e := range p.edits {
		if !e.production() || !e.exists() || e.opaque {
			continue
		}
		var keys []int
		for _, j := range e.fresh {
			prints := printsValue().MatchString(e.after.code(j))
			for _, l := range e.after.compared(j) {
				at, ok := p.sharedLiterals()[l.value]
				printed := prints && !isName(l.value) && !aName().MatchString(l.value)
				switch {
				case ok && printed:
					found.add(e, rules.SpecialCase, j, true, "compares a printed value with %s of %s", oneLine(l.value, 30), at.test)
				case p.isExample(l.value):
					found.add(e, rules.SpecialCase, j, true, "compares with an example of the test: %s", oneLine(l.value, 30))
				case p.isPrintedList(l.value):
					found.add(e, rules.SpecialCase, j, true, "compares with a list of the test, printed: %s", oneLine(l.value, 30))
				case !ok || !particular(l.value) || l.how == isPart && !isWhole(l.value):
				case l.how != isKey:
					found.add(e, rules.SpecialCase, j, true, "compares with %s of %s", oneLine(l.value, 30), at.test)
				default:
					keys = append(keys, j)
				}
			}
			if sum := e.after.comparedSum(j); sum != "" && p.inTest([]string{sum}) {
				found.add(e, rules.SpecialCase, j, true, "compares with an expression of the test: %s", sum)
			}
			if value := e.onlyReturned(j); value != "" && p.inTest([]string{value}) {
				found.add(e, rules.SpecialCase, j, true, "returns %s of the test, whatever it is given", oneLine(value, 30))
			}
			if list := e.after.mixedList(j); len(list) >= leastKeys && p.inTest(list) {
				found.add(e, rules.SpecialCase, j, true, "compares with %d values of the test", len(list))
			}
		}
		if len(keys) >= leastKeys {
			found.add(e, rules.SpecialCase, keys[0], true, "a table of %d inputs of the test", len(keys))
		}
	}
	return found
}

// particular reports whether a literal is text that is no word and no known name, or a number that is not round.
func particular(value string) bool {
	if digits := strings.ReplaceAll(value, "_", ""); strings.Trim(digits, "0123456789") == "" {
		n, err := strconv.ParseUint(digits, 10, 64)
		round := bits.OnesCount64(n) == 1 || n&(n+1) == 0 || n%3600 == 0 || len(strings.TrimRight(digits, "0")) < 2
		return len(digits) >= leastInput && (err != nil || !round)
	}
	text := escaped().ReplaceAllStringFunc(value, func(e string) string {
		if e == `\\` {
			return `\`
		}
		return "" // bytes that mean something, as the beginning of a format
	})
	turns := 0
	for i := 1; i < len(text); i++ {
		if lang.IsWord(text[i]) != lang.IsWord(text[i-1]) {
			turns++
		}
	}
	return len(text) >= leastInput && !aName().MatchString(text) && strings.Trim(text, "0.:-/ ") != "" &&
		(turns > 2 || turns == 2 && (len(text) >= leastSum || strings.ContainsAny(text, "123456789")))
}

// isWhole reports whether a text begins and ends as an input does, and not as what is put before or behind others.
func isWhole(text string) bool { return lang.IsWord(text[0]) && lang.IsWord(text[len(text)-1]) }

// A comparand is a literal that code compares something with.
type comparand struct {
	value string
	how   int
}

// Ways to compare.
const (
	isEqual = iota
	isPart
	isKey // of a table
)

// compared returns the literals of a line that something is compared with. It is not to be changed.
func (s *side) compared(j int) []comparand {
	list, ok := s.comparands[j]
	if !ok {
		list = s.readCompared(j)
		s.comparands[j] = list
	}
	return list
}

func (s *side) readCompared(j int) (list []comparand) {
	plain, code := s.plain(j), s.code(j)
	if s.language == "shell" {
		for _, word := range shellCompared(plain) {
			list = append(list, comparand{value: word})
		}
	}
	label := 0 // its end
	if caseLabel().MatchString(code) {
		label = strings.IndexByte(code+":", ':')
	}
	add := func(from, to int, value string) {
		before, after := code[max(0, from-maxBeside):from], code[to:min(len(code), to+maxBeside)]
		called := strings.Contains(before, "(") // to ask is much quicker than the patterns
		switch {
		case from < label, (called || containsAny(before, comparisons)) && equalBefore().MatchString(before), equalAfter().MatchString(after):
			list = append(list, comparand{value, isEqual})
		case called && partBefore().MatchString(before), partAfter().MatchString(after):
			list = append(list, comparand{value, isPart})
		case label == 0 && keyAfter().MatchString(after+" ") && !strings.HasSuffix(strings.TrimSpace(before), "?"):
			list = append(list, comparand{value, isKey})
		}
	}
	for _, at := range longNumber().FindAllStringIndex(code, -1) {
		add(at[0], at[1], code[at[0]:at[1]])
	}
	s.strings(j, func(from, to int) { add(from, to, unquoted(s.lines[j][from:to])) })
	return list
}

// strings calls yield for each stretch of a string in a line, with its quotes.
func (s *side) strings(j int, yield func(from, to int)) {
	for k := 0; k < len(s.lines[j]); k++ {
		from := k
		for k < len(s.lines[j]) && s.kinds[s.start[j]+k] == lang.InString {
			k++
		}
		if k > from {
			yield(from, k)
		}
	}
}

// unquoted returns a string of a line without its quotes, and without the end of a line that it ends with.
func unquoted(text string) string { return strings.TrimSuffix(strings.Trim(text, "\"'`"), `\n`) }

// comparedSum returns an expression with text that a line compares something with, but for a single literal.
func (s *side) comparedSum(j int) string {
	code := s.code(j)
	at := equal().FindStringIndex(code)
	if at == nil {
		return ""
	}
	to := len(code)
	if end := endOfTerm().FindStringIndex(code[at[1]:]); end != nil {
		to = at[1] + end[0]
	}
	sum := strings.TrimSpace(s.lines[j][at[1]:to])
	if len(sum) < leastSum || !strings.ContainsAny(code[at[1]:to], "+*%") || strings.TrimSpace(code[at[1]:to]) == sum {
		return ""
	}
	return sum
}

// mixedList returns the values of a list in which a line looks for something, where they are both numbers and texts.
func (s *side) mixedList(j int) (values []string) {
	at := oneOf().FindStringSubmatchIndex(s.code(j))
	if at == nil || strings.HasPrefix(s.trimmed(j), "for ") {
		return nil
	}
	from, to := max(at[2], at[4]), max(at[3], at[5])
	texts := 0
	for value := range strings.SplitSeq(s.lines[j][from:to], ",") {
		value = strings.TrimSpace(value)
		text := unquoted(value)
		if len(text) < leastCompared || text == value && strings.Trim(value, "0123456789") != "" {
			return nil
		}
		if text != value {
			texts++
		}
		values = append(values, text)
	}
	if texts == 0 || texts == len(values) {
		return nil
	}
	return values
}

var unicodeEscape = lazily.Regexp(`\\u[0-9a-fA-F]{4}`)

// unescaped returns a text with what \u means.
func unescaped(text string) string {
	return unicodeEscape().ReplaceAllStringFunc(text, func(e string) string {
		n, err := strconv.ParseUint(e[2:], 16, 16)
		if err != nil {
			return e
		}
		return string(rune(n))
	})
}

// inTest reports whether a failing test has all these words or expressions.
func (p *proposal) inTest(all []string) bool {
	all = slices.Clone(all)
	for i := range all {
		all[i] = unescaped(all[i])
	}
	return slices.ContainsFunc(p.tests(), func(t testSource) bool {
		return !slices.ContainsFunc(all, func(one string) bool { return !p.mayLook(t.unescaped) || !hasWhole(t.unescaped, one) })
	})
}

// hasWhole reports whether a text has another one that is not a part of a longer word there.
func hasWhole(text, part string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], part)
		if i < 0 {
			return false
		}
		from += i
		end := from + len(part)
		if (from == 0 || !lang.IsWord(text[from-1])) && (end == len(text) || !lang.IsWord(text[end])) {
			return true
		}
		from++
	}
}
