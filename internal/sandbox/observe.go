package sandbox

// An Access is a path that a process of a command named to the kernel. The kernel had not carried it out yet.
type Access struct {
	Kind AccessKind
	Path string // absolute and clean, with the symbolic links that are in it; of Blind: why, in words
}

// An AccessKind is what a process wanted of a path.
type AccessKind byte

const (
	Looked  AccessKind = iota + 1 // to know whether it exists, and its size and times
	Read                          // its contents: a file, a program, or where a link leads; also a folder that it opens
	Listed                        // the names in a folder
	Written                       // to write to it; what it has stays, if it is there
	Made                          // to make it, or to empty it first
	Blind                         // not all accesses of the command are seen
)
