// What --help says is true: every example of every verb is typed, as it is written, in a project with a failed test,
// a proposal and records, and ends as expected. A verb without an example fails the test, so does an example that
// ends with anything but 0 and is not in the table that says why.
package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/verb"
)

// ends are the examples that end with something else than 0.
var ends = map[string]struct {
	code int
	why  string
}{
	"async-pipeline run":                                 {1, "the test fails"},
	"async-pipeline run test lint":                       {1, "the test fails"},
	"async-pipeline run --only test":                     {1, "the test fails"},
	"async-pipeline run test -- -run TestLogin":          {1, "the test fails"},
	"async-pipeline run --resume latest":                 {1, "the test fails"},
	"async-pipeline run --keep-going --trace trace.json": {1, "the test fails"},
	"async-pipeline run --progress json | jq .type":      {1, "the test fails"},

	"async-pipeline explain test --against latest":        {2, "the task has no inputs"},
	"async-pipeline agents probe":                         {2, "no agent CLI is there"},
	"async-pipeline agents probe claude --all":            {2, "no agent CLI is there"},
	"async-pipeline agents probe --all --report probe.md": {2, "no agent CLI is there"},
}

// first is what is done before the examples of a verb.
var first = map[string]string{
	"init":       "rm PIPELINE.hcl",    // it is never written over
	"fix apply":  "export EDITOR=true", // of --edit
	"fix import": "mkdir artifact && mv .async artifact",
	"fix revert": "async-pipeline fix apply", // else there is nothing to take back

	"agents probe": "PATH=$(dirname \"$(command -v async-pipeline)\")", // a minute for each CLI that this machine has
}

// A helped is the project, and its state before each example.
type helped struct {
	root, kept, home, bin string
	run                   string // the id of its one run
}

func TestHelpExamples(t *testing.T) {
	t.Parallel()
	notShort(t)
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash: some examples are for it")
	}
	p := helpedProject(t)
	typed := map[string]bool{}
	for _, c := range everyVerb() {
		lines := examples(c)
		if len(lines) == 0 {
			t.Errorf("%s has no example: add one that somebody would type", c.CommandPath())
		}
		for _, line := range lines {
			if typed[line] {
				continue
			}
			typed[line] = true
			if want := ends[line].code; !p.ends(t, bash, first[verb.Name(c)], line, want) {
				t.Errorf("^ the example of %s must end with %d %s", c.CommandPath(), want, ends[line].why)
			}
		}
	}
	for line := range ends {
		if !typed[line] {
			t.Errorf("no verb has the example %q: take it out of the table", line)
		}
	}
}

// examples are the lines of a verb's example; one that ends with a backslash goes on in the next.
func examples(c *cobra.Command) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(c.Example, "\\\n", ""), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// An example names its program, and no other that not everybody has.
func TestExamplesAreOfThisProgram(t *testing.T) {
	t.Parallel()
	ours := regexp.MustCompile(`(^|<\()async-pipeline( |$)`)
	for _, c := range everyVerb() {
		for _, line := range examples(c) {
			if !ours.MatchString(line) {
				t.Errorf("%s: %q does not call async-pipeline", c.CommandPath(), line)
			}
			args, _, _ := strings.Cut(line, "|")
			if at := strings.Index(args, c.CommandPath()); at < 0 && c.HasParent() && !strings.Contains(args, " "+c.Name()) {
				t.Errorf("%s: %q is of another verb", c.CommandPath(), line)
			}
		}
	}
}

func helpedProject(t *testing.T) *helped {
	t.Helper()
	base := t.TempDir()
	p := &helped{
		root: filepath.Join(base, "project"), kept: filepath.Join(base, "kept"), home: filepath.Join(base, "home"), bin: filepath.Join(base, "bin"),
	}
	for _, dir := range []string{p.bin, filepath.Join(p.home, "tmp")} {
		must(t, os.MkdirAll(dir, 0o700))
	}
	// Not everybody has jq; this one takes JSON lines too.
	must(t, writeProgram(filepath.Join(p.bin, "jq"), []byte("#!/bin/sh\nexec grep '^{.*}$'\n")))
	copied(t, filepath.Join("testdata", "help"), p.root)
	commitAll(t, p.root)
	if !p.ends(t, "sh", "", "async-pipeline run", exit.Failed) {
		t.FailNow()
	}
	runs, err := os.ReadDir(filepath.Join(p.root, ".async", "runs"))
	must(t, err)
	if len(runs) != 1 {
		t.Fatalf("%d runs", len(runs))
	}
	p.run = runs[0].Name()
	copied(t, p.root, p.kept)
	return p
}

// copied copies a folder, with all that the owner of it could see.
func copied(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "cp", "-pR", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// ends types a line in the project as it was in the beginning, and reports whether it ended with the code.
func (p *helped) ends(t *testing.T, shell, before, line string, want int) bool {
	t.Helper()
	if p.run != "" {
		must(t, os.RemoveAll(p.root))
		copied(t, p.kept, p.root)
	}
	script := strings.ReplaceAll(line, "20261121T024000Z-7f3a", p.run)
	if before != "" {
		script = before + "\n" + script
	}
	if shell != "sh" {
		script = "set -o pipefail\n" + script
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, shell, "-c", script)
	c.Dir = p.root
	c.Env = []string{
		"PATH=" + p.bin + ":" + os.Getenv("PATH"), "HOME=" + p.home, "TMPDIR=" + filepath.Join(p.home, "tmp"), "USER=somebody",
		"LANG=C.UTF-8", "TERM=dumb", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
	}
	out, err := c.CombinedOutput()
	if c.ProcessState == nil || c.ProcessState.ExitCode() != want {
		t.Errorf("%s: %v, %s\n%s", line, err, c.ProcessState, out)
		return false
	}
	return true
}

// Every verb has the name that groups gives it, and is made alone where the command line begins with it.
func TestHelpGroups(t *testing.T) {
	t.Parallel()
	names := func(args ...string) (all []string) {
		for _, c := range command((process{args: args}).open()).Commands() {
			all = append(all, c.Name())
		}
		slices.Sort(all)
		return all
	}
	all := []string{"help"}
	for _, g := range groups() {
		for _, v := range g.verbs {
			all = append(all, v.name)
		}
	}
	slices.Sort(all)
	for _, line := range []string{"", "--help", "help run", "rum", "-C x run", "__complete run", "completion bash", "man"} {
		if got := names(strings.Fields(line)...); !slices.Equal(got, all) {
			t.Errorf("%q: %v, want %v", line, got, all)
		}
	}
	for _, line := range []string{"run", "fix apply", "cache verify --help", "--version"} {
		want := []string{strings.TrimPrefix(strings.Fields(line)[0], "--"), "help"}
		slices.Sort(want)
		if got := names(strings.Fields(line)...); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}
