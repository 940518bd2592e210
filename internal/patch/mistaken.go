// Files that are taken for those whose place they took.

package patch

import (
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

// IsSource says whether name is that of a file whose compiled form is trusted by its stamp. Python's is.
func IsSource(name string) bool { return path.Ext(name) == ".py" }

// Wait says how long to wait before a file that was just written, s, and takes the place of another, is written once more, 0 for
// not at all. CPython trusts the bytecode of a source that has the size and the whole second it had (PEP 552), and so does pytest:
// who writes, runs and repairs within a second would see the repair without effect. Another time than that of the writing is
// no way out: make rebuilds nothing for an earlier one and warns of one to come. Nor is to remove the bytecode: in a person's
// tree what git ignores is not ours.
func (s Stamp) Wait(replaced Stamp) time.Duration {
	if s.Size != replaced.Size || s.Time.Unix() != replaced.Time.Unix() {
		return 0
	}
	// What is left of the second by the clock that wrote the file, and a few of its ticks.
	return time.Second - time.Duration(s.Time.Nanosecond()) + 10*time.Millisecond
}
