package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/process"
)

// A Lock is held by this process until Unlock or its end. The file stays.
type Lock struct{ held *flock.Flock }

// holder is what a lock file holds, for the message only.
type holder struct {
	process.Stamp
	Since Time `json:"started_at"`
}

// RunLock takes run.lock without waiting; ErrLocked says who holds it and since when.
func (s *Store) RunLock() (*Lock, error) {
	return s.lock("run.lock", "another run is at work here")
}

// HealLock takes heal.lock without waiting; ErrLocked says who holds it and since when.
func (s *Store) HealLock() (*Lock, error) {
	return s.lock("heal.lock", "hooks of a run are at work here")
}

func (s *Store) lock(name, busy string) (*Lock, error) {
	if err := s.make(); err != nil {
		return nil, err
	}
	path := filepath.Join(s.Dir, name)
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: look who made it, then remove it", path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, advice.Writing(err, path)
	}
	l := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW), flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	if err != nil {
		_ = l.Close()
		return nil, advice.Writing(err, path)
	}
	if !ok {
		_ = l.Close()
		return nil, &lockedError{text: busy + ": " + who(s.Dir, name)}
	}
	// What is written here is for people. The lock holds without it, so a full disk does not stop the run here.
	if b, err := json.Marshal(holder{process.Self(), Time{time.Now()}}); err == nil {
		_ = os.WriteFile(path, append(b, '\n'), 0o600)
	}
	return &Lock{l}, nil
}

// who says in words who holds a lock and what to do.
func who(dir, name string) string {
	var h holder
	b, err := readFile(dir, name, 4096)
	if err != nil || json.Unmarshal(b, &h) != nil || !h.Alive() {
		return fmt.Sprintf("wait until it has ended, then try again (it holds %s)", filepath.Join(dir, name))
	}
	return fmt.Sprintf("pid %d, since %s; wait until it has ended, or end it with: kill %d",
		h.PID, h.Since.Local().Format("2006-01-02 15:04:05"), h.PID)
}

// Unlock gives the lock up. A second Unlock does nothing.
func (l *Lock) Unlock() error {
	if err := l.held.Unlock(); err != nil {
		return fmt.Errorf("unlocking %s: %w", l.held.Path(), err)
	}
	return nil
}

// A lockedError is ErrLocked in more words.
type lockedError struct{ text string }

func (e *lockedError) Error() string        { return e.text }
func (e *lockedError) Is(target error) bool { return target == ErrLocked }
