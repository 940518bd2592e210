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

// holder is the content of a lock file while the lock is held. It is for messages, and tells a holder from a process
// that only checks.
type holder struct {
	process.Stamp
	Since Time `json:"started_at"`
}

// A lock that is held by nobody we can name is asked for again during lockPatience: whoever only looks whether it is held
// (Held) has it for some microseconds, on a busy machine until it is given time again, and who takes it or gives it up has no name
// in it for as long.
const (
	lockPatience = time.Second
	lockEvery    = 500 * time.Microsecond
)

// RunLock takes run.lock without waiting for another run. ErrLocked names who holds it, and since when.
func (s *Store) RunLock() (*Lock, error) {
	return s.lock("run.lock", "another run is at work here")
}

// HealLock takes heal.lock without waiting for other hooks. ErrLocked names who holds it, and since when.
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
	for until := time.Now().Add(lockPatience); !ok && err == nil && !named(s.Dir, name) && time.Now().Before(until); {
		time.Sleep(lockEvery)
		ok, err = l.TryLock()
	}
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
		say(path, append(b, '\n'))
	}
	return &Lock{l}, nil
}

// say writes the content of a lock file, never through a link in its place.
func say(path string, text []byte) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	_, _ = f.Write(text)
	_ = f.Close()
}

// read reads who holds a lock; false where the file names nobody, or a process that is no longer alive.
func (h *holder) read(dir, name string) bool {
	b, err := readFile(dir, name, 4096)
	return err == nil && json.Unmarshal(b, h) == nil && h.Alive()
}

// named reports whether a lock file names a holder that is alive.
func named(dir, name string) bool { return new(holder).read(dir, name) }

// who returns who holds a lock and what to do, in words.
func who(dir, name string) string {
	var h holder
	if !h.read(dir, name) {
		return fmt.Sprintf("wait until it has ended, then try again (its lock is %s)", filepath.Join(dir, name))
	}
	return fmt.Sprintf("pid %d, since %s; wait until it has ended, or end it with: kill %d",
		h.PID, h.Since.Local().Format("2006-01-02 15:04:05"), h.PID)
}

// Unlock releases the lock. A second Unlock does nothing.
func (l *Lock) Unlock() error {
	if l.held.Locked() {
		say(l.held.Path(), nil) // who is no longer named is no longer believed to hold it
	}
	if err := l.held.Unlock(); err != nil {
		return fmt.Errorf("unlocking %s: %w", l.held.Path(), err)
	}
	return nil
}

// A lockedError is ErrLocked in more words.
type lockedError struct{ text string }

func (e *lockedError) Error() string        { return e.text }
func (e *lockedError) Is(target error) bool { return target == ErrLocked }
