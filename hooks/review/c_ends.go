package review

import (
	"regexp"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
)

// cExitHandlers reports functions of C that run at every end of the process, or where a signal is handled, and end
// it with success: exit_swallowed. They, and what they call, may be in another file of the patch.
func cExitHandlers(p *proposal) (found findings) {
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
	for _, e := range p.edits {
		s := e.cText()
		if s == nil {
			continue
		}
		at := place{e, s, map[int]bool{}}
		for _, j := range e.added {
			at.new[j] = !e.moved[j]
		}
		places = append(places, at)
		action := false
		for i := range s.lines {
			action = action || cAction().MatchString(s.code(i))
		}
		for i := range s.lines {
			code := s.code(i)
			call := code
			if strings.Contains(code, "sig") { // the arguments may be in lines of their own
				call = s.heading(i, ";{")
			}
			for _, m := range cRegisters().FindAllStringSubmatch(call, -1) {
				todo = append(todo, entry{m[1] + m[2], at.new[i], m[2] != ""})
			}
			if m := cHandler().FindStringSubmatch(code); m != nil && action {
				todo = append(todo, entry{m[1], at.new[i], true})
			}
			if m := cArray().FindStringSubmatch(s.plain(i)); m != nil {
				todo = append(todo, entry{m[1], at.new[i], false})
			}
			if cMarked().MatchString(code) {
				if body, end := s.function(i); body != "" {
					found = append(found, endsWell(e, s, i, end, at.new, at.new[i])...)
				}
			}
			if cWell().MatchString(code) && at.new[i] && cStatic().MatchString(code) && s.global(i) {
				found = append(found, endsWell(e, s, i, i+1, at.new, false)...)
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
				found = append(found, endsWell(p.e, p.s, i, end, p.new, at.new)...)
				if at.handles {
					found = append(found, survives(p.e, p.s, i, end, p.new, at.new)...)
				}
				for _, m := range cCalled().FindAllStringSubmatch(body, -1) {
					todo = append(todo, entry{m[1], at.new || p.new[i], at.handles})
				}
			}
		}
	}
	return found
}

// defines reports whether the function of a name begins in line i.
func defines(s *side, i int, name string) bool {
	m := cOwn().FindStringSubmatch(s.heading(i, "{;"))
	return m != nil && m[1] == name
}

// endsWell reports the new lines from i to end that end the process with success; all of them where what calls
// them is new.
func endsWell(e *edit, s *side, i, end int, isNew map[int]bool, called bool) (found findings) {
	for k := i; k < end; k++ {
		if cWell().MatchString(s.code(k)) && (isNew[k] || called) {
			found.add(e, rules.ExitSwallowed, k, true, endsOnLoad, s.trimmed(k))
		}
	}
	return found
}

// survives reports the new lines of a handler that end the process with a number that only running it tells, or
// that continue after what failed. The signal's own number is honest, while nothing changes it.
func survives(e *edit, s *side, i, end int, isNew map[int]bool, called bool) (found findings) {
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
		if given != nil && m[1] == given[1] && len(regexp.MustCompile(`\b`+given[1]+`\s*(?:[-+*/%&|^]|<<`+
			`|>>)?=[^=]|--|&\s*`+given[1]+`\b`).FindAllString(body.String(), 1)) == 0 {
			continue
		}
		found.add(e, rules.ExitSwallowed, k, true, "where a signal is handled: %s", s.trimmed(k))
	}
	return found
}
