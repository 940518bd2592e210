package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/process"
)

// Best returns the strongest tier that works on this machine. It is tried once.
func Best() Tier { return best() }

var best = sync.OnceValue(func() Tier {
	for _, t := range []Tier{View, Fence} {
		if tryTier(t) == nil {
			return t
		}
	}
	return None
})

// Tiers returns the tiers that work on this machine, the strongest first.
func Tiers() []Tier {
	all := []Tier{View, Fence, None}
	return all[slices.Index(all, Best()):]
}

// tryTier runs a probe in a small box of the tier.
func tryTier(t Tier) error {
	b, p := Box{Tier: t}, &probe{Outside: "/"}
	dir, err := os.MkdirTemp("", process.TempName(TierProbe))
	if err != nil && t == View {
		return err
	}
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		b.Tree, b.Copy, b.Tmp = filepath.Join(dir, "tree"), filepath.Join(dir, "copy"), filepath.Join(dir, "tmp")
		p.Outside = filepath.Join(dir, "outside")
		b.Read = []string{p.Outside}
		for _, folder := range []string{b.Tree, b.Copy, b.Tmp, p.Outside} {
			if err := os.Mkdir(folder, 0o700); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(b.Copy, "file"), nil, 0o600); err != nil {
			return err
		}
		if t == View {
			p.Copy = filepath.Join(b.Tree, "file")
		}
	}
	_, err = b.run(context.Background(), Command{Argv: []string{helperName}, Dir: "/"}, p)
	return err
}

const leaks = "the box does not hold: " // before what a probe found

func (p *probe) try() error {
	name := filepath.Join(p.Outside, ".async-pipeline-probe")
	if f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
		_ = f.Close()
		_ = os.Remove(name)
		return errors.New("a file could be made outside of the box")
	}
	var limit unix.Rlimit
	if err := unix.Prlimit(os.Getppid(), unix.RLIMIT_CORE, nil, &limit); err == nil && len(conventions) > 0 &&
		unix.Prlimit(os.Getppid(), unix.RLIMIT_CORE, &limit, nil) == nil {
		return errors.New("a limit of a process outside of the box could be set")
	}
	if p.Copy == "" {
		return nil
	}
	var st unix.Statfs_t
	if err := unix.Statfs("/", &st); err != nil || st.Flags&unix.ST_RDONLY == 0 {
		return errors.New("what lies outside of the box can be changed")
	}
	if _, err := os.Stat(p.Copy); err != nil {
		return errors.New("the copy is not seen at the tree's path")
	}
	return nil
}

// Why returns the reason why a tier does not work on this machine; nil when it does. It tries again.
func Why(t Tier) error {
	if t == None {
		return nil
	}
	return tryTier(t)
}
