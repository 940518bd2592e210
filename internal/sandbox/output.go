package sandbox

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// In bytes.
const (
	pipeBuffer = 64 << 10  // is read at once
	pipeMax    = 1 << 20   // the largest buffer of a pipe (fs.pipe-max-size)
	pipeMuch   = 256 << 10 // after so much output the buffer of the pipe is made that large
)

// buffers are those of outputs that have ended.
var buffers = sync.Pool{New: func() any { return new([pipeBuffer]byte) }}

// An output copies from a pipe of a command to a writer, in a goroutine of its own, until finish is called.
type output struct {
	pipe *os.File
	to   io.Writer
	read func() // called whenever something came; may be nil
	done chan error
}

// copy copies until the other end of the pipe is closed or finish is called. An error of the writer does not stop the
// reading, because the command would block, or be killed by SIGPIPE.
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
				o.widen() // a command that writes so much should not wait for each read
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

// rest passes on the contents of the pipe, without waiting for more. A dead tree leaves at most one full pipe; a
// living process that has the other end open could write for ever.
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

// finish must be called after the end of the tree. It returns when the writer has everything.
func (o *output) finish() error {
	select {
	case err := <-o.done: // the other end is closed
		return err
	default:
	}
	_ = o.pipe.SetReadDeadline(time.Now())
	return <-o.done
}
