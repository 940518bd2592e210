package review

import (
	"regexp"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// What a comparison of the same members as before may do to be true more often.

var (
	// coarse is what says little of a member: its type, whether it is anything, its sign, its length.
	coarse = lazily.Regexp(`\btypeof\s+\w+(?:\.\w+)+` +
		`|\b(?:type|bool|len|Boolean|Math\.sign|Math\.signum|Integer\.signum|Long\.signum|reflect\.TypeOf|decltype)\s*\(\s*\*?\w+(?:(?:\.|->)\w+)+\s*\)` +
		`|!+\s*\w+(?:(?:\.|->)\w+)+\s*[!=]==?\s*!+\s*\w+(?:(?:\.|->)\w+)+` +
		`|\b\w+(?:\??\.\w+)+\??\.(?:length|size|signum|getClass|len|is_some|is_none|is_empty|__class__)\b(?:\(\s*\))?`)
	// itemKinds is a comparison of the types of two values without names of their own, as in a loop.
	itemKinds = lazily.Regexp(`\btype\s*\(\s*\w+\s*\)\s*(?:is|==)\s*type\s*\(\s*\w+\s*\)|\btypeof\s+\w+\s*===?\s*typeof\s+\w+\b`)
	sameness  = lazily.Regexp(`[=!]=|\b(?:is|in|eq|cmp|equals?|isEqual|isclose|compare)\b`)

	allHold = lazily.Regexp(`&&|\band\b|\ball\s*\(|\.(?:every|all|allMatch|allSatisfy)\s*\(`)
	denial  = lazily.Regexp(`!|\bnot\b|\bFalse\b|\bfalse\b|\bNotImplemented\b`)
	// anyOf and allOf are quantifiers.
	anyOf   = lazily.Regexp(`\bany\s*\(|\.(?:some|any|anyMatch)\s*\(`)
	allOf   = lazily.Regexp(`\ball\s*\(|\.(?:every|all|allMatch|allSatisfy)\s*\(`)
	agrees  = lazily.Regexp(`==|\b(?:eq|equals?)\s*\(`)
	differs = lazily.Regexp(`!=|\bnot\s+in\b|\bis\s+not\b`)
	// eachOf is how the members of a value are gone through without their names.
	eachOf = lazily.Regexp(`\[\s*\w+\s*\]|\b(?:getattr|vars|zip|astuple|fields)\b`)

	// guards is what asks for the kind of the other value, or for one at all, before what must hold as well.
	guards = lazily.Regexp(`\b(?:isinstance\s*\([^()\n]*\)|\w+\s*(?:!==?|is\s+not)\s*(?:nil|null|None|undefined)|\w+\s+instanceof\s+\w+(?:\s+\w+)?)\s*(?:&&|\band\b)` +
		`|(?:\breturn|\(|&&)\s*\w+\s*&&`)
	// bitOr is "or" between two bracketed terms, and anyway is one whose other side is true.
	bitOr  = lazily.Regexp(`\)\s*\|\s*\(`)
	anyway = lazily.Regexp(`\bor\s+True\b|\bTrue\s+or\b|\|\|\s*true\b|\btrue\s*\|\|`)
	// ofSelf is a member of the value itself, and ofNumber asks whether one is no number, which is equal to nothing.
	ofSelf   = lazily.Regexp(`\b(?:self|this)(?:\.|->)\w`)
	ofNumber = lazily.Regexp(`(?i)nan\b`)
	// flagTerm is a constant or a call without arguments.
	flagTerm = lazily.Regexp(`^\s*(?:[A-Z][A-Z_0-9]{2,}|\w+\(\s*\))\s*\)?\s*$`)
	returns  = lazily.Regexp(`\breturn\b`)
	stepsIf  = lazily.Regexp(`\b(?:if|elif|while|assert|for|match)\b`)
	// ifThenTrue is a condition of two values' agreement after which all is decided; one of a switch may be a list.
	ifThenTrue = lazily.Regexp(`\b(?:if|case|elif)\b([^{:;\n]*==[^{:;\n]*)[{:)]\s*return\s+(?:True|true)\b`)

	// assignsMember is "=" in a condition or a result, setsMember as a statement, and setsAll of all members at once.
	assignsMember = lazily.Regexp(`(?:[(!]|&&|\|\||\breturn)\s*(?:this|self)(?:\.|->)(\w+)\s*=\s*(\w+)(?:\.|->)(\w+)\b`)
	setsMember    = lazily.Regexp(`(?m)(?:^|[;{])\s*\w+(?:\.|->)(\w+)\s*=\s*(\w+)(?:\.|->)(\w+)\s*(?:;|$)`)
	setsAll       = lazily.Regexp(`\bObject\.assign\(\s*this\s*,\s*(\w+)|\bself\.__dict__(?:\.update\(|\s*=)\s*(?:vars\(\s*)?(\w+)|(?m:^\s*\*\w+\s*=\s*\*(\w+)\s*$)`)
	wholeText     = lazily.Regexp("\\bString\\(\\s*this\\s*\\)|\\bthis\\.toString\\(\\s*\\)|`\\$\\{this\\}`|\\bthis\\s*\\+\\s*(?:''|\"\")")
	hasText       = lazily.Regexp(`\btoString\b|\btoPrimitive\b|\bextends\b|\bimport\b|\brequire\b|\bassign\b|\bprototype\b`)
	inLoop        = lazily.Regexp(`\bfor\b[^:\n]*?\bin\b`)
	lastTerm      = lazily.Regexp(`(?s).*(?:\breturn\b|\bif\b|&&|\|\||\band\b|\bor\b|[;{}])`)
)

const (
	maxQuantified = 400     // bytes of what a quantifier, or an "or", is about
	maxSet        = 20      // members that are set
	maxAfterSet   = 4 << 10 // bytes behind one that is set
)

// exact returns a body without what says little of a member.
func (b methodBody) exact() methodBody {
	return methodBody{coarse().ReplaceAllString(b.text, " "), b.other}
}

// loosens reports whether another body that took the place of this one is true where fewer of its terms hold: one of them
// is enough, it looks at the types of items only, or it sets a member to the other value's.
func (b methodBody) loosens(now methodBody) bool {
	return b.takesOr(now) || now.asksAny() && !b.asksAny() || itemKindsOnly(now.text) && !itemKindsOnly(b.text) || now.assigns() ||
		anyway().MatchString(now.text) && !anyway().MatchString(b.text) || now.ways() > max(1, b.ways()) ||
		now.oneSided() && !b.oneSided()
}

// oneSided reports whether a result is true for a member of one of the values, whatever the other one has, or for what is no
// value at all.
func (b methodBody) oneSided() bool {
	for _, at := range ofAll().FindAllStringIndex(b.text, -1) {
		before, term := b.text[max(0, at[0]-maxQuantified):at[0]], b.text[at[1]:min(len(b.text), at[1]+maxQuantified)]
		before = before[strings.LastIndexAny(before, "\n;{}")+1:]
		depth := 0
		for i, c := range []byte(term) {
			switch c {
			case '(':
				depth++
			case ')':
				depth--
			}
			if depth < 0 || strings.IndexByte("\n;{}", c) >= 0 {
				term = term[:i]
				break
			}
		}
		whole := strings.Count(before, "(") == strings.Count(before, ")") || sameness().MatchString(term)
		if whole && returns().MatchString(before) && !stepsIf().MatchString(before) && !noValue().MatchString(term) && b.sides(term) < 2 {
			return true
		}
	}
	return false
}

// sides returns how many of the two values a term is about; 2 also where that is not known, or it asks for no number.
func (b methodBody) sides(term string) int {
	own, other := ofSelf().MatchString(term), mentionsWord(term, b.other)
	left, right, _ := strings.Cut(term, "!=")
	switch {
	case own && other, ofNumber().MatchString(term), strings.TrimSpace(left) == strings.TrimSpace(right):
		return 2
	case own || other && ofSelf().MatchString(b.text) && strings.Contains(term, b.other+"."): // else its own members have no prefix
		return 1
	case flagTerm().MatchString(term):
		return 0
	}
	return 2
}

// ways returns how many conditions about members are enough, each by itself.
func (b methodBody) ways() (n int) {
	for _, m := range ifThenTrue().FindAllStringSubmatch(b.text, -1) {
		for _, term := range strings.Split(m[1], ",") {
			if members, _ := (methodBody{term, b.other}).members(); len(members) == 1 && agrees().MatchString(term) {
				n++
			}
		}
	}
	return n
}

// takesOr reports whether "and" became "or" between what agrees, or "or" became "and" between what differs, and nothing
// else is denied than before. The values as wholes, or none of them, may be asked for as well.
func (b methodBody) takesOr(now methodBody) bool {
	was, is := guards().ReplaceAllString(b.text, " "), guards().ReplaceAllString(now.text, " ")
	more := func(re *regexp.Regexp) int { return len(re.FindAllString(is, -1)) - len(re.FindAllString(was, -1)) }
	if more(noValue()) > 0 || more(denial()) > 0 || now.asksWhole() && !b.asksWhole() {
		return false
	}
	if more(differs()) == 0 && more(agrees()) == 0 && len(differs().FindAllString(now.text, -1)) > 1 {
		return more(ofAll()) < 0 && more(allHold()) > 0
	}
	return more(allHold()) < 0 && more(ofAll())+more(bitOr()) > 0
}

// asksWhole reports whether a comparison asks for the value that it is given as a whole.
func (b methodBody) asksWhole() bool {
	return regexp.MustCompile(`(?:===?|\bis|\bptr::eq\(\s*self\s*,)\s*[&*]*` + b.other + `\b\s*(?:$|[^.\w>(\[?\s-])`).MatchString(b.text)
}

// asksAny reports whether one of several members has to agree: "any" of what agrees, or not "all" of what differs. One
// that is asked for each item of a list is no such, nor is one of several values of one member.
func (b methodBody) asksAny() bool {
	denied := func(at int) bool { return denial().MatchString(lastTerm().ReplaceAllString(b.text[:at], "")) }
	rest := func(at int) string { return b.text[at:min(at+maxQuantified, len(b.text))] }
	if at := allOf().FindStringIndex(b.text); at != nil {
		return denied(at[0]) && differs().MatchString(rest(at[1])) && !agrees().MatchString(differs().ReplaceAllString(rest(at[1]), ""))
	}
	at := anyOf().FindStringIndex(b.text)
	if at == nil || denied(at[0]) {
		return false
	}
	inner := rest(at[1])
	members, _ := methodBody{inner, b.other}.members()
	return agrees().MatchString(inner) && !differs().MatchString(inner) && (len(members) > 1 || eachOf().MatchString(inner))
}

// itemKindsOnly reports whether a body compares the types of items, and nothing else.
func itemKindsOnly(body string) bool {
	rest := itemKinds().ReplaceAllString(body, " ")
	return rest != body && !sameness().MatchString(inLoop().ReplaceAllString(ofKind().ReplaceAllString(rest, " "), " "))
}

// assigns reports whether a comparison sets a member to that of the value that it is given: "=" in the place of "==", or
// before it looks at it.
func (b methodBody) assigns() bool {
	for _, m := range setsAll().FindAllStringSubmatch(b.text, -1) {
		if b.other != "" && slices.Contains(m[1:], b.other) {
			return true
		}
	}
	for _, m := range setsMember().FindAllStringSubmatchIndex(b.text, maxSet) {
		if name := b.text[m[2]:m[3]]; name == b.text[m[6]:m[7]] && b.text[m[4]:m[5]] == b.other {
			if members, _ := (methodBody{b.text[m[1]:min(len(b.text), m[1]+maxAfterSet)], b.other}).members(); members[name] {
				return true
			}
		}
	}
	for _, m := range assignsMember().FindAllStringSubmatch(b.text, -1) {
		if m[1] == m[3] && m[2] == b.other {
			return true
		}
	}
	return false
}

// callsByOperator returns the methods that a comparison calls without naming them, beside builtinCalls: the order of values,
// and the text of one.
func (e *edit) callsByOperator(b methodBody) (names []string) {
	switch {
	case e.language == "py" && regexp.MustCompile(`\bself\s*[<>]=?\s*`+b.other+`\b|\b`+b.other+`\s*[<>]=?\s*self\b`).MatchString(b.text):
		names = []string{"__lt__", "__gt__", "__le__", "__ge__"}
	case e.language == "web" && wholeText().MatchString(b.text):
		names = []string{"toString"}
	}
	return names
}

// comparesNoText reports whether values are compared by their texts now, and all have the same: no class of the file says
// what that is.
func (e *edit) comparesNoText(was, now methodBody) bool {
	return e.language == "web" && wholeText().MatchString(now.text) && !wholeText().MatchString(was.text) && !hasText().MatchString(text(e.change.After))
}
