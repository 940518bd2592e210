package review

import (
	"regexp"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var (
	tableRow = lazily.Regexp(`^\s*(?:\{.*\}|\(.*\)|\[.*\]|pytest\.param\(.*\)|(?:"[^"]*"` +
		`|'[^']*')\s*:\s*[{\[(].*[}\])])\s*,\s*$`)
	emptyReturn = lazily.Regexp(`^\s*return\s*;?\s*(?:None)?\s*$`)
)

// assertions reports tests that are still there and assert less, assertion_removed.
func assertions(e *edit) (found findings) {
	language := rules.For(e.language)
	if language.Assert == "" || e.class == none || e.class == testData || e.class == loadedFile || len(e.blocks) == 0 {
		return nil
	}
	fewer := fewerAssertions(e, compile(language.Assert))
	found = append(fewer, weakerAssertions(e, language)...)
	found = append(found, earlyReturns(e)...)
	if len(fewer) == 0 {
		found = append(found, rowsGone(e)...)
	}
	return found
}

// fewerAssertions counts the assertions of each test, before and after. In a script without tests it counts them all.
func fewerAssertions(e *edit, re *regexp.Regexp) (found findings) {
	if !e.exists() || e.isNew() {
		return nil
	}
	before, after := counts(re, e.before), counts(re, e.after)
	if len(e.cases(0)) == 0 {
		was, is := before[len(e.before.lines)], after[len(e.after.lines)]
		for _, i := range e.removed {
			if is < was && re.MatchString(e.before.code(i)) {
				found.add(e, rules.AssertionRemoved, e.at(i), false, "the file has %d conditions, %d before", is, was)
				return found
			}
		}
		return nil
	}
	left := map[string][]testCase{}
	for _, c := range e.cases(1) {
		left[c.name] = append(left[c.name], c)
	}
	for _, c := range e.cases(0) {
		list := left[c.name]
		if len(list) == 0 {
			continue
		}
		now := list[0]
		left[c.name] = list[1:]
		if was, is := before[c.to]-before[c.from], after[now.to]-after[now.from]; is < was {
			found.add(e, rules.AssertionRemoved, now.from, false, "%s has %d assertions, %d before", c.name, is, was)
		}
	}
	return found
}

// counts returns, at i, how many matches there are before line i.
func counts(re *regexp.Regexp, s *side) []int {
	sums := make([]int, len(s.lines)+1)
	for i := range s.lines {
		sums[i+1] = sums[i] + len(re.FindAllStringIndex(s.code(i), -1))
	}
	return sums
}

// weakerAssertions reports weak assertions that took the place of strong ones.
func weakerAssertions(e *edit, language *rules.Language) (found findings) {
	if language.Strong == "" {
		return nil
	}
	strong, weak := compile(language.Strong), compile(language.Weak)
	isStrong := func(s *side, i int) bool {
		code := s.code(i)
		if e.language == "web" {
			code = s.plain(i) // toBe('four') has its argument in a string
		}
		return strong.MatchString(code) && !weak.MatchString(code)
	}
	for _, b := range e.blocks {
		was, is, first := 0, 0, -1
		for i := b.i; i < b.iEnd; i++ {
			if isStrong(e.before, i) {
				was++
			}
		}
		for j := b.j; j < b.jEnd; j++ {
			if isStrong(e.after, j) {
				is++
			} else if first < 0 && weak.MatchString(e.after.code(j)) {
				first = j
			}
		}
		if is < was && first >= 0 {
			found.add(e, rules.AssertionRemoved, first, false, "a weaker assertion took the place of a stronger one")
		}
	}
	return found
}

// earlyReturns reports new returns before what a test did.
func earlyReturns(e *edit) (found findings) {
	had := map[string]bool{}
	for _, c := range e.cases(0) {
		had[c.name] = true
	}
	for _, c := range e.cases(1) {
		if !had[c.name] {
			continue
		}
		in := -1
		for j := c.from + 1; j < c.to; j++ {
			code := e.after.code(j)
			if strings.TrimSpace(code) == "" {
				continue
			}
			if in < 0 {
				in = indent(code)
			}
			if !e.isAdded(j) || indent(code) != in || !emptyReturn().MatchString(code) {
				continue
			}
			for k := j + 1; k < c.to; k++ {
				if rest := strings.TrimSpace(e.after.code(k)); len(rest) > 3 && indent(e.after.code(k)) >= in {
					found.add(e, rules.AssertionRemoved, j, false, "%s returns before what it did", c.name)
					break
				}
			}
			break
		}
	}
	return found
}

// rowsGone reports cases of a table that are gone.
func rowsGone(e *edit) (found findings) {
	if !e.exists() {
		return nil
	}
	for _, b := range e.blocks {
		gone, first := 0, -1
		for i := b.i; i < b.iEnd; i++ {
			if tableRow().MatchString(e.before.plain(i)) {
				if gone++; first < 0 {
					first = i
				}
			}
		}
		for j := b.j; j < b.jEnd; j++ {
			if tableRow().MatchString(e.after.plain(j)) {
				gone--
			}
		}
		if gone > 0 {
			found.add(e, rules.AssertionRemoved, e.at(first), false, "cases of a table are gone: %d", gone)
		}
	}
	return found
}
