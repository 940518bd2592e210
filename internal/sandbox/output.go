package sandbox

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// In bytes: what is read at once, the most that a pipe can be made to hold (fs.pipe-max-size), and after how much of
// output it is made to.
const (
	pipeBuffer = 64 << 10
	pipeMax    = 1 << 20
	pipeMuch   = 256 << 10
)

// buffers are those of outputs that have ended.
var buffers = sync.Pool{New: func() any { return new([pipeBuffer]byte) }}

// An output carries what a command writes from a pipe to its writer. It belongs to its goroutine; finish ends it.
type output struct {
	pipe *os.File
	to   io.Writer
	read func() // called whenever something came; may be nil
	done chan error
}

// copy passes on until nobody holds the pipe or finish was called. A writer's error does not stop the reading:
// the command would block, or die of SIGPIPE, for a fault that is not its own.
func (o *output) copy() {
	var failed error
	kept := buffers.Get().(*[pipeBuffer]byte)
	defer buffers.Put(kept)
	buf := kept[:]
	pass := func(p []byte) {
		if o.read != nil {
			o.read()
		}
		if failed == nil {
			_, failed = o.to.Write(p)
		}
	}
	for total, wide := 0, false; ; {
		n, err := o.pipe.Read(buf)
		if n > 0 {
			pass(buf[:n])
			if total += n; total > pipeMuch && !wide {
				wide = true
				o.widen() // whoever writes so much need not wait for each of our reads
			}
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			o.rest(buf, pass)
			err = io.EOF
		}
		if err != nil {
			o.done <- failed
			return
		}
	}
}

// rest passes on what is in the pipe, without waiting for more. What a dead tree left is at most one full pipe; a
// living stranger that holds the other end could write for ever.
func (o *output) rest(buf []byte, pass func([]byte)) {
	_ = o.pipe.SetReadDeadline(time.Time{})
	raw, err := o.pipe.SyscallConn()
	if err != nil {
		return
	}
	for total := 0; total < pipeMax; {
		n := 0
		_ = raw.Read(func(fd uintptr) bool {
			n, err = syscall.Read(int(fd), buf)
			return true
		})
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if n <= 0 {
			return
		}
		pass(buf[:n])
		total += n
	}
}

// finish is called when the tree is dead; it returns when the writer has everything.
func (o *output) finish() error {
	select {
	case err := <-o.done: // nobody holds the pipe any more
		return err
	default:
	}
	_ = o.pipe.SetReadDeadline(time.Now())
	return <-o.done
}
