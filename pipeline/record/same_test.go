package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// What a run of TestSameAsTheRunBefore writes: two logs, one of them in one piece, and a receipt.
type written struct{ log, whole, receipt string }

func (w written) seal(t *testing.T, d *Draft) {
	t.Helper()
	log, whole := d.Log("log"), d.Log("whole")
	if w.log != "" {
		_, _ = log.Write([]byte(w.log))
	}
	whole.All([]byte(w.whole))
	_ = must[string](t)(d.PutReceipt(&Receipt{Task: "log"})) // it makes the folder
	sum := must[string](t)(d.PutReceipt(&Receipt{Task: "whole", Reasons: []string{w.receipt}}))
	one, two := must[Log](t)(log.Finish()), must[Log](t)(whole.Finish())
	sealed := must[*Sealed](t)(d.Seal(Run{Status: Passed, Tasks: []Task{
		{Name: "log", Status: Passed, Log: &one}, {Name: "whole", Status: Passed, Log: &two, ReceiptDigest: &sum},
	}}))
	if r := auditOf(t, sealed); len(r.Faults) > 0 {
		t.Errorf("%+v", r.Faults)
	}
	for name, want := range map[string]string{"logs/log.log": w.log, "logs/whole.log": w.whole} {
		if got := must[[]byte](t)(os.ReadFile(filepath.Join(d.Dir, name))); string(got) != want {
			t.Errorf("%s has %q", name, got)
		}
	}
}

// A log or a receipt that says what that of the run before says is the same file, and the record is right either way.
func TestSameAsTheRunBefore(t *testing.T) {
	t.Parallel()
	first := written{"", "what it printed\n", "of a key"}
	edit := func(t *testing.T, dir string) {
		for _, name := range []string{"logs/log.log", "logs/whole.log", "cache/whole.json"} {
			at := filepath.Join(dir, name)
			b := must[[]byte](t)(os.ReadFile(at))
			check(t, os.WriteFile(at, []byte(strings.ToUpper(string(b))+" "), 0o600))
		}
	}
	link := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			at := filepath.Join(dir, name)
			check(t, os.Rename(at, at+".kept"))
			check(t, os.Symlink(at+".kept", at))
		}
	}
	for _, tt := range []struct {
		name   string
		second written
		meddle func(t *testing.T, dir string) // with the first run, before the second
		same   string                         // the files that are
	}{
		{"all", first, nil, "logs/log.log logs/whole.log cache/whole.json"},
		{"other texts", written{"x", "what is printed\n", "of a lock"}, nil, ""},
		{"less", written{"", "", ""}, nil, "logs/log.log"},
		{"edited", first, edit, ""},
		{"a link in the place of a log", first, link("logs/whole.log"), "logs/log.log cache/whole.json"},
		{"a link in the place of a folder", first, link("logs"), ""},
		{"without a verdict", first, func(t *testing.T, dir string) { check(t, os.Remove(filepath.Join(dir, "run.json"))) }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := At(t.TempDir())
			before := must[*Draft](t)(s.Begin(noon, nil, nil))
			first.seal(t, before)
			if tt.meddle != nil {
				tt.meddle(t, before.Dir)
			}
			after := must[*Draft](t)(s.Begin(noon.Add(time.Minute), nil, nil))
			tt.second.seal(t, after)
			var same []string
			for _, name := range []string{"logs/log.log", "logs/whole.log", "cache/whole.json"} {
				one, err1 := os.Lstat(filepath.Join(before.Dir, name))
				two, err2 := os.Lstat(filepath.Join(after.Dir, name))
				if err1 == nil && err2 == nil && os.SameFile(one, two) {
					same = append(same, name)
				}
			}
			if got := strings.Join(same, " "); got != tt.same {
				t.Errorf("the same files are %q", got)
			}
		})
	}
}

// What a task printed is counted also where its log could not be made, and then a link to an empty one could.
func TestSameAfterALoss(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	w := written{"", "", ""}
	w.seal(t, must[*Draft](t)(s.Begin(noon, nil, nil)))
	d := must[*Draft](t)(s.Begin(noon.Add(time.Minute), nil, nil))
	l, logs := d.Log("log"), filepath.Join(d.Dir, "logs")
	check(t, os.Rename(logs, logs+".away"))
	_, _ = l.Write([]byte("ten bytes\n"))
	check(t, os.Rename(logs+".away", logs))
	got, err := l.Finish()
	if err == nil || got.Bytes != 0 || got.LeftOutBytes != 10 || got.Digest == nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// A run goes on where the one before is removed meanwhile.
func TestSameOutlivesTheRunBefore(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	w := written{"", "what it printed\n", "of a key"}
	w.seal(t, must[*Draft](t)(s.Begin(noon, nil, nil)))
	after := must[*Draft](t)(s.Begin(noon.Add(time.Minute), nil, nil))
	w.seal(t, after)
	last := must[*Draft](t)(s.Begin(noon.Add(2*time.Minute), nil, nil))
	if last.before() != after.Dir {
		t.Error(last.before())
	}
	if gone := must[[]string](t)(s.Prune(func(id string) bool { return id == last.ID })); len(gone) != 2 {
		t.Fatalf("%q were removed", gone)
	}
	w.seal(t, last) // the one before was removed while it ran
	if recordfile.Exists(after.Dir) {
		t.Error(after.Dir)
	}
}
