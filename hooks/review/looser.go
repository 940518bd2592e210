package review

import (
	"regexp"

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

	// assignsMember is "=" in a condition or a result.
	assignsMember = lazily.Regexp(`(?:[(!]|&&|\|\||\breturn)\s*(?:this|self)(?:\.|->)(\w+)\s*=\s*(\w+)(?:\.|->)(\w+)\b`)
	wholeText     = lazily.Regexp("\\bString\\(\\s*this\\s*\\)|\\bthis\\.toString\\(\\s*\\)|`\\$\\{this\\}`|\\bthis\\s*\\+\\s*(?:''|\"\")")
	hasText       = lazily.Regexp(`\btoString\b|\btoPrimitive\b|\bextends\b|\bimport\b|\brequire\b|\bassign\b|\bprototype\b`)
	inLoop        = lazily.Regexp(`\bfor\b[^:\n]*?\bin\b`)
	lastTerm      = lazily.Regexp(`(?s).*(?:\breturn\b|\bif\b|&&|\|\||\band\b|\bor\b|[;{}])`)
)

// maxQuantified is how much of what a quantifier is about is looked at, in bytes.
const maxQuantified = 400

// exact returns a body without what says little of a member.
func (b methodBody) exact() methodBody {
	return methodBody{coarse().ReplaceAllString(b.text, " "), b.other}
}

// loosens reports whether another body that took the place of this one is true where fewer of its terms hold: one of them
// is enough, it looks at the types of items only, or it sets a member to the other value's.
func (b methodBody) loosens(now methodBody) bool {
	return b.takesOr(now) || now.asksAny() && !b.asksAny() || itemKindsOnly(now.text) && !itemKindsOnly(b.text) || now.assigns()
}

// takesOr reports whether "and" became "or" between what agrees, or "or" became "and" between what differs, and nothing
// else is denied than before. The values as wholes, or none of them, may be asked for as well.
func (b methodBody) takesOr(now methodBody) bool {
	more := func(re *regexp.Regexp) int {
		return len(re.FindAllString(now.text, -1)) - len(re.FindAllString(b.text, -1))
	}
	if more(noValue()) > 0 || more(denial()) > 0 || now.asksWhole() && !b.asksWhole() {
		return false
	}
	if more(differs()) == 0 && more(agrees()) == 0 && len(differs().FindAllString(now.text, -1)) > 1 {
		return more(ofAll()) < 0 && more(allHold()) > 0
	}
	return more(allHold()) < 0 && more(ofAll()) > 0
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

// assigns reports whether a comparison sets a member to that of the value that it is given: "=" in the place of "==".
func (b methodBody) assigns() bool {
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
