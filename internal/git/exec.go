// How git is called: argv only, an environment built from nothing, no configuration that runs code.

package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Limits of one call. A question about names or refs is short; one that reads contents or walks history may be long.
const (
	short = 2 * time.Minute
	long  = 10 * time.Minute
)

// A call is one git process. Its stdin is /dev/null unless it is given.
type call struct {
	dir     string
	args    []string
	stdin   []byte
	env     []string  // added last
	config  []setting // overrides, after the fixed ones
	timeout time.Duration
	magic   bool // paths are pathspecs, not names
}

// A setting is one key of a configuration and its value.
type setting = [2]string

// safeConfig switches off everything in anybody's configuration that would run a program.
var safeConfig = []setting{
	{"core.fsmonitor", "false"},
	{"core.hooksPath", "/dev/null"},
	{"core.pager", "cat"},
	{"core.editor", "false"},
	{"core.askPass", ""},
	{"core.sshCommand", "false"},
	{"core.alternateRefsCommand", ""},
	{"credential.helper", ""},
	{"diff.external", ""},
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
	{"submodule.recurse", "false"},
	{"protocol.allow", "never"},
}

// A failure is a git process that did not exit with 0.
type failure struct {
	args   []string
	dir    string
	code   int
	stderr string
}

func (f *failure) Error() string {
	text := strings.TrimSpace(f.stderr)
	if text == "" {
		text = fmt.Sprintf("exit code %d", f.code)
	}
	hint := ""
	if strings.Contains(text, "index file") || strings.Contains(text, "bad signature") ||
		strings.Contains(text, "bad index") {
		hint = " (the index is damaged; git status says more, and rm .git/index && git reset rebuilds it)"
	}
	return fmt.Sprintf("git %s in %s: %s%s", f.args[0], f.dir, text, hint)
}

// exitCode returns the exit code of a failed call; -1 for any other error.
func exitCode(err error) int {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.code
	}
	return -1
}

// run returns what git printed.
func (c call) run(ctx context.Context) ([]byte, error) {
	program, err := find(ctx)
	if err != nil {
		return nil, err
	}
	return c.runProgram(ctx, program)
}

// run returns what git prints in the work tree.
func (r *Repo) run(ctx context.Context, args ...string) ([]byte, error) {
	return call{dir: r.Top, args: args}.run(ctx)
}

func (c call) runProgram(ctx context.Context, program string) ([]byte, error) {
	limit := c.timeout
	if limit == 0 {
		limit = short
	}
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	argv := []string{"--no-pager"}
	for _, s := range safeConfig {
		argv = append(argv, "-c", s[0]+"="+s[1])
	}
	argv = append(argv, c.args...)
	cmd := exec.CommandContext(inner, program, argv...)
	cmd.Dir = c.dir
	cmd.Env = append(environment(program), c.env...)
	if c.args[0] != "check-ignore" && !c.magic { // which refuses it
		cmd.Env = append(cmd.Env, "GIT_LITERAL_PATHSPECS=1")
	}
	cmd.Env = append(cmd.Env, ConfigEnv(c.config)...)
	if c.stdin != nil {
		cmd.Stdin = bytes.NewReader(c.stdin)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	switch {
	case err == nil:
		return out.Bytes(), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case inner.Err() != nil:
		return nil, fmt.Errorf("git %s in %s: no answer in %v: %w", c.args[0], c.dir, limit, inner.Err())
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return out.Bytes(), &failure{c.args, c.dir, exit.ExitCode(), errs.String()}
	}
	return nil, fmt.Errorf("git %s in %s: %w", c.args[0], c.dir, err)
}

// environment returns the environment of git. Of the caller it has only the home, so that safe.directory and
// core.excludesFile of the person apply.
func environment(program string) []string {
	env := []string{
		"PATH=" + filepath.Dir(program) + ":/usr/local/bin:/usr/bin:/bin",
		"LC_ALL=C",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_NO_LAZY_FETCH=1",
		// git before 2.45 knows no GIT_NO_LAZY_FETCH: a fetch of a partial clone then finds no protocol
		"GIT_ALLOW_PROTOCOL=none",
		"GIT_NO_REPLACE_OBJECTS=1",
	}
	if home, err := os.UserHomeDir(); err == nil {
		env = append(env, "HOME="+home)
	}
	if config := configHome(); config != "" {
		env = append(env, "XDG_CONFIG_HOME="+config)
	}
	return env
}

// configHome returns the folder in which git looks for its own, or "" where there is none. On macOS os.UserConfigDir is
// another one.
func configHome() string {
	if runtime.GOOS != "linux" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		return filepath.Join(home, ".config")
	}
	dir, _ := os.UserConfigDir() // an error comes with ""
	return dir
}

// GlobalIgnore returns the file of rules that git reads for all repositories of a person who has set no other.
func GlobalIgnore() string {
	if dir := configHome(); dir != "" {
		return filepath.Join(dir, "git", "ignore")
	}
	return os.DevNull
}

// versions remembers, by the program's path, whether it is new enough.
var versions sync.Map

// find returns git's absolute path. Before 2.32 git ignores GIT_CONFIG_COUNT, and with it what keeps filters from
// running.
func find(ctx context.Context) (string, error) {
	program, err := lookup()
	if err != nil {
		return "", err
	}
	if known, ok := versions.Load(program); ok {
		err, _ := known.(error)
		return program, err
	}
	out, err := call{dir: filepath.Dir(program), args: []string{"version"}, timeout: 10 * time.Second}.runProgram(ctx, program)
	if err != nil {
		return "", err
	}
	var old error
	var major, minor int
	n, _ := fmt.Sscanf(string(out), "git version %d.%d", &major, &minor)
	if n != 2 || major < 2 || major == 2 && minor < 32 {
		old = fmt.Errorf("%s is %s: git 2.32 or newer is needed", program, strings.TrimSpace(string(out)))
	}
	versions.Store(program, old)
	return program, old
}

// lookup returns git's absolute path, whatever its version is.
func lookup() (string, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return "", ErrNotInstalled
	}
	return filepath.Abs(program)
}

// filterNames are arguments that list the keys of all filter drivers.
var filterNames = []string{"config", "--null", "--name-only", "--get-regexp", `^filter\.`}

// unfiltered returns the overrides that switch off every filter driver that a repository's configuration names.
// Listing runs nothing.
func unfiltered(ctx context.Context, dir string, env ...string) ([]setting, error) {
	out, err := call{dir: dir, env: env, args: filterNames}.run(ctx)
	if err != nil && exitCode(err) != 1 { // 1: none
		return nil, err
	}
	return switchedOff(split(out)), nil
}

// switchedOff returns the overrides for the drivers that have these keys.
func switchedOff(keys []string) []setting {
	var off []setting
	seen := map[string]bool{}
	for _, key := range keys {
		end := strings.LastIndexByte(key, '.')
		if end <= len("filter") || seen[key[:end]] {
			continue
		}
		driver := key[:end]
		seen[driver] = true
		off = append(off, setting{driver + ".clean", ""}, setting{driver + ".smudge", ""},
			setting{driver + ".process", ""}, setting{driver + ".required", "false"})
	}
	return off
}

// getConfig runs git config, which runs no program. It returns nothing if nothing is set.
func getConfig(ctx context.Context, dir string, args ...string) ([]byte, error) {
	out, err := call{dir: dir, args: append([]string{"config", "--null"}, args...)}.run(ctx)
	if exitCode(err) == 1 {
		return nil, nil
	}
	return out, err
}

// split returns the fields of output that was made with -z.
func split(out []byte) []string {
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// ConfigEnv returns configuration (keys and values) as environment variables, which override every file. It is for git
// in a sandbox, where it runs with another home.
func ConfigEnv(entries [][2]string) []string {
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(entries))}
	for i, e := range entries {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, e[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, e[1]))
	}
	return env
}

// Filters returns the filters of the user's configuration (keys and values), and runs none of them. With them, git
// with another home does not take every filtered file for changed.
func (r *Repo) Filters(ctx context.Context) ([][2]string, error) {
	out, err := getConfig(ctx, r.Top, "--get-regexp", `^filter\.`)
	if err != nil {
		return nil, err
	}
	var filters [][2]string
	for _, entry := range split(out) {
		if key, value, ok := strings.Cut(entry, "\n"); ok {
			filters = append(filters, [2]string{key, value})
		}
	}
	return filters, nil
}
