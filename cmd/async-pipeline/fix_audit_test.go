package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/runaudit"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

const auditedPipeline = `
task "build" {
  run = ["echo", "built"]
}
task "check" {
  depends_on = [task.build]
  run        = ["sh", "-c", "echo looking; grep -qx hello greeting.txt"]
  on_fail "run" {
    run = ["echo", "it failed"]
  }
  on_fail "agent" {
    use    = agent.fixer
    prompt = "Be brief."
    budget {
      attempts   = 1
      wall_clock = "2m"
    }
  }
}
agent "fixer" {
  command = ["sh", "fixer.sh"]
}
`

const auditedAgent = `
cat >/dev/null
echo hello >greeting.txt
echo '{"outcome": "fixed", "summary": "It says hello.", "root_cause": "It said goodbye."}'
`

// healedProject is a project with a failed run, a verified fix that is applied, and everything that is recorded of
// them.
func healedProject(t *testing.T) *victim {
	t.Helper()
	v := emptyVictim(t)
	v.write(t, map[string]string{"PIPELINE.hcl": auditedPipeline, "fixer.sh": auditedAgent, "greeting.txt": "goodbye\n"})
	commitAll(t, v.dir)
	must(t, os.WriteFile(filepath.Join(v.dir, "notes.txt"), []byte("not committed\n"), 0o600))
	if code, printed := v.run(t, "run", "check"); code != 1 || !strings.Contains(printed, "verified") {
		t.Fatalf("exit code %d\n%s", code, printed)
	}
	if code, printed := v.run(t, "fix", "apply", "check"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, printed)
	}
	return v
}

// Whatever byte of a real record is flipped, and whatever line or file is taken away, audit names the file.
func TestAuditFindsWhatWasTampered(t *testing.T) {
	t.Parallel()
	v := healedProject(t)
	store := record.At(inMemory(t, v.dir))
	ids, err := store.IDs()
	must(t, err)
	id := ids[0]
	dir := filepath.Join(store.Dir, "runs", id)
	audit := func() runaudit.Audited {
		a, err := runaudit.Audit(store, id, "")
		must(t, err)
		return a
	}
	if a := audit(); len(a.Faults) != 0 || len(a.Notes) != 0 || len(a.Fixes) != 1 {
		t.Fatalf("before anything was touched: %+v", a)
	}

	var files []string
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); err == nil && !e.IsDir() && rel != "maker.json" {
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	}))
	for _, must := range []string{"run.json", "graph.json", "events.jsonl", "logs/check.log", "logs/build.log", "context/check.json", "fixes/events.jsonl", "fixes/check.hook-1.log", "fixes/check.json", "fixes/check.patch", "fixes/check.state.jsonl", "fixes/check.transcript.jsonl", "fixes/check/base.json", "fixes/check/attempt-1.patch"} {
		if !slices.Contains(files, must) {
			t.Errorf("%s was not recorded: %q", must, files)
		}
	}
	every := sweepFull()
	tried := 0
	for _, file := range files {
		path := filepath.Join(dir, filepath.FromSlash(file))
		text, err := os.ReadFile(path)
		must(t, err)
		try := func(what string, with []byte) {
			t.Helper()
			tried++
			if with == nil {
				must(t, os.Remove(path))
			} else {
				must(t, os.WriteFile(path, with, 0o600))
			}
			a := audit()
			must(t, os.WriteFile(path, text, 0o600))
			whole := strings.TrimSuffix(file, ".end") // of the two, nobody knows which was changed
			if !slices.ContainsFunc(a.Faults, func(f journal.Fault) bool { return f.File == file || f.File == whole }) {
				t.Errorf("%s: %s: audit says %+v", file, what, a.Faults)
			}
		}
		try("taken away", nil)
		try("one byte more", append(slices.Clone(text), 'x'))
		for n, i := range bytesToFlip(text, every) {
			if testing.Short() && n%8 != 0 {
				continue
			}
			flipped := slices.Clone(text)
			flipped[i] ^= 1
			try(fmt.Sprintf("byte %d (%q) flipped", i, text[i]), flipped)
		}
		if !strings.HasSuffix(file, ".jsonl") && !strings.HasSuffix(file, ".log") {
			continue
		}
		lines := bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
		for i := range lines {
			if len(text) > 0 {
				less := bytes.Join(append(slices.Clone(lines[:i]), lines[i+1:]...), nil)
				if i < len(lines)-1 {
					less = append(less, '\n')
				}
				try(fmt.Sprintf("without line %d", i+1), append([]byte{}, less...))
			}
		}
	}
	if a := audit(); len(a.Faults) != 0 {
		t.Errorf("after all was put back: %+v", a.Faults)
	}

	// What people decided has a second trace: to take it away with the end file, or to write that anew, does not
	// hide it.
	state := filepath.Join(dir, "fixes", "check.state.jsonl")
	for what, do := range map[string]func(){
		"taken away with its end": func() { must(t, errors.Join(os.Remove(state), os.Remove(state+".end"))) },
		"cut, its end written anew": func() {
			must(t, os.WriteFile(state, nil, 0o600))
			must(t, os.WriteFile(state+".end", []byte(`{"lines":0,"head":null}`+"\n"), 0o600))
		},
	} {
		text, err := os.ReadFile(state)
		must(t, err)
		end, err := os.ReadFile(state + ".end")
		must(t, err)
		do()
		if a := audit(); len(a.Faults) != 1 || a.Faults[0].File != "fixes/check.state.jsonl" || a.Faults[0].Expected != "decision 1 (applied)" {
			t.Errorf("decisions %s: %+v", what, a.Faults)
		}
		must(t, errors.Join(os.WriteFile(state, text, 0o600), os.WriteFile(state+".end", end, 0o600)))
	}
	t.Logf("%d ways", tried)
}

// inMemory is a copy of the records of a project where a thousand writes take no time, if there is such a place.
func inMemory(t *testing.T, project string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "audit-test-*")
	if err != nil {
		return project
	}
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	must(t, os.CopyFS(filepath.Join(dir, ".async"), os.DirFS(filepath.Join(project, ".async"))))
	return dir
}

// bytesToFlip are one byte of every name and value of a JSON text and of every line, or every byte.
func bytesToFlip(text []byte, every bool) []int {
	var all []int
	if every {
		for i := range text {
			all = append(all, i)
		}
		return all
	}
	if len(text) > 0 {
		all = append(all, 0, len(text)-1)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) || err != nil {
			break
		}
		at := int(dec.InputOffset()) - 1
		if s, ok := token.(string); ok && s != "" {
			at-- // the quote
		}
		all = append(all, at)
	}
	for i, b := range text {
		if b == '\n' {
			all = append(all, i)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
