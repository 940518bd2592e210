package record

import (
	"bytes"
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
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A Lock is held by this process until Unlock or its end. The file stays.
type Lock struct {
	held   *flock.Flock
	after  []byte // what the file says after Unlock
	killed bool   // see Killed
}

// holder is the content of a lock file while the lock is held. It is for messages, distinguishes a holder from
// a process that only checks, and stays if the holder is killed.
type holder struct {
	process.Stamp
	Since Time `json:"started_at"`
}

// lockSize is the size of every lock file, in bytes, so that a full disk cannot keep one from being written again.
const lockSize = 256

// released is the content of the file of a lock that nobody holds.
var released = lockText(struct{}{})

// lockText returns the content of a lock file.
func lockText(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // numbers and texts
	}
	return append(append(b, bytes.Repeat([]byte(" "), max(0, lockSize-1-len(b)))...), '\n')
}

// A lock whose file names no living holder is retried during lockPatience. Held takes it for some microseconds,
// longer on a busy machine, and a process that takes or releases it is not named in the file for as long.
const (
	lockPatience = time.Second
	lockEvery    = 500 * time.Microsecond
)

// The locks of a store.
const (
	runLock  = "run.lock"
	healLock = "heal.lock"
)

// RunLock takes run.lock without waiting for another run. The text of ErrLocked names the holder, and since when.
func (s *Store) RunLock() (*Lock, error) {
	return s.lock(runLock, healLock, "another run is at work here")
}

// Running reports whether another process holds run.lock.
func (s *Store) Running() bool { return recordfile.Locked(filepath.Join(s.Dir, runLock)) }

// HealLock is RunLock for heal.lock, which hooks take.
func (s *Store) HealLock() (*Lock, error) {
	return s.lock(healLock, runLock, "hooks of a run are at work here")
}

func (s *Store) lock(name, other, busy string) (*Lock, error) {
	if err := s.make(); err != nil {
		return nil, err
	}
	path := filepath.Join(s.Dir, name)
	info, err := os.Lstat(path)
	first := errors.Is(err, fs.ErrNotExist)
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: look who made it, then remove it", path)
	} else if err != nil && !first {
		return nil, advice.Writing(err, path)
	}
	l := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW), flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	until := time.Now().Add(lockPatience)
	for !ok && err == nil && !new(holder).read(s.Dir, name) && time.Now().Before(until) {
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
	lock := &Lock{held: l, after: released, killed: first || s.killed(other)}
	if !first && s.killed(name) {
		lock.killed = true
		lock.after, _ = readFile(s.Dir, name, lockSize)
	}
	// The lock works without what is written here, so a full disk does not stop the run here.
	say(path, lockText(holder{process.Self(), Time{time.Now()}}))
	return lock, nil
}

// Killed reports whether a process was killed while it held one of the locks, and not all that it left is settled.
// Where there was no lock file, or one that is damaged, nobody knows, and it is true as well.
func (l *Lock) Killed() bool { return l.killed }

// HooksKilled is Killed for heal.lock alone, which need not be held. No file means no.
func (s *Store) HooksKilled() bool { return s.killed(healLock) }

// Settled says that nothing is left of a process that was killed while it held this lock. Without that, the file names
// it again after Unlock.
func (l *Lock) Settled() { l.after = released }

// killed reports whether a lock file names a process that is no longer alive, or is damaged.
func (s *Store) killed(name string) bool {
	b, err := readFile(s.Dir, name, 4096)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	var h holder
	if err != nil || json.Unmarshal(b, &h) != nil {
		return true
	}
	return h.PID != 0 && !h.Alive()
}

// say writes the content of a lock file, never through a link in its place.
func say(path string, text []byte) {
	f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	_, _ = f.Write(text)
	_ = f.Truncate(int64(len(text)))
	_ = f.Close()
}

// read reads who holds a lock; false where the file names nobody, or a process that is no longer alive.
func (h *holder) read(dir, name string) bool {
	b, err := readFile(dir, name, 4096)
	return err == nil && json.Unmarshal(b, h) == nil && h.Alive()
}

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
		say(l.held.Path(), l.after)
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

// A Holder is the process that has a lock of the store.
type Holder struct {
	Lock  string    // "run.lock" or "heal.lock"
	PID   int       // 0: not known
	Since time.Time // zero: not known
}

// Sentence returns what the lock means and who holds it, without a capital or a full stop.
func (h Holder) Sentence() string {
	text := "a run is at work here"
	if h.Lock == healLock {
		text = "hooks of a run are at work here"
	}
	if h.PID > 0 {
		since := h.Since.Local().Format("2006-01-02 15:04:05")
		text += fmt.Sprintf(" (%s is held by process %d since %s)", h.Lock, h.PID, since)
	}
	return text
}

// Held returns the locks that are held, and by whom. It does not wait and writes nothing. It takes a free lock for a
// moment; a process that wants that lock meanwhile retries (lockPatience).
func (s *Store) Held() []Holder {
	var held []Holder
	if ours, err := s.isOurs(); !ours && err != nil {
		return nil
	}
	for _, name := range []string{runLock, healLock} {
		if !recordfile.Locked(filepath.Join(s.Dir, name)) {
			continue
		}
		h := Holder{Lock: name}
		var who holder
		if who.read(s.Dir, name) {
			h.PID, h.Since = who.PID, who.Since.Time
		}
		held = append(held, h)
	}
	return held
}
