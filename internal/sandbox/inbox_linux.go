package sandbox

// What a supervisor receives: frames, and the descriptors that come with them, in the same order.

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// An inbox belongs to the goroutine that calls next.
type inbox struct {
	fd    int
	buf   []byte // received and not parsed begins at at
	at    int
	fds   []int
	oob   [64]byte
	frame inFrame
}

// An inFrame is valid until the next one is asked for.
type inFrame struct {
	kind byte
	id   uint32
	body []byte
}

// inboxKept is what the buffer may keep, in bytes, for the next frames.
const inboxKept = 128 << 10

// next gives the next frame and the descriptors that belong to it; ok is false when there will be none. With hurry it
// gives nil when none came within a millisecond.
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

// take gives the descriptors of a start.
func (b *inbox) take() (fds, rest []int) {
	if b.frame.kind != askStart || len(b.frame.body) < 5 {
		return nil, b.fds
	}
	n := min(int(b.frame.body[4]), len(b.fds))
	return b.fds[:n:n], b.fds[n:]
}

// comes says whether there is something to receive, within a millisecond.
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
