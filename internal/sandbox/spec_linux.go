package sandbox

import "slices"

// A spec is what an inner process is to become. It is sent over its control socket as gob: unlike JSON, that keeps
// bytes that are not UTF-8.
type spec struct {
	Tier   Tier
	Argv   []string
	Dir    string
	Env    []string
	Mounts []mount  // outer before inner
	Open   bool     // in a view, what is not among the mounts is not made read-only
	Write  []string // writable paths, as they are inside the box
	Parent int      // the supervisor
	Probe  *probe   // try the box instead of running Argv
	Seen   bool     // see observe
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
	Inside   bool   // From is a path inside, taken when the others are in place; none there is no fault
}

// A refusal is why a command was not started. An inner process sends it when it does not become the command.
type refusal struct {
	Text   string
	NoTier bool // the machine is at fault and not the box
}

func (r *refusal) Error() string { return r.Text }

// The runner plans a box, because it still sees the whole machine.

// alwaysWritable are the devices that programs need to write: openpty uses pts.
var alwaysWritable = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts"}

// shm returns the folder for shared memory, which multiprocessing uses; empty where a command may not write it: outside
// of View it is the machine's, and may hold the tree, or the base and other copies beside the copy.
func (b Box) shm() string {
	shm := resolved("/dev/shm")
	holds := func(p string) bool { _, ok := below(shm, resolved(p)); return p != "" && ok }
	if !isDir(shm) || b.Tier != View && (holds(b.Tree) || holds(b.Copy)) {
		return ""
	}
	return shm
}

// plan returns the spec of a command in a box that confines it.
func (b Box) plan(c Command) (spec, error) {
	s := spec{Tier: b.Tier, Argv: c.Argv, Dir: c.Dir, Env: b.environ(c)}
	for _, p := range b.writable() {
		s.Write = append(s.Write, resolved(p))
	}
	if b.Tier == View {
		v := newView(b, c)
		if err := v.fill(); err != nil {
			return spec{}, err
		}
		s.Mounts = v.mounts
		s.Open = slices.Contains(s.Write, "/")
		if v.tree != "" {
			s.Write[0] = v.tree // the copy, at the path where it is mounted
		}
	}
	s.Write = outermost(s.Write)
	if shm := b.shm(); shm != "" {
		s.Write = append(s.Write, shm) // in View it holds nothing of the others, which are mounted there
	}
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
