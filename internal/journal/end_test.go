package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func readEnd(t *testing.T, path string) End {
	t.Helper()
	text, err := os.ReadFile(path + EndSuffix)
	check(t, err)
	e, err := ReadEnd(text)
	check(t, err)
	return e
}

// The end file is there from the beginning, goes with every Close, and stays what it is where it knows better.
func TestEndFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.jsonl")
	add := func() {
		j, err := Open(path, nil, nil, nil)
		check(t, err)
		check(t, j.Event(Event{Type: "x"}), j.Close())
	}
	j, err := Open(path, nil, nil, nil)
	check(t, err)
	if e := readEnd(t, path); e.Lines != 0 || e.Head != nil {
		t.Errorf("new: %+v", e)
	}
	check(t, j.Close())
	add()
	add()
	text := readFile(t, path)
	lines := strings.SplitAfter(string(text), "\n")
	if e := readEnd(t, path); e.Lines != 2 || *e.Head != hashOf(strings.TrimSuffix(lines[1], "\n")) {
		t.Errorf("after two lines: %+v", e)
	}

	check(t, os.WriteFile(path, []byte(lines[0]), 0o600)) // the last line is taken away
	before := readEnd(t, path)
	add()
	if e := readEnd(t, path); *e.Head != *before.Head {
		t.Error("a line that was written later hides that one was taken away")
	}

	damaged := filepath.Join(t.TempDir(), "j.jsonl")
	check(t, os.WriteFile(damaged+EndSuffix, []byte(`{"lines":0, "head":null}`+"\n"), 0o600))
	j, err = Open(damaged, nil, nil, nil)
	check(t, err)
	check(t, j.Event(Event{Type: "x"}), j.Close())
	if text, err := os.ReadFile(damaged + EndSuffix); err != nil || string(text) != `{"lines":0, "head":null}`+"\n" {
		t.Errorf("a damaged end file became %q, %v", text, err)
	}
}

// Whatever byte of a journal is flipped, and whatever line is taken away, Audit names the line.
func TestAuditNamesTheLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.jsonl")
	anchor := "sha256:what it belongs to"
	j, err := Open(path, &anchor, nil, nil)
	check(t, err)
	for i := range 4 {
		check(t, j.Event(Event{Type: "task_started", Task: fmt.Sprint("t", i), Data: map[string]any{"a": i}}))
	}
	check(t, j.Close())
	text := readFile(t, path)
	end := readEnd(t, path)
	audit := func(text string, end *End) Chain {
		c, err := Audit(strings.NewReader(text), &anchor, end)
		check(t, err)
		return c
	}
	if c := audit(string(text), &end); c.Fault != nil || len(c.Lines) != 4 || c.Ends[3] != *end.Head {
		t.Fatalf("%+v", c)
	}
	n := 1
	for i, b := range text {
		flipped := append([]byte{}, text...)
		flipped[i] ^= 1
		c := audit(string(flipped), &end)
		if want := fmt.Sprintf("line %d", n); c.Fault == nil || c.Fault.Where != want {
			t.Errorf("byte %d (%q) of line %d: %+v", i, b, n, c.Fault)
		}
		if b == '\n' {
			n++
		}
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	lines[3] += "\n"
	for i := range lines {
		less := strings.Join(append(append([]string{}, lines[:i]...), lines[i+1:]...), "")
		if c := audit(less, &end); c.Fault == nil || c.Fault.Where != fmt.Sprintf("line %d", i+1) {
			t.Errorf("without line %d: %+v", i+1, c.Fault)
		}
	}
	if c := audit(string(text[:len(text)-1]), &end); c.Fault == nil || c.Fault.Where != "line 4" {
		t.Errorf("torn: %+v", c.Fault)
	}
	// Lines after the end that is known are in the chain, but nothing more is known of the last.
	three, err := Audit(strings.NewReader(strings.Join(lines[:3], "")), &anchor, nil)
	check(t, err)
	if c := audit(string(text), &End{Lines: 3, Head: &three.Ends[2]}); c.Fault != nil || len(c.Lines) != 4 {
		t.Errorf("one more than the end tells of: %+v", c.Fault)
	}
}
