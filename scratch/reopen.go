// A base whose maker was killed, and a copy of it: what is needed to see what somebody changed there.

package scratch

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// A memory is what a base knows besides its files. gob and not JSON: names are bytes.
type memory struct {
	Top, Sub, Commit, Excludes string
	HistoryMissing, Git        bool
	Counted, Tracked, Taken    []string
	Left                       []string
}

const memoryFile = "memory"

// remember stores what Reopen needs beside the tree; names are what git said, nil without git.
func (b *Base) remember(names *git.Census, left []string) error {
	if names == nil {
		names = &git.Census{}
	}
	f, err := os.OpenFile(filepath.Join(b.holder, memoryFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(gob.NewEncoder(f).Encode(memory{
		Top: b.Top, Sub: b.Sub, Commit: b.Commit, Excludes: b.excludes, HistoryMissing: b.HistoryMissing, Git: b.counted != nil,
		Counted: names.Files, Tracked: names.Tracked, Taken: b.Taken, Left: left,
	}), f.Close())
}

// Holder returns the folder that Reopen takes.
func (b *Base) Holder() string { return b.holder }

// Reopen takes over a base whose maker is gone.
func Reopen(ctx context.Context, holder string) (*Base, error) {
	f, err := os.Open(filepath.Join(holder, memoryFile))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var m memory
	if err := gob.NewDecoder(f).Decode(&m); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	b := &Base{
		Top: m.Top, Sub: m.Sub, Commit: m.Commit, excludes: m.Excludes, HistoryMissing: m.HistoryMissing, Taken: m.Taken,
		Dir: filepath.Join(holder, "tree"), holder: holder, rules: filepath.Join(holder, "rules"), copies: map[*Copy]bool{},
	}
	if m.Git {
		b.counted, b.tracked = set(m.Counted), set(m.Tracked)
	}
	if b.left, err = newGlobs("scratch exclude", b.Sub, m.Left); err != nil {
		return nil, err
	}
	if b.Manifest, err = tree.Walk(ctx, b.Dir, tree.Options{}); err != nil {
		return nil, err
	}
	return b, nil
}

func set(list []string) map[string]bool {
	s := make(map[string]bool, len(list))
	for _, p := range list {
		s[p] = true
	}
	return s
}

// Adopt takes over a copy whose maker is gone. How its files stood when it was made is not known, so Changes reads
// them all.
func (b *Base) Adopt(dir string) (*Copy, error) {
	if info, err := os.Lstat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("scratch copy %s: %w", dir, fs.ErrInvalid)
	}
	c := &Copy{Dir: dir, base: b, facts: map[string][]stood{}}
	for _, e := range b.Manifest.Entries {
		if !e.Mode.IsDir() {
			in := path.Dir(e.Path)
			c.facts[in] = append(c.facts[in], stood{name: path.Base(e.Path)})
		}
	}
	b.copies[c] = true
	return c, nil
}
