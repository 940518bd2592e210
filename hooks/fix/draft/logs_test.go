package draft

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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

// A line that finds no room says what to do about that.
func TestTranscriptOnAFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full here")
	}
	defer full.Close()
	d := &Draft{Name: "test", runDir: "/r", transcript: full, clean: orNothing(nil)}
	err = d.Transcript(1, "text", map[string]any{"text": "hello"})
	if err == nil || !strings.HasPrefix(err.Error(), "writing /r/fixes/test.transcript.jsonl: there is no space left on the disk") {
		t.Error(err)
	}
}
