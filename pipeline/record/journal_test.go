package record

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestJournalChain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.jsonl")
	var seen []string
	j := must[*Journal](t)(OpenJournal(path, nil, func(line []byte) { seen = append(seen, string(line)) }))
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if err := j.Append(Event{Type: "task_started", Task: `t["<x>"]`, Data: map[string]any{"b": 1, "a": []string{"x"}, "c": nil}}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(Event{Type: "late"}); err == nil {
		t.Error("a closed journal took a line")
	}
	b := must[[]byte](t)(os.ReadFile(path))
	if got := strings.Join(seen, "\n") + "\n"; got != string(b) {
		t.Errorf("followed %q, written %q", got, b)
	}
	if !strings.HasPrefix(seen[0], `{"seq":1,"at":"2`) || !strings.HasSuffix(seen[0], `,"type":"task_started","task":"t[\"<x>\"]","a":["x"],"b":1,"c":null,"prev":null}`) {
		t.Errorf("first line %s", seen[0])
	}
	if !strings.HasSuffix(seen[1], `,"prev":"`+digest([]byte(seen[0]))+`"}`) {
		t.Errorf("second line %s", seen[1])
	}
	end := must[Anchor](t)(CheckJournal(bytes.NewReader(b)))
	if end.Lines != 6 || *end.Head != digest([]byte(seen[5])) {
		t.Errorf("anchor %+v", end)
	}
	for i := range b { // one flipped bit anywhere is noticed, unless it is in the last line: the anchor's part
		c := bytes.Clone(b)
		c[i] ^= 1
		if got, err := CheckJournal(bytes.NewReader(c)); err == nil && *got.Head == *end.Head {
			t.Fatalf("byte %d changed unnoticed", i)
		}
	}
}

func TestJournalReopens(t *testing.T) {
	t.Parallel()
	one := `{"seq":1,"at":"2026-11-21T02:40:00.000Z","type":"x","prev":null}`
	two := `{"seq":2,"at":"2026-11-21T02:40:00.000Z","type":"x","prev":"` + digest([]byte(one)) + `"}`
	tests := []struct {
		name, have string
		lines      int64 // after one more
		says       string
	}{
		{"new", "", 1, ""},
		{"whole", one + "\n" + two + "\n", 3, ""},
		{"torn last line", one + "\n" + two[:30], 2, ""},
		{"torn last line that lacks only its end", one + "\n" + two, 2, ""},
		{"torn first line", one[:10], 1, ""},
		{"zeros of a crash", one + "\n" + strings.Repeat("\x00", 5000), 2, ""},
		{"garbage inside", "garbage\n" + two + "\n", 0, "line 1 is damaged"},
		{"a line is missing", one + "\n" + two + "\n" + two + "\n", 0, "line 3 does not follow"},
		{"a line was changed", strings.Replace(one, "x", "y", 1) + "\n" + two + "\n", 0, "line 2 does not follow"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "j.jsonl")
			if tt.have != "" {
				if err := os.WriteFile(path, []byte(tt.have), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			j, err := OpenJournal(path, nil, nil)
			if tt.says != "" {
				if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), path) {
					t.Fatalf("error %v, want %q and the path", err, tt.says)
				}
				if got := must[[]byte](t)(os.ReadFile(path)); string(got) != tt.have {
					t.Error("the damaged file was changed")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := j.Append(Event{Type: "more"}); err != nil {
				t.Fatal(err)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			f := must[*os.File](t)(os.Open(path))
			defer func() { _ = f.Close() }()
			if end := must[Anchor](t)(CheckJournal(f)); end.Lines != tt.lines {
				t.Errorf("%d lines, want %d", end.Lines, tt.lines)
			}
		})
	}
}

func TestJournalRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJournal(link, nil, nil); err == nil {
		t.Error("a link was followed")
	}
	j := must[*Journal](t)(OpenJournal(target, nil, nil))
	defer func() { _ = j.Close() }()
	for _, data := range []map[string]any{{"seq": 1}, {"prev": ""}, {"x": make(chan int)}} {
		if err := j.Append(Event{Type: "x", Data: data}); err == nil {
			t.Errorf("%v was taken", data)
		}
	}
	if info := must[os.FileInfo](t)(os.Stat(target)); info.Size() != 0 {
		t.Error("a refused event left something")
	}
}

// Secrets are taken out of strings, and never make a record unreadable.
func TestClean(t *testing.T) {
	t.Parallel()
	secrets := []string{`","at":"`, "123456", "failed", "duration_ms", "hunter22"}
	clean := func(b []byte) []byte {
		s := string(b)
		for _, v := range secrets {
			s = strings.ReplaceAll(s, v, "[redacted]")
		}
		return []byte(s)
	}
	s := At(t.TempDir())
	var line []byte
	d := must[*Draft](t)(s.Begin(noon, clean, func(l []byte) { line = bytes.Clone(l) }))
	err := d.Event(Event{Type: "task_finished", Data: map[string]any{
		"status": "failed", "duration_ms": 123456, "deep": map[string]any{"list": []string{"is hunter22", `x","at":"y`}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	deep := got["deep"].(map[string]any)["list"].([]any)
	if got["status"] != "failed" || got["duration_ms"] != 123456.0 || deep[0] != "is [redacted]" || deep[1] != "x[redacted]y" {
		t.Errorf("line %s", line)
	}
	if err := d.Context("t", []byte(`{"tail": "a hunter22 b", "n": 123456}`)); err != nil {
		t.Fatal(err)
	}
	pack := must[[]byte](t)(os.ReadFile(filepath.Join(d.Dir, "context", "t.json")))
	if want := `{"n":123456,"tail":"a [redacted] b"}`; string(pack) != want {
		t.Errorf("pack %s, want %s", pack, want)
	}
	text := "no hunter22 here"
	given := Run{
		Status: Failed, DurationMS: 123456, Git: &Git{Branch: &text}, Healing: Healing{Mode: "on", Reason: &text},
		Tasks: []Task{{Name: "t", Status: Failed, Error: &text, Cache: &Cache{Result: "miss", Reason: &text}}},
	}
	sealed := must[*Sealed](t)(d.Seal(given))
	b := must[[]byte](t)(os.ReadFile(filepath.Join(d.Dir, "run.json")))
	if bytes.Contains(b, []byte("hunter22")) || bytes.Count(b, []byte("no [redacted] here")) != 4 {
		t.Errorf("run.json: %s", b)
	}
	if sealed.Status != Failed || sealed.DurationMS != 123456 || *given.Tasks[0].Error != text || *given.Git.Branch != text {
		t.Error("more was cleaned than should be")
	}
}
