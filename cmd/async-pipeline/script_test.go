// The scripts of testdata/script: the whole program, one promise a file. Their names begin with what they are about:
// config_ run_ record_ hook_ agent_ fix_ sandbox_. The commands they have besides testscript's own are in
// script_commands_test.go.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	must(t, err)
	testscript.Run(t, testscript.Params{
		Files:               part(t, files, 16),
		Setup:               withGo(t, setupScript),
		Cmds:                scriptCommands(),
		Condition:           scriptCondition,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// scriptCondition reports whether a condition holds. [disks]: a process can have small disks of its own, by unshare -Urm
// and mount. [root]: it may give files away.
func scriptCondition(cond string) (bool, error) {
	switch cond {
	case "disks":
		return disks(), nil
	case "root":
		return os.Geteuid() == 0 && gives(), nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

// gives reports whether a file can be given to another user. In a container there may be no other.
var gives = sync.OnceValue(func() bool {
	f, err := os.CreateTemp("", "given")
	if err != nil {
		return false
	}
	defer os.Remove(f.Name()) //nolint:errcheck // a temporary file
	return errors.Join(f.Chown(65534, 65534), f.Close()) == nil
})

var disks = sync.OnceValue(func() bool {
	return exec.Command("unshare", "-Urm", "mount", "-t", "tmpfs", "none", "/tmp").Run() == nil
})

// notShort skips a test with -short, as the race detector is run: it takes minutes there, and what it runs is in the
// scripts too.
func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: the scripts run the same code")
	}
}

// part returns all, and with -short every nth, which it says.
func part[T any](t *testing.T, all []T, n int) []T {
	t.Helper()
	if !testing.Short() {
		return all
	}
	var some []T
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	t.Logf("-short: %d of %d", len(some), len(all))
	return some
}

// Every script begins with the promise it keeps and has a category.
func TestScriptNames(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "script", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		name := filepath.Base(f)
		category, _, ok := strings.Cut(name, "_")
		if !ok || !strings.HasSuffix(name, ".txtar") || !strings.Contains(" config run cache record hook agent fix sandbox ", " "+category+" ") {
			t.Errorf("%s: the name is not <category>_<what>.txtar", name)
		}
		text, err := os.ReadFile(f)
		must(t, err)
		if !strings.HasPrefix(string(text), "# ") {
			t.Errorf("%s: the first line is not the promise it keeps", name)
		}
	}
}

// goEnvironment is where the Go tool keeps its caches; asked once, because a script's HOME is empty.
var goEnvironment = sync.OnceValues(func() ([]string, error) {
	names := []string{"GOCACHE", "GOPATH", "GOMODCACHE"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		return nil, err
	}
	var env []string
	for i, value := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		env = append(env, names[i]+"="+value)
	}
	return env, nil
})

// setupScript makes an environment that has nothing of the machine but its programs and the Go caches. HOME stands
// beside the work folder's own files, so a script keeps its project in a folder of its own.
func setupScript(e *testscript.Env) error {
	home := filepath.Join(e.WorkDir, ".home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	goes, err := goEnvironment()
	if err != nil {
		return err
	}
	e.Vars = append(e.Vars, goes...)
	for _, kv := range [][2]string{
		{"HOME", home},
		{"USER", "somebody"},
		{"LANG", "C.UTF-8"},
		{"TERM", "dumb"},
		{"GIT_CONFIG_GLOBAL", os.DevNull},
		{"GIT_CONFIG_NOSYSTEM", "1"},
		{"GOTOOLCHAIN", "local"},
		{"GOFLAGS", ""},
		{"GOPROXY", "off"},
	} {
		e.Setenv(kv[0], kv[1])
	}
	e.Values[stateKey{}] = &scriptState{written: map[string]bool{}, started: map[string]*startedCommand{}}
	return nil
}
