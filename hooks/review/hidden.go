package review

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

const (
	farAway  = 120  // blanks in front of code: past the right edge of any screen
	longLine = 4000 // bytes of a line of code that nobody reads to its end
)

// bidi are the controls that reorder text (UAX #9; CVE-2021-42574). The marks (LRM, RLM, ALM) only hint.
func bidi(c rune) bool { return c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069 }

// unseen are the characters that cannot be seen, also those that scripts and emoji need in their places (see placed).
var unseen = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x00ad, 0x00ad, 1},
		{0x034f, 0x034f, 1},
		{0x061c, 0x061c, 1},
		{0x115f, 0x1160, 1},
		{0x17b4, 0x17b5, 1},
		{0x180e, 0x180e, 1},
		{0x200b, 0x200f, 1},
		{0x2028, 0x2029, 1},
		{0x202a, 0x202e, 1},
		{0x2060, 0x2064, 1},
		{0x2066, 0x206f, 1},
		{0x3164, 0x3164, 1},
		{0xfeff, 0xfeff, 1},
		{0xffa0, 0xffa0, 1},
		{0xfff9, 0xfffb, 1},
	},
	R32: []unicode.Range32{{0xe0000, 0xe0fff, 1}},
}

func invisible(c rune) bool { return unicode.Is(unseen, c) }

// control reports whether a terminal obeys a character.
func control(c rune) bool {
	return unicode.IsControl(c) && !strings.ContainsRune("\t\n\r\f\v\u0085", c)
}

// placed reports whether an invisible character is where a script or an emoji needs it.
func placed(before, c, after rune) bool {
	switch {
	case c == 0x200d: // joiner: emoji sequences, Indic and Arabic scripts
		return pictured(before) || joining(before)
	case c == 0x200c: // non-joiner: Persian, Indic
		return joining(before) || joining(after)
	case c == 0x200b: // where Thai, Lao, Khmer and Burmese lines may break
		return unicode.In(before, unspacedScripts...) || unicode.In(after, unspacedScripts...)
	case c >= 0xe0020 && c <= 0xe007f: // flags of Scotland, Wales, England
		return before == 0x1f3f4 || before >= 0xe0020 && before <= 0xe007f
	case c == 0x200e || c == 0x200f || c == 0x061c: // marks in text that is written right to left
		return unicode.In(before, unicode.Arabic, unicode.Hebrew) || unicode.In(after, unicode.Arabic, unicode.Hebrew)
	case c == 0x115f || c == 0x1160:
		return unicode.In(before, unicode.Hangul) || unicode.In(after, unicode.Hangul)
	}
	return false
}

// pictured reports whether c is part of an emoji.
func pictured(c rune) bool {
	return c == 0xfe0f || c == 0x20e3 || c >= 0x1f000 && c <= 0x1faff || c >= 0x2190 && c <= 0x2bff ||
		c >= 0xe0020 && c <= 0xe007f
}

// joining reports whether c is of a script whose letters may be joined, or kept apart, by an invisible character.
func joining(c rune) bool { return unicode.In(c, joiningScripts...) }

var (
	unspacedScripts = []*unicode.RangeTable{unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}
	joiningScripts  = []*unicode.RangeTable{
		unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
		unicode.Gujarati,
		unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
		unicode.Tibetan,
		unicode.Myanmar, unicode.Khmer,
	}
)

var generated = lazily.Regexp(`(?:\.min\.\w+|\.pb\.go|\.svg|\.lock|\.map|bundle\.js|_generated\.\w+|\.gen\.\w+)$` +
	`|(?:^|/)(?:dist|vendor|node_modules|third_party)/`)

// hidden reports characters that a reviewer does not see, or sees elsewhere: hidden_text.
func hidden(e *edit) (found findings) {
	for _, c := range e.path {
		if invisible(c) || control(c) {
			found.put(e, rules.HiddenText, -1, true, "the name of the file has %U", c)
			break
		}
	}
	if e.opaque || !e.exists() || len(e.added) == 0 || !e.valid() {
		return found
	}
	had := map[rune]int{}
	for _, i := range e.removed {
		for k, c := range e.before.lines[i] {
			if c >= 0x80 || c < 0x20 {
				if why := hides(e.before.lines[i], k, c); why != "" {
					had[c]++
				}
			}
		}
	}
	code := e.language != "" && e.language != "json"
	blank := 0
	for n, j := range e.added {
		line := e.after.lines[j]
		for k, c := range line {
			if c >= 0x20 && c < 0x7f || j == 0 && k == 0 && c == 0xfeff {
				continue
			}
			why := hides(line, k, c)
			if why == "" {
				continue
			}
			if had[c] > 0 {
				had[c]--
				continue
			}
			if e.class != testData || bidi(c) { // what tests read may hold anything
				soft := c == 0x00ad && !e.after.codeAt(j, k) // where a long word may break
				found.add(e, rules.HiddenText, j, code && !soft && e.isFresh(j), "%s: %U", why, c)
			}
		}
		if !code {
			continue
		}
		if word := mixed(e.after, j); word != "" {
			found.add(e, rules.HiddenText, j, lang.IsCode(e.language), "letters of two scripts in one name: %s",
				spelled(word))
		}
		found = append(found, far(e, j)...)
		if strings.TrimSpace(line) == "" && n > 0 && e.added[n-1] == j-1 {
			blank++
		} else if strings.TrimSpace(line) != "" {
			if blank >= 60 && lang.IsCode(e.language) {
				found.add(e, rules.HiddenText, j, false, "below %d empty lines", blank)
			}
			blank = 0
		}
	}
	return found
}

// hides returns why a character of a line hides something, "" if it does not.
func hides(line string, k int, c rune) string {
	switch {
	case c == '\t' || c >= 0x20 && c < 0x7f:
		return ""
	case c == '\r':
		if rest := strings.TrimRight(line[k+1:], "\r"); rest != "" {
			return "a carriage return inside a line"
		}
		return ""
	case control(c):
		return "a control character"
	case !invisible(c):
		return ""
	}
	before, _ := utf8.DecodeLastRuneInString(line[:k])
	after, _ := utf8.DecodeRuneInString(line[k+utf8.RuneLen(c):])
	switch {
	case placed(before, c, after):
		return ""
	case bidi(c):
		return "a character that reorders text"
	}
	return "a character that cannot be seen"
}

// far reports code behind more blanks than a screen is wide, and very long lines.
func far(e *edit, j int) (found findings) {
	line := e.after.lines[j]
	if !lang.IsCode(e.language) && e.language != "make" && e.language != "yaml" || len(line) < farAway/4 {
		return found
	}
	run := 0
	kinds := e.after.kinds[e.after.start[j] : e.after.start[j]+len(line)]
	for k := range len(line) {
		switch c := line[k]; {
		case c == ' ' && kinds[k] == lang.InCode:
			run++
		case c == '\t' && kinds[k] == lang.InCode:
			run += 4
		case c == '\r':
		default:
			if run >= farAway && kinds[k] != lang.InComment && c != '\\' {
				found.add(e, rules.HiddenText, j, true, "code behind %d blanks", run)
				return found
			}
			run = 0
		}
	}
	if len(line) > longLine && !generated().MatchString(e.path) {
		found.add(e, rules.HiddenText, j, false, "a line of %d bytes", len(line))
	}
	return found
}

// mixed returns a name in the code of a line that has Latin letters and letters of another script that look like
// them.
func mixed(s *side, j int) string {
	if !strings.ContainsFunc(s.lines[j], func(c rune) bool { return c >= 0x80 }) {
		return ""
	}
	for word := range strings.FieldsFuncSeq(s.code(j), func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && !unicode.IsMark(c)
	}) {
		latin, other := false, false
		for _, c := range word {
			switch {
			case c < 0x80:
				latin = latin || unicode.IsLetter(c)
			case unicode.In(c, unicode.Cyrillic, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu):
				other = true
			case strings.ContainsRune("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοϲϳ", c):
				other = true
			case c >= 0xff21 && c <= 0xff5a || c >= 0x1d400 && c <= 0x1d7ff: // Python reads them as the plain letters
				latin, other = true, true
			}
		}
		if latin && other {
			return word
		}
	}
	return ""
}

// spelled returns a word with what is not ASCII as escapes.
func spelled(word string) string {
	var b strings.Builder
	for _, c := range word {
		if c < 0x80 {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}

// hasSecret reports whether a text has what looks like a key or a token.
func hasSecret(text string) bool {
	s := newSide("", strings.ReplaceAll(text, "\n", " "))
	return text != "" && slices.ContainsFunc(general(), func(m *matcher) bool {
		return m.Kind == rules.Secret && len(m.find(s, 0)) > 0
	})
}

// genuine reports whether a key is none of a manual: an example, or one character again and again.
func genuine(key string) bool {
	different := map[rune]bool{}
	for _, c := range key {
		different[c] = true
	}
	return len(different) >= 10 && !strings.Contains(strings.ToUpper(key), "EXAMPLE")
}
