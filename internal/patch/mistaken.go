// Files that are taken for those whose place they took.

package patch

import (
	"io/fs"
	"os"
	"path"
	"time"
)

// A Stamp is what caches go by that do not read a file.
type Stamp struct {
	Size int64     // bytes
	Time time.Time // of the last change of its content, as the file system says
}

// Rewrites is how often a file is written once more for what Wait says: some file systems know only even seconds.
const Rewrites = 3

// IsSource reports whether name is that of a file whose compiled form is trusted by its stamp. Python's is.
func IsSource(name string) bool { return path.Ext(name) == ".py" }

// Wait returns how long to wait before a file that was just written, s, and takes the place of another, is written
// once more, 0 for not at all. CPython trusts the bytecode of a source that has the size and the whole second it
// had (PEP 552), and so does pytest: who writes, runs and repairs within a second would see the repair without
// effect. Another time than that of the writing is no way out: make rebuilds nothing for an earlier one and warns
// of one to come. Nor is to remove the bytecode: in a person's tree what git ignores is not ours.
func (s Stamp) Wait(replaced Stamp) time.Duration {
	if s.Size != replaced.Size || s.Time.Unix() != replaced.Time.Unix() {
		return 0
	}
	// What is left of the second by the clock that wrote the file, and a few of its ticks.
	return time.Second - time.Duration(s.Time.Nanosecond()) + 10*time.Millisecond
}

// TellApart sees to it that no cache takes w, which holds data and is about to take the place of the file stood,
// for that one: it may write w once more.
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
