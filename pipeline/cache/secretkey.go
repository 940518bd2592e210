package cache

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/store"
)

// keyPrefix is what a key is called before it is linked to its name, with the process that makes it.
const keyPrefix = "key-"

// secretKey returns the key with which values are hashed: a digest of a short value alone would give it away.
// Without one, a new one is stored, or only returned.
func secretKey(s *store.Store, stored bool) ([]byte, error) {
	at := filepath.Join(s.Dir, "key")
	for range 3 {
		if b, err := recordfile.Read(at, 1<<10); err == nil && len(b) == 32 {
			return b, nil
		}
		if !stored {
			return make([]byte, 32), nil
		}
		if err := s.Make(); err != nil {
			return nil, err
		}
		b := make([]byte, 32)
		_, _ = rand.Read(b) // never fails
		temp := filepath.Join(s.Dir, process.TempName(keyPrefix))
		if err := os.WriteFile(temp, b, 0o600); err != nil {
			return nil, err
		}
		err := os.Link(temp, at) // another process may have been first
		_ = os.Remove(temp)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if errors.Is(err, fs.ErrExist) {
			if b, err := recordfile.Read(at, 1<<10); err != nil || len(b) != 32 {
				_ = os.Remove(at) // it is damaged
			}
		}
	}
	return nil, fmt.Errorf("%s cannot be read", at)
}

// hashed returns a keyed digest of a value.
func hashed(key []byte, value string) string {
	m := hmac.New(sha256.New, key)
	_, _ = io.WriteString(m, value)
	return hex.EncodeToString(m.Sum(nil))
}
