// Package record keeps what happened: one sealed directory a run below .async/runs. This comment is its format
// document.
//
//	.async/                      0700, made by the first Begin or lock; a link or a file in its place is refused
//	  .gitignore                 "*", written with the folder
//	  run.lock                   held (flock) from the start of a run to its sealed verdict
//	  heal.lock                  held while hooks work; another run may start meanwhile
//	                             both say which process holds them; if it was killed, until a later command has cleaned up after it
//	  runs/<run-id>/             one run; the id sorts by time: 20261121T024000Z-7f3a
//	    maker.json               pid, start and boot of the process that records: live or dead while there is no run.json
//	    events.jsonl             journal: one line an event, as it happens
//	    graph.json               the selected graph with a fingerprint a node
//	    logs/<task>.log          output, redacted, bounded
//	    cache/<task>.json        receipt: what the cache said of a task
//	    context/<task>.json      context pack of a failed task
//	    run.json                 the verdict: written last, fsynced, never changed
//	    imported.json            only of a run that was made elsewhere: when it was taken in, and from where
//	  runs/.gone-<run-id>/       a run that is being removed
//
// Folders have mode 0700 and files 0600. Other packages keep more in .async and in a run's folder (agents, apply,
// cache, fixes, hooks.json, and importing-* during an import); this package leaves alone what it does not know.
//
// # Commit point
//
// run.json is the commit point. It is written to a temporary name, synced, and renamed; then the folders are synced. A
// folder without run.json is a run that still goes on, if the process of maker.json is alive, or one that was
// interrupted; it is never read as a verdict. All other files are not synced. They are written to a temporary name and
// renamed, or are new files that count only when run.json names them (receipts), or grow at their end (journal, logs).
//
// # Run ids
//
// The time of Begin in UTC to the second, and the fraction of the second in units of 1/65536, in hexadecimal. If
// the folder exists the next free unit is taken: ids are unique, and sort in the order of the Begins. Where the
// clock was wrong they do not: a run that is ahead of the clock counts as older than all others, so that it hides
// none. Nothing removes it but a person.
//
// # Journals
//
// events.jsonl is a hash chain as internal/journal has it: seq, at, type, task (where there is one), the event's
// own fields, prev. It is locked (flock) by its one writer from the first line to the last. run.json has the number
// of lines and the hash of the last one ("journal"), so no line can be changed or left out later without a trace.
// It has the digest of graph.json ("graph_digest"), of every log and receipt ("receipt_digest"), and of every file of
// an agent task too. The digest of run.json itself is in the first line of the journal of the hooks.
//
// # Logs
//
// A log keeps the last 4 MiB of what a task printed. Where something was left out the file begins with a line that
// says how many bytes. While a task runs its log can be read from its first output on; beyond 4 MiB it is made anew
// (renamed into place) once a second, so after a crash the last second of such a log may be missing. The digest in
// run.json is that of the finished file; output that is left out is not hashed.
//
// # Files of two runs
//
// A log that was written as a whole (of a task that printed nothing, or whose result the cache had) and a receipt are
// hard links to those of the newest earlier run with a verdict, where the bytes are the same and the file system has
// links. They are never written again, so it shows only where somebody edits one: then an audit of either run says so.
//
// # Names
//
// A task's name in a path is escaped as internal/filename has it, so that two names never share a file.
//
// # Locks
//
// The lock files are never deleted (two holders could then lock two files of one name). They contain pid and start
// of the holder while there is one (and of one that was killed): for the message, and because a process that finds
// a lock without a named holder retries, as another may only be checking it. The lock itself is the kernel's and
// ends with the process.
//
// # Who may delete what
//
// Prune removes whole runs: sealed ones unless another process holds heal.lock (Prune holds it meanwhile), and
// interrupted ones; never one whose maker is alive and has not sealed it. It renames the folder to .gone-<run-id>,
// which is no run, and then removes what is in it; what a crash leaves of that goes with the next Prune. Links are
// removed, not followed. A person may remove any folder below runs/, or .async as a whole, when no lock is held.
//
// # Versions
//
// run.json and graph.json carry schema_version. Fields may be added, none is renamed or given another meaning:
// testdata/v1 must stay readable. A run.json of a newer version is refused with a message that says so.
package record
