package review

// exit_swallowed in C: functions that run at every end of the process, or where a signal is handled, and end it with success.

import (
	"regexp"
	"strings"
)

// nativeEnds looks for functions that run at every end of the process, or at an abort, and end it with success. They, and what they call, may stand in
// another file of the patch.
func (r *report) nativeEnds() {
	type place struct {
		e   *edit
		s   *side
		new map[int]bool
	}
	type entry struct {
		name    string
		new     bool
		handles bool // a signal, or what its handler calls
	}
	var places []place
	var todo []entry
	for _, e := range r.edits {
		s := e.native()
		if s == nil {
			continue
		}
		p := place{e, s, map[int]bool{}}
		for _, j := range e.added {
			p.new[j] = !e.moved[j]
		}
		places = append(places, p)
		action := false
		for i := range s.lines {
			action = action || cAction().MatchString(s.code(i))
		}
		for i := range s.lines {
			code := s.code(i)
			call := code
			for k := i + 1; k < min(len(s.lines), i+4) && strings.Contains(code, "sig") && !strings.ContainsAny(call, ";{"); k++ {
				call += " " + s.code(k) // the arguments may stand in lines of their own
			}
			for _, m := range cRegisters().FindAllStringSubmatch(call, -1) {
				todo = append(todo, entry{m[1] + m[2], p.new[i], m[2] != ""})
			}
			if m := cHandler().FindStringSubmatch(code); m != nil && action {
				todo = append(todo, entry{m[1], p.new[i], true})
			}
			if m := cArray().FindStringSubmatch(s.plain(i)); m != nil {
				todo = append(todo, entry{m[1], p.new[i], false})
			}
			if cMarked().MatchString(code) {
				if body, end := s.function(i); body != "" {
					r.endsWell(e, s, i, end, p.new, p.new[i])
				}
			}
			if cWell().MatchString(code) && p.new[i] && cStatic().MatchString(code) && s.global(i) {
				r.endsWell(e, s, i, i+1, p.new, false)
			}
		}
	}
	seen := map[entry]bool{}
	for len(todo) > 0 && len(seen) < 200 {
		at := todo[0]
		todo = todo[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		for _, p := range places {
			for i := range p.s.lines {
				if !strings.Contains(p.s.lines[i], at.name) || !defines(p.s, i, at.name) {
					continue
				}
				body, end := p.s.function(i)
				if body == "" {
					continue
				}
				r.endsWell(p.e, p.s, i, end, p.new, at.new)
				if at.handles {
					r.goesOn(p.e, p.s, i, end, p.new, at.new)
				}
				for _, m := range cCalled().FindAllStringSubmatch(body, -1) {
					todo = append(todo, entry{m[1], at.new || p.new[i], at.handles})
				}
			}
		}
	}
}

// defines says whether the function of a name begins in line i.
func defines(s *side, i int, name string) bool {
	heading := s.code(i)
	for k := i + 1; k < min(len(s.lines), i+4) && !strings.ContainsAny(heading, "{;"); k++ {
		heading += " " + s.code(k)
	}
	m := cOwn().FindStringSubmatch(heading)
	return m != nil && m[1] == name
}

// endsWell notes the new lines from i to end that end the process with success; all of them where what calls them is new.
func (r *report) endsWell(e *edit, s *side, i, end int, isNew map[int]bool, called bool) {
	for k := i; k < end; k++ {
		if cWell().MatchString(s.code(k)) && (isNew[k] || called) {
			r.add(e, ExitSwallowed, k, true, "ends with success while it is loaded, or at every end: %s", strings.TrimSpace(s.lines[k]))
		}
	}
}

// goesOn notes the new lines of a handler that end the process with a number that only its running tells, or go on past what
// failed. The signal's own number is honest, while nothing changes it.
func (r *report) goesOn(e *edit, s *side, i, end int, isNew map[int]bool, called bool) {
	var body strings.Builder
	for k := i; k < end; k++ {
		body.WriteString(s.code(k) + "\n")
	}
	given := cGiven().FindStringSubmatch(body.String())
	for k := i; k < end; k++ {
		m := cHandled().FindStringSubmatch(s.code(k))
		if m == nil || !isNew[k] && !called || m[1] == "EXIT_FAILURE" {
			continue
		}
		if given != nil && m[1] == given[1] && len(regexp.MustCompile(`\b`+given[1]+`\s*(?:[-+*/%&|^]|<<|>>)?=[^=]|--|&\s*`+given[1]+`\b`).FindAllString(body.String(), 1)) == 0 {
			continue
		}
		r.add(e, ExitSwallowed, k, true, "where a signal is handled: %s", strings.TrimSpace(s.lines[k]))
	}
}
