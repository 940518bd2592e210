// Package sandbox runs one command: confined, bounded, and its whole process tree ended.
//
// A supervisor, a re-execution of this program outside the fence, starts the commands. It is the subreaper of
// everything that they start. It ends the processes of a command when the command has ended, when the runner asks for
// it through a socket, or when the runner has exited. The tasks in the tree share one supervisor; a command that is
// confined, or was started by a hook, has its own.
package sandbox

import (
	"errors"
	"io"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/access"
	"github.com/async-pipeline/async-pipeline/internal/process"
)

// A Tier is how far a command is confined, as it is written in records.
type Tier string

const (
	None Tier = "none" // not confined
	// Landlock: writing is refused outside Box.Write; reading and the network are open, and so are modes, owners,
	// times, and /dev/shm where neither the tree nor the copy is in it
	Fence Tier = "fence"
	// Fence, in a mount namespace in which Copy is mounted at Tree, /tmp and /dev/shm are private, and everything else
	// is read-only
	View Tier = "view"
)

// A Box describes where a command runs and what it may change. The zero Box is refused, because it has no tier.
type Box struct {
	Tier Tier
	Tree string // absolute path of the tree that Copy is a copy of; empty outside of a copy
	Copy string // absolute path of the copy; in View it is mounted at Tree
	// In View: Copy has only what differs from the folder Base, which nothing may change meanwhile. Work is as in
	// Overlay.
	Base, Work string
	Write      []string // absolute paths, existing, that may be written besides Copy and Tmp
	// absolute paths under /tmp, /dev/shm or Tree that must stay visible in View (read-only unless in Write)
	Read    []string
	Layers  []Overlay // in View only
	Home    string    // HOME; empty keeps the caller's
	Tmp     string    // TMPDIR, an existing private folder; in View mounted at /tmp, too. Empty keeps the caller's
	Env     []string  // KEY=VALUE for caches and git; a variable that the task sets itself wins
	Hook    string    // "<run>/<task>": carried as ASYNC_PIPELINE_HOOK by everything inside; empty outside of hooks
	Secrets bool      // secret() values are given to what runs here; false withholds them
}

// An Overlay shows the files of several folders as one, and keeps what is changed of them in another folder. It exists
// only inside the box, so nothing of it is left when the runner is killed.
type Overlay struct {
	At string // an existing folder, which the box may write; it can be Upper itself
	// absolute paths of folders that are only read; the files of an earlier one hide those of a later one
	Lower []string
	// an existing folder: gets what is made or changed, and a mark (a character device 0, 0) for each path that is removed
	Upper string
	Work  string // an existing, empty folder on the file system of Upper, for the kernel
}

// A Command is one process to run. Env is the whole environment: nothing is inherited.
type Command struct {
	Argv    []string  // Argv[0] is looked up in Env's PATH, from Dir, inside the box
	Dir     string    // absolute, as the command sees it (see Box.At)
	Env     []string  // KEY=VALUE
	Stdin   io.Reader // nil: /dev/null
	Stdout  io.Writer // nil: thrown away. Stdout and Stderr may be the same writer; writes to it never overlap
	Stderr  io.Writer
	Timeout time.Duration // 0: none
	Idle    time.Duration // ends the command when it has written nothing for so long; 0: none
	Memory  bool          // find out whether a lack of memory ended it, which costs reading a few files
	// Seen, where it is not nil, is called for each path that the processes of the command name to the kernel, by one
	// goroutine at a time; they wait for it. Only with tier None. What another process does for them is not seen.
	Seen func(access.Path)
	// Exited, where it is not nil, is called when the command itself has ended and processes of it are left, which are then
	// ended: Run returns later. It must not wait. Where none is left, and on macOS, it is not called.
	Exited func()
}

// A Result is how a command ended. A non-zero exit is a Result, not an error.
type Result struct {
	ExitCode  int    // 124 after Timeout or Idle, 128+n after signal n, 127 and 126 as a shell has them
	Signal    string // "SIGKILL" …; empty when the command exited by itself
	TimedOut  bool
	IdledOut  bool
	Cancelled bool // ctx ended
	// with Command.Memory: it ended by SIGKILL or with 137, and meanwhile the kernel had killed a process of this cgroup
	// because there was not enough memory
	OutOfMemory bool
	// descendants that were still alive when the command had ended, or had to be killed after Grace, and were ended
	ProcessesLeft int
	Started       time.Time // zero: the command was not started
	Duration      time.Duration
	// processor time of all its processes and of their supervisor; 0: not known, because commands share that
	Processor time.Duration
}

// ErrTier means that this machine cannot give the tier that was asked for.
var ErrTier = errors.New("sandbox tier not available here")

// Grace is how long a process tree has between SIGTERM and SIGKILL.
const Grace = 3 * time.Second

// ErrNow as the cause of a cancelled context asks for SIGKILL without grace.
var ErrNow = errors.New("end at once")

// A Process is one that a killed runner left behind.
type Process struct {
	PID  int
	Hook string // the ASYNC_PIPELINE_HOOK it carries; empty for what a task outside of hooks started

	Runner process.Stamp // the runner whose mark it carries
	Dir    string        // the folder it was started in, as its PWD says; empty: not known
}

// How the names of folders begin in which a tier, an overlay or an agent CLI is tried. process.MakerOf tells whether they are still
// in use: they are left behind where that process was killed.
const (
	TierProbe    = "async-pipeline-probe-"   // in the folder for temporary files
	OverlayProbe = "async-pipeline-overlay-" // in the folder that TryOverlay was given
)
