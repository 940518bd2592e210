// Package person tells a person from a task or a hook of a run.
//
// Only a person applies, reverts and rejects fixes, and imports runs. Every front end asks Only before it does so:
// hooks/fix/apply and hooks/runaudit do not know who calls them.
package person

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// Env returns the value of an environment variable of this process, or "".
type Env func(name string) string

// Only returns an error in every process that a task or a hook of the project at root started, also in one that
// removed its marks from its environment. action completes "only a person …", as in "applies a fix".
func Only(root, action string, env Env) error {
	why := ""
	for _, mark := range []string{sandbox.HookMark, sandbox.RunnerMark} {
		if env(mark) != "" {
			why = mark + " is set"
			break
		}
	}
	if why == "" {
		if !sandbox.Inside(root) {
			return unseen(root, action)
		}
		why = startedHere
	}
	return fmt.Errorf("this process was started by a hook or a task (%s): only a person %s", why, action)
}

// unseen returns an error while a process that cannot be seen from here has a lock of the project: this process may
// be in a PID namespace that its task or agent made.
func unseen(root, action string) error {
	for range 3 { // a lock has no holder's name for some microseconds while it is taken or released
		if !slices.ContainsFunc(record.At(root).Held(), func(l record.Holder) bool { return l.PID == 0 }) {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("async-pipeline is at work in %s, and from here it cannot be seen whether it started this process (another container?): only a person %s; wait until that has ended", root, action)
}

// The reasons for a process whose marks were removed.
const (
	startedHere   = "async-pipeline is at work here, and started it"
	startedByHook = "its ancestors tell, although " + sandbox.HookMark + " is not set"
)

// Hook returns how it is known that a hook of any project started this process, or "".
func Hook(env Env) string {
	switch {
	case env(sandbox.HookMark) != "":
		return sandbox.HookMark + " is set"
	case sandbox.InHook():
		return startedByHook
	}
	return ""
}

// Name returns the name of the user of this process, for a record: $USER, the name of its user id, or the id.
func Name(env Env) string {
	if name := env("USER"); name != "" {
		return name
	}
	uid := strconv.Itoa(os.Getuid())
	if u, err := user.LookupId(uid); err == nil && u.Username != "" {
		return u.Username
	}
	return uid
}
