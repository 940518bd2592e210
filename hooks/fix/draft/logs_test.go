package draft

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestHeadWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "raw.jsonl")
	f, err := create(path)
	w := &headWriter{f: f, left: 10}
	for _, l := range []string{"12345678\n", "abc\n", "d\n"} {
		_, writing := w.Write([]byte(l))
		err = errors.Join(err, writing)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); string(b) != "12345678\n{\"left_out_bytes\":6}\n" {
		t.Errorf("%q", b)
	}
}
