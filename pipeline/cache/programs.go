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

	"github.com/async-pipeline/async-pipeline/internal/tree"
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

func factOf(st *unix.Stat_t) programFact {
	return programFact{
		Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(), //nolint:unconvert // signed elsewhere
	}
}
