package store

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/reapi"
)

// A result that somebody else stored writes nothing in .git or .async.
func TestHostileResult(t *testing.T) {
	t.Parallel()
	s := &Store{Dir: filepath.Join(t.TempDir(), "cache")}
	key := strings.Repeat("a", 64)
	for p, want := range map[string]error{".git/hooks/x": ErrDamaged, "sub/.git/config": ErrDamaged, ".async/run.lock": ErrDamaged, "git/x": nil} {
		if err := s.PutAction(key, reapi.Result{Log: reapi.DigestOf(nil), Files: []reapi.File{{Path: p, Digest: reapi.DigestOf(nil)}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Action(key); !errors.Is(err, want) {
			t.Errorf("%s: %v", p, err)
		}
	}
}
