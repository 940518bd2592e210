// Package access names what processes want of the paths that they name to the kernel, and tells where a path leads.
// Package sandbox sees what they want, and package cache tells which of that is an input.
package access

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

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

// mostLinks is how many links the kernel follows in a path.
const mostLinks = 40

// Resolve returns where a path leads, as the kernel will find it, and the links on the way, in their order. Of a path that
// does not lead anywhere it is where the rest of it would be, and "" where there are too many links: what counts is that
// they are as they are.
func (p Path) Resolve() (links []string, at string) {
	rest, at := p.Name, "/"
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		if at == "/proc" && p.PID != 0 && (name == "self" || name == "thread-self") {
			name = strconv.Itoa(p.PID)
			if thread, ok := strings.CutPrefix(rest, "task/"); ok { // a thread of the process: it is in the same place
				_, rest, _ = strings.Cut(thread, "/")
			}
		}
		next := path.Join(at, name)
		text, err := os.Readlink(next)
		if err != nil || p.Link && strings.Trim(rest, "/") == "" {
			at = next
			continue
		}
		if len(links) == mostLinks {
			return links, ""
		}
		links = append(links, next)
		if strings.HasPrefix(text, "/") {
			at = "/"
		}
		rest = text + "/" + rest
	}
	return links, at
}

// LeadsTo reports whether an absolute path leads to a path of which is says so, or by way of one.
func LeadsTo(name string, is func(path string) bool) bool {
	links, at := Path{Name: name}.Resolve()
	return is(at) || slices.ContainsFunc(links, is)
}
