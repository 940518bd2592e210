package review

import (
	"regexp"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// What a comparison of the same members as before may do to be true more often.

var (
	// coarse is what says little of a member: its type, whether it is anything, its sign, its length.
	coarse = lazily.Regexp(`\btypeof\s+\w+(?:\.\w+)+` +
		`|\b(?:type|bool|len|Boolean|Math\.sign|Math\.signum|Integer\.signum|Long\.signum|reflect\.TypeOf|decltype)\s*\(\s*\*?\w+(?:(?:\.|->)\w+)+\s*\)` +
		`|!+\s*\w+(?:(?:\.|->)\w+)+\s*[!=]==?\s*!+\s*\w+(?:(?:\.|->)\w+)+` +
		`|\b\w+(?:\.\w+)+\.(?:length|size|signum|getClass)\b(?:\(\s*\))?`)
	// itemKinds is a comparison of the types of two values without names of their own, as in a loop.
	itemKinds = lazily.Regexp(`\btype\s*\(\s*\w+\s*\)\s*(?:is|==)\s*type\s*\(\s*\w+\s*\)|\btypeof\s+\w+\s*===?\s*typeof\s+\w+\b`)
	sameness  = lazily.Regexp(`[=!]=|\b(?:is|in|eq|cmp|equals?|isEqual|isclose|compare)\b`)

	allHold = lazily.Regexp(`&&|\band\b|\ball\s*\(|\.(?:every|all|allMatch|allSatisfy)\s*\(`)
	either  = lazily.Regexp(`\|\||\bor\b`)
	denial  = lazily.Regexp(`!|\bnot\b|\bFalse\b|\bfalse\b|\bNotImplemented\b`)
	// anyAgrees is a quantifier that is content with one agreement.
	anyAgrees = lazily.Regexp(`(?s)(?:\bany\s*\(|\.(?:some|any|anyMatch)\s*\()(.*)`)
	agrees    = lazily.Regexp(`==|\b(?:eq|equals?)\s*\(`)
	differs   = lazily.Regexp(`!=|\bnot\s+in\b|\bis\s+not\b`)

	assignsMember = lazily.Regexp(`\b(?:this|self)(?:\.|->)(\w+)\s*=\s*(\w+)(?:\.|->)(\w+)\b`)
	wholeText     = lazily.Regexp("\\bString\\(\\s*this\\s*\\)|\\bthis\\.toString\\(\\s*\\)|`\\$\\{this\\}`|\\bthis\\s*\\+\\s*(?:''|\"\")")
	hasText       = lazily.Regexp(`\btoString\b|\btoPrimitive\b|\bextends\b`)
	inLoop        = lazily.Regexp(`\bfor\b[^:\n]*?\bin\b`)
	lastTerm      = lazily.Regexp(`.*(?:\breturn\b|&&|\|\||\band\b|\bor\b|;)`)
)

// exact returns a body without what says little of a member.
func (b methodBody) exact() methodBody {
	return methodBody{coarse().ReplaceAllString(b.text, " "), b.other}
}

// loosens reports whether another body that took the place of this one is true where fewer of its terms hold: one of them
// is enough, it looks at the types of items only, or it sets a member to the other value's.
func (b methodBody) loosens(now methodBody) bool {
	return b.takesOr(now) || asksAny(now.text) && !asksAny(b.text) || itemKindsOnly(now.text) && !itemKindsOnly(b.text) || now.assigns()
}

// takesOr reports whether "and" became "or", and nothing is denied that was not before.
func (b methodBody) takesOr(now methodBody) bool {
	count := func(re *regexp.Regexp, text string) int { return len(re.FindAllString(text, -1)) }
	return count(allHold(), now.text) < count(allHold(), b.text) && count(either(), now.text) > count(either(), b.text) &&
		count(denial(), now.text) <= count(denial(), b.text) && !noValue().MatchString(now.text)
}

// asksAny reports whether one of several comparisons has to hold.
func asksAny(body string) bool {
	for _, line := range strings.Split(body, "\n") {
		at := anyAgrees().FindStringSubmatchIndex(line)
		if at == nil {
			continue
		}
		denied := denial().MatchString(lastTerm().ReplaceAllString(line[:at[0]], ""))
		if inner := line[at[2]:at[3]]; !denied && agrees().MatchString(inner) && !differs().MatchString(inner) {
			return true
		}
	}
	return false
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
