package sandbox

// What a command accesses: its inner process raises a filter with which the kernel stops the system calls that name a
// path until this process has looked at them (seccomp_unotify(2)). They are always carried out as they are. The path is
// read before that, so a process with several threads can show one path and use another: this is for programs that do
// what they are expected to, not a confinement.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/access"
)

// A nameCall is a system call that names a path.
type nameCall struct {
	number    uint32
	kind      access.Kind
	dir, path int8 // the arguments that have them, from 0; dir -1: the working directory; path -1: the folder dir itself
	empty     int8 // the argument with AT_EMPTY_PATH; -1: none
	open      int8 // the argument with the flags of an open(2); -1: none
	from, old int8 // of a call with two paths: the arguments of the first one; old -1: there is one path
	oldKind   access.Kind
	link      bool // a link in the place of path is not followed
	fresh     bool // it fails if path is there
	runs      bool // path is a program
	flags     int8 // the argument with the flags of a renameat2(2); -1: none
	socket    bool // path is an address of a socket, whose length is the argument after it
}

func call(number uint32, kind access.Kind, dir, path int8) nameCall {
	return nameCall{number: number, kind: kind, dir: dir, path: path, empty: -1, open: -1, from: -1, old: -1, flags: -1}
}

func (c nameCall) orEmpty(flags int8) nameCall { c.empty = flags; return c }

func (c nameCall) opens(flags int8) nameCall { c.open = flags; return c }

func (c nameCall) of(kind access.Kind, from, old int8) nameCall {
	c.oldKind, c.from, c.old = kind, from, old
	return c
}

func (c nameCall) itself() nameCall { c.link = true; return c }

func (c nameCall) anew() nameCall { c.link, c.fresh = true, true; return c }

func (c nameCall) program() nameCall { c.runs = true; return c }

func (c nameCall) address() nameCall { c.socket = true; return c }

func (c nameCall) flagged(flags int8) nameCall { c.flags = flags; return c }

// observed are the system calls that are looked at, where programs of this machine have them. What changes the meaning of
// paths has the kind Blind.
var observed = map[string]struct {
	arch  uint32
	calls []nameCall
	uring uint32 // io_uring_setup, which is refused: through a ring, files are opened without further calls
}{
	"amd64": {unix.AUDIT_ARCH_X86_64, []nameCall{
		call(2, access.Read, -1, 0).opens(1), call(257, access.Read, 0, 1).opens(2), call(437, access.Read, 0, 1).opens(openHow), // open
		call(85, access.Made, -1, 0),                                                              // creat
		call(59, access.Read, -1, 0).program(), call(322, access.Read, 0, 1).orEmpty(4).program(), // execve
		call(4, access.Looked, -1, 0), call(6, access.Looked, -1, 0), call(262, access.Looked, 0, 1).orEmpty(3), call(332, access.Looked, 0, 1).orEmpty(2), // stat
		call(21, access.Looked, -1, 0), call(269, access.Looked, 0, 1), call(439, access.Looked, 0, 1).orEmpty(3), // access
		call(80, access.Looked, -1, 0), call(137, access.Looked, -1, 0), // chdir, statfs
		call(188, access.Looked, -1, 0), call(189, access.Looked, -1, 0), call(191, access.Looked, -1, 0), call(192, access.Looked, -1, 0), // xattr
		call(194, access.Looked, -1, 0), call(195, access.Looked, -1, 0), call(197, access.Looked, -1, 0), call(198, access.Looked, -1, 0),
		call(254, access.Looked, -1, 1), call(301, access.Looked, 3, 4), call(303, access.Looked, 0, 1).orEmpty(4), // inotify_add_watch, fanotify_mark, name_to_handle_at
		call(42, access.Looked, -1, 1).address(), call(49, access.Made, -1, 1).anew().address(), // connect, bind
		call(132, access.Looked, -1, 0), call(235, access.Looked, -1, 0), call(261, access.Looked, 0, 1), call(280, access.Looked, 0, 1), // utime
		call(90, access.Looked, -1, 0), call(268, access.Looked, 0, 1), call(452, access.Looked, 0, 1), // chmod
		call(92, access.Looked, -1, 0), call(94, access.Looked, -1, 0), call(260, access.Looked, 0, 1).orEmpty(4), // chown
		call(89, access.Read, -1, 0), call(267, access.Read, 0, 1), // readlink
		call(217, access.Listed, 0, -1), call(78, access.Listed, 0, -1), // getdents
		call(76, access.Written, -1, 0),                                                                                                                                                                      // truncate
		call(82, access.Made, -1, 1).itself().of(access.Moved, -1, 0), call(264, access.Made, 2, 3).itself().of(access.Moved, 0, 1), call(316, access.Made, 2, 3).itself().of(access.Moved, 0, 1).flagged(4), // rename
		call(86, access.Made, -1, 1).anew().of(access.Read, -1, 0), call(265, access.Made, 2, 3).anew().of(access.Read, 0, 1), // link
		call(88, access.Made, -1, 1).anew(), call(266, access.Made, 1, 2).anew(), // symlink
		call(83, access.Made, -1, 0).anew(), call(258, access.Made, 0, 1).anew(), call(133, access.Made, -1, 0).anew(), call(259, access.Made, 0, 1).anew(), // mkdir, mknod
		call(84, access.Removed, -1, 0).itself(), call(87, access.Removed, -1, 0).itself(), call(263, access.Removed, 0, 1).itself(), // unlink
		// pivot_root, chroot, mount, open_tree, move_mount, open_by_handle_at
		call(155, access.Blind, -1, -1), call(161, access.Blind, -1, -1), call(165, access.Blind, -1, -1), call(428, access.Blind, -1, -1), call(429, access.Blind, -1, -1), call(304, access.Blind, -1, -1),
	}, 425},
	"arm64": {unix.AUDIT_ARCH_AARCH64, []nameCall{
		call(56, access.Read, 0, 1).opens(2), call(437, access.Read, 0, 1).opens(openHow),
		call(221, access.Read, -1, 0).program(), call(281, access.Read, 0, 1).orEmpty(4).program(),
		call(79, access.Looked, 0, 1).orEmpty(3), call(291, access.Looked, 0, 1).orEmpty(2),
		call(48, access.Looked, 0, 1), call(439, access.Looked, 0, 1).orEmpty(3),
		call(49, access.Looked, -1, 0), call(43, access.Looked, -1, 0),
		call(5, access.Looked, -1, 0), call(6, access.Looked, -1, 0), call(8, access.Looked, -1, 0), call(9, access.Looked, -1, 0),
		call(11, access.Looked, -1, 0), call(12, access.Looked, -1, 0), call(14, access.Looked, -1, 0), call(15, access.Looked, -1, 0),
		call(27, access.Looked, -1, 1), call(263, access.Looked, 3, 4), call(264, access.Looked, 0, 1).orEmpty(4),
		call(203, access.Looked, -1, 1).address(), call(200, access.Made, -1, 1).anew().address(),
		call(88, access.Looked, 0, 1), call(53, access.Looked, 0, 1), call(452, access.Looked, 0, 1), call(54, access.Looked, 0, 1).orEmpty(4),
		call(78, access.Read, 0, 1), call(61, access.Listed, 0, -1), call(45, access.Written, -1, 0),
		call(38, access.Made, 2, 3).itself().of(access.Moved, 0, 1), call(276, access.Made, 2, 3).itself().of(access.Moved, 0, 1).flagged(4), call(37, access.Made, 2, 3).anew().of(access.Read, 0, 1),
		call(36, access.Made, 1, 2).anew(), call(34, access.Made, 0, 1).anew(), call(33, access.Made, 0, 1).anew(), call(35, access.Removed, 0, 1).itself(),
		call(41, access.Blind, -1, -1), call(51, access.Blind, -1, -1), call(40, access.Blind, -1, -1), call(428, access.Blind, -1, -1), call(429, access.Blind, -1, -1), call(265, access.Blind, -1, -1),
	}, 425},
}[runtime.GOARCH]

// newCalls have one number on all machines: setxattrat and the like, file_getattr and file_setattr (Linux 6.13 and 6.17).
var newCalls = []nameCall{
	call(463, access.Looked, 0, 1).orEmpty(2), call(464, access.Looked, 0, 1).orEmpty(2), call(465, access.Looked, 0, 1).orEmpty(2), call(466, access.Looked, 0, 1).orEmpty(2),
	call(468, access.Looked, 0, 1).orEmpty(4), call(469, access.Looked, 0, 1).orEmpty(4),
}

// openHow as the number of an argument: the flags are in a struct open_how, which the argument after the path points to.
const openHow = 100

// observe applies the filter to the calling thread, for ever, and returns what notices come from.
func observe() (listener int, err error) {
	if len(observed.calls) == 0 {
		return -1, errors.New("what programs read is seen only on amd64 and arm64")
	}
	if !continues() {
		return -1, errors.New("what programs read is seen on Linux 5.5 or newer")
	}
	if !mayMount() { // who may not mount must promise that first, and then sudo and the like do not work
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return -1, fmt.Errorf("cannot give up new privileges: %w", err)
		}
	}
	prog := observing()
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	// WAIT_KILLABLE_RECV (Linux 5.19): signals that a program handles do not begin its call anew.
	for _, flags := range []uintptr{unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, 0} {
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
			flags|unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, uintptr(unsafe.Pointer(&fprog)))
		if errno == 0 {
			runtime.KeepAlive(prog)
			return int(fd), nil
		}
		err = errno
	}
	if errors.Is(err, unix.EBUSY) {
		return -1, errors.New("another program already sees what this one reads")
	}
	return -1, fmt.Errorf("cannot raise the seccomp filter: %w", err)
}

// continues reports whether this kernel can carry out a call after it was looked at (Linux 5.5). An older one would leave it
// waiting.
func continues() bool {
	var u unix.Utsname
	var major, minor int
	if unix.Uname(&u) != nil {
		return false
	}
	n, _ := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor)
	return n == 2 && (major > 5 || major == 5 && minor >= 5)
}

// observing returns the filter. A program for another convention (of 32 bits) gives a notice at each call.
func observing() []unix.SockFilter {
	const notify = unix.SECCOMP_RET_USER_NOTIF
	all := []unix.SockFilter{
		load(atArch), jump(unix.BPF_JEQ, observed.arch, 1, 0), ret(notify),
		load(atNumber), jump(unix.BPF_JGE, x32bit, 0, 1), ret(unknown),
		jump(unix.BPF_JEQ, observed.uring, 0, 1), ret(unknown),
	}
	for _, c := range slices.Concat(observed.calls, newCalls) {
		if c.empty < 0 {
			all = append(all, jump(unix.BPF_JEQ, c.number, 0, 1), ret(notify))
			continue
		}
		// With AT_EMPTY_PATH it is nearly always about a descriptor.
		all = append(all, jump(unix.BPF_JEQ, c.number, 0, 4), load(atArgs+8*uint32(c.empty)),
			jump(unix.BPF_JSET, unix.AT_EMPTY_PATH, 1, 0), ret(notify), ret(allowed))
	}
	return append(all, ret(allowed))
}

// observer calls seen for the notices of a listener. It belongs to one goroutine.
type observer struct {
	listener int
	seen     func(access.Path)
	calls    map[uint32]nameCall
	told     map[string]bool // reasons of Blind
	memory   [unix.PathMax]byte
}

// A notification is struct seccomp_notif, a permission struct seccomp_notif_resp.
type (
	notification struct {
		id         uint64
		pid, flags uint32
		number     int32
		arch       uint32
		address    uint64
		args       [6]uint64
	}
	permission struct {
		id    uint64
		value int64
		errno int32
		flags uint32
	}
)

// follow answers notices until no process with the filter is left, and closes the listener.
func (o *observer) follow() {
	defer func() { _ = unix.Close(o.listener) }()
	o.calls, o.told = map[uint32]nameCall{}, map[string]bool{}
	for _, c := range slices.Concat(observed.calls, newCalls) {
		o.calls[c.number] = c
	}
	// Answers wake the process on this processor, where the kernel can do that (Linux 6.6).
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(o.listener), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	for {
		ready := []unix.PollFd{{Fd: int32(o.listener), Events: unix.POLLIN}}
		_, err := unix.Poll(ready, -1)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			o.blind(fmt.Sprintf("the kernel tells no more: %v", err))
			return
		case ready[0].Revents&unix.POLLIN == 0:
			return // nobody has the filter any more
		}
		var n notification
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(o.listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n))); errno != 0 {
			continue // the process was killed meanwhile
		}
		o.look(&n)
		a := permission{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(o.listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
	}
}

func (o *observer) blind(why string) {
	if !o.told[why] {
		o.told[why] = true
		o.seen(access.Path{Kind: access.Blind, Name: why})
	}
}

// look tells of one call.
func (o *observer) look(n *notification) {
	c, ok := o.calls[uint32(n.number)]
	switch {
	case n.arch != observed.arch:
		o.blind("it runs a program of another architecture")
		return
	case !ok:
		return
	case c.kind == access.Blind:
		o.blind("it changes what paths mean: it mounts, or changes its root folder")
		return
	}
	if c.old >= 0 {
		o.tell(n, access.Path{Kind: c.oldKind, Link: true}, c.from, c.old)
	}
	p := access.Path{Kind: c.kind, Link: c.link, Add: true, New: c.fresh, Runs: c.runs}
	if c.flags >= 0 {
		p.New = n.args[c.flags]&unix.RENAME_NOREPLACE != 0
		if n.args[c.flags]&unix.RENAME_EXCHANGE != 0 {
			o.blind("it exchanges two files or folders")
		}
	}
	if c.open >= 0 {
		flags := n.args[min(c.open, 5)]
		if c.open == openHow {
			how, err := o.read(n.pid, n.args[2], 24)
			if err != nil {
				return
			}
			flags = *(*uint64)(unsafe.Pointer(&how[0]))
			if how[16]&unix.RESOLVE_IN_ROOT != 0 {
				o.blind("it opens files below another root folder")
			}
		}
		if p = opened(flags); p.Kind == 0 {
			return
		}
	}
	p.Add = p.Add && n.number != truncate
	if c.socket {
		if name := o.socketPath(n, c.path); name != "" {
			o.named(n, p, c.dir, name)
		}
		return
	}
	o.tell(n, p, c.dir, c.path)
}

// socketPath returns the path that an address of a socket is; empty: it is none. See unix(7).
func (o *observer) socketPath(n *notification, at int8) string {
	size := int(min(n.args[at+1], unix.SizeofSockaddrUnix))
	b, _ := o.read(n.pid, n.args[at], size)
	if len(b) < 3 || *(*uint16)(unsafe.Pointer(&b[0])) != unix.AF_UNIX {
		return ""
	}
	name, _, _ := strings.Cut(string(b[2:]), "\x00") // an abstract one begins with a NUL
	return name
}

// truncate is the number of the one call that writes and never makes a file.
var truncate = map[string]int32{"amd64": 76, "arm64": 45}[runtime.GOARCH]

// opened returns what an open with flags wants; the kind 0: nothing that has a name.
func opened(flags uint64) access.Path {
	p := access.Path{Kind: access.Read, Add: flags&unix.O_CREAT != 0, Link: flags&unix.O_NOFOLLOW != 0}
	switch {
	case flags&unix.O_TMPFILE == unix.O_TMPFILE:
		return access.Path{}
	case flags&unix.O_PATH != 0:
		p.Kind, p.Add = access.Looked, false
	case flags&unix.O_CREAT != 0 && flags&unix.O_EXCL != 0:
		p.Kind, p.Link, p.New = access.Made, true, true
	case flags&unix.O_TRUNC != 0:
		p.Kind = access.Made
	case flags&unix.O_ACCMODE != unix.O_RDONLY, flags&unix.O_CREAT != 0:
		p.Kind = access.Written
	}
	return p
}

// tell reads a path of the process that waits, and tells of it. p has what is known already.
func (o *observer) tell(n *notification, p access.Path, dir, path int8) {
	p.PID = int(n.pid)
	if path < 0 {
		if p.Name = folderOf(n, dir); p.Name != "" {
			o.seen(p)
		}
		return
	}
	b, err := o.read(n.pid, n.args[path], len(o.memory))
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		// What is too long, or cannot be read by the kernel either, is refused.
		if err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EFAULT) {
			o.blind(fmt.Sprintf("a path that it uses cannot be read: %v", err))
		}
		return
	}
	if end > 0 {
		o.named(n, p, dir, string(b[:end]))
	}
}

// named tells of a path that a process named, in the folder that an argument is.
func (o *observer) named(n *notification, p access.Path, dir int8, name string) {
	p.PID = int(n.pid)
	if !strings.HasPrefix(name, "/") {
		from := folderOf(n, dir)
		if from == "" {
			return
		}
		name = from + "/" + name
	}
	p.Name = name
	o.seen(p)
}

// folderOf returns the path of the folder that an argument is, or of the working directory; empty if the process has ended,
// or the kernel will refuse the call.
func folderOf(n *notification, dir int8) string {
	at := "cwd"
	if dir >= 0 && int32(n.args[dir]) != unix.AT_FDCWD {
		at = "fd/" + strconv.Itoa(int(int32(n.args[dir])))
	}
	from, err := os.Readlink("/proc/" + strconv.Itoa(int(n.pid)) + "/" + at)
	if err != nil || !strings.HasPrefix(from, "/") {
		return ""
	}
	return from
}

// read returns up to most bytes of the memory of a process, up to the first NUL in them. They are valid until the next
// call. With an error they are what could be read.
func (o *observer) read(pid uint32, from uint64, most int) ([]byte, error) {
	const page = 4096 // of no machine are pages smaller: one may be readable and the next not
	have := 0
	for have < most {
		at := from + uint64(have)
		size := min(most-have, page-int(at%page))
		if have == 0 {
			size = min(size, 256) // nearly all paths are shorter
		}
		local := []unix.Iovec{{Base: &o.memory[have]}}
		local[0].SetLen(size)
		n, err := unix.ProcessVMReadv(int(pid), local, []unix.RemoteIovec{{Base: uintptr(at), Len: size}}, 0)
		if err != nil {
			return o.memory[:have], err
		}
		if most == len(o.memory) && bytes.IndexByte(o.memory[have:have+n], 0) >= 0 {
			return o.memory[:have+n], nil
		}
		have += n
	}
	return o.memory[:have], nil
}

// The first byte of what an inner process says instead of sending its listener. A refusal begins otherwise.
const cannotSee = 1

// sendListener sends the runner the listener, or why there is none. The command is run all the same.
func sendListener(listener int, err error) error {
	if err != nil {
		return unix.Sendmsg(controlFD, append([]byte{cannotSee}, err.Error()...), nil, nil, unix.MSG_NOSIGNAL)
	}
	return unix.Sendmsg(controlFD, []byte{0}, unix.UnixRights(listener), nil, unix.MSG_NOSIGNAL)
}

// instructSeen is instruct for an inner process that sends a listener. done is closed when nothing more is seen.
func instructSeen(ours *os.File, s spec, seen func(access.Path)) (entered <-chan refusal, done <-chan struct{}) {
	end, over := make(chan refusal, 1), make(chan struct{})
	go func() {
		_ = sendSpec(ours, s)
		fd, said, err := receive(ours)
		var rest io.Reader = ours
		switch {
		case fd >= 0:
			o := observer{listener: fd, seen: seen}
			go func() {
				o.follow()
				close(over)
			}()
		case len(said) > 0 && said[0] == cannotSee:
			seen(access.Path{Kind: access.Blind, Name: string(said[1:])})
		case len(said) > 0:
			rest = io.MultiReader(bytes.NewReader(said), ours)
		default:
			seen(access.Path{Kind: access.Blind, Name: err.Error()})
		}
		if fd < 0 {
			close(over)
		}
		r := readRefusal(rest)
		_ = ours.Close()
		end <- r
	}()
	return end, over
}

// awaitSeen waits until all accesses of a command that has ended were told. A process of it that could not be ended may
// tell more.
func (t *tree) awaitSeen(c Command) {
	if t.seen == nil {
		return
	}
	select {
	case <-t.seen:
	case <-time.After(patience):
		c.Seen(access.Path{Kind: access.Blind, Name: "a process of it could not be ended"})
	}
}
