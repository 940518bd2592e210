package sandbox

// What goes over the socket between a runner and a supervisor. Down go frames of any length, up go reports of one
// length. Numbers are little-endian; texts end with a NUL, which no argument, path or variable can hold.

import (
	"encoding/binary"
	"errors"
	"strings"
	"syscall"
)

// What a runner asks.
const (
	askStart byte = iota + 1
	askTerm
	askKill
	askPing // answered when all that was asked before was begun
)

// What a supervisor says.
const (
	sayHello byte = iota + 1 // it works; said once, before anything is started
	sayPong
	sayNever  // the command was not started: code is the errno
	sayEnded  // the command has ended, and something of it lives: code, signal and told are final
	sayReport // nothing of it lives, but for stuck
)

// frameHead is the length of a frame, counted from here, its kind and the command's number.
const frameHead = 4 + 1 + 4

// maxFrame is above what the kernel lets a process be given (a quarter of 8 MiB of stack, at most 6 MiB).
const maxFrame = 64 << 20

// How a start is made. Without any, the program is the command itself.
const (
	startMounts  byte = 1 << iota // in a mount namespace of its own
	startUsers                    // and a user namespace, to be allowed to
	startEntrant                  // an entrant, which is handed one more descriptor, its control socket
)

// A request is one process to start.
type request struct {
	id   uint32
	how  byte
	std  [3]byte // which of the descriptors sent along is the stream, from 1 on; 0: /dev/null
	path string
	dir  string
	argv []string
	env  []string
}

// frame appends an order without anything to it.
func frame(b []byte, kind byte, id uint32) []byte {
	b = binary.LittleEndian.AppendUint32(b, frameHead-4)
	b = append(b, kind)
	return binary.LittleEndian.AppendUint32(b, id)
}

// append appends r as a frame. fds are the descriptors sent along with its first byte.
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

// parse reads what append wrote, after the head. fds is how many descriptors belong to it.
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

// A say is what goes up, in sayLen bytes.
type say struct {
	kind   byte
	signal syscall.Signal
	told   bool
	unfit  bool // the supervisor is not what it was when it began: it is to start nothing more
	id     uint32
	code   uint32 // exit code, or errno
	left   uint32
	stuck  uint32
}

const sayLen = 20

func (s say) append(b []byte) []byte {
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

func parseSay(b []byte) say {
	return say{
		kind: b[0], signal: syscall.Signal(b[1]), told: b[2]&1 != 0, unfit: b[2]&2 != 0,
		id: binary.LittleEndian.Uint32(b[4:]), code: binary.LittleEndian.Uint32(b[8:]),
		left: binary.LittleEndian.Uint32(b[12:]), stuck: binary.LittleEndian.Uint32(b[16:]),
	}
}
