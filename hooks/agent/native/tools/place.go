package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// A place is the top of the copy: no path leads out of it. It is opened when it is needed. If Request.Open opened it, it
// is closed while a command runs.
type place struct {
	open func() (*os.Root, error)
	lent bool // open is Request.Open

	mu   sync.Mutex
	root *os.Root // nil: not open
	away error    // why it cannot be opened now; nil: it can
}

var (
	errRunning = errors.New("a command is running")
	errOver    = errors.New("the turn is over")
)

// at returns the root. A tool that nobody waits for any longer gets none while a command runs.
func (p *place) at() (*os.Root, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.root != nil || p.away != nil {
		return p.root, p.away
	}
	root, err := p.open()
	if err != nil {
		return nil, fmt.Errorf("the copy cannot be opened: %w", err)
	}
	p.root = root
	return root, nil
}

// lend calls do, which runs a command in the copy.
func (p *place) lend(do func()) {
	if p.lent {
		_ = p.shut(errRunning) // of a folder that was only read through
		defer func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.away = nil
		}()
	}
	do()
}

func (p *place) shut(why error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	root := p.root
	p.root, p.away = nil, why
	if root == nil {
		return nil
	}
	return root.Close()
}

func (p *place) Close() error { return p.shut(errOver) }

// The methods of os.Root that the tools use.

func (p *place) Lstat(at string) (fs.FileInfo, error) {
	root, err := p.at()
	if err != nil {
		return nil, err
	}
	return root.Lstat(at)
}

func (p *place) Readlink(at string) (string, error) {
	root, err := p.at()
	if err != nil {
		return "", err
	}
	return root.Readlink(at)
}

func (p *place) OpenFile(at string, flag int, perm fs.FileMode) (*os.File, error) {
	root, err := p.at()
	if err != nil {
		return nil, err
	}
	return root.OpenFile(at, flag, perm)
}

func (p *place) change(do func(*os.Root) error) error {
	root, err := p.at()
	if err != nil {
		return err
	}
	return do(root)
}

func (p *place) Mkdir(at string, perm fs.FileMode) error {
	return p.change(func(r *os.Root) error { return r.Mkdir(at, perm) })
}

func (p *place) MkdirAll(at string, perm fs.FileMode) error {
	return p.change(func(r *os.Root) error { return r.MkdirAll(at, perm) })
}

func (p *place) Rename(from, to string) error {
	return p.change(func(r *os.Root) error { return r.Rename(from, to) })
}

func (p *place) Remove(at string) error {
	return p.change(func(r *os.Root) error { return r.Remove(at) })
}
