package sandbox

// The fence: Landlock rules for writing, and no capabilities.

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Landlock's versions that matter here (Linux Documentation/userspace-api/landlock.rst).
const (
	abiTruncate = 3 // earlier ones permit truncating a file outside
	abiScoped   = 6 // signals and abstract sockets
)

const (
	writeFile = landlock.AccessFSWriteFile | landlock.AccessFSTruncate
	writeTree = writeFile | landlock.AccessFSRemoveDir | landlock.AccessFSRemoveFile | landlock.AccessFSMakeDir |
		landlock.AccessFSMakeReg | landlock.AccessFSMakeSock | landlock.AccessFSMakeFifo | landlock.AccessFSMakeSym |
		landlock.AccessFSRefer
	// Device files are made nowhere.
	handled = writeTree | landlock.AccessFSMakeChar | landlock.AccessFSMakeBlock
)

// fence makes the ruleset: it permits writing only below paths and to a few devices.
func fence(paths []string) (rules int, err error) {
	abi, err := landlock.LandlockGetABIVersion()
	if err != nil {
		return -1, &refusal{"this kernel has no Landlock: " + err.Error(), true}
	}
	if abi < abiTruncate {
		return -1, &refusal{fmt.Sprintf("Landlock of this kernel has version %d and cannot refuse truncating; version %d is needed (Linux 6.2)",
			abi, abiTruncate), true}
	}
	attr := landlock.RulesetAttr{HandledAccessFS: handled}
	if abi >= abiScoped {
		attr.Scoped = landlock.ScopeSignal | landlock.ScopeAbstractUnixSocket
	}
	rules, err = landlock.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return -1, &refusal{"cannot make a Landlock ruleset: " + err.Error(), true}
	}
	unix.CloseOnExec(rules)
	for _, p := range slices.Concat(paths, alwaysWritable) {
		err := allow(rules, p)
		if errors.Is(err, fs.ErrNotExist) && slices.Contains(alwaysWritable, p) {
			continue
		}
		if err != nil {
			_ = unix.Close(rules)
			return -1, fmt.Errorf("cannot let %s be written: %w", p, err)
		}
	}
	return rules, nil
}

func allow(rules int, path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	access := uint64(writeFile)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		access = writeTree
	}
	return landlock.LandlockAddPathBeneathRule(rules,
		&landlock.PathBeneathAttr{AllowedAccess: access, ParentFd: fd}, 0)
}

// raise confines the calling thread by the rules, for ever.
func raise(rules int) error {
	if err := landlock.LandlockRestrictSelf(rules, 0); err != nil {
		return &refusal{"cannot raise the Landlock fence: " + err.Error(), true}
	}
	return nil
}

// dropCapabilities removes all capabilities of the calling thread for ever: no_new_privs is set already.
func dropCapabilities() error {
	for c := uintptr(0); c < 64; c++ {
		// Without CAP_SETPCAP this is refused; then no_new_privs alone keeps a program from gaining what was given up.
		if unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) != nil {
			break
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return &refusal{"cannot drop ambient capabilities: " + err.Error(), true}
	}
	var none [2]unix.CapUserData
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capset(&hdr, &none[0]); err != nil {
		return &refusal{"cannot drop capabilities: " + err.Error(), true}
	}
	return nil
}
