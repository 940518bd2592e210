package record

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

func auditOf(t *testing.T, s *Sealed) *journal.Report {
	t.Helper()
	root := must[*os.Root](t)(os.OpenRoot(s.Dir))
	defer func() { _ = root.Close() }()
	r := journal.NewReport(root)
	s.Audit(r)
	return r
}

// What a verdict says of files is found to be so, and the file is named that is not.
func TestAudit(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	sealed := recordRun(t, s, []string{"a", "b"})
	if r := auditOf(t, sealed); len(r.Faults) > 0 || len(r.Notes) != 1 || r.Notes[0].File != "graph.json" {
		t.Fatalf("%+v, %+v", r.Faults, r.Notes) // this run has no graph
	}
	for _, c := range []struct {
		file, where string
		damage      func(path string) error
	}{
		{"logs/a.log", "log of task", func(p string) error { return os.WriteFile(p, []byte("hellp\n"), 0o600) }},
		{"logs/b.log", "log of task", os.Remove},
		{"logs/b.log", "log of task", func(p string) error { return os.Symlink("a.log", p) }},
		{"events.jsonl", "line 4", func(p string) error {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			return os.WriteFile(p, b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1], 0o600)
		}},
		{"events.jsonl", "journal of run.json", os.Remove},
	} {
		path := filepath.Join(sealed.Dir, filepath.FromSlash(c.file))
		before := must[[]byte](t)(os.ReadFile(path))
		if strings.HasPrefix(c.where, "log") && c.file == "logs/b.log" {
			_ = os.Remove(path)
		}
		_ = c.damage(path)
		r := auditOf(t, sealed)
		if !slices.ContainsFunc(r.Faults, func(f journal.Fault) bool {
			return f.File == c.file && strings.Contains(f.Where, c.where)
		}) || len(r.Faults) != 1 {
			t.Errorf("%s: %+v", c.file, r.Faults)
		}
		_ = os.Remove(path)
		check(t, os.WriteFile(path, before, 0o600))
	}
	other := *sealed
	other.Tasks = slices.Clone(sealed.Tasks)
	other.Tasks[0].Status = Failed
	if r := auditOf(t, &other); len(r.Faults) != 1 || r.Faults[0].File != "run.json" {
		t.Errorf("a verdict that the journal does not tell: %+v", r.Faults)
	}
	log := *sealed.Tasks[0].Log
	log.Path = "../../../etc/passwd"
	other = *sealed
	other.Tasks = []Task{sealed.Tasks[0], sealed.Tasks[1]}
	other.Tasks[0].Log = &log
	if r := auditOf(t, &other); len(r.Faults) != 1 || r.Faults[0].File != "run.json" || r.Faults[0].Found != log.Path {
		t.Errorf("a path that leads elsewhere: %+v", r.Faults)
	}
}

// The digest of a log is that of its file, however much was left out.
func TestLogDigest(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 70_000, logLimit, logLimit + 1, 3 * logLimit} {
		dir := t.TempDir()
		check(t, os.Mkdir(filepath.Join(dir, "logs"), 0o700))
		l := newLog(dir, func() string { return "" }, "t")
		line := []byte(strings.Repeat("0123456789abcde\n", 100))
		for n := 0; n < size; n += len(line) {
			_, _ = l.Write(line[:min(len(line), size-n)])
		}
		log := must[Log](t)(l.Finish())
		b := must[[]byte](t)(os.ReadFile(filepath.Join(dir, "logs", "t.log")))
		if log.Digest == nil || *log.Digest != recordfile.Digest(b) {
			t.Errorf("%d bytes: digest %v of %d bytes, the file has %s", size, log.Digest, len(b), recordfile.Digest(b))
		}
	}
}

// The graph is anchored too.
func TestGraphDigest(t *testing.T) {
	t.Parallel()
	_, d := begin(t)
	check(t, d.Graph([]Node{{Name: "a", Fingerprint: "sha256:x"}}))
	sealed := must[*Sealed](t)(d.Seal(Run{Status: Passed}))
	if r := auditOf(t, sealed); len(r.Faults)+len(r.Notes) > 0 {
		t.Fatalf("%+v, %+v", r.Faults, r.Notes)
	}
	path := filepath.Join(sealed.Dir, "graph.json")
	b := must[[]byte](t)(os.ReadFile(path))
	check(t, os.WriteFile(path, bytes.Replace(b, []byte("sha256:x"), []byte("sha256:y"), 1), 0o600))
	if r := auditOf(t, sealed); len(r.Faults) != 1 || r.Faults[0].File != "graph.json" {
		t.Errorf("%+v", r.Faults)
	}
}

// What version 1 wrote before there were digests has no faults, and it is said what was not checked.
func TestAuditOfVersion1(t *testing.T) {
	t.Parallel()
	s := &Store{Root: "testdata/v1", Dir: "testdata/v1/async"}
	r := auditOf(t, must[*Sealed](t)(s.Find("20261121T024000Z-8000")))
	if len(r.Faults) > 0 || len(r.Notes) != 3 {
		t.Errorf("%+v, %+v", r.Faults, r.Notes)
	}
}
