package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const top = "../.." // of the repository, from here

func readme(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(top, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// story is the shell commands of a section of the README, in order.
func story(t *testing.T, section string) []string {
	t.Helper()
	_, text, ok := strings.Cut(readme(t), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("the README has no section %q", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	var lines []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// secondMinute is the README's next section, in the same clone: the native agent and the scripted model, here at a port that is free.
func secondMinute(t *testing.T, clone string, env []string, run func(string, int) string, said func(string, ...string)) {
	t.Helper()
	commands := story(t, "The second minute: a model")
	if len(commands) != 4 {
		t.Fatalf("the second minute has %d commands: %q", len(commands), commands)
	}
	serve, ok := strings.CutSuffix(commands[0], " &")
	if !ok {
		t.Fatalf("the model does not run beside: %q", commands[0])
	}
	// go run would leave its child behind when it is ended.
	binary := filepath.Join(t.TempDir(), "scripted-model")
	run("go build -o "+binary+" ./cmd/scripted-model", 0)
	serve = strings.Replace(serve, "go run ./cmd/scripted-model", binary+" --listen 127.0.0.1:0", 1)
	c := exec.CommandContext(t.Context(), strings.Fields(serve)[0], strings.Fields(serve)[1:]...)
	c.Dir, c.Env, c.Stderr = clone, env, os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := regexp.MustCompile(`http://[0-9.:]+`).FindString(line)
	said(run(commands[1]+" --var base_url="+url, 1), "connection lost, retry 1/5", "Proposed fix for test: verified", "Add stays within the day")
}

// From a bare clone to an applied fix, with the commands of the README and no other.
func TestReadmeStory(t *testing.T) {
	t.Parallel()
	commands := story(t, "Sixty seconds")
	if len(commands) != 5 {
		t.Fatalf("the story has %d commands: %q", len(commands), commands)
	}
	clone, home := cloneHere(t), t.TempDir()
	if err := warmGoCache(filepath.Join(home, ".cache", "go-build")); err != nil {
		t.Fatal(err)
	}
	goes, err := goEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8", "GOTOOLCHAIN=local", "GOPROXY=off", "GOFLAGS="}, goes...)
	run := func(line string, code int) string {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		c := exec.CommandContext(ctx, "sh", "-c", line)
		c.Dir, c.Env = clone, env
		out, err := c.CombinedOutput()
		if got := exitCode(err); got != code {
			t.Fatalf("%s: exit code %d, want %d\n%s", line, got, code, out)
		}
		return string(out)
	}
	said := func(out string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not in\n%s", want, out)
			}
		}
	}
	source := filepath.Join(clone, "examples", "go-bug", "cart", "cart.go")
	before, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}

	out := run(commands[0], 1)
	said(out, "Proposed fix for test: verified", "This run is recorded as failed")
	last := out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:]
	if !strings.HasPrefix(last, "./async-pipeline -C examples/go-bug fix apply ") {
		t.Errorf("the last line is not the command that applies the fix: %q", last)
	}
	said(run(commands[1], 0), "Root cause", "verified")
	if after, err := os.ReadFile(source); err != nil || string(after) != string(before) {
		t.Fatalf("the tree changed before fix apply: %v", err)
	}
	said(run(commands[2], 0), "examples/go-bug/cart/cart.go")
	said(run(commands[3], 0), "2 passed")
	said(run(last, 0), "already applied")
	secondMinute(t, clone, env, run, said)
	for line := range strings.Lines(run("git status --porcelain", 0)) {
		if line != " M examples/go-bug/cart/cart.go\n" {
			t.Errorf("besides the fix there is now %q", line)
		}
	}
	// The fifth is the command that runs these tests; .ci/run calls it.
	ci, err := os.ReadFile(filepath.Join(top, ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(ci), "\n"+commands[4]+"\n") {
		t.Errorf(".ci/run does not call %q", commands[4])
	}
}

// Each promise names its scripts; each script that is named exists, and is one that TestScripts runs.
func TestReadmePromises(t *testing.T) {
	t.Parallel()
	_, table, ok := strings.Cut(readme(t), "\n## Promises, and the scripts that hold them\n")
	if !ok {
		t.Fatal("the README has no table of promises")
	}
	rows := 0
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| promise") {
			continue
		}
		rows++
		scripts := regexp.MustCompile("`([^`]+\\.txtar)`").FindAllStringSubmatch(line, -1)
		if len(scripts) == 0 {
			t.Errorf("no script holds: %s", line)
		}
		for _, s := range scripts {
			text, err := os.ReadFile(filepath.Join("testdata", "script", s[1]))
			if err != nil {
				t.Error(err)
			} else if !strings.Contains(string(text), " async-pipeline ") {
				t.Errorf("%s does not start the program", s[1])
			}
		}
	}
	if rows < 15 {
		t.Errorf("only %d promises found", rows)
	}
}

// cloneHere is a fresh clone of this repository as it stands, committed or not.
func cloneHere(t *testing.T) string {
	t.Helper()
	clone := t.TempDir()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-co", "--exclude-standard", "-z")
	list.Dir, list.Env = top, withoutGit()
	out, err := list.Output()
	if err != nil {
		t.Skipf("this is no git checkout: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		from, to := filepath.Join(top, name), filepath.Join(clone, name)
		info, err := os.Lstat(from)
		if err != nil {
			continue // deleted and not yet committed
		}
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, b, info.Mode().Perm())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "-qm", "x"}} {
		c := exec.CommandContext(t.Context(), "git", args...)
		c.Dir, c.Env = clone, append(withoutGit(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return clone
}
