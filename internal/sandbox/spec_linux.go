package sandbox

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/packed"
)

// A spec is what an inner process is to become. It is sent over its control socket, packed: unlike JSON, that keeps
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

// maxSpec is far more than the kernel takes as arguments and environment, in bytes.
const maxSpec = 64 << 20

// sendSpec writes s, after its length.
func sendSpec(w io.Writer, s spec) error {
	b := packed.Append(make([]byte, 4, 4<<10), s.pack)
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4)) //nolint:gosec // see maxSpec
	_, err := w.Write(b)
	return err
}

// readSpec reads what sendSpec wrote.
func readSpec(r io.Reader) (s spec, err error) {
	var size [4]byte
	if _, err = io.ReadFull(r, size[:]); err != nil {
		return s, err
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n > maxSpec {
		return s, fmt.Errorf("a spec of %d bytes", n)
	}
	b := make([]byte, n)
	if _, err = io.ReadFull(r, b); err != nil {
		return s, err
	}
	return s, packed.Read(b, s.pack)
}

func (s *spec) pack(f *packed.Form) {
	f.Text((*string)(&s.Tier))
	f.Texts(&s.Argv)
	f.Text(&s.Dir)
	f.Texts(&s.Env)
	packed.List(f, &s.Mounts, func(f *packed.Form, m *mount) { m.pack(f) })
	f.Bool(&s.Open)
	f.Texts(&s.Write)
	packed.Number(f, &s.Parent)
	tried := s.Probe != nil
	if f.Bool(&tried); tried {
		if s.Probe == nil {
			s.Probe = &probe{}
		}
		f.Text(&s.Probe.Outside)
		f.Text(&s.Probe.Copy)
	}
	f.Bool(&s.Seen)
}

func (m *mount) pack(f *packed.Form) {
	f.Text(&m.From)
	f.Texts(&m.Lower)
	f.Text(&m.Upper)
	f.Text(&m.Work)
	f.Text(&m.At)
	f.Bool(&m.ReadOnly)
	f.Text(&m.Within)
	f.Bool(&m.Optional)
	f.Bool(&m.Inside)
}

// send writes r, the last that an inner process says.
func (r *refusal) send(w io.Writer) { _, _ = w.Write(packed.Append(nil, r.pack)) }

// readRefusal reads until the end. It returns a zero one if there is none: the inner process is the command now.
func readRefusal(from io.Reader) (r refusal) {
	b, _ := io.ReadAll(io.LimitReader(from, maxSpec))
	if len(b) > 0 && packed.Read(b, r.pack) != nil {
		r = refusal{Text: "the process that becomes the command was killed while it said why it cannot"}
	}
	return r
}

func (r *refusal) pack(f *packed.Form) {
	f.Literal("refused\n") // see cannotSee
	f.Text(&r.Text)
	f.Bool(&r.NoTier)
}

// The runner plans a box, because it still sees the whole machine.

// alwaysWritable are the devices that programs need to write: openpty uses pts.
var alwaysWritable = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts"}

// shm returns the folder for shared memory, which multiprocessing uses; empty where a command may not write it: outside
// of View it is the machine's, and may hold the tree, or the base and other copies beside the copy.
func (b Box) shm() string {
	shm := Resolved("/dev/shm")
	holds := func(p string) bool { _, ok := below(shm, Resolved(p)); return p != "" && ok }
	if !isDir(shm) || b.Tier != View && (holds(b.Tree) || holds(b.Copy)) {
		return ""
	}
	return shm
}

// plan returns the spec of a command in a box that confines it.
func (b Box) plan(c Command) (spec, error) {
	s := spec{Tier: b.Tier, Argv: c.Argv, Dir: c.Dir, Env: b.environ(c)}
	for _, p := range b.writable() {
		s.Write = append(s.Write, Resolved(p))
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
