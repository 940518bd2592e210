package sandbox

import (
	"encoding/json"
	"slices"
)

// A spec is what an inner process is to become. It travels as JSON over its control socket.
type spec struct {
	Tier   Tier
	Argv   []string
	Dir    string
	Env    []string
	Mounts []mount  // outer before inner
	Open   bool     // in a view, what is not among the mounts is not made read-only
	Write  []string // where the fence lets write, as paths inside
	Parent int      // the supervisor
	Probe  *probe   // try the box instead of running Argv
}

// A mount shows a folder or file of the machine at its own or another place inside.
type mount struct {
	From     string   // without symlinks; empty: a new file system in memory, or an overlay
	Lower    []string // of an overlay, as Upper and Work: see Overlay; without symlinks
	Upper    string
	Work     string
	At       string
	ReadOnly bool
	Within   string // At may be made (an empty folder or file) when it is below this
	Optional bool   // an alias of a place that is shown anyway: a symlink on the way to At is no fault
}

// A message is what an inner process says when it does not become the command.
type message struct {
	Refused string // why
	NoTier  bool   // the machine is at fault and not the box
}

// A refusal is why a command was not started.
type refusal struct {
	text   string
	noTier bool
}

func (r *refusal) Error() string { return r.text }

func (r *refusal) message() message { return message{Refused: r.text, NoTier: r.noTier} }

// wire is s for the socket. JSON would replace bytes that are no UTF-8, and arguments, paths and variables may hold
// any: so each byte travels as the character of its number.
func (s spec) wire() spec {
	return s.each(func(t string) string {
		runes := make([]rune, len(t))
		for i := range len(t) {
			runes[i] = rune(t[i])
		}
		return string(runes)
	})
}

// unwire undoes wire.
func (s spec) unwire() spec {
	return s.each(func(t string) string {
		b := make([]byte, 0, len(t))
		for _, r := range t {
			b = append(b, byte(r))
		}
		return string(b)
	})
}

// each is s with f of each of its strings that come from outside.
func (s spec) each(f func(string) string) spec {
	all := func(list []string) []string {
		list = slices.Clone(list)
		for i := range list {
			list[i] = f(list[i])
		}
		return list
	}
	s.Argv, s.Env, s.Write = all(s.Argv), all(s.Env), all(s.Write)
	s.Dir = f(s.Dir)
	s.Mounts = slices.Clone(s.Mounts)
	for i := range s.Mounts {
		m := &s.Mounts[i]
		m.From, m.At, m.Within = f(m.From), f(m.At), f(m.Within)
		m.Lower, m.Upper, m.Work = all(m.Lower), f(m.Upper), f(m.Work)
	}
	if s.Probe != nil {
		s.Probe = &probe{Outside: f(s.Probe.Outside), Copy: f(s.Probe.Copy)}
	}
	return s
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only strings, numbers and lists of them
	}
	return append(b, '\n')
}

// What stands where inside a box: decided by the runner, which still sees the machine as it is.

// alwaysWritable are the devices that programs need to write: multiprocessing and openpty use shm and pts.
var alwaysWritable = []string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm",
}

// plan returns the spec of a command in a box that confines it.
func (b Box) plan(c Command) (spec, error) {
	s := spec{Tier: b.Tier, Argv: c.Argv, Dir: c.Dir, Env: b.environ(c)}
	for _, p := range slices.Concat([]string{b.Copy, b.Tmp}, b.Write) {
		if p != "" {
			s.Write = append(s.Write, resolved(p))
		}
	}
	if b.Tier == View {
		v := newView(b, c)
		if err := v.fill(); err != nil {
			return spec{}, err
		}
		s.Mounts = v.mounts
		s.Open = slices.Contains(s.Write, "/")
		if v.tree != "" {
			s.Write[0] = v.tree // the copy, at the place where it is surely seen
		}
	}
	s.Write = outermost(s.Write)
	return s, nil
}

// outermost drops paths below others. A rule for an inner one adds nothing, and a command that may write the outer
// one could have put a symlink in its place.
func outermost(paths []string) []string {
	var out []string
	for _, p := range paths {
		if !slices.ContainsFunc(paths, func(q string) bool { _, ok := below(q, p); return ok && q != p }) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
