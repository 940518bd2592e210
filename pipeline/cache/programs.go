package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/shelltext"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// programs has the digests of programs. One that did not change is not read again.
type programs struct{ remembered[programFact] }

// A programFact is the digest of a program and the stat data of its file, in ns.
type programFact struct {
	Dev, Ino           uint64
	Size, Mtime, Ctime int64
	Read               int64  // when it was read
	Digest             string // sha256 and size
}

// digest returns the sha256 and the size of the file behind path.
func (p *programs) digest(ctx context.Context, path string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return "", unix.EINVAL
	}
	now := factOf(&st)
	was, ok := p.known[path]
	if ok {
		now.Read, now.Digest = was.Read, was.Digest
		if now == was && tree.Settled(was.Mtime, was.Ctime, was.Read) {
			return was.Digest, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	now.Read = time.Now().UnixNano()
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return "", err
	}
	now.Digest = fmt.Sprintf("%s/%d", hex.EncodeToString(h.Sum(nil)), n)
	p.set(path, now)
	return now.Digest, nil
}

// changed returns when a file was last changed in any way before digest saw it last, in ns since 1970.
func (p *programs) changed(path string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[path].Ctime
}

func factOf(st *unix.Stat_t) programFact {
	return programFact{
		Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(), //nolint:unconvert // signed elsewhere
	}
}

// Named returns the programs that the command of a task is known to run, as it names them and in its order: of "timeout 5
// make" both are in it. A path is relative to the folder of the task.
func Named(t *pipeline.Task) []shelltext.Program {
	args := make([]string, len(t.Run.Args))
	for i, a := range t.Run.Args {
		args[i] = a.Value
	}
	if t.Run.Argv != nil {
		words := make([]string, len(t.Run.Argv))
		for i, w := range t.Run.Argv {
			words[i] = w.Value
		}
		return shelltext.ProgramsOf(words)
	}
	return shelltext.Programs(t.Run.Shell.Value, args...)
}
