package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func check(t rapid.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, path string) *Journal {
	t.Helper()
	j, err := Open(path, nil, nil, nil)
	check(t, err)
	t.Cleanup(func() { check(t, j.Close()) })
	return j
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	check(t, err)
	return text
}

// hashOf returns what a line's follower carries as prev.
func hashOf(line string) string {
	var c chain
	c.add([]byte(line))
	return c.head
}

func TestChain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.jsonl")
	var seen []string
	j, err := Open(path, nil, nil, func(line []byte) { seen = append(seen, string(line)) })
	check(t, err)
	if lines, head := j.End(); lines != 0 || head != nil {
		t.Errorf("an empty one ends at %d, %v", lines, head)
	}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if err := j.Event(Event{Type: "task_started", Task: `t["<x>"]`, Data: map[string]any{"b": 1, "a": []string{"x"}, "c": nil}}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	check(t, j.Close(), j.Close())
	if j.Event(Event{Type: "late"}) == nil || j.Sync() == nil {
		t.Error("a closed journal took a line")
	}
	text := readFile(t, path)
	if got := strings.Join(seen, "\n") + "\n"; got != string(text) {
		t.Errorf("followed %q, written %q", got, text)
	}
	if !strings.HasPrefix(seen[0], `{"seq":1,"at":"2`) || !strings.HasSuffix(seen[0], `Z","type":"task_started","task":"t[\"<x>\"]","a":["x"],"b":1,"c":null,"prev":null}`) {
		t.Errorf("first line %s", seen[0])
	}
	if !strings.HasSuffix(seen[1], `,"prev":"`+hashOf(seen[0])+`"}`) {
		t.Errorf("second line %s", seen[1])
	}
	end, head := j.End()
	lines, torn, err := Read(bytes.NewReader(text), nil)
	if err != nil || torn || end != 6 || len(lines) != 6 || string(lines[5]) != seen[5] || *head != hashOf(seen[5]) {
		t.Errorf("ends at %d, %s; read %d lines, torn %v, %v", end, *head, len(lines), torn, err)
	}
	for i := range text { // one flipped bit anywhere is noticed, by the head at the latest
		changed := bytes.Clone(text)
		changed[i] ^= 1
		if got, torn, err := Read(bytes.NewReader(changed), nil); err == nil && !torn && len(got) == 6 && hashOf(string(got[5])) == *head {
			t.Fatalf("byte %d changed unnoticed", i)
		}
	}
}

func TestReopens(t *testing.T) {
	t.Parallel()
	one := `{"seq":1,"at":"2026-11-21T02:40:00.000Z","type":"x","prev":null}`
	two := `{"seq":2,"at":"2026-11-21T02:40:00.000Z","type":"x","prev":"` + hashOf(one) + `"}`
	for _, tt := range []struct {
		name, have string
		lines      int // after one more
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
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "j.jsonl")
			if tt.have != "" {
				check(t, os.WriteFile(path, []byte(tt.have), 0o600))
			}
			j, err := Open(path, nil, nil, nil)
			if tt.says != "" {
				if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), path) {
					t.Fatalf("error %v, want %q and the path", err, tt.says)
				}
				if got, err := os.ReadFile(path); err != nil || string(got) != tt.have {
					t.Errorf("the damaged file was changed, %v", err)
				}
				return
			}
			check(t, err)
			check(t, j.Append(Field{"more", true}), j.Sync(), j.Close())
			text := readFile(t, path)
			if lines, torn, err := Read(bytes.NewReader(text), nil); err != nil || torn || len(lines) != tt.lines {
				t.Errorf("%d lines, want %d; torn %v, %v", len(lines), tt.lines, torn, err)
			}
		})
	}
}

// Several on one file write one chain; each cuts off what a crash of another left.
func TestSeveral(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.jsonl")
	a, b := open(t, path), open(t, path)
	for range 2 {
		check(t, a.First(Event{Type: "opened"}), b.First(Event{Type: "opened"}))
	}
	check(t, a.Append(Field{"x", 1}), b.Append(Field{"x", 2}))
	text := readFile(t, path)
	check(t, os.WriteFile(path, append(text, `{"seq":4,"at`...), 0o600))
	if lines, torn, err := Read(strings.NewReader(string(text)+`{"seq":4,"at`), nil); err != nil || !torn || len(lines) != 3 {
		t.Errorf("a torn last line: %d lines, %v, %v", len(lines), torn, err)
	}
	check(t, a.Append(Field{"x", 3}))
	var wg sync.WaitGroup
	for _, j := range []*Journal{a, b, open(t, path)} {
		wg.Go(func() {
			for range 20 {
				if err := j.Append(Field{"x", strings.Repeat("long ", 1000)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	text = readFile(t, path)
	if lines, torn, err := Read(bytes.NewReader(text), nil); err != nil || torn || len(lines) != 64 {
		t.Fatalf("%d lines, torn %v, %v", len(lines), torn, err)
	}
	check(t, os.Truncate(path, 10))
	if err := a.Append(); err == nil || !strings.Contains(err.Error(), "shorter") {
		t.Errorf("a file that was cut: %v", err)
	}
}

// The first line can be tied to what the journal belongs to.
func TestAnchor(t *testing.T) {
	t.Parallel()
	path, anchor, other := filepath.Join(t.TempDir(), "j.jsonl"), "sha256:of what it belongs to", "sha256:of something else"
	j, err := Open(path, &anchor, nil, nil)
	check(t, err)
	check(t, j.Append(Field{"a", 1}), j.Append(Field{"b", 2}), j.Close())
	text := readFile(t, path)
	if lines, _, err := Read(bytes.NewReader(text), &anchor); err != nil || len(lines) != 2 || !bytes.HasSuffix(lines[0], []byte(`"a":1,"prev":"`+anchor+`"}`)) {
		t.Errorf("%s: %v", text, err)
	}
	for _, wrong := range []*string{nil, &other} {
		if _, _, err := Read(bytes.NewReader(text), wrong); err == nil {
			t.Error("it is taken for the journal of something else")
		}
		if _, err := Open(path, wrong, nil, nil); err == nil {
			t.Error("it is opened as the journal of something else")
		}
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link, pipe := filepath.Join(dir, "target"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	check(t, os.Symlink(target, link), syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{link, pipe, dir} {
		if _, err := Open(path, nil, nil, nil); err == nil {
			t.Errorf("%s was opened", path)
		}
	}
	j := open(t, target)
	for _, data := range []map[string]any{{"seq": 1}, {"at": 1}, {"prev": ""}, {"type": "y"}, {"task": "y"}, {"x": make(chan int)}} {
		if err := j.Event(Event{Type: "x", Data: data}); err == nil {
			t.Errorf("%v was taken", data)
		}
	}
	if info, err := os.Stat(target); err != nil || info.Size() != 0 {
		t.Errorf("a refused event left something: %v", err)
	}
}

// What clean gives is written byte for byte; seq, at, prev, type and task are not its to change.
func TestClean(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.jsonl")
	j, err := Open(path, nil, func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("a"), []byte("<*>")) }, nil)
	check(t, err)
	check(t, j.Event(Event{Type: "task", Task: "a", Data: map[string]any{"a": "a&a", "n": 1}}), j.Event(Event{Type: "b"}), j.Close())
	text := readFile(t, path)
	if _, _, err := Read(bytes.NewReader(text), nil); err != nil || !strings.Contains(string(text), `"type":"task","task":"a","a":"<*>&<*>","n":1,"prev":null}`) {
		t.Errorf("%s: %v", text, err)
	}
}

// What is written without the encoder is what the encoder writes.
func TestValuesAreAsTheEncoderHasThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, n := rapid.String().Draw(t, "text"), rapid.Int64().Draw(t, "n")
		i := int(n)
		for _, v := range []any{
			text, &text, n, &n, i, &i, n > 0, nil, (*string)(nil), (*int)(nil), (*int64)(nil), string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")),
			[]string{text},
			map[string]any{text: n},
			json.RawMessage("[1, 2]"), "<&>\u2028\x7f",
		} {
			var want bytes.Buffer
			enc := json.NewEncoder(&want)
			enc.SetEscapeHTML(false)
			check(t, enc.Encode(v))
			got, err := new(lineWriter).value(nil, v)
			check(t, err)
			if string(got)+"\n" != want.String() {
				t.Fatalf("%#v became %s, want %s", v, got, want.String())
			}
		}
	})
}

func TestFieldsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.jsonl")
	j := open(t, path)
	check(t, j.Event(Event{Type: "x", Fields: []Field{{"z", 1}, {"a", nil}}, Data: map[string]any{"d": true, "c": "s"}}))
	text := readFile(t, path)
	if !strings.Contains(string(text), `"type":"x","z":1,"a":null,"c":"s","d":true,"prev":null}`) {
		t.Errorf("line %s", text)
	}
	for _, name := range []string{"seq", "at", "prev", "type", "task"} {
		if j.Event(Event{Type: "x", Fields: []Field{{name, 1}}}) == nil {
			t.Errorf("a second %s was taken", name)
		}
	}
}

// A journal that is owned has its file alone, goes on where the last one ended, and is free again when it is closed.
func TestOwn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.jsonl")
	for n := range 3 {
		j, err := Own(path, nil, nil)
		check(t, err, j.Append(Field{"n", n}))
		if _, err := Own(path, nil, nil); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("a second owner: %v", err)
		}
		check(t, j.Close())
		if lines, head := j.End(); lines != int64(n)+1 || head == nil {
			t.Errorf("it ends at %d, %v", lines, head)
		}
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		check(t, err)
		_, err = f.WriteString(`{"torn`)
		check(t, err, f.Close())
	}
	text := readFile(t, path)
	if lines, torn, err := Read(bytes.NewReader(text), nil); err != nil || !torn || len(lines) != 3 {
		t.Errorf("%d lines, torn %v, %v", len(lines), torn, err)
	}
	check(t, os.WriteFile(path, []byte("garbage\n"), 0o600))
	if _, err := Own(path, nil, nil); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged one: %v", err)
	}
}

// BenchmarkEvent is a line of a journal that is owned, against a line that is only appended ("x-append").
func BenchmarkEvent(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "plain"))
	check(b, err)
	defer func() { check(b, f.Close()) }()
	line := []byte(strings.Repeat("x", 300) + "\n")
	const lines = 5000
	start := time.Now()
	for range lines {
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
	}
	limit := time.Since(start) / lines
	j, err := Own(filepath.Join(b.TempDir(), "j.jsonl"), func(p []byte) []byte { return p }, nil)
	check(b, err)
	defer func() { check(b, j.Close()) }()
	code, took := 0, int64(17)
	for b.Loop() {
		check(b, j.Event(Event{Type: "task_finished", Task: "build", Fields: []Field{
			{"status", "passed"}, {"exit_code", &code}, {"signal", (*string)(nil)}, {"error", nil}, {"duration_ms", &took}, {"processes_left", &code},
		}}))
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(limit), "x-append")
}

func TestObject(t *testing.T) {
	t.Parallel()
	got, err := Object([]Field{{"b", "<x>"}, {"a", []int{1}}, {`"`, nil}})
	if want := `{"b":"<x>","a":[1],"\"":null}`; err != nil || string(got) != want {
		t.Errorf("%s, want %s, %v", got, want, err)
	}
	if got, err := Object(nil); err != nil || string(got) != "{}" {
		t.Errorf("of nothing: %s, %v", got, err)
	}
}
