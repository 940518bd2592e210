package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Holder is who holds a lock of the store.
type Holder struct {
	Lock  string    // "run.lock" | "heal.lock"
	PID   int       // 0: not known
	Since time.Time // zero: not known
}

// Sentence returns what the lock means and who holds it, without a capital or a full stop.
func (h Holder) Sentence() string {
	text := "a run is at work here"
	if h.Lock == "heal.lock" {
		text = "hooks of a run are at work here"
	}
	if h.PID > 0 {
		text += fmt.Sprintf(" (%s is held by process %d since %s)", h.Lock, h.PID, h.Since.Local().Format("2006-01-02 15:04:05"))
	}
	return text
}

// Held returns the locks that are held, and by whom. It does not wait and writes nothing. It takes a free lock for a
// moment; who wants that lock meanwhile asks again (lockPatience).
func (s *Store) Held() []Holder {
	var held []Holder
	if ours, err := s.isOurs(); !ours && err != nil {
		return nil
	}
	for _, name := range []string{"run.lock", "heal.lock"} {
		f, err := os.OpenFile(filepath.Join(s.Dir, name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue // nobody can hold what is not there
		}
		info, err := f.Stat()
		taken := err == nil && info.Mode().IsRegular() && errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
		_ = f.Close() // and with it our lock
		if !taken {
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
