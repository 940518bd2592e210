package process

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// asked makes the test program wait until its standard input ends.
const asked = "PROCESS_TEST_WAIT"

func TestMain(m *testing.M) {
	if os.Getenv(asked) != "" {
		_, _ = os.Stdout.WriteString("here\n")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// must ends the test at an error.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestAlive(t *testing.T) {
	t.Parallel()
	me := Self()
	if !me.Alive() || me.PID != os.Getpid() || me.Start == 0 || me.Boot == "" {
		t.Errorf("%+v", me)
	}
	for name, c := range map[string]struct {
		s    Stamp
		want bool
	}{
		"another start":                      {Stamp{me.PID, me.Start + 1, me.Boot}, false},
		"another boot":                       {Stamp{me.PID, me.Start, "x"}, false},
		"a start that was not known":         {Stamp{me.PID, 0, me.Boot}, true},
		"no process":                         {Stamp{1 << 30, 1, me.Boot}, false},
		"no process, start not known":        {Stamp{1 << 30, 0, me.Boot}, false},
		"zero":                               {},
		"a group of processes is no process": {Stamp{-me.PID, me.Start, me.Boot}, false},
	} {
		if c.s.Alive() != c.want {
			t.Errorf("%s: alive is %v", name, !c.want)
		}
	}
}

// A program's name cannot pass for the fields that stand behind it, and a zombie is not alive.
func TestAliveOfAnother(t *testing.T) {
	t.Parallel()
	me, err := os.Executable()
	must(t, err)
	program := filepath.Join(t.TempDir(), "a) Z 1 2")
	must(t, os.Symlink(me, program))
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), asked+"=1")
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = in.Close() }()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	start, _, known := look(cmd.Process.Pid)
	s := Stamp{cmd.Process.Pid, start, Self().Boot}
	if !known || start < Self().Start || !s.Alive() {
		t.Errorf("%+v of a living process", s)
	}
	must(t, cmd.Process.Kill())
	// It is a zombie now: nobody has waited for it.
	for end := time.Now().Add(2 * time.Minute); s.Alive(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a zombie is alive")
		}
	}
	if err := cmd.Process.Signal(os.Kill); err != nil {
		t.Errorf("it was to be a zombie: %v", err)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	if s, ok := Parse(Self().String()); !ok || s != Self() {
		t.Errorf("%+v", s)
	}
	if s, ok := Parse("12.34.a.b"); !ok || s != (Stamp{12, 34, "a.b"}) {
		t.Errorf("%+v", s)
	}
	for _, bad := range []string{"", "1", "1.2", "1.2.", "x.2.b", "1.x.b", "-1.2.b", "0.2.b"} {
		if s, ok := Parse(bad); ok || s != (Stamp{}) {
			t.Errorf("%q is %+v", bad, s)
		}
	}
	if s, ok := MakerOf(TempName("x-")+"123", "x-"); !ok || s != Self() {
		t.Errorf("%+v", s)
	}
	for _, bad := range []string{"", "x-", "x-1", "x-1-2", "y-" + Self().String() + "-1", TempName("x")[1:] + "1"} {
		if s, ok := MakerOf(bad, "x-"); ok {
			t.Errorf("%q is of %+v", bad, s)
		}
	}
	b, err := json.Marshal(Stamp{12, 34, "boot"})
	if want := `{"pid":12,"start":34,"boot":"boot"}`; err != nil || string(b) != want {
		t.Errorf("%s, want %s", b, want)
	}
}
