package sandbox

// The filter refuses system calls that affect processes outside of the fence and that Landlock permits.
//
// A process may lower the limits of every process of its user, and so kill the runner or disable its supervisor.
// Refused are: prlimit64 that sets a limit of another process (pid 0 is oneself), and setpriority and ioprio_set for
// all processes of a user or for another process group. Landlock refuses ptrace, process_vm_writev and signals. The
// filter cannot tell threads from processes, so what programs do to their own threads by id (sched_*, setpriority) is
// permitted: it can only slow others down.

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A convention is one way to enter the kernel: how numbers are counted there.
type convention struct {
	arch                            uint32
	x32                             bool // numbers from x32bit up are a third convention, which no program needs
	prlimit, setpriority, ioprioSet uint32
}

// conventions are those of this machine, including those of 32-bit programs. On other machines there is no filter.
var conventions = map[string][]convention{
	"amd64": {{unix.AUDIT_ARCH_X86_64, true, 302, 141, 251}, {unix.AUDIT_ARCH_I386, false, 340, 97, 289}},
	"arm64": {{unix.AUDIT_ARCH_AARCH64, false, 261, 140, 30}, {unix.AUDIT_ARCH_ARM, false, 369, 97, 314}},
}[runtime.GOARCH]

// Offsets in the input of the filter (struct seccomp_data), little-endian, and its results.
const (
	atNumber = 0
	atArch   = 4
	atArgs   = 16 // 8 bytes each
	x32bit   = 0x40000000

	allowed = unix.SECCOMP_RET_ALLOW
	refused = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// Values of the first argument.
const (
	prioGroup, prioUser     = 1, 2 // setpriority(2)
	ioprioGroup, ioprioUser = 2, 3 // ioprio_set(2)
)

// filter applies the filter to the calling thread, for ever. It needs no_new_privs.
func filter() error {
	prog := program()
	if len(prog) == 0 {
		return nil
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW,
		uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return &refusal{"cannot raise the seccomp filter: " + errno.Error(), true}
	}
	return nil
}

func program() (all []unix.SockFilter) {
	for _, c := range conventions {
		block := []unix.SockFilter{load(atNumber)}
		if c.x32 {
			block = append(block, jump(unix.BPF_JGE, x32bit, 0, 1), ret(unknown))
		}
		block = append(block, ofAnother(c.prlimit)...)
		block = append(block, ofMany(c.setpriority, prioGroup, prioUser)...)
		block = append(block, ofMany(c.ioprioSet, ioprioGroup, ioprioUser)...)
		block = append(block, ret(allowed))
		all = append(all, load(atArch), jump(unix.BPF_JEQ, c.arch, 0, uint8(len(block))))
		all = append(all, block...)
	}
	if len(all) > 0 {
		all = append(all, ret(unknown))
	}
	return all
}

// ofAnother refuses call(pid, …, limit, …) if neither pid nor limit is 0.
func ofAnother(call uint32) []unix.SockFilter {
	return []unix.SockFilter{
		jump(unix.BPF_JEQ, call, 0, 8), // another call: behind this part
		load(atArgs),
		jump(unix.BPF_JEQ, 0, 4, 0), // oneself: allowed
		load(atArgs + 2*8),
		jump(unix.BPF_JEQ, 0, 0, 3),
		load(atArgs + 2*8 + 4),
		jump(unix.BPF_JEQ, 0, 0, 1),
		ret(allowed),
		ret(refused),
	}
}

// ofMany refuses call(which, who, …) for all processes of a user, and for a process group that is not one's own.
func ofMany(call, group, user uint32) []unix.SockFilter {
	return []unix.SockFilter{
		jump(unix.BPF_JEQ, call, 0, 7),
		load(atArgs),
		jump(unix.BPF_JEQ, user, 4, 0),
		jump(unix.BPF_JEQ, group, 0, 2),
		load(atArgs + 8),
		jump(unix.BPF_JEQ, 0, 0, 1),
		ret(allowed),
		ret(refused),
	}
}

func load(at uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
}

// jump compares the value that was loaded last, and skips yes or no instructions.
func jump(how uint16, with uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | how | unix.BPF_K, Jt: yes, Jf: no, K: with}
}

func ret(answer uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: answer}
}
