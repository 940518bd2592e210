package sandbox

// Checks of a box before anything is started in it, and the environment of a command in it.

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/process"
)

// The two marks that everything started by a runner carries in its environment.
const (
	HookMark   = "ASYNC_PIPELINE_HOOK"   // RUN/TASK of the hook; a process that carries it starts no hook
	RunnerMark = "ASYNC_PIPELINE_RUNNER" // <pid>.<start>.<boot id> of the runner, see process.Stamp
)

// At returns the path at which a command in the box sees path, a path of the tree. Other paths are returned as they
// are.
func (b Box) At(path string) string {
	if b.Tier == View || b.Copy == "" || b.Tree == "" {
		return path
	}
	for _, tree := range []string{b.Tree, Resolved(b.Tree)} {
		if rel, ok := below(tree, path); ok {
			return filepath.Join(b.Copy, rel)
		}
	}
	return path
}

// check returns an error for a box or a command that contradicts itself.
func (b Box) check(c Command) error {
	switch b.Tier {
	case None, Fence, View:
	case "":
		return fmt.Errorf("the box names no tier: say %s, %s or %s", View, Fence, None)
	default:
		return fmt.Errorf("unknown sandbox tier %q: say %s, %s or %s", b.Tier, View, Fence, None)
	}
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return fmt.Errorf("the command is empty: name a program")
	}
	for _, s := range slices.Concat(c.Argv, c.Env, []string{c.Dir}) {
		if strings.ContainsRune(s, 0) {
			return fmt.Errorf("the command contains a NUL byte in %q: no program can be given one", s)
		}
	}
	if c.Seen != nil && b.Tier != None {
		return fmt.Errorf("what a command reads is seen only in tier %s", None)
	}
	if !filepath.IsAbs(c.Dir) {
		return fmt.Errorf("directory %q of the command is not an absolute path", c.Dir)
	}
	if len(b.Layers) > 0 && b.Tier != View {
		return fmt.Errorf("the box has overlays, which tier %s does not: ask for tier %s", b.Tier, View)
	}
	writes := b.writable()
	if b.Base != "" {
		if b.Tier != View || b.Work == "" {
			return fmt.Errorf("the copy %s of the base %s needs tier %s and a folder Work", b.Copy, b.Base, View)
		}
		writes = append(writes, b.Work)
	}
	for _, o := range b.Layers {
		if len(o.Lower) == 0 || slices.Contains(append(o.Lower, o.Upper, o.Work, o.At), "") {
			return fmt.Errorf("the overlay at %q needs At, Upper, Work and at least one Lower", o.At)
		}
		writes = append(writes, o.Upper, o.Work)
	}
	for _, p := range slices.Concat([]string{b.Tree, b.Home, b.Base}, writes, b.Read) {
		if p != "" && !filepath.IsAbs(p) {
			return fmt.Errorf("path %q of the box is not absolute", p)
		}
	}
	if b.Tree != "" && b.Copy == "" {
		return fmt.Errorf("the box names the tree %s but no copy of it", b.Tree)
	}
	for _, p := range writes {
		if _, err := os.Stat(p); err != nil {
			return fmt.Errorf("path of the box that may be written: %w", err)
		}
	}
	if b.Tier == None || b.Tree == "" || Resolved(b.Tree) == Resolved(b.Copy) {
		return nil
	}
	for _, p := range writes {
		if _, ok := below(Resolved(p), Resolved(b.Tree)); ok {
			return fmt.Errorf("the box may write %s, which holds the tree %s that must stay as it is", p, b.Tree)
		}
	}
	return nil
}

// writable returns the paths that the command may write.
func (b Box) writable() []string {
	return slices.DeleteFunc(slices.Concat([]string{b.Copy, b.Tmp}, b.Write), func(p string) bool { return p == "" })
}

// environ returns the command's environment with HOME, TMPDIR, PWD and the marks of the box. Of a variable that is set
// twice the last value counts.
func (b Box) environ(c Command) []string {
	set := slices.Clone(c.Env)
	if b.Home != "" {
		set = append(set, "HOME="+b.Home)
	}
	if b.Tmp != "" {
		set = append(set, "TMPDIR="+b.Tmp)
	}
	set = append(set, "PWD="+c.Dir)
	set = append(set, b.marks()...)

	last := make(map[string]int, len(set))
	env := make([]string, 0, len(set))
	for _, kv := range set {
		key, _, _ := strings.Cut(kv, "=")
		if i, ok := last[key]; ok {
			env[i] = kv
			continue
		}
		last[key] = len(env)
		env = append(env, kv)
	}
	return env
}

// marks returns the variables that identify the runner and the hook of a process.
func (b Box) marks() []string {
	m := []string{RunnerMark + "=" + process.Self().String()}
	if b.Hook != "" {
		m = append(m, HookMark+"="+b.Hook)
	}
	return m
}

// below returns path relative to root, if it is root or a path below it. Neither is resolved.
func below(root, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return rel, true
}

// Resolved returns path without symlinks, as far as it exists.
func Resolved(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	dir, base := filepath.Split(filepath.Clean(path))
	if base == "" {
		return filepath.Clean(path)
	}
	return filepath.Join(Resolved(filepath.Clean(dir)), base)
}
