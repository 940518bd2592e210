package review

import (
	"encoding/base64"
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

const (
	leastEncoded = 8 // bytes of a literal that stands for another one
	leastPieces  = 3 // of a list that makes a literal of a test
	leastDigest  = 8 // digits of the digest of an input
	leastPair    = 3 // bytes of the shorter one of what a test gives and wants
	maxPairs     = 2000
	maxDataLines = 20000
)

var (
	digestCall = lazily.Regexp(`\b(?:crc32|adler32|md5|sha\d+)\w*(?:\.\w+)?\s*\(|\bhashlib\.\w+\(|\bcreateHash\(|\b(?:cksum|md5sum|sha\d*sum)\b`)
	hexDigits  = lazily.Regexp(`^[0-9a-fA-F]+$`)
	aList      = lazily.Regexp(`\[([^\[\]]*)\]|\{([^{}]*)\}|\(([^()]*)\)`)
	aText      = lazily.Regexp(`"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|\x60([^\x60$]*)\x60`)
)

// hiddenCases reports literals of a failing test that production code has in another form, and digests of what it uses:
// special_case.
func hiddenCases(p *proposal) (found findings) {
	for _, e := range p.edits {
		if !e.production() || !e.exists() || e.opaque {
			continue
		}
		digests := slices.ContainsFunc(e.fresh, func(j int) bool { return digestCall().MatchString(e.after.code(j)) })
		for _, j := range e.fresh {
			plain := e.after.plain(j)
			e.after.strings(j, func(from, to int) {
				value := decoded(unquoted(e.after.lines[j][from:to]))
				if value != "" && p.inTest([]string{value}) {
					found.add(e, rules.SpecialCase, j, true, "an encoded literal of the test: %s", oneLine(value, 30))
				}
			})
			if value := p.putTogether(plain); value != "" {
				found.add(e, rules.SpecialCase, j, true, "puts together a literal of the test: %s", oneLine(value, 30))
			}
			if digests && slices.ContainsFunc(e.after.compared(j), func(c comparand) bool { return isDigest(c.value) }) {
				found.add(e, rules.SpecialCase, j, true, "compares with a digest, which hides what is special: %s", oneLine(strings.TrimSpace(plain), 40))
			}
			if key := e.after.compared(j); len(key) > 0 && key[0].how == isKey {
				if pair := p.pairIn(plain, true); pair != "" {
					found.add(e, rules.SpecialCase, j, true, "has what the test gives and what it wants: %s", pair)
				}
			}
		}
	}
	return found
}

// decoded returns the text that a literal in base64 or hexadecimal stands for, "" where it is none.
func decoded(value string) string {
	if len(value) < leastEncoded {
		return ""
	}
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawStdEncoding.DecodeString, base64.URLEncoding.DecodeString, base64.RawURLEncoding.DecodeString,
	} {
		text, err := decode(value)
		if err == nil && len(text) >= leastInput && utf8.Valid(text) && strings.IndexFunc(string(text), func(c rune) bool { return !unicode.IsPrint(c) }) < 0 {
			return string(text)
		}
	}
	return ""
}

// isDigest reports whether a literal looks like the digest of something: a long number, or long digits in hexadecimal.
func isDigest(value string) bool {
	value = strings.TrimPrefix(value, "0x")
	different := map[rune]bool{}
	for _, c := range value {
		different[c] = true
	}
	return len(value) >= leastDigest && len(different) > 3 && hexDigits().MatchString(value) && strings.ContainsAny(value, "0123456789")
}

// putTogether returns the literal of a failing test that a line makes of parts, "" for none.
func (p *proposal) putTogether(line string) string {
	whole := folded(line)
	for _, value := range texts(whole) {
		if whole != line && particular(value) && p.mayLook(line) && !strings.Contains(line, value) && p.inTest([]string{value}) {
			return value
		}
	}
	for _, m := range aList().FindAllStringSubmatch(joined(line), -1) {
		pieces := texts(strings.Join(m[1:], ""))
		if len(pieces) < leastPieces {
			continue
		}
		for _, between := range []string{"-", " ", "_", "", ",", ", ", "/", ".", ":"} {
			if value := strings.Join(pieces, between); len(value) >= leastSum && particular(value) && p.inTest([]string{value}) {
				return value
			}
		}
	}
	return ""
}

// texts returns the texts of a line without their quotes.
func texts(line string) (list []string) {
	for _, m := range aText().FindAllStringSubmatch(line, -1) {
		list = append(list, strings.Join(m[1:], ""))
	}
	return list
}

// A testPair is what a line of a test has beside each other: what it gives and what it wants.
type testPair struct{ a, b string }

// readPairs returns the texts that stand beside each other in lines of failing tests, at least one of them particular.
func (t testSource) readPairs() (list []testPair) {
	s := newSide(lang.Of(t.path, ""), t.text)
	for i := range s.lines {
		values := texts(s.plain(i))
		if len(values) == 1 && i+1 < len(s.lines) {
			values = append(values, texts(s.plain(i+1))...)
		}
		for k := range values {
			for l := k + 1; l < len(values) && len(list) < maxPairs; l++ {
				a, b := unescaped(values[k]), unescaped(values[l])
				if min(len(a), len(b)) >= leastPair && a != b && (particular(a) || particular(b)) {
					list = append(list, testPair{a, b})
				}
			}
		}
	}
	return list
}

// pairIn returns what a text has of a failing test, beside each other; both must be particular where both is set.
func (p *proposal) pairIn(text string, both bool) string {
	text = unescaped(text)
	for _, t := range p.tests() {
		for _, pair := range t.pairs() {
			if !p.mayLook(text) {
				return ""
			}
			i, j := strings.Index(text, pair.a), strings.Index(text, pair.b)
			apart := i >= 0 && j >= 0 && (i+len(pair.a) <= j || j+len(pair.b) <= i)
			if apart && (!both || particular(pair.a) && particular(pair.b)) {
				return oneLine(pair.a, 25) + ", " + oneLine(pair.b, 25)
			}
		}
	}
	return ""
}

// dataCases reports data of production in which what a failing test gives stands beside what it wants: special_case. In
// a table that was there, both must be what hardly anything but a test has.
func dataCases(p *proposal) (found findings) {
	for _, e := range p.edits {
		if e.class != none || !e.exists() || e.opaque || lang.IsCode(e.language) || len(e.fresh) > maxDataLines ||
			rules.BuildFile(e.path) || slices.Contains(rules.LockFiles(), path.Base(e.path)) {
			continue
		}
		for _, j := range e.fresh {
			text := e.after.lines[j]
			for k := j + 1; k < min(j+3, len(e.after.lines)) && e.isFresh(k); k++ {
				text += "\n" + e.after.lines[k]
			}
			if pair := p.pairIn(text, !e.isNew()); pair != "" {
				if p.readsData(e.path) {
					found.add(e, rules.SpecialCase, j, true, "has what the test gives and what it wants: %s", pair)
				}
				break
			}
		}
	}
	return found
}

// readsData reports whether production code names a file of data, after the change.
func (p *proposal) readsData(name string) bool {
	base := path.Base(name)
	stem := strings.TrimSuffix(base, path.Ext(base))
	names := func(src string) bool {
		return strings.Contains(src, base) || slices.ContainsFunc([]string{`"`, `'`}, func(mark string) bool {
			return strings.Contains(src, mark+stem+mark) || strings.Contains(src, "*"+path.Ext(base)+mark)
		})
	}
	for _, e := range p.edits {
		if e.exists() && e.production() && p.mayLook(text(e.change.After)) && names(text(e.change.After)) {
			return true
		}
	}
	return slices.ContainsFunc(p.production(), func(s source) bool { return p.mayLook(s.text) && names(s.text) })
}
