package policy

// Judging a command that a pattern matches: what * and ** let through never starts a program, never is code, never names a file
// to write outside.

import (
	"path"
	"slices"
	"strings"
)

// A word is one of a command and what the pattern made of it.
type word struct {
	text    string
	wild    bool   // the pattern does not write it out
	spelled string // where it is wild: what the pattern writes out before the first *
	at      int    // its place in the pattern
}

// A place says what the first word of a program that is no flag is.
type place int

const (
	anything  place = iota
	aProgram        // what it starts: it and all before it must be written out, what stands behind is for that program
	aCode           // code: it and all before it must be written out
	aScript         // a script of sed's: see plainScript
	aFile           // a file that it runs: below the working directory
	aPackage        // something to fetch, whose own programs are then run, as are all words that are no flags
	aGoFolder       // a Go package that it runs: a folder or files below the working directory
)

// A judging goes through the words of one command.
type judging struct {
	load    bool     // a pattern is judged: only what it can never allow is a fault
	at      int      // of the fault, a place in the pattern
	started []string // programs that others start, by the words that name them
}

// fault is what a wildcard may not let through, unless only a pattern is judged.
func (j *judging) fault(w word, reason string) string {
	if j.load {
		return ""
	}
	j.at = w.at
	return reason
}

const onlyWritten = ": only a pattern that writes it out allows it"

// command judges words of which the first is a program.
func (j *judging) command(words []word) string {
	name := path.Base(words[0].text)
	if kind := carrier(words[0].text); kind != "" {
		i := slices.IndexFunc(words, func(w word) bool { return w.wild })
		if i < 0 {
			return ""
		}
		j.at = words[i].at
		if j.load {
			return name + " " + kind + ": write out every word, without *"
		}
		return name + " " + kind + ": only a pattern that writes out every word allows it"
	}
	p, ok := programOf(words[0].text)
	if !ok {
		return ""
	}
	return j.arguments(name, p, words[1:])
}

// A walk is how far a judging is with the arguments of one program.
type walk struct {
	*judging
	name    string
	p       program
	flags   map[string]flag
	wild    int    // the first word so far that is wild; -1: none
	sure    bool   // the first word that is no flag is passed
	given   bool   // a flag brought the script
	strict  bool   // a flag brought words to start: every word must be written out
	skip    int    // words that stand before the first
	pending *found // the next word is its value
	maybe   bool   // the next word may be the value of a flag that is not known
}

// arguments judges what stands behind a program, or behind one of its subcommands.
func (j *judging) arguments(name string, p program, words []word) string {
	s := &walk{judging: j, name: name, p: p, flags: p.flags(), skip: p.skip, wild: -1}
	for i, w := range words {
		if reason := s.cluster(i, w); reason != "" {
			return reason
		}
		if w.wild && s.wild < 0 {
			s.wild = w.at
		}
		if s.strict && w.wild {
			j.at = w.at
			return "a flag of " + name + " brings what to start: write out every word, without *"
		}
		if p.ends != "" && w.text == p.ends && s.pending == nil && !s.maybe && (s.sure || p.words+p.only == "") {
			if then := programs()[p.then]; p.then != "" {
				return j.arguments(p.then, then, words[i+1:])
			}
			return ""
		}
		if w.wild && p.expr != "" && compiled(p.expr).MatchString(w.text) {
			if reason := s.starts(w, shown(w.text)); reason != "" {
				return reason
			}
		}
		reason, done := s.word(w, words[i:])
		if reason != "" || done {
			return reason
		}
	}
	return ""
}

// word judges the first of words. done: what follows is not for this program.
func (s *walk) word(w word, words []word) (reason string, done bool) {
	doubt := s.pending != nil || s.maybe // it may be the value of the flag before it, even where it begins with a dash
	if v := s.pending; v != nil {
		s.pending = nil
		if v.module && !w.wild {
			s.started = append(s.started, w.text)
			return s.command(words), true
		}
		if reason := s.value(w, v.flag, v.name+" "+shown(w.text), w.text); reason != "" || !s.maybe && !strings.HasPrefix(w.text, "-") {
			return reason, false
		}
	}
	switch {
	case w.text == "--":
		s.maybe = false // flags behind it are looked at all the same: some programs read them
		return "", false
	case len(w.text) > 1 && w.text[0] == '-':
		return s.flag(w, words, doubt)
	}
	reason, done = s.plain(w, words)
	s.maybe = false
	return reason, done
}

// flag judges a word that begins with a dash; doubt says that it may be a value all the same.
func (s *walk) flag(w word, words []word, doubt bool) (reason string, done bool) {
	flags, known := s.p.read(s.flags, w.text)
	for _, f := range flags {
		if f.early && s.sure {
			continue
		}
		if f.effect == starts || f.effect == scripts {
			s.given = s.given || !doubt
			s.strict = s.strict || f.effect == starts && s.p.first == aProgram
		}
		if f.module && f.attached && !w.wild {
			rest := slices.Clone(words)
			rest[0] = word{text: f.value, at: w.at}
			s.started = append(s.started, f.value)
			return s.command(rest), true
		}
		if !f.valued || f.attached || f.effect == starts || f.effect == changes {
			if reason := s.value(w, f.flag, shown(w.text), f.value); reason != "" {
				return reason, false
			}
		}
		if f.valued && !f.attached {
			s.pending = &f
		}
	}
	s.maybe = (doubt || !known) && !strings.Contains(w.text, "=")
	return "", false
}

// value judges a flag or its value, which is what w does not write out; as is how it reads.
func (s *walk) value(w word, f flag, as, value string) string {
	switch {
	case !w.wild:
		return ""
	case f.effect == starts, f.effect == loads && !plainName(value), f.effect == scripts && !plainScript(value):
		return s.starts(w, as)
	case f.effect == changes:
		return s.fault(w, as+" of "+s.name+" would change files"+onlyWritten)
	case f.effect == writes && outside(value):
		return s.fault(w, as+" of "+s.name+" would write outside of the working directory")
	}
	return ""
}

func (s *walk) runsOutside(w word) string {
	return s.fault(w, shown(w.text)+" does not lie below the working directory, and "+s.name+" runs it"+onlyWritten)
}

// starts is the fault of a word that reads as.
func (s *walk) starts(w word, as string) string {
	return s.fault(w, as+" of "+s.name+" can start another program"+onlyWritten)
}

// cluster judges the first word of tar's, whose letters are flags without a dash, and their values the words behind it in turn.
func (s *walk) cluster(i int, w word) string {
	if i > 0 || !s.p.clustered || !w.wild || strings.HasPrefix(w.text, "-") {
		return ""
	}
	for _, letter := range w.text {
		if f := s.flags["-"+string(letter)]; f.effect > harmless {
			return s.starts(w, shown(w.text))
		}
	}
	return ""
}

// plain judges a word that is no flag.
func (s *walk) plain(w word, words []word) (reason string, done bool) {
	p := s.p
	name, value, assigns := strings.Cut(w.text, "=")
	switch {
	case w.wild && p.files && p.first == aFile && outside(w.text):
		return s.runsOutside(w), false
	case w.wild && p.files && outside(w.text), w.wild && p.operands != "" && assigns && slices.Contains(strings.Fields(p.operands), name) && outside(value):
		return s.fault(w, shown(w.text)+" of "+s.name+" would write outside of the working directory"), false
	case w.wild && p.assigns && assigns && !tame(w, value):
		return s.fault(w, shown(w.text)+" of "+s.name+" sets what its commands are made of"+onlyWritten), false
	case w.wild && p.first == aPackage && !s.load:
		return s.fault(w, shown(w.text)+" of "+s.name+" brings programs from elsewhere"+onlyWritten), false
	}
	if s.sure || p.vars && assigns && assignment(name) || p.first == aProgram && w.text == "-" {
		return "", false
	}
	if s.skip > 0 {
		if !s.maybe {
			s.skip--
		}
		return "", false
	}
	if reason, done := s.first(w, words); reason != "" || done {
		return reason, done
	}
	if w.wild && (p.words != "" && slices.Contains(strings.Fields(p.words), w.text) || p.only != "" && !slices.Contains(strings.Fields(p.only), w.text)) {
		return s.starts(w, shown(w.text)), false
	}
	if sub, ok := p.below[w.text]; ok {
		if reason := s.arguments(s.name+" "+w.text, sub, words[1:]); reason != "" || (sub.first == aProgram || sub.stops) && !s.maybe {
			return reason, true // it reads its own flags
		}
	}
	s.sure = !s.maybe
	return "", s.sure && p.stops
}

// first judges what may be the first word that is no flag.
func (s *walk) first(w word, words []word) (reason string, done bool) {
	switch s.p.first {
	case aProgram, aCode:
		if s.p.first == aCode && s.given {
			return "", false
		}
		if s.wild >= 0 {
			s.at = s.wild
			return s.name + " starts other programs: the one to start, and every word before it, must be written out without *", false
		}
		if s.p.first == aCode {
			return "", false
		}
		s.started = append(s.started, w.text)
		return s.command(words), !s.maybe
	case aScript:
		if w.wild && !s.given && !plainScript(w.text) {
			return s.starts(w, shown(w.text)), false
		}
	case aFile, aGoFolder:
		if w.wild && (outside(w.text) || compiled(`^[a-z]+:`).MatchString(w.text)) {
			return s.runsOutside(w), false
		}
		if s.p.first == aGoFolder && w.wild && !strings.HasPrefix(w.text, ".") && !strings.HasSuffix(w.text, ".go") {
			return s.starts(w, shown(w.text)), false
		}
	}
	return "", false
}
