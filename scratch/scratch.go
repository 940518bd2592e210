// Package scratch makes disposable copies of a tree, so that agents and verifications never work in the tree itself.
//
// Make copies the tree once into a base. Base.Copy makes a copy of the base for each attempt and each verification,
// and Base.Layer one that copies nothing and is shown by an overlay.
// Copy.Changes returns what somebody changed in a copy. Base and copies have a private .git each, which shares nothing
// with that of the tree. Restore makes a base from a stored manifest instead, Reopen takes over that of a killed
// runner.
//
// A base is one folder, mode 0700, below the folder that the caller of Make names:
//
//	base-<random>.stamp    JSON: pid, start time and boot of the runner that made it; written first
//	base-<random>/tree     Base.Dir: the tree as it was, with a private .git
//	base-<random>/memory   packed: the other fields of the base. With them Reopen can find the work in a killed runner's copy
//	base-<random>/rules    the .gitignore files of the base: they decide about new paths, even if an agent edits its own
//	base-<random>/size     text: how much the base has allocated, in bytes, only while the base is kept
//	base-<random>/known    packed: the stat data of all files, only while the base is kept (Source.Kept). It is written
//	                       last, before the folder is renamed to Source.Kept. The next Make renames the folder back
//	                       and removes this file first
//	<copy>.stamp, <copy>   the same for each copy, at the path that was given to Base.Copy
//	<copy>/upper, /work    of a copy of Base.Layer: what differs from base-<random>/tree, as the upper folder of an
//	                       overlay has it, and the kernel's own folder. The whole copy is seen only in a box
//
// What is removed is renamed to .gone-<random> first, and has a stamp, too: see Bin.
//
// A folder whose stamp names no living process was left by a killed runner, and so was a folder without a stamp that
// is older than an hour. Sweep removes both.
package scratch

import (
	"sync"

	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// A Source describes what Make copies.
type Source struct {
	Root       string   // absolute: the folder of PIPELINE.hcl
	Outputs    []string // globs relative to Root: declared outputs of passed tasks
	Include    []string // globs relative to Root, also where git ignores them
	Exclude    []string // globs relative to Root
	Everything bool     // copy what git ignores too: at most 1 GiB and 100,000 files, no .env*, no key files

	// Kept is a folder on the file system of the copies. Close moves the base there, and the next Make updates it
	// instead of copying everything. Empty: the base is removed. Only Make and Close may write there. If two callers
	// want the kept base at the same time, the second one makes a new base.
	Kept string
	// Tree is a walk of the whole tree, which may be a little old. A kept base that differs from it is made again.
	// It may be nil.
	Tree *tree.Manifest

	Bin *Bin // removes the base and its copies
}

// A Base is the tree as it was when Make copied it. Nothing may change it. Its methods may be called from several
// goroutines; Close only when no other call is running.
type Base struct {
	Top    string // absolute path of what was copied: git's top, else Source.Root
	Sub    string // Root relative to Top, slash-separated; "." when they are one
	Dir    string // absolute path of the base, outside the tree
	Commit string // HEAD, or empty
	// The private .git is a new one with one commit: the tree's is a partial clone, has over 2 GiB of objects, or is
	// incomplete.
	HistoryMissing bool
	Manifest       *tree.Manifest // everything in the base
	Taken          []string       // ignored folders that were copied, relative to Top (node_modules, .venv …)
	Omitted        []tree.Omitted // what was left out, and why
	PointsBack     []string       // symlinks and scripts of taken folders that name Top by its absolute path

	holder   string          // the folder of Dir and rules
	rules    string          // .gitignore files only
	excludes string          // the user's core.excludesFile when the base was made
	counted  map[string]bool // files that git tracks or does not ignore; nil without git, where all count
	tracked  map[string]bool // the paths of the index
	left     globs           // Source.Exclude: below these, a new path cannot be told from one that was left out
	links    []string        // submodules that are checked out with a .git, relative to Top
	veiled   []string        // paths that git was told not to check (assume-unchanged, skip-worktree)
	kept     string          // Source.Kept
	bin      *Bin            // Source.Bin
	now      *known          // stored with the base if it is kept; nil until the base is complete

	mu     sync.Mutex
	copies map[*Copy]bool
}

// A Copy is one disposable copy of a Base. It belongs to one goroutine at a time.
type Copy struct {
	Dir  string // absolute: the copy of Base.Top, or what differs from Base.Dir in a copy of Base.Layer
	Work string // absolute: for the kernel, where Dir is shown over Base.Dir; empty for a copy of Base.Copy

	base   *Base
	holder string                 // the folder that goes with the copy: Dir, or the parent of Dir and Work
	facts  map[string][]fileState // by folder, sorted by name: the stat data when the copy was made
	live   bool                   // processes work in it
}

// A fileState is a name in a folder with its stat data.
type fileState struct {
	name string
	facts
}

// Limits of a patch, in bytes.
const (
	MaxFile    = 10 << 20 // of a file
	MaxChanges = 32 << 20 // of all files, before and after: what reads, reviews and stores it has several copies in memory
)

// Reasons in tree.Omitted.Why.
const (
	whyIgnored    = "ignored"  // by git
	whyExcluded   = "excluded" // by Source.Exclude
	whySpecial    = "special"
	whySecret     = "secret"
	whyOversize   = "oversize"
	whyUnreadable = "unreadable"
)
