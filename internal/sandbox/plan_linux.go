package sandbox

// What stands where inside a box: decided by the runner, which still sees the machine as it is.

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// alwaysWritable are the devices that programs need to write: multiprocessing and openpty use shm and pts.
var alwaysWritable = []string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm",
}

// plan is the spec of a command in the box.
func (b Box) plan(c Command) (spec, error) {
	s := spec{Tier: b.Tier, Argv: c.Argv, Dir: c.Dir, Env: b.environ(c), Marks: b.marks()}
	if b.Tier == None {
		return s, nil
	}
	for _, p := range slices.Concat([]string{b.Copy, b.Tmp}, b.Write) {
		if p != "" {
			s.Write = append(s.Write, resolved(p))
		}
	}
	if b.Tier == View {
		v := view{Box: b, command: c, tmp: resolved("/tmp"), tree: resolved(b.Tree), copy: resolved(b.Copy)}
		if err := v.fill(); err != nil {
			return spec{}, err
		}
		s.Mounts = v.mounts
		if b.Tmp != "" {
			s.Tmp, s.Hidden = resolved(b.Tmp), v.tmp
		}
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

// A view collects the mounts of a box. Its paths are without symlinks; tree and copy are empty outside of a copy.
type view struct {
	Box
	command Command
	tmp     string
	tree    string
	copy    string
	mounts  []mount
}

func (v *view) fill() error {
	if v.Tree == "" || v.tree == v.copy {
		v.tree, v.copy = "", ""
	} else {
		if _, holds := below(v.tree, v.tmp); holds && v.Tmp != "" || v.tree == "/" {
			return fmt.Errorf("a copy cannot stand at %s in tier %s: ask for tier %s", v.Tree, View, Fence)
		}
		v.add(mount{From: v.copy, At: v.tree})
		if given := v.underTmp(filepath.Clean(v.Tree)); given != v.tree && v.hider(given) == v.tmp {
			v.add(mount{From: v.copy, At: given, Optional: true}) // the private /tmp hides the symlinks on its way
		}
	}
	for _, p := range v.Write {
		v.show(p, false)
	}
	for _, p := range v.Read {
		v.show(p, true)
	}
	for _, p := range []string{v.Copy, v.Tmp, v.Home, v.command.Dir} {
		v.keep(p)
	}
	for _, p := range filepath.SplitList(lookupEnv(v.command.Env, "PATH")) {
		if filepath.Base(p) == "bin" {
			v.keep(filepath.Dir(p)) // a toolchain's programs need what lies beside their folder
		}
		v.keep(p)
	}
	for _, p := range v.command.Argv {
		v.keep(p)
	}
	// Outer before inner, so that the copy covers a tree below something else that is shown.
	slices.SortStableFunc(v.mounts, func(a, b mount) int {
		return strings.Count(a.At, "/") - strings.Count(b.At, "/")
	})
	return nil
}

// keep shows a path that /tmp would hide. What lies in the tree is shown as the copy has it.
func (v *view) keep(path string) {
	if path == "" || !filepath.IsAbs(path) || v.inTree(path) {
		return
	}
	v.show(path, true)
}

// show makes path visible where /tmp or the copy would hide it: under the name it was given and under its real one.
func (v *view) show(path string, readOnly bool) {
	path = filepath.Clean(path)
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return // nothing there to be seen
	}
	from := real
	if rel, ok := below(v.tree, real); ok && v.tree != "" && !v.inTree(path) {
		// A link from outside into the tree: what the copy has there.
		if from, err = filepath.EvalSymlinks(filepath.Join(v.copy, rel)); err != nil {
			return
		}
		v.place(from, path, readOnly, true)
		return
	}
	v.place(from, real, readOnly, false)
	if path != real {
		v.place(from, path, readOnly, true)
	}
}

func (v *view) place(from, at string, readOnly, alias bool) {
	at = v.underTmp(at)
	if at == v.tree || v.hider(at) == "" {
		return // there stands the copy, or it is visible as it is
	}
	if _, holds := below(from, v.tree); holds && v.tree != "" && at != from {
		return // the tree would be seen under another name
	}
	v.add(mount{From: from, At: at, ReadOnly: readOnly && !v.writable(from), Optional: alias})
}

// underTmp is path where /tmp itself is a symlink.
func (v *view) underTmp(path string) string {
	if rel, ok := below("/tmp", path); ok {
		return filepath.Join(v.tmp, rel)
	}
	return path
}

func (v *view) add(m mount) {
	m.Within = v.hider(m.At)
	for i, old := range v.mounts {
		if old.At == m.At {
			v.mounts[i].ReadOnly = old.ReadOnly && m.ReadOnly
			v.mounts[i].Optional = old.Optional && m.Optional
			return
		}
	}
	v.mounts = append(v.mounts, m)
}

// hider is what hides at in the view: the copy, the private /tmp, or nothing.
func (v *view) hider(at string) string {
	for _, h := range []string{v.tree, v.tmp} {
		if h == "" || h == at || h == v.tmp && v.Tmp == "" {
			continue
		}
		if _, ok := below(h, at); ok {
			return h
		}
	}
	return ""
}

func (v *view) inTree(path string) bool {
	if v.tree == "" {
		return false
	}
	_, asGiven := below(v.Tree, path)
	_, asIs := below(v.tree, path)
	return asGiven || asIs
}

// writable says whether a real path lies in what the box may write.
func (v *view) writable(real string) bool {
	for _, w := range slices.Concat([]string{v.Copy, v.Tmp}, v.Write) {
		if w == "" {
			continue
		}
		if _, ok := below(resolved(w), real); ok {
			return true
		}
	}
	return false
}
