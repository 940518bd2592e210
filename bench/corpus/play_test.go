package corpus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A field is where pairs are played: the folder of the downloads and caches, and the program.
type field struct {
	dir       string
	program   string
	downloads sync.Mutex // two pairs may need the same archive
}

// newFolder returns a field of which the program is not built.
func newFolder(t *testing.T) *field {
	t.Helper()
	dir := os.Getenv("ASYNC_PIPELINE_CORPUS")
	if dir == "" {
		user, err := os.UserCacheDir()
		must(t, err)
		dir = filepath.Join(user, "async-pipeline-corpus")
	}
	for _, name := range []string{"archives", "home", "npm", "work", "cache"} {
		must(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	return &field{dir: dir}
}

func newField(t *testing.T) *field {
	t.Helper()
	f := newFolder(t)
	f.program = filepath.Join(t.TempDir(), "async-pipeline")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", f.program,
		"github.com/async-pipeline/async-pipeline/cmd/async-pipeline")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return f
}

// environ is the environment of a person with a HOME of her own, outside of CI.
func (f *field) environ(more ...string) []string {
	home := filepath.Join(f.dir, "home")
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(f.dir, "cache"),
		"LANG=C.UTF-8", "TERM=dumb",
		"GOCACHE=" + filepath.Join(home, "go-build"), "GOPATH=" + filepath.Join(home, "go"), "GOFLAGS=-modcacherw",
		"GOTOOLCHAIN=local",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"npm_config_cache=" + filepath.Join(f.dir, "npm-cache"),
	}, more...)
}

// A played pair is what came of it.
type played struct {
	pair
	skipped string // why it was not played
	patches []outcome
}

// An outcome is what came of one patch. Kind is empty for the honest repair.
type outcome struct {
	Kind    string   `json:"kind"`
	Verdict string   `json:"verdict"` // a verdict, or the state where there is none
	Reason  string   `json:"reason"`
	Flags   []string `json:"flags"` // rules
	Ratio   float64  `json:"ratio"` // (reproduction + verification) ÷ one run of the check
}

// quiet reports whether the patch is verified and nothing is said of it.
func (o outcome) quiet() bool { return o.Verdict == "verified" && len(o.Flags) == 0 }

// A stage is a pair while it is played.
type stage struct {
	*field
	*pair
	t        *testing.T
	at       string // its folder; the project is below
	packages string // node_modules
}

func (one *played) play(t *testing.T, f *field) {
	skip := func(err error) {
		one.skipped = err.Error()
		t.Skip(err)
	}
	own := map[string]string{"go": "go", "npm": "npm", "debian": "tar"}[one.before.from]
	for _, program := range append(one.needs, own, "git", "sh") {
		if _, err := exec.LookPath(program); err != nil {
			skip(fmt.Errorf("%s is not installed", program))
		}
	}
	s := &stage{field: f, pair: &one.pair, t: t, at: filepath.Join(f.dir, "work", one.name)}
	got := func(v tree, err error) tree {
		if errors.Is(err, errElsewhere) {
			skip(err)
		}
		must(t, err)
		return v
	}
	before := got(f.fetch(t.Context(), one.before))
	after := got(f.fetch(t.Context(), one.after))
	if len(one.install) > 0 {
		var err error
		s.packages, err = f.modules(t.Context(), one.install)
		got(nil, err)
	}
	broken, repaired := one.build(before, after)
	if out, passed := s.checks(broken); passed {
		t.Fatalf(`this is no case: the check passes before the repair
%s`, out)
	}
	patches := []outcome{{}}
	trees := []tree{repaired}
	for _, g := range one.games {
		gamed, err := broken.apply(g.edits)
		must(t, err)
		patches, trees = append(patches, outcome{Kind: g.kind}), append(trees, gamed)
	}
	for i, o := range patches {
		if out, passed := s.checks(trees[i]); !passed {
			t.Errorf(`this is no case: the check fails with the patch %q
%s`, o.Kind, out)
			continue
		}
		if *dry {
			continue
		}
		s.run(broken, trees[i], &o)
		one.patches = append(one.patches, o)
	}
	if !t.Failed() {
		must(t, os.RemoveAll(s.at))
	}
}

// project makes the project anew.
func (s *stage) project(files tree) string {
	s.t.Helper()
	must(s.t, os.RemoveAll(s.at))
	dir := filepath.Join(s.at, "project")
	must(s.t, os.MkdirAll(dir, 0o755))
	must(s.t, files.write(dir))
	if s.packages != "" {
		must(s.t, command(s.t.Context(), dir, "cp", "-R", s.packages, "node_modules"))
	}
	return dir
}

// checks runs the check, without our program, and returns what it printed.
func (s *stage) checks(files tree) (string, bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", s.check)
	cmd.Dir, cmd.Env = s.project(files), s.environ("GOPROXY=off")
	out, err := cmd.CombinedOutput()
	if len(out) > 4000 {
		out = out[len(out)-4000:]
	}
	return string(out), err == nil
}

const pipelineText = `task "check" {
  run = %q
  pass_env = ["GOCACHE", "GOPATH", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN"]
  on_fail "agent" {
    use = agent.scripted
    budget {
      attempts   = 1
      wall_clock = "15m"
    }
  }
}

agent "scripted" {
  command = ["sh", "-eu", %q, %q]
}
`

const agentText = `cat >/dev/null
if [ -f "$1/remove" ]; then while read -r p; do rm "./$p"; done <"$1/remove"; fi
if [ -d "$1/fix" ]; then cp -R "$1/fix/." .; fi
echo '{"outcome": "fixed", "summary": "The check passes.", "root_cause": "There was a fault."}'
`

// run plays one patch through the whole program.
func (s *stage) run(broken, patched tree, o *outcome) {
	t := s.t
	t.Helper()
	dir := s.project(broken)
	written, removed := broken.change(patched)
	must(t, written.write(filepath.Join(s.at, "fix")))
	agent := filepath.Join(s.at, "agent")
	must(t, os.WriteFile(agent, []byte(agentText), 0o600))
	if len(removed) > 0 {
		must(t, os.WriteFile(filepath.Join(s.at, "remove"), []byte(strings.Join(removed, "\n")+"\n"), 0o600))
	}
	// HCL has templates where JSON has none.
	check := strings.NewReplacer("${", "$${", "%{", "%%{").Replace(s.check)
	must(t,
		os.WriteFile(filepath.Join(dir, "PIPELINE.hcl"), fmt.Appendf(nil, pipelineText, check, agent, s.at), 0o600))
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "-A"},
		{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0", "commit", "-qm", "one"},
	} {
		must(t, command(t.Context(), dir, append([]string{"git"}, args...)...))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, "run", "check")
	cmd.Dir, cmd.Env = dir, s.environ("GOPROXY=off")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its processes
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf(`%v, want exit code 1: the task must fail
%s`, err, out)
	}
	runs, err := filepath.Glob(filepath.Join(dir, ".async", "runs", "*", "run.json"))
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs were recorded: %v\n%s", len(runs), err, out)
	}
	var ran record.Run
	readJSON(t, runs[0], &ran)
	var made fix.Fix
	readJSON(t, filepath.Join(filepath.Dir(runs[0]), "fixes", "check.json"), &made)
	o.read(&ran, &made)
	t.Logf("%s: %s %s %v %.1f", o.name(), o.Verdict, o.Reason, o.Flags, o.Ratio)
	for _, g := range made.Flags {
		at := ""
		if g.Path != nil {
			at = *g.Path
		}
		t.Logf("    flag %s %s: %s", g.Rule, at, g.Detail)
	}
}

func (o outcome) name() string {
	if o.Kind == "" {
		return "honest"
	}
	return o.Kind
}

// read takes from the records what came of the patch.
func (o *outcome) read(ran *record.Run, made *fix.Fix) {
	o.Verdict = made.State
	if made.Reason != nil {
		o.Reason = *made.Reason
	}
	if made.Verdict != nil {
		o.Verdict = *made.Verdict
	}
	for _, g := range made.Flags {
		if !slices.Contains(o.Flags, g.Rule) {
			o.Flags = append(o.Flags, g.Rule)
		}
	}
	var checked int64
	if made.Reproduction != nil && made.Reproduction.DurationMS != nil {
		checked += *made.Reproduction.DurationMS
	}
	if made.Verification != nil {
		if made.Verification.Reason != nil {
			o.Reason = *made.Verification.Reason
		}
		if made.Verification.DurationMS != nil {
			checked += *made.Verification.DurationMS
		}
	}
	if len(ran.Tasks) == 1 && ran.Tasks[0].DurationMS != nil && *ran.Tasks[0].DurationMS > 0 {
		o.Ratio = float64(checked) / float64(*ran.Tasks[0].DurationMS)
	}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	must(t, json.Unmarshal(text, into))
}
