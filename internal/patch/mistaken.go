// Files that caches mistake for the files that they replaced.

package patch

import (
	"io/fs"
	"os"
	"path"
	"time"
)

// A Stamp has the properties by which caches recognize a file without reading it.
type Stamp struct {
	Size int64     // bytes
	Time time.Time // of the last change of its content, as the file system says
}

// Rewrites is how often a file is written again because of Wait. Some file systems have only even seconds.
const Rewrites = 3

// IsSource reports whether the compiled form of a file is trusted by the stamp of the file. That of Python is.
func IsSource(name string) bool { return path.Ext(name) == ".py" }

// Wait returns how long to wait before a file that was just written, s, and replaces another one, is written again; 0
// if it need not be. CPython trusts the bytecode of a source whose size and whole second of change are the same (PEP
// 552), and so does pytest: a file that is written, run and corrected within a second would keep its old effect. A
// false time does not help, because make rebuilds nothing for an earlier one and warns of a later one. The bytecode
// must not be removed, because files that git ignores belong to the person.
func (s Stamp) Wait(replaced Stamp) time.Duration {
	if s.Size != replaced.Size || s.Time.Unix() != replaced.Time.Unix() {
		return 0
	}
	// What is left of the second by the clock that wrote the file, and a few of its ticks.
	return time.Second - time.Duration(s.Time.Nanosecond()) + 10*time.Millisecond
}

// TellApart makes sure that no cache mistakes w, which has the content data, for the file stood that it will replace.
// It may write w again.
func TellApart(w *os.File, data []byte, stood fs.FileInfo) error {
	for range Rewrites {
		now, err := w.Stat()
		if err != nil {
			return err
		}
		wait := Stamp{now.Size(), now.ModTime()}.Wait(Stamp{stood.Size(), stood.ModTime()})
		if wait == 0 || len(data) == 0 || !stood.Mode().IsRegular() {
			return nil
		}
		time.Sleep(wait)
		if _, err := w.WriteAt(data[:1], 0); err != nil { // so that the time is one of the file system's own clock
			return err
		}
	}
	return nil
}
