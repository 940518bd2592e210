package sandbox

// What stands where inside a box: decided by the runner, which still sees the machine as it is.

import (
	"slices"
)

// alwaysWritable are the devices that programs need to write: multiprocessing and openpty use shm and pts.
var alwaysWritable = []string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm",
}

// plan is the spec of a command in a box that confines it.
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
