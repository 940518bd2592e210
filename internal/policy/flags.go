package policy

// How a program reads its flags: bundles of letters, long flags cut short, values behind = or in the next word.

import "strings"

// An effect is what a flag does. Where several flags could be meant, the greatest counts.
type effect int

const (
	harmless effect = iota
	loads           // its value may be a plain name, but no path
	scripts         // its value is a script, see plainScript
	writes          // its value is a file to write or a folder to work in: it must lie below the working directory
	changes         // files that the words behind it name are changed
	starts          // it starts a program, takes code, or reads settings that do
)

// A flag is what a program makes of one.
type flag struct {
	name   string
	effect effect
	valued bool // it takes a value, in the same word or the next
	early  bool // it counts only before the first word that is no flag
	module bool // its value is a program, and what follows is for that
}

// A found is a flag in an argument, with its value where that is in the same word.
type found struct {
	flag
	value    string
	attached bool
}

// flags is the table of a program's flags, by name with its dashes.
func (p program) flags() map[string]flag {
	all := map[string]flag{}
	add := func(list string, f flag) {
		for _, name := range strings.Fields(list) {
			f.name, f.valued = strings.CutSuffix(name, "=")
			all[p.key(f.name)] = f
		}
	}
	add(p.alone, flag{})
	add(p.takes, flag{})
	add(p.loads, flag{effect: loads})
	add(p.scripts, flag{effect: scripts})
	add(p.writes, flag{effect: writes})
	add(p.changes, flag{effect: changes})
	add(p.early, flag{effect: starts, early: true})
	add(p.module, flag{effect: starts, module: true})
	add(p.starts, flag{effect: starts})
	return all
}

// key is a flag's name as this program compares it.
func (p program) key(name string) string {
	if p.whole && strings.HasPrefix(name, "--") {
		name = name[1:]
	}
	if strings.HasPrefix(name, "--") {
		name = strings.ReplaceAll(name, "_", "-") // node's do not tell them apart
	}
	if p.camel && strings.HasPrefix(name, "--") {
		name = "--" + strings.ReplaceAll(name[2:], "-", "")
	}
	if p.fold || p.camel && strings.HasPrefix(name, "--") {
		name = strings.ToLower(name)
	}
	return name
}

// read finds the flags of one argument that begins with a dash. known is false where one of them is not in the table: then it is
// not known either whether the next word is its value.
func (p program) read(all map[string]flag, arg string) (flags []found, known bool) {
	if p.whole || strings.HasPrefix(arg, "--") {
		return p.readWord(all, arg)
	}
	name, value, attached := strings.Cut(arg, "=")
	if f, ok := all[p.key(name)]; ok && len(name) > len("-x") { // some have a few such flags
		return []found{{f, value, attached}}, true
	}
	if p.loose && len(name) > len("-x") {
		flags, _ = p.readWord(all, "-"+arg)
	}
	known = true
	for i, letter := range arg[1:] {
		f, ok := all[p.key("-"+string(letter))]
		known = known && ok
		if !ok {
			continue
		}
		if !f.valued {
			flags = append(flags, found{flag: f})
			continue
		}
		value := arg[1+i+len(string(letter)):]
		return append(flags, found{f, strings.TrimPrefix(value, "="), value != ""}), known
	}
	return flags, known
}

// readWord reads an argument that is one flag.
func (p program) readWord(all map[string]flag, arg string) ([]found, bool) {
	name, value, attached := strings.Cut(arg, "=")
	name = p.key(name)
	if f, ok := all[name]; ok {
		return []found{{f, value, attached}}, true
	}
	best := found{}
	for key, f := range all {
		switch {
		case p.whole && f.valued && f.effect == writes:
			if glued, ok := strings.CutPrefix(p.key(arg), key); ok && outside(glued) { // -o/x
				return []found{{f, glued, true}}, true
			}
		case !p.exact && !p.whole && len(name) > len("--") && strings.HasPrefix(key, name) && f.effect > best.effect:
			best = found{f, value, attached}
		}
	}
	if best.effect == harmless {
		return nil, false
	}
	return []found{best}, false // what is cut short may be another
}
