package task

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// tree is the box of a task in the tree.
var tree = sandbox.Box{Tier: sandbox.None, Secrets: true}

func argv(words ...string) pipeline.Command {
	c := pipeline.Command{Argv: []pipeline.Text{}}
	for _, w := range words {
		c.Argv = append(c.Argv, pipeline.Text{Value: w})
	}
	return c
}

func shell(text string) pipeline.Command {
	return pipeline.Command{Shell: pipeline.Text{Value: text}}
}

// runner is a Runner of these tasks in a new folder.
func runner(t testing.TB, tasks ...*pipeline.Task) *Runner {
	t.Helper()
	return &Runner{
		Config:  &pipeline.Config{Root: t.TempDir(), Tasks: tasks},
		Environ: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/me", "USER=me"},
		Redact:  new(redact.Set),
	}
}

// environment returns what a task sees in a box, and what is withheld from it.
func environment(r *Runner, t *pipeline.Task, box sandbox.Box) (env, withheld []string, err error) {
	return r.environment(box.At(r.Config.Root), t, box)
}

// check ends the test where there is an error.
func check(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func str(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

func TestRunTask(t *testing.T) {
	t.Parallel()
	secret := pipeline.Text{Value: "hunter-2-hunter-2", Secrets: []string{"TOKEN"}}
	unset := pipeline.Text{Secrets: []string{"NPM_TOKEN"}, Missing: []string{"NPM_TOKEN"}}
	sealed := sandbox.Box{Tier: sandbox.None}
	tests := []struct {
		name   string
		task   pipeline.Task
		box    sandbox.Box
		status string
		code   int // -1: null
		signal string
		says   string // in Error; "null" for none
		out    string // in the output
	}{
		{"argv", pipeline.Task{Run: argv("printf", "%s|", "a b", "$HOME", "")}, tree, "passed", 0, "null", "null", "a b|$HOME||"},
		{"shell", pipeline.Task{Run: shell("echo $HOME | tr a-z A-Z")}, tree, "passed", 0, "null", "null", "/HOME/ME\n"},
		{"shell ends at the first failure", pipeline.Task{Run: shell("false\necho on")}, tree, "failed", 1, "null", "null", ""},
		{"shell refuses an unset variable", pipeline.Task{Run: shell("echo $NOT_SET")}, tree, "failed", 2, "null", "null", "NOT_SET"},
		{"exit code", pipeline.Task{Run: shell("exit 75")}, tree, "failed", 75, "null", "null", ""},
		{"stdin is empty", pipeline.Task{Run: argv("cat")}, tree, "passed", 0, "null", "null", ""},
		{"order of the two streams", pipeline.Task{Run: shell("for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done")}, tree, "passed", 0, "null", "null", "o1\ne1\no2\ne2\no3\ne3\no4\ne4\no5\ne5\n"},
		{"dir", pipeline.Task{Dir: "sub/dir", Run: shell("pwd")}, tree, "passed", 0, "null", "null", "/sub/dir\n"},
		{"dir is missing", pipeline.Task{Dir: "none", Run: shell("pwd")}, tree, "failed", -1, "null", "none, which does not exist", ""},
		{"dir is a file", pipeline.Task{Dir: "file", Run: shell("pwd")}, tree, "failed", -1, "null", "file, which is not a folder", ""},
		{"dir outside", pipeline.Task{Dir: "../..", Run: shell("pwd")}, tree, "failed", -1, "null", "not inside the root", ""},
		{"signal", pipeline.Task{Run: shell("kill -KILL $$")}, tree, "failed", 137, "SIGKILL", "null", ""},
		{"timeout", pipeline.Task{Run: shell("echo begun; exec sleep 600"), Timeout: 5 * time.Second}, tree, "timed_out", 124, "SIGTERM", "null", "begun\n"},
		{"no such program", pipeline.Task{Run: argv("no-such-program")}, tree, "failed", 127, "null", "no-such-program was not found in PATH", "no-such-program"},
		{"no such path", pipeline.Task{Run: argv("./none.sh")}, tree, "failed", 127, "null", "there is no program", "none.sh"},
		{"not executable", pipeline.Task{Run: argv("./file")}, tree, "failed", 126, "null", "chmod +x", "file"},
		{"a folder", pipeline.Task{Run: argv("./sub")}, tree, "failed", 126, "null", "sub is a folder, not a program: correct run", "sub"},
		{"127 of its own", pipeline.Task{Run: argv("sh", "-c", "exit 127")}, tree, "failed", 127, "null", "null", ""},
		{"no command", pipeline.Task{}, tree, "failed", -1, "null", "has no command", ""},
		{"NUL in argv", pipeline.Task{Run: argv("echo", "a\x00b")}, tree, "failed", -1, "null", "NUL byte", ""},
		{
			"secret in env",
			pipeline.Task{Env: []pipeline.EnvVar{{Name: "T", Text: secret}}, Run: shell(`test "$T" = hunter-2-hunter-2; echo "<$T>"`)},
			tree, "passed", 0, "null", "null", "<[redacted]>\n",
		},
		{
			"secret in argv",
			pipeline.Task{Run: pipeline.Command{Argv: []pipeline.Text{{Value: "echo"}, secret}}},
			tree, "passed", 0, "null", "null", "[redacted]\n",
		},
		{
			"missing secret in env",
			pipeline.Task{Env: []pipeline.EnvVar{{Name: "T", Text: unset}}, Run: shell("touch started")},
			tree, "failed", -1, "null", `task "x" needs the secret NPM_TOKEN, which is not set`, "",
		},
		{
			"missing secret in argv",
			pipeline.Task{Run: pipeline.Command{Argv: []pipeline.Text{unset}}},
			tree, "failed", -1, "null", `task "x" needs the secret NPM_TOKEN, which is not set`, "",
		},
		{
			"missing secret in shell",
			pipeline.Task{Run: pipeline.Command{Shell: unset}},
			tree, "failed", -1, "null", `task "x" needs the secret NPM_TOKEN, which is not set`, "",
		},
		{
			"secret in env, withheld",
			pipeline.Task{Env: []pipeline.EnvVar{{Name: "T", Text: secret}}, Run: shell(`echo "<${T-gone}>"`)},
			sealed, "passed", 0, "null", "null", "<gone>\n",
		},
		{
			"missing secret in env, withheld anyway",
			pipeline.Task{Env: []pipeline.EnvVar{{Name: "T", Text: unset}}, Run: shell("true")},
			sealed, "passed", 0, "null", "null", "",
		},
		{
			"secret in argv, withheld",
			pipeline.Task{Run: pipeline.Command{Argv: []pipeline.Text{{Value: "echo"}, secret}}},
			sealed, "failed", -1, "null", "the secret TOKEN in its command line", "",
		},
		{
			"sensitive value in shell, withheld",
			pipeline.Task{Run: shell("echo hunter-2-hunter-2")},
			sealed, "failed", -1, "null", "the secret TOKEN in its command line", "",
		},
		{
			"our own name in env",
			pipeline.Task{Env: []pipeline.EnvVar{{Name: "ASYNC_PIPELINE_HOOK"}}, Run: shell("true")},
			tree, "failed", -1, "null", "ASYNC_PIPELINE_HOOK", "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.task.Name = "x"
			r := runner(t, &tt.task)
			r.Redact.Add("TOKEN", secret.Value)
			check(t,
				os.MkdirAll(filepath.Join(r.Config.Root, "sub", "dir"), 0o700),
				os.WriteFile(filepath.Join(r.Config.Root, "file"), []byte("text"), 0o600),
			)
			var out bytes.Buffer
			got, err := r.RunTask(t.Context(), r.Config.Root, &tt.task, tt.box, &out)
			check(t, err)
			code := -1
			if got.ExitCode != nil {
				code = *got.ExitCode
			}
			if got.Name != "x" || got.Status != tt.status || code != tt.code || str(got.Signal) != tt.signal || !strings.Contains(str(got.Error), tt.says) {
				t.Errorf("status %s, code %d, signal %s, error %s; want %s, %d, %s, %q", got.Status, code, str(got.Signal), str(got.Error), tt.status, tt.code, tt.signal, tt.says)
			}
			if !strings.Contains(out.String(), tt.out) || strings.Contains(out.String(), secret.Value) {
				t.Errorf("output %q, want %q in it", out.String(), tt.out)
			}
			if started := code >= 0; got.Attempts == 1 != started || got.StartedAt != nil != started || got.DurationMS != nil != started || got.Sandbox != nil != started {
				t.Errorf("started is %v, but: %+v", started, got)
			}
			if _, err := os.Stat(filepath.Join(r.Config.Root, "started")); err == nil {
				t.Error("it was started")
			}
		})
	}
}

func TestProcessesLeft(t *testing.T) {
	t.Parallel()
	task := &pipeline.Task{Name: "x", Run: shell("sleep 60 & sleep 60 & echo done")}
	r := runner(t, task)
	got, err := r.RunTask(t.Context(), r.Config.Root, task, tree, nil)
	if err != nil || got.Status != record.Passed || *got.ProcessesLeft != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

// A program that is asked about itself when nobody wants to know any more is not started, and one that works is ended.
func TestAskAfterTheEnd(t *testing.T) {
	t.Parallel()
	task := &pipeline.Task{Name: "x", Run: shell("true")}
	r := runner(t, task)
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(over) })
	for _, argv := range [][]string{{"sleep", "60"}, {"echo", "1.0"}} {
		if out, err := r.Ask(ctx, task, argv); !errors.Is(err, over) || out != nil {
			t.Errorf("%q: %q, %v", argv, out, err)
		}
	}
}

// After the end of its context a task is cancelled and not started.
func TestRunTaskAfterTheEnd(t *testing.T) {
	t.Parallel()
	task := &pipeline.Task{Name: "x", Run: shell("touch ran"), Retry: pipeline.Retry{Attempts: 3}}
	r := runner(t, task)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := r.RunTask(ctx, r.Config.Root, task, tree, nil)
	if err != nil || got.Status != record.Cancelled || str(got.Reason) != "signal" || got.Attempts != 0 || got.StartedAt != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(r.Config.Root, "ran")); err == nil {
		t.Error("it was started")
	}
}

func TestBoxThatIsRefused(t *testing.T) {
	t.Parallel()
	task := &pipeline.Task{Name: "x", Run: shell("true")}
	r := runner(t, task)
	got, err := r.RunTask(t.Context(), r.Config.Root, task, sandbox.Box{}, nil)
	if err == nil || got.Status != record.Failed || got.Error == nil || got.ExitCode != nil || got.Attempts != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// In View the copy stands at the tree's place: a folder that only the copy has is found there, one that only the tree
// has is not.
func TestFolderOfACopy(t *testing.T) {
	t.Parallel()
	root, copied := t.TempDir(), t.TempDir()
	check(t, os.Mkdir(filepath.Join(root, "old"), 0o700), os.Mkdir(filepath.Join(copied, "new"), 0o700))
	view := sandbox.Box{Tier: sandbox.View, Tree: root, Copy: copied}
	fence := sandbox.Box{Tier: sandbox.Fence, Tree: root, Copy: copied}
	for _, tt := range []struct {
		box       sandbox.Box
		dir, want string
	}{
		{view, "new", filepath.Join(root, "new")},
		{view, "old", ""},
		{view, "", root},
		{fence, "new", filepath.Join(copied, "new")},
		{fence, "old", ""},
	} {
		got, err := workDir(tt.box.At(root), &pipeline.Task{Name: "x", Dir: tt.dir}, tt.box)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s %q: %q, %v; want %q", tt.box.Tier, tt.dir, got, err, tt.want)
		}
	}
}

// A check runs in the copy, at the place where the box shows it, and leaves the tree alone.
func TestRunTaskInACopy(t *testing.T) {
	t.Parallel()
	for _, tier := range []sandbox.Tier{sandbox.Fence, sandbox.View} {
		t.Run(string(tier), func(t *testing.T) {
			t.Parallel()
			task := &pipeline.Task{Name: "x", Dir: "sub", Run: shell("pwd; touch made")}
			r := runner(t, task)
			copied, tmp := t.TempDir(), t.TempDir()
			for _, dir := range []string{r.Config.Root, copied} {
				check(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
			}
			box := sandbox.Box{Tier: tier, Tree: r.Config.Root, Copy: copied, Tmp: tmp}
			var out bytes.Buffer
			got, err := r.RunTask(t.Context(), box.At(r.Config.Root), task, box, &out)
			if errors.Is(err, sandbox.ErrTier) {
				t.Skip(err)
			}
			if err != nil || got.Status != record.Passed || str(got.Sandbox) != string(tier) {
				t.Fatalf("%+v, %v: %s", got, err, out.String())
			}
			if want := filepath.Join(box.At(r.Config.Root), "sub") + "\n"; out.String() != want {
				t.Errorf("it ran in %q, want %q", out.String(), want)
			}
			if _, err := os.Stat(filepath.Join(copied, "sub", "made")); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(r.Config.Root, "sub", "made")); err == nil {
				t.Error("the tree was changed")
			}
		})
	}
}

// What could not be started is recorded as that, and not as a task that ran and ended with 0.
func TestWhatNeverStarted(t *testing.T) {
	t.Parallel()
	gone := t.TempDir()
	for name, tt := range map[string]struct {
		box  sandbox.Box
		says string
	}{
		"a box that cannot be":      {sandbox.Box{Tier: sandbox.Fence, Write: []string{filepath.Join(gone, "none")}}, "no such file"},
		"an unknown tier":           {sandbox.Box{Tier: "full"}, "unknown sandbox tier"},
		"refused before the start":  {sandbox.Box{Tier: sandbox.Fence, Tree: gone + "/tree", Copy: gone, Tmp: gone, Write: []string{filepath.Dir(gone)}}, "holds"},
		"refused by the supervisor": {sandbox.Box{Tier: sandbox.View, Tree: "/proc/none", Copy: gone, Tmp: gone}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := &pipeline.Task{Name: "x", Run: shell("true")}
			r := runner(t, task)
			got, err := r.RunTask(t.Context(), r.Config.Root, task, tt.box, nil)
			neverStarted(t, got, tt.says)
			if err == nil {
				t.Error("no error")
			}
		})
	}
}

func neverStarted(t *testing.T, got record.Task, says string) {
	t.Helper()
	if got.Status != record.Failed || got.ExitCode != nil || got.Attempts != 0 || got.StartedAt != nil || got.DurationMS != nil ||
		got.ProcessesLeft != nil || got.Signal != nil || !strings.Contains(str(got.Error), says) {
		t.Errorf("%+v, error %q, want one with %q", got, str(got.Error), says)
	}
}

// A folder that a link leads out of the root is refused: where the command would work, links resolved as it sees them.
func TestFolderThatLeadsOutside(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	root, copied, outside := filepath.Join(base, "root"), filepath.Join(base, "copy"), filepath.Join(base, "root-outside")
	link := func(to, at string) error { return os.Symlink(to, at) }
	var errs []error
	for _, dir := range []string{root + "/real/deep", copied + "/real/deep", outside} {
		errs = append(errs, os.MkdirAll(dir, 0o700))
	}
	for _, at := range []string{root, copied} {
		errs = append(errs,
			link(outside, at+"/out"), link("../root-outside", at+"/beside"), link("/", at+"/slash"), link("out", at+"/twice"),
			link("real", at+"/in"), link("real/../real/deep", at+"/in2"), link(root+"/real", at+"/home"), link(".", at+"/self"),
		)
	}
	errs = append(errs, link(root, base+"/also"), link("real", copied+"/only"), link(outside, root+"/only"))
	check(t, errs...)
	none := sandbox.Box{Tier: sandbox.None}
	fence := sandbox.Box{Tier: sandbox.Fence, Tree: root, Copy: copied}
	view := sandbox.Box{Tier: sandbox.View, Tree: root, Copy: copied}
	for _, tt := range []struct {
		name   string
		box    sandbox.Box
		dir    string
		inside []string
		out    []string
	}{
		{"the tree", none, root, []string{"", "real", "in", "in2", "home", "self", "self/in"}, []string{"out", "beside", "slash", "twice", "self/out", "slash/tmp", "only"}},
		{"the tree by a link", none, base + "/also", []string{"", "real", "in", "in2", "home", "self"}, []string{"out", "beside", "slash", "twice"}},
		{"a copy beside", fence, copied, []string{"", "real", "in", "only"}, []string{"out", "home"}},
		{"a copy in the tree's place", view, root, []string{"", "real", "in", "home", "only"}, []string{"out", "slash"}},
	} {
		for _, dir := range tt.inside {
			if _, err := workDir(tt.dir, &pipeline.Task{Name: "x", Dir: dir}, tt.box); err != nil {
				t.Errorf("%s, %q: %v", tt.name, dir, err)
			}
		}
		for _, dir := range tt.out {
			r := runner(t)
			task := &pipeline.Task{Name: "x", Dir: dir, Run: shell("true")}
			got, err := r.RunTask(t.Context(), tt.dir, task, tt.box, nil)
			if err != nil || got.Status != record.Failed || got.Attempts != 0 || !strings.Contains(str(got.Error), "leads outside the root") || !strings.Contains(str(got.Error), dir) {
				t.Errorf("%s, %q: %+v %s %v", tt.name, dir, got, str(got.Error), err)
			}
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("nobody listens") }

func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	task := &pipeline.Task{Name: "loud", Run: shell("echo hello")}
	r := runner(t, task)
	got, err := r.RunTask(t.Context(), r.Config.Root, task, tree, broken{})
	if err == nil || got.Status != record.Failed || !strings.Contains(str(got.Error), "nobody listens") {
		t.Errorf("%+v, %v", got, err)
	}
}
