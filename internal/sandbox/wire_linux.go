package sandbox

// The protocol between a runner and a supervisor. The runner sends frames of any length, the supervisor sends notices
// of one length. Numbers are little-endian; texts end with a NUL, which no argument, path or variable can contain.

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Kinds of frames.
const (
	askStart byte = iota + 1
	askTerm
	askKill
	askPing // answered after the frames before it
)

// Kinds of notices.
const (
	noticeHello byte = iota + 1 // sent once, before anything is started
	noticePong
	noticeNever  // the command was not started: code is the errno
	noticeEnded  // the command has ended, processes of it are left: code, signal and told are final; sent again once they are counted
	noticeReport // no process of it is left, except for stuck
)

// frameHead is the length of a frame, counted from here, its kind and the command's number.
const frameHead = 4 + 1 + 4

// maxFrame is above what the kernel lets a process be given (a quarter of 8 MiB of stack, at most 6 MiB).
const maxFrame = 64 << 20

// Flags of a start. Without any, the program is the command itself.
const (
	startMounts byte = 1 << iota // in a mount namespace of its own
	startUsers                   // and in a user namespace, which permits that
	startInner                   // an inner process, which gets one more descriptor, its control socket
)

// A request is one process to start.
type request struct {
	id   uint32
	how  byte
	std  [3]byte // for each stream, the number of its descriptor among those of the frame, from 1; 0: /dev/null
	path string
	dir  string
	argv []string
	env  []string
}

// frame appends a frame without a body.
func frame(b []byte, kind byte, id uint32) []byte {
	b = binary.LittleEndian.AppendUint32(b, frameHead-4)
	b = append(b, kind)
	return binary.LittleEndian.AppendUint32(b, id)
}

// append appends r as a frame. fds is the number of descriptors that are sent with its first byte.
func (r request) append(b []byte, fds int) []byte {
	at := len(b)
	b = frame(b, askStart, r.id)
	b = append(b, r.how, r.std[0], r.std[1], r.std[2], byte(fds))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r.argv)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r.env)))
	b = append(append(b, r.path...), 0)
	b = append(append(b, r.dir...), 0)
	for _, list := range [][]string{r.argv, r.env} {
		for _, s := range list {
			b = append(append(b, s...), 0)
		}
	}
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

var errFrame = errors.New("not a frame of this program")

// parse reads the body of a frame of append. fds is the number of descriptors that belong to it.
func (r *request) parse(b []byte) (fds int, err error) {
	if len(b) < 13 {
		return 0, errFrame
	}
	r.how, r.std, fds = b[0], [3]byte(b[1:4]), int(b[4])
	argc, envc := binary.LittleEndian.Uint32(b[5:]), binary.LittleEndian.Uint32(b[9:])
	rest := string(b[13:])
	ok := true
	next := func() (s string) {
		var more bool
		s, rest, more = strings.Cut(rest, "\x00")
		ok = ok && more
		return s
	}
	if uint64(argc)+uint64(envc) > uint64(len(b)) {
		return 0, errFrame
	}
	r.path, r.dir = next(), next()
	r.argv, r.env = make([]string, argc), make([]string, envc)
	for _, list := range [][]string{r.argv, r.env} {
		for i := range list {
			list[i] = next()
		}
	}
	if !ok || rest != "" {
		return 0, errFrame
	}
	return fds, nil
}

// A notice is a message of a supervisor, noticeLen bytes long.
type notice struct {
	kind   byte
	signal syscall.Signal
	told   bool
	unfit  bool // somebody changed the supervisor's limits (see fitness): it must start nothing more
	id     uint32
	code   uint32 // exit code, or errno
	left   uint32
	stuck  uint32
}

const noticeLen = 20

func (s notice) append(b []byte) []byte {
	var flags byte
	if s.told {
		flags |= 1
	}
	if s.unfit {
		flags |= 2
	}
	b = append(b, s.kind, byte(s.signal), flags, 0)
	for _, n := range []uint32{s.id, s.code, s.left, s.stuck} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

func parseNotice(b []byte) notice {
	return notice{
		kind: b[0], signal: syscall.Signal(b[1]), told: b[2]&1 != 0, unfit: b[2]&2 != 0,
		id: binary.LittleEndian.Uint32(b[4:]), code: binary.LittleEndian.Uint32(b[8:]),
		left: binary.LittleEndian.Uint32(b[12:]), stuck: binary.LittleEndian.Uint32(b[16:]),
	}
}

// An inbox receives frames and their descriptors, which come in the same order. It belongs to the goroutine that calls
// next.
type inbox struct {
	fd    int
	buf   []byte // not parsed from at on
	at    int
	fds   []int
	oob   [64]byte
	frame inFrame
}

// An inFrame is valid until the next call of next.
type inFrame struct {
	kind byte
	id   uint32
	body []byte
}

// inboxKept is the largest buffer, in bytes, that is kept for the next frames.
const inboxKept = 128 << 10

// next returns the next frame and its descriptors; ok is false if there are no more. With hurry it returns nil if none
// came within a millisecond.
func (b *inbox) next(hurry bool) (f *inFrame, fds []int, ok bool) {
	for {
		have := b.buf[b.at:]
		if len(have) >= 4 {
			n := binary.LittleEndian.Uint32(have)
			if n < frameHead-4 || n > maxFrame {
				return nil, nil, false
			}
			if uint64(len(have)) >= 4+uint64(n) {
				b.at += 4 + int(n)
				b.frame = inFrame{have[4], binary.LittleEndian.Uint32(have[5:]), have[frameHead : 4+n]}
				fds, b.fds = b.take()
				return &b.frame, fds, true
			}
		}
		if hurry && !b.comes() {
			return nil, nil, true
		}
		if !b.receive() {
			return nil, nil, false
		}
	}
}

// take returns the descriptors of a start.
func (b *inbox) take() (fds, rest []int) {
	if b.frame.kind != askStart || len(b.frame.body) < 5 {
		return nil, b.fds
	}
	n := min(int(b.frame.body[4]), len(b.fds))
	return b.fds[:n:n], b.fds[n:]
}

// comes reports whether there is something to receive, within a millisecond.
func (b *inbox) comes() bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(b.fd), Events: unix.POLLIN}}, 1)
	return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
}

// receive waits for more.
func (b *inbox) receive() bool {
	if b.at == len(b.buf) {
		b.buf, b.at = b.buf[:0], 0
		if cap(b.buf) > inboxKept {
			b.buf = nil
		}
	}
	if len(b.buf) == cap(b.buf) {
		grown := make([]byte, len(b.buf)-b.at, max(inboxKept, 2*(len(b.buf)-b.at)))
		copy(grown, b.buf[b.at:])
		b.buf, b.at = grown, 0
	}
	for {
		n, oobn, _, _, err := unix.Recvmsg(b.fd, b.buf[len(b.buf):cap(b.buf)], b.oob[:], unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return false
		}
		b.buf = b.buf[:len(b.buf)+n]
		if oobn > 0 {
			b.accept(b.oob[:oobn])
		}
		return true
	}
}

func (b *inbox) accept(oob []byte) {
	all, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return
	}
	for i := range all {
		fds, err := unix.ParseUnixRights(&all[i])
		if err == nil {
			b.fds = append(b.fds, fds...)
		}
	}
}

// pipe makes a pipe. Our end does not block, so that a goroutine waits for it and not a thread; the child's end
// blocks.
func pipe(weWrite bool) (ours, child *os.File, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	mine, mode := 0, unix.O_RDONLY
	if weWrite {
		mine, mode = 1, unix.O_WRONLY
	}
	if _, err := unix.FcntlInt(uintptr(p[mine]), unix.F_SETFL, mode|unix.O_NONBLOCK); err != nil {
		_, _ = unix.Close(p[0]), unix.Close(p[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(p[mine]), "|0"), os.NewFile(uintptr(p[1-mine]), "|1"), nil
}

// widen makes the buffer of the pipe as large as the system permits.
func (o *output) widen() {
	raw, err := o.pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeMax) })
}
