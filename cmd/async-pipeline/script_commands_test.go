// Commands for scripts:
//
//	gitinit [DIR]                 a repository with everything committed, and a user
//	treedigest FILE [DIR]         digest of a tree (content, modes, links, git's index, refs, configuration) without .async
//	jsonq FILE PATH VALUE         a value in a JSON file, or in stdout; FILE may hold *, the newest match counts
//	jsonenv NAME FILE PATH        sets an environment variable to such a value
//	jsonhas FILE PATH TEXT        the value contains a text
//	globenv NAME PATTERN          sets an environment variable to the newest file that matches
//	waitfile FILE                 waits up to 5 minutes for a file that is not empty
//	waittext FILE REGEXP          waits up to 5 minutes for a line in a file
//	exit CODE PROGRAM [ARG...]    runs a program that must end with this exit code
//	start NAME PROGRAM [ARG...]   starts a program; output in NAME.stdout and NAME.stderr; ended with the script
//	signal NAME|PIDFILE SIGNAL    sends INT, TERM, KILL, STOP, CONT … to a started program or the process in a file
//	finish NAME CODE              waits for a started program, which must end with this exit code
//	gone PIDFILE                  waits up to 2 minutes until the process in a file is no more
//	has FILE REGEXP               like grep, but FILE may hold *, and the newest match counts
//	quiet DIR                     waits up to 3 minutes until no process carries the mark of a hook of DIR's runs
//	copyexample NAME DIR          a copy of examples/NAME
//	warmgo                        fills $GOCACHE with what go test and go vet need of the standard library
//	machinego                     $GOCACHE is that of the machine: for builds of more than warmgo has
//	modproxy PROXY MODULE VERSION DIR  files of a module as a proxy has them
//	model SCENARIO.json           plays a scenario of modeltest in place of the model before; $MODEL_URL is its address
//	asked N                       the model has been asked N times, and each request was legal
//	offers REGEXP WORD...         a shell that completes the last word is offered lines that match; a busy machine may
//	                              need more than the time somebody who pressed a key has, and is asked again
//	silent                        stderr is empty, but for what is said of processes that other tests left: a run ends those of all
//
// In PATH, parts are divided by dots: a field, an index, -1 for the last, len (or a quoted #) for the length, or
// field=value for the first element with it: tasks.name=build.status. A .jsonl file is the list of its lines. VALUE
// is compared with a string as it is and with anything else as JSON (1, true, null, ["a"]). `! jsonq` wants another
// value or none.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

type stateKey struct{}

// A scriptState is the state of one script's commands.
type scriptState struct {
	written map[string]bool // files that treedigest wrote: no part of a tree
	started map[string]*startedCommand
}

type startedCommand struct {
	cmd       *exec.Cmd
	done      chan error
	signalled time.Time // the last time
}

type scriptCommand = func(ts *testscript.TestScript, neg bool, args []string)

func scriptCommands() map[string]scriptCommand {
	return map[string]scriptCommand{
		"gitinit": cmdGitinit, "treedigest": cmdTreedigest, "jsonq": cmdJSONQ, "jsonenv": cmdJSONEnv, "jsonhas": cmdJSONHas,
		"globenv": cmdGlobEnv, "waitfile": cmdWaitfile, "waittext": cmdWaittext, "exit": cmdExit, "start": cmdStart, "signal": cmdSignal,
		"finish": cmdFinish, "gone": cmdGone, "has": cmdHas, "offers": cmdOffers, "silent": cmdSilent, "model": cmdModel, "asked": cmdAsked,
		"warmgo": cmdWarmgo, "machinego": cmdMachinego, "modproxy": cmdModproxy, "copyexample": cmdCopyExample,
		"quiet": cmdQuiet, "referee": cmdReferee, "freeport": cmdFreeport,
	}
}

func state(ts *testscript.TestScript) *scriptState { return ts.Value(stateKey{}).(*scriptState) }

// usage ends a script whose command is not written right.
func usage(ts *testscript.TestScript, neg bool, ok bool, text string) {
	if neg || !ok {
		ts.Fatalf("usage: %s", text)
	}
}

func cmdGitinit(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) <= 1, "gitinit [DIR]")
	dir := "."
	if len(args) == 1 {
		dir = args[0]
	}
	for _, line := range [][]string{
		{"init", "-q", "-b", "main"},
		{"config", "user.name", "Somebody"},
		{"config", "user.email", "somebody@example.com"},
		{"add", "-A"},
		{"commit", "-q", "--allow-empty", "-m", "start"},
	} {
		ts.Check(ts.Exec("git", append([]string{"-C", ts.MkAbs(dir)}, line...)...))
	}
}

func cmdTreedigest(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1 || len(args) == 2, "treedigest FILE [DIR]")
	dir := ts.MkAbs(".")
	if len(args) == 2 {
		dir = ts.MkAbs(args[1])
	}
	out := ts.MkAbs(args[0])
	st := state(ts)
	st.written[out] = true
	var lines []string
	ts.Check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch {
		case rel == ".home" || rel == ".tmp" || d.Name() == ".async" || filepath.ToSlash(rel) == ".git/objects":
			return fs.SkipDir
		case st.written[path], rel == filepath.Join(".git", "index"):
			return nil // the index is asked of git below: a refresh of it is no change
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := ""
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what = fmt.Sprintf("%x", sha256.Sum256(b))
		case info.Mode()&fs.ModeSymlink != 0:
			if what, err = os.Readlink(path); err != nil {
				return err
			}
		}
		lines = append(lines, fmt.Sprintf("%q %v %s", rel, info.Mode(), what))
		return nil
	}))
	if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
		for _, question := range [][]string{{"ls-files", "-s"}, {"for-each-ref"}} {
			cmd := exec.CommandContext(context.Background(), "git", append([]string{"-C", dir, "-c", "core.fsmonitor=false"}, question...)...)
			cmd.Env = append(withoutGit(), "GIT_OPTIONAL_LOCKS=0")
			b, err := cmd.Output()
			ts.Check(err)
			lines = append(lines, string(b))
		}
	}
	// The list itself and not one sum of it: a difference says what it is.
	ts.Check(os.WriteFile(out, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
}

// withoutGit returns the environment without what git sets for its hooks, which names the repository of these tests.
func withoutGit() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "GIT_") })
}

func modTime(ts *testscript.TestScript, file string) time.Time {
	info, err := os.Stat(file)
	ts.Check(err)
	return info.ModTime()
}

// newest is the newest file that a pattern matches. Names of runs made in one second say nothing about their order.
func newest(ts *testscript.TestScript, pattern string) string {
	matches, err := filepath.Glob(ts.MkAbs(pattern))
	ts.Check(err)
	if len(matches) == 0 {
		ts.Fatalf("no file %s", pattern)
	}
	return slices.MaxFunc(matches, func(a, b string) int { return modTime(ts, a).Compare(modTime(ts, b)) })
}

// readJSON reads stdout, stderr, or the file that a pattern matches, the newest of several.
func readJSON(ts *testscript.TestScript, file string) any {
	var text string
	if file == "stdout" || file == "stderr" {
		text = ts.ReadFile(file)
	} else {
		text = ts.ReadFile(newest(ts, file))
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err == nil && !strings.HasSuffix(file, ".jsonl") {
		return v
	}
	list := []any{}
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var line any
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			ts.Fatalf("%s is neither JSON nor lines of it: %v: %s", file, err, lines.Text())
		}
		list = append(list, line)
	}
	return list
}

var errNoValue = errors.New("nothing there")

// pick follows a dotted path.
func pick(v any, path string) (any, error) {
	if path == "." || path == "" {
		return v, nil
	}
	for part := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[part]
			if !ok {
				return nil, fmt.Errorf("%w: %q", errNoValue, part)
			}
			v = next
		case []any:
			next, err := element(at, part)
			if err != nil {
				return nil, err
			}
			v = next
		default:
			return nil, fmt.Errorf("%w: %q of %v", errNoValue, part, v)
		}
	}
	return v, nil
}

func element(list []any, part string) (any, error) {
	if part == "len" || part == "#" {
		return float64(len(list)), nil
	}
	if field, want, ok := strings.Cut(part, "="); ok {
		for _, e := range list {
			if m, ok := e.(map[string]any); ok && sameValue(m[field], want) {
				return e, nil
			}
		}
		return nil, fmt.Errorf("%w: no element with %s", errNoValue, part)
	}
	n, err := strconv.Atoi(part)
	if n < 0 {
		n += len(list)
	}
	if err != nil || n < 0 || n >= len(list) {
		return nil, fmt.Errorf("%w: element %s of %d", errNoValue, part, len(list))
	}
	return list[n], nil
}

func sameValue(v any, want string) bool { return asText(v) == want }

// asText returns a string as it is, and anything else as JSON.
func asText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return asJSON(v)
}

func asJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

func cmdJSONQ(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, false, len(args) == 3, "jsonq FILE PATH VALUE")
	v, err := pick(readJSON(ts, args[0]), args[1])
	if same := err == nil && sameValue(v, args[2]); same == neg {
		ts.Fatalf("%s: %s is %s (%v)", args[0], args[1], asJSON(v), err)
	}
}

func cmdJSONHas(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, false, len(args) == 3, "jsonhas FILE PATH TEXT")
	v, err := pick(readJSON(ts, args[0]), args[1])
	if has := err == nil && strings.Contains(asText(v), args[2]); has == neg {
		ts.Fatalf("%s: %s is %s (%v)", args[0], args[1], asJSON(v), err)
	}
}

func cmdJSONEnv(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 3, "jsonenv NAME FILE PATH")
	v, err := pick(readJSON(ts, args[1]), args[2])
	ts.Check(err)
	ts.Setenv(args[0], asText(v))
}

func cmdGlobEnv(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2, "globenv NAME PATTERN")
	ts.Setenv(args[0], newest(ts, args[1]))
}

func cmdWaitfile(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "waitfile FILE")
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		matches, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, m := range matches {
			if info, err := os.Stat(m); err == nil && info.Size() > 0 {
				return
			}
		}
		if time.Now().After(end) {
			ts.Fatalf("no file %s after 5 minutes", args[0])
		}
	}
}

// cmdFreeport puts a TCP port on which nothing listens into a variable.
func cmdFreeport(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "freeport VAR")
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	ts.Check(err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	ts.Check(errors.Join(err, l.Close()))
	ts.Setenv(args[0], port)
}

func cmdWaittext(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2, "waittext FILE REGEXP")
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		switch {
		case err == nil && re.Match(text):
			return
		case time.Now().After(end):
			ts.Fatalf("no %s in %s after 5 minutes:\n%s", args[1], args[0], text)
		}
	}
}

func exitCode(err error) int {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if st, ok := exit.Sys().(syscall.WaitStatus); ok && st.Signaled() {
			return 128 + int(st.Signal())
		}
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

func cmdExit(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) >= 2, "exit CODE PROGRAM [ARG...]")
	err := ts.Exec(args[1], args[2:]...)
	if got := strconv.Itoa(exitCode(err)); got != args[0] {
		ts.Fatalf("exit code %s, want %s (%v)", got, args[0], err)
	}
}

func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) >= 2, "start NAME PROGRAM [ARG...]")
	stdout, err := os.Create(ts.MkAbs(args[0] + ".stdout"))
	ts.Check(err)
	defer stdout.Close()
	stderr, err := os.Create(ts.MkAbs(args[0] + ".stderr"))
	ts.Check(err)
	defer stderr.Close()
	program := args[1]
	if filepath.Base(program) == program {
		if program, err = lookIn(ts.Getenv("PATH"), program); err != nil {
			ts.Fatalf("%v", err)
		}
	}
	cmd := exec.CommandContext(context.Background(), program, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environment(ts)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = time.Minute
	ts.Check(cmd.Start())
	s := &startedCommand{cmd: cmd, done: make(chan error, 1)}
	state(ts).started[args[0]] = s
	go func() { s.done <- cmd.Wait() }()
	ts.Defer(func() {
		_ = cmd.Process.Kill() // most have ended
	})
}

// environment returns the script's, asked of a program because testscript gives single variables only.
func environment(ts *testscript.TestScript) []string {
	file := filepath.Join(ts.Getenv("TMPDIR"), "environment")
	ts.Check(ts.Exec("sh", "-c", `exec env -0 > "$1"`, "sh", file))
	return strings.Split(strings.TrimRight(ts.ReadFile(file), "\x00"), "\x00")
}

func lookIn(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return filepath.Join(dir, name), nil
		}
	}
	return "", fmt.Errorf("no program %s", name)
}

func cmdFinish(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2 || len(args) == 3, "finish NAME CODE [TIME since its last signal]")
	s := state(ts).started[args[0]]
	if s == nil {
		ts.Fatalf("nothing was started as %s", args[0])
	}
	select {
	case err := <-s.done:
		if got := strconv.Itoa(exitCode(err)); got != args[1] {
			ts.Fatalf("%s: exit code %s, want %s\n%s%s", args[0], got, args[1], ts.ReadFile(args[0]+".stdout"), ts.ReadFile(args[0]+".stderr"))
		}
		if len(args) == 3 {
			most, err := time.ParseDuration(args[2])
			ts.Check(err)
			if took := time.Since(s.signalled); took > most {
				ts.Fatalf("%s: ended %v after its signal, want %v at most", args[0], took, most)
			}
		}
	case <-time.After(5 * time.Minute):
		ts.Fatalf("%s still runs after 5 minutes\n%s%s", args[0], ts.ReadFile(args[0]+".stdout"), ts.ReadFile(args[0]+".stderr"))
	}
}

func pidIn(ts *testscript.TestScript, file string) int {
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(file)))
	ts.Check(err)
	if pid < 2 {
		ts.Fatalf("%s: %d is no process to touch", file, pid)
	}
	return pid
}

func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2, "signal NAME|PIDFILE SIGNAL")
	sig := unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(args[1]), "SIG"))
	if sig == 0 {
		ts.Fatalf("no signal %s", args[1])
	}
	if s := state(ts).started[args[0]]; s != nil {
		s.signalled = time.Now()
		ts.Check(s.cmd.Process.Signal(sig))
		return
	}
	ts.Check(syscall.Kill(pidIn(ts, args[0]), sig))
}

func cmdSilent(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 0, "silent")
	if said := swept.ReplaceAllString(ts.ReadFile("stderr"), ""); said != "" {
		ts.Fatalf("stderr is not empty: %q", said)
	}
}

func cmdGone(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "gone PIDFILE")
	pid := pidIn(ts, args[0])
	for end := time.Now().Add(2 * time.Minute); !dead(pid); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("process %d of %s is still there", pid, args[0])
		}
	}
}

// dead also takes a zombie for gone: whose child it was is not the matter here.
func dead(pid int) bool {
	if err := syscall.Kill(pid, 0); err != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	return bytes.HasPrefix(after, []byte("Z"))
}

func cmdHas(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, false, len(args) == 2, "has FILE REGEXP")
	text := ts.ReadFile(newest(ts, args[0]))
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	if re.MatchString(text) == neg {
		ts.Logf("%s", text)
		ts.Fatalf("%s: %q matches: %v", args[0], args[1], !neg)
	}
}

func cmdOffers(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) > 1, "offers REGEXP WORD...")
	re, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		ts.Check(ts.Exec("async-pipeline", append([]string{"__complete"}, args[1:]...)...))
		if re.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("no offer matches %q", args[0])
		}
	}
}

var models sync.Map // of a script's work folder → *modeltest.Server

func cmdModel(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "model SCENARIO.json")
	scenario, err := modeltest.Load(filepath.Clean(ts.MkAbs(args[0])))
	ts.Check(err)
	s := &modeltest.Server{Scenario: scenario, Key: "key-of-the-script"}
	h := httptest.NewServer(s)
	work := ts.Getenv("WORK")
	models.Store(work, s)
	ts.Defer(func() {
		s.Close()
		h.Close()
		models.CompareAndDelete(work, s)
	})
	ts.Setenv("MODEL_URL", h.URL)
	ts.Setenv("MODEL_KEY", "key-of-the-script")
}

func cmdAsked(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "asked N")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	v, ok := models.Load(ts.Getenv("WORK"))
	if !ok {
		ts.Fatalf("there is no model")
	}
	s := v.(*modeltest.Server)
	if wrong := s.Wrong(); len(wrong) > 0 {
		ts.Fatalf("the model was asked what no provider takes: %v", wrong)
	}
	if got := len(s.Asked()); got != want {
		ts.Fatalf("%s", fmt.Sprintf("the model was asked %d times, want %d", got, want))
	}
}

func cmdCopyExample(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2, "copyexample NAME DIR")
	from, to := filepath.Join("..", "..", "examples", args[0]), ts.MkAbs(args[1])
	ts.Check(filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".async" || d.Name() == "node_modules" { // of somebody who tried it in place
			return fs.SkipDir
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, info.Mode().Perm())
	}))
}

func cmdQuiet(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "quiet DIR")
	runs, err := os.ReadDir(filepath.Join(ts.MkAbs(args[0]), ".async", "runs"))
	ts.Check(err)
	if len(runs) == 0 {
		ts.Fatalf("there is no run in %s", args[0])
	}
	for end := time.Now().Add(endsWithin); ; time.Sleep(50 * time.Millisecond) {
		left, err := processesWith(func(environ, _ []byte) bool {
			return slices.ContainsFunc(runs, func(run fs.DirEntry) bool {
				return bytes.Contains(environ, []byte("\x00ASYNC_PIPELINE_HOOK="+run.Name()+"/"))
			})
		})
		ts.Check(err)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("still alive: %s", strings.Join(left, ", "))
		}
	}
}
