package review

// Looking for patterns in lines that are new: a pattern that a removed line of the file had as well is not.

import (
	"regexp"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
)

// What part of a line a pattern is matched against.
const (
	onCode  = iota // without strings and comments
	onPlain        // without comments; some of the match is code
	onNotes        // comments alone
	onText         // without comments
	onRaw
)

// A pattern is one form that a rule looks for.
type pattern struct {
	what string // for a person; "" shows the match
	caps bool
	on   int
	need []string // one of these is in every line that matches: most lines need no regular expression
	re   func() *regexp.Regexp
}

func pat(on int, caps bool, what, expr string, need ...string) pattern {
	return pattern{what: what, caps: caps, on: on, need: need, re: late.Regexp(expr)}
}

// find gives the matches of p in a line of s.
func (p *pattern) find(s *side, line int) []string {
	raw := s.lines[line]
	if !containsAny(raw, p.need) {
		return nil
	}
	var text string
	switch p.on {
	case onCode:
		text = s.code(line)
	case onPlain, onText:
		text = s.plain(line)
	case onNotes:
		text = s.notes(line)
	default:
		text = raw
	}
	var found []string
	for _, m := range p.re().FindAllStringIndex(text, -1) {
		if m[0] == m[1] || p.on == onPlain && !s.hasCode(line, m[0], m[1]) {
			continue
		}
		found = append(found, strings.TrimSpace(text[m[0]:m[1]]))
	}
	return found
}

func blanks(s string) int { return min(len(s)-len(strings.TrimLeft(s, " \t")), max(0, len(s)-1)) }

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return len(words) == 0
}

// fresh calls hit for every match of patterns in e's new lines that its removed lines do not have. kind: another match of the same pattern counts as
// the same (a comment for another linter), else only the same text does.
func (r *report) fresh(e *edit, patterns []pattern, kind bool, hit func(line int, p *pattern, match string)) {
	type key struct {
		pattern int
		match   string
	}
	name := func(k int, match string) key {
		if kind {
			return key{k, ""}
		}
		return key{k, strings.Join(strings.Fields(match), " ")}
	}
	had := map[key]int{}
	for _, i := range e.removed {
		for k := range patterns {
			for _, m := range patterns[k].find(e.before, i) {
				had[name(k, m)]++
			}
		}
	}
	for _, j := range e.added {
		for k := range patterns {
			for _, m := range patterns[k].find(e.after, j) {
				if had[name(k, m)] > 0 {
					had[name(k, m)]--
				} else if !e.moved[j] {
					hit(j, &patterns[k], m)
				}
			}
		}
	}
}

// says is what a pattern found, for a person.
func (p *pattern) says(match string) string {
	if p.what == "" {
		return match
	}
	return p.what + ": " + match
}
