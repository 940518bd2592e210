// Package access names what processes want of the paths that they name to the kernel. Package sandbox sees it, and package
// cache tells which of that is an input.
package access

// A Path is a path that a process named to the kernel, which had not carried it out yet.
type Path struct {
	Kind Kind
	Name string // absolute and clean, with the symbolic links that are in it; of Blind: why, in words
}

// A Kind is what a process wanted of a path.
type Kind byte

const (
	Looked  Kind = iota + 1 // to know whether it exists, and its size and times
	Read                    // its contents: a file, a program, or where a link leads; also a folder that it opens
	Listed                  // the names in a folder
	Written                 // to write to it; what it has stays, if it is there
	Made                    // to make it, or to empty it first
	Blind                   // not all accesses of the command are seen
)
