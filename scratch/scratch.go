// Package scratch is a disposable copy of a tree: a base made once from the tree, attempts and verifications made
// from the base, each with a private .git, and the question "what changed".
//
// A base is one folder below its parent, mode 0700:
//
//	base-<random>.stamp    JSON: pid, start time and boot of the runner that made it; written first
//	base-<random>/tree     Base.Dir: the tree as it was, with a private .git
//	base-<random>/memory   what else a base knows, so that the work in a killed runner's copy can be told from the base
//	base-<random>/rules    the .gitignore files of the base, by which new paths are judged whatever an agent does to its own
//	base-<random>/known    only while the base is kept (Source.Kept): how every file stood. Written last, then the folder is
//	                       renamed; whoever takes a kept base over renames it back and removes this file first
//	<copy>.stamp, <copy>   the same for each copy, wherever its maker put it
//
// A folder whose stamp names no living process is what a killed runner left; so is a folder without a stamp that is
// older than an hour. Whoever comes next may remove it.
package scratch

import (
	"sync"

	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// A Source says what to copy.
type Source struct {
	Root       string   // absolute: the folder of PIPELINE.hcl
	Outputs    []string // globs relative to Root: declared outputs of passed tasks
	Include    []string // globs relative to Root, also where git ignores them
	Exclude    []string // globs relative to Root
	Everything bool     // take all that git ignores too (at most 1 GiB and 100,000 files, no .env*, no key files)

	// Kept is a folder, on the file system of the copies, where the base is kept when it is closed, to be brought
	// up to date by the next; empty: it is not. Nobody but Make and Close may write there. Of two that want it at
	// one time the second makes a base anew.
	Kept string
	// Tree is a walk of the whole tree, perhaps a little old. A kept base that does not agree with it is thrown
	// away. May be nil.
	Tree *tree.Manifest
}

// A Base is the tree as it was. Nobody works in it. Its methods may be called from several goroutines, Close when
// no other is under way.
type Base struct {
	Top    string // absolute path of what was copied: git's top, else Source.Root
	Sub    string // Root relative to Top, slash-separated; "." when they are one
	Dir    string // absolute path of the base, outside the tree
	Commit string // HEAD, or empty
	// the private .git is a fresh one with one commit (partial clone, over 2 GiB of objects, or a history that is
	// not whole)
	HistoryMissing bool
	Manifest       *tree.Manifest // everything the base holds
	Taken          []string       // ignored folders that came along, relative to Top (node_modules, .venv …)
	Omitted        []tree.Omitted // what was left out, and why
	PointsBack     []string       // symlinks and scripts of taken folders that name Top by its absolute path

	holder   string          // the folder that holds Dir and rules
	rules    string          // .gitignore files only
	excludes string          // the person's core.excludesFile as it was
	counted  map[string]bool // files that git tracks or does not ignore; nil without git, where all count
	tracked  map[string]bool // what the index holds
	left     globs           // Source.Exclude: what was left out cannot be told from what was never there
	links    []string        // submodules that stand there with a .git, relative to Top
	veiled   []string        // what git was told not to look at (assume-unchanged, skip-worktree)
	kept     string          // Source.Kept
	now      *known          // for whoever brings the base up to date later; nil until it is whole

	mu     sync.Mutex
	copies map[*Copy]bool
}

// A Copy is one disposable copy of a Base. It belongs to one goroutine at a time.
type Copy struct {
	Dir string // absolute: the copy of Base.Top

	base  *Base
	facts map[string][]stood // by folder, then name: how every file stood when the copy was made
}

// A stood is one name of a folder and how it stood.
type stood struct {
	name string
	facts
}

// MaxFile is the largest file, in bytes, that a patch takes.
const MaxFile = 10 << 20

// Why a path is in Omitted.
const (
	whyIgnored    = "ignored"
	whySpecial    = "special"
	whySecret     = "secret"
	whyOversize   = "oversize"
	whyUnreadable = "unreadable"
)
