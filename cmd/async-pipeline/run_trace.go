package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/console"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/hooks/person"
	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/report"
)

// traceTime is how long the reader of a pipe may take for the trace.
const traceTime = 3 * time.Second

// traceFile returns the absolute path of --trace. Before anything runs it refuses a path that cannot be written, or
// where something other than a trace would be lost.
func traceFile(prog *program, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	if why := person.Hook(prog.Env); why != "" {
		return "", exit.Misused("--trace writes a file, and this process was started by a hook (%s): leave it out", why)
	}
	if !filepath.IsAbs(name) {
		dir, err := prog.Start()
		if err != nil {
			return "", err
		}
		name = filepath.Join(dir, name)
	}
	dir := filepath.Dir(name)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", exit.Refuse("--trace %s: there is no folder %s: make it first", name, dir)
	}
	streams, err := traceStreams(name)
	if err != nil {
		return "", err
	}
	if !streams {
		if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
			return "", exit.Refuse("--trace %s: nothing can be written in the folder %s (%v): name a file elsewhere",
				name, dir, err)
		}
	}
	return name, nil
}

// traceStreams reports whether name is written in place, as /dev/stdout or /dev/fd/3, instead of being replaced. An
// error means that a trace would replace something that is not a trace.
func traceStreams(name string) (bool, error) {
	here, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, exit.Refuse("--trace %s: %v", name, err)
	}
	if there, err := os.Stat(name); err == nil && strings.HasPrefix(name, "/dev/") && !strings.HasPrefix(name, "/dev/shm/") &&
		there.Mode()&(os.ModeCharDevice|os.ModeNamedPipe) != 0 {
		return true, nil
	}
	switch mode := here.Mode(); {
	case mode.IsRegular():
		if !isTrace(name) {
			return false, exit.Refuse("--trace %s exists, and is no trace that could be replaced: name another file, or remove it", name)
		}
		return false, nil
	case mode.IsDir():
		return false, exit.Refuse("--trace %s is a folder: name a file", name)
	case mode&os.ModeSymlink != 0:
		return false, exit.Refuse("--trace %s is a symbolic link, which the trace would replace: name the file itself, or remove the link", name)
	case mode&os.ModeNamedPipe != 0:
		return false, exit.Refuse("--trace %s is a named pipe, which the trace would replace: name a file, or write --trace /dev/stdout and redirect it", name)
	}
	return false, exit.Refuse("--trace %s is no regular file, and the trace would replace it: name a file", name)
}

// isTrace reports whether a file is empty or begins as a trace does.
func isTrace(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 64)
	n, err := io.ReadFull(f, head)
	return n == 0 && errors.Is(err, io.EOF) || bytes.Contains(head[:n], []byte(`"traceEvents"`)) ||
		bytes.Contains(head[:n], []byte(`"displayTimeUnit"`))
}

// writeTrace writes the trace of a sealed run. Its errors are warnings.
func (p *runCall) writeTrace(s *record.Sealed) {
	if p.trace == "" {
		return
	}
	b, err := report.Trace(s.Run, p.graph.DependsOn)
	if err == nil {
		err = p.putTrace(redact.JSON(b, p.prog.Secrets.Bytes))
	}
	if err != nil {
		p.prog.Messages().Warning("the trace could not be written: " + err.Error())
	}
}

func (p *runCall) putTrace(text []byte) error {
	streams, err := traceStreams(p.trace) // a task may have made something of that name
	if err != nil {
		return err
	}
	if !streams {
		return advice.Writing(renameio.WriteFile(p.trace, text, 0o644), p.trace)
	}
	p.prog.Out.FlushFor(console.ReaderTime) // it may be the same stream
	f, err := os.OpenFile(p.trace, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	_ = f.SetWriteDeadline(time.Now().Add(traceTime)) // files without deadlines do not block
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
