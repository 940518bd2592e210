// Package access names what processes want of the paths that they name to the kernel. Package sandbox sees it, and package
// cache tells which of that is an input.
package access

// A Path is a path that a process named to the kernel, which had not carried it out yet.
type Path struct {
	Kind Kind
	Name string // absolute, as it was named: with links and "..", which mean what the process sees; of Blind: why, in words
	PID  int    // for which /proc/self stands; 0: not known
	Link bool   // a link in its place is not followed
	Add  bool   // of Written and Made: it is made if it is not there
	New  bool   // of Made: it fails if it is there
	Runs bool   // of Read: it is a program
}

// A Kind is what a process wanted of a path.
type Kind byte

const (
	Looked  Kind = iota + 1 // to know whether it exists, its size, times and other properties, or to change those
	Read                    // its contents: a file, a program, or where a link leads; also a folder that it opens
	Listed                  // the names in a folder
	Written                 // to write to it; what it has stays, if it is there
	Made                    // to make it, or to empty it first
	Removed                 // to remove it
	Moved                   // to give it another name
	Blind                   // not all accesses of the command are seen
)
