// How a case of the two suites is played: a project with real git, an agent that is a program outside of it, and
// the whole program with its hooks on. The tree must stay as it was, and nothing that the agent started may live
// on.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

// The pipeline around a case's run and env.
const (
	suitePipeline = `
task "check" {
  run = %s%s
  on_fail "agent" {
    use = agent.mine
    budget {
      attempts   = 1
      wall_clock = "15m"
    }
  }
}
`
	suiteAgentBlock = `
agent "mine" {
  command = ["sh", "-eu", %q, %q, %q]
}
`
	suiteGo = `
  pass_env = ["GOCACHE", "GOCACHEPROG", "GO_CACHE_COPY_FROM", "GOPATH", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN"]`
)

// suiteAgent is told where its folder is, and what to name the processes by that it leaves behind.
const suiteAgent = `
cat >/dev/null
at=$1 tag=$2
if [ -f "$at/delete" ]; then while read -r p; do rm -r "./$p"; done <"$at/delete"; fi
if [ -d "$at/fix" ]; then cp -R "$at/fix/." .; fi
if [ -f "$at/agent.sh" ]; then sh -eu "$at/agent.sh" "$tag"; fi
echo '{"outcome": "fixed", "summary": "The check passes.", "root_cause": "There was a fault."}'
`

// goLayer gives a case whose build cache is to be warm the machine's to read from, and one of its own to write to:
// nothing is copied, and nothing that a case builds is seen by another. A machine that keeps its cache below /tmp,
// which a check in a copy does not see, builds everything anew.
func (v *victim) goLayer(t *testing.T, warm func() (string, error)) {
	t.Helper()
	machine, err := warm()
	must(t, err)
	self, err := os.Executable()
	must(t, err)
	prog := filepath.Join(v.base, "home", "bin", "go-cache-copy") // HOME is what a check in a copy sees of all this
	must(t, os.MkdirAll(filepath.Dir(prog), 0o700))
	if os.Link(self, prog) != nil { // on another disk
		text, err := os.ReadFile(self)
		must(t, err)
		must(t, writeProgram(prog, text))
	}
	v.env = append(v.env, "GOCACHEPROG="+prog, goCopyFrom+"="+machine)
}

// warmMachine makes sure that the machine's build cache has what a small module needs, and says where it is.
var warmMachine = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "warm-machine")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a left-over is only untidy
	if err := warmGoCache(dir); err != nil {
		return "", err
	}
	return machineCache()
})

// play lets the agent of a case work and returns what was recorded, and what was printed.
func (c *suiteCase) play(t *testing.T) (*fix.Fix, string) {
	t.Helper()
	v := emptyVictim(t)
	at := filepath.Join(v.base, "agent")
	must(t, os.Mkdir(at, 0o700))
	c.equip(t, v)
	c.put(t, "base/", v.dir)
	c.put(t, "fix/", filepath.Join(at, "fix"))
	c.put(t, "delete", filepath.Join(at, "delete"))
	c.put(t, "agent.sh", filepath.Join(at, "agent.sh"))
	must(t, os.WriteFile(filepath.Join(at, "agent"), []byte(suiteAgent), 0o600))
	c.putPipeline(t, v.dir, fmt.Sprintf(suiteAgentBlock, filepath.Join(at, "agent"), at, v.tag))
	c.put(t, "setup.sh", filepath.Join(v.base, "setup.sh"))
	if _, err := os.Stat(filepath.Join(v.base, "setup.sh")); err == nil {
		setup := exec.CommandContext(t.Context(), "sh", "-eu", filepath.Join(v.base, "setup.sh"))
		setup.Dir, setup.Env = v.dir, v.env
		if out, err := setup.CombinedOutput(); err != nil {
			t.Fatalf("setup.sh: %v\n%s", err, out)
		}
	}
	commitAll(t, v.dir)

	before, index := v.tree(t), v.git(t, "ls-files", "-s")
	code, printed := v.run(t, "run", "check")
	if code != 1 {
		t.Fatalf("exit code %d, want 1: the task must fail\n%s", code, printed)
	}
	after := v.tree(t)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if is, ok := after[name]; !ok || is != before[name] {
			t.Errorf("%s of the tree changed, or is gone", name)
		}
	}
	if status := v.git(t, "status", "--porcelain"); status != "" {
		t.Errorf("the tree is not as it was committed:\n%s", status)
	}
	if v.git(t, "ls-files", "-s") != index {
		t.Error("git's index changed")
	}
	if left := v.alive(t, 0); len(left) > 0 {
		t.Errorf("still alive: %v", left)
	}

	runs := v.runs(t)
	if len(runs) != 1 {
		t.Fatalf("%d runs were recorded\n%s", len(runs), printed)
	}
	fixes := filepath.Join(v.dir, ".async", "runs", runs[0], "fixes")
	text, err := os.ReadFile(filepath.Join(fixes, "check.json"))
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	f := &fix.Fix{}
	must(t, json.Unmarshal(text, f))
	c.heard(t, f, fixes)
	return f, printed
}

// heard checks that the agent did its work, and said what it was to say.
func (c *suiteCase) heard(t *testing.T, f *fix.Fix, fixes string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(fixes, "check", "attempt-1.raw.jsonl"))
	if err != nil || len(f.Attempts) == 0 || f.Attempts[0].ExitCode == nil || *f.Attempts[0].ExitCode != 0 {
		t.Fatalf("the agent did not do its work: %v\n%s\nthe record: %s", err, raw, inShort(f))
	}
	for _, want := range c.head["said"] {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the agent did not say %q:\n%s", want, raw)
		}
	}
}

// putPipeline writes the pipeline of a case, or adds the agent to its own.
func (c *suiteCase) putPipeline(t *testing.T, dir, agent string) {
	t.Helper()
	at := filepath.Join(dir, "PIPELINE.hcl")
	text, err := os.ReadFile(at)
	if err != nil {
		more := ""
		if c.needs("go") {
			more = suiteGo
		}
		for _, env := range c.head["env"] {
			more += "\n  env = " + env
		}
		text = fmt.Appendf(nil, suitePipeline, c.head["run"][0], more)
	}
	must(t, os.WriteFile(at, append(text, agent...), 0o644))
}

// equip gives the environment of a case what its programs need.
func (c *suiteCase) equip(t *testing.T, v *victim) {
	t.Helper()
	if c.needs("go") {
		if c.warm() {
			v.goLayer(t, warmMachine)
		}
		v.env = append(v.env, "GOCACHE="+filepath.Join(v.base, "home", "go-build"), "GOPATH="+filepath.Join(v.base, "home", "go"), "GOTOOLCHAIN=local", "GOPROXY=off", "GOFLAGS=-modcacherw -vet=off")
	}
	for program, folder := range map[string]func() (string, error){"python3": realPython, "cargo": realCargo} {
		if !c.needs(program) {
			continue
		}
		dir, err := folder()
		must(t, err)
		for i, kv := range v.env {
			if path, ok := strings.CutPrefix(kv, "PATH="); ok {
				v.env[i] = "PATH=" + dir + string(filepath.ListSeparator) + path
			}
		}
	}
}

// realCargo is the folder of the toolchain itself: rustup's stand-in looks for it in HOME.
var realCargo = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("rustc", "--print", "sysroot").Output()
	return filepath.Join(strings.TrimSpace(string(out)), "bin"), err
})

// realPython is the folder of the interpreter itself: a version manager's stand-in of that name takes longer than
// the checks.
var realPython = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	return filepath.Dir(strings.TrimSpace(string(out))), err
})
