package agentprobe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
)

// A Result is how one cell went with one CLI.
type Result struct {
	CLI, Version string // Version is empty where it is not known
	Cell         Cell
	Kind         failure.Kind // that was seen; empty: success
	Evidence     string
	State        string // of the fix
	Requests     int    // that the provider answered
	DurationMS   int64  // of the attempt
	Faults       []string
	Output       string // of the run
}

// key is the provider's key: it may be found nowhere.
const key = "canary-key-0123456789abcdef"

// Find returns the path of a CLI in the folders of a PATH, empty if it is in none.
func Find(name, path string) string {
	for _, dir := range filepath.SplitList(path) {
		at := filepath.Join(dir, name)
		if info, err := os.Stat(at); err == nil && filepath.IsAbs(dir) && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return at
		}
	}
	return ""
}

// TempDir makes a folder for a Stage. Where this process is killed, gc removes it.
func TempDir() (string, error) { return os.MkdirTemp("", process.TempName(sandbox.TierProbe)) }

// A Stage is where cells are played.
type Stage struct {
	Dir  string // an empty folder; what is played is left in it
	Path string // a PATH with the CLI
	// Run carries out `run` in a folder and returns its exit code.
	Run func(dir string, environ []string, out io.Writer) int
}

// Play plays one cell. The error means that it could not be played.
func (s Stage) Play(c CLI, cell Cell) (Result, error) {
	r := Result{CLI: c.Name, Cell: cell}
	provider := &modeltest.Repairer{
		Tool: c.tool, Argument: c.argument, Command: "echo hello > greeting.txt; env; " + cell.command + " true",
		Answer: control, First: c.turn(cell.first), Then: c.turn(cell.then), Once: cell.once, Key: key,
	}
	url, stop, err := modeltest.Serve(provider)
	if err != nil {
		return r, err
	}
	if cell.closed {
		stop()
	} else {
		defer stop()
	}
	root, environ, err := s.prepare(c, cell, url)
	if err != nil {
		return r, err
	}
	before, err := os.ReadFile(filepath.Join(root, "greeting.txt"))
	if err != nil {
		return r, err
	}
	var out bytes.Buffer
	code := s.Run(root, environ, &out)
	r.Output = out.String()
	if code != 1 {
		return r, fmt.Errorf("the run ended with exit code %d, and 1 is right", code)
	}
	f, err := proposal(root)
	if err != nil {
		return r, err
	}
	r.read(f)
	fault := func(format string, args ...any) { r.Faults = append(r.Faults, fmt.Sprintf(format, args...)) }
	if !slices.Contains(cell.Kinds, r.Kind) {
		fault("expected %s, and it ended with %s (%s)", Words(cell.Kinds...), Words(r.Kind), r.Evidence)
	}
	a := f.Attempts[0]
	if rescued := a.Rescue != nil; rescued != cell.repaired {
		fault("the work is kept: %t, and %t is right", rescued, cell.repaired)
	}
	if verified := f.Verdict != nil && *f.Verdict == "verified"; cell.repaired && !verified {
		fault("the repair was not verified: %s", f.State)
	}
	if a.Metered == nil || !*a.Metered {
		fault("it was not metered")
	}
	counted := 0
	for _, a := range f.Attempts {
		if a.Requests != nil {
			counted += *a.Requests
		}
		if a.Finalizer != nil && a.Finalizer.Requests != nil {
			counted += *a.Finalizer.Requests
		}
	}
	var shown bool
	if r.Requests, shown = provider.Asked(); counted < r.Requests {
		fault("%d requests of %d were counted", counted, r.Requests)
	}
	if shown {
		fault("a command of the model could read the key")
	}
	if err := provider.Wrong(); err != nil {
		fault("a provider would refuse its requests: %v", err)
	}
	if after, err := os.ReadFile(filepath.Join(root, "greeting.txt")); err != nil || !bytes.Equal(before, after) {
		fault("the tree was changed")
	}
	left, err := processesWith("HOME=" + s.Dir)
	if len(left) > 0 {
		fault("it left processes: %s", english.List(left, 5))
	}
	found, err2 := filesWith(s.Dir, key)
	if len(found) > 0 {
		fault("the key is in %s", english.List(found, 5))
	}
	return r, errors.Join(err, err2)
}

// prepare makes the project that is repaired and a HOME, and returns the project's folder and the environment.
func (s Stage) prepare(c CLI, cell Cell, url string) (root string, environ []string, err error) {
	root = filepath.Join(s.Dir, "proj")
	home, bin := filepath.Join(s.Dir, "home"), filepath.Join(s.Dir, "path", "bin")
	for _, dir := range []string{root, bin, filepath.Join(home, "tmp")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", nil, err
		}
	}
	if c.Name != "claude" && c.Name != "gemini" {
		url += "/v1"
	}
	files := map[string]string{
		filepath.Join(root, "greeting.txt"): "goodbye\n",
		filepath.Join(root, "PIPELINE.hcl"): fmt.Sprintf(pipelineFile, cmp.Or(cell.wall, "10m"), c.Name, c.model, url),
	}
	if cell.wrap != "" {
		files[filepath.Join(bin, c.Name)] = "#!/bin/sh\nREAL=" + shelltext.Quote(Find(c.Name, s.Path)) +
			"\n[ \"$1\" = --version ] && exec \"$REAL\" \"$@\"\n" + cell.wrap
	}
	for name, text := range files {
		mode := fs.FileMode(0o600)
		if filepath.Dir(name) == bin {
			mode = 0o700
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			return "", nil, err
		}
	}
	return root, []string{
		"PATH=" + bin + string(filepath.ListSeparator) + s.Path, "HOME=" + home, "TMPDIR=" + filepath.Join(home, "tmp"),
		"LANG=C.UTF-8", "XDG_CACHE_HOME=" + filepath.Join(home, "cache"), "PROBE_KEY=" + key,
	}, nil
}

const pipelineFile = `task "check" {
  run = ["grep", "-qx", "hello", "greeting.txt"]
  on_fail "agent" {
    use = agent.probed
    budget {
      attempts   = 1
      wall_clock = %q
      tokens     = 1000000
    }
  }
}
agent "probed" {
  cli      = %q
  model    = %q
  api_key  = secret("PROBE_KEY")
  base_url = %q
}
`

// proposal reads the only fix of a project, which has an attempt.
func proposal(root string) (*fix.Fix, error) {
	records, err := filepath.Glob(filepath.Join(root, ".async", "runs", "*", "fixes", "check.json"))
	if err != nil || len(records) != 1 {
		return nil, errors.Join(err, fmt.Errorf("there are %s of a fix", english.Count(len(records), "record")))
	}
	text, err := os.ReadFile(records[0])
	if err != nil {
		return nil, err
	}
	f := &fix.Fix{}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, err
	}
	if len(f.Attempts) == 0 {
		reason := f.State
		if f.Reason != nil {
			reason = *f.Reason
		}
		return nil, fmt.Errorf("the CLI was not asked: %s", reason)
	}
	return f, nil
}

// read takes what the record says of the first attempt.
func (r *Result) read(f *fix.Fix) {
	a := f.Attempts[0]
	if a.Kind != nil {
		r.Kind = failure.Kind(*a.Kind)
	}
	if a.Evidence != nil {
		r.Evidence = *a.Evidence
	}
	if a.CLIVersion != nil {
		r.Version = *a.CLIVersion
	}
	r.State, r.DurationMS = f.State, a.DurationMS
}

// Words returns kinds for a person.
func Words(kinds ...failure.Kind) string {
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = cmp.Or(string(k), "success")
	}
	return strings.Join(words, " or ")
}

// processesWith lists the processes whose environment has a variable that begins like this.
func processesWith(variable string) (found []string, err error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		environ, _ := os.ReadFile(filepath.Join(dir, "environ")) // what ended meanwhile, or is a zombie, has none
		if bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+variable)) {
			args, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			found = append(found, filepath.Base(dir)+" "+string(bytes.ReplaceAll(args, []byte{0}, []byte{' '})))
		}
	}
	return found, err
}

// filesWith lists the regular files below dir that have a text in them.
func filesWith(dir, text string) (found []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			found = append(found, path)
		}
		return err
	})
	return found, err
}
