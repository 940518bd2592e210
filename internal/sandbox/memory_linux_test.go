package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// E18 The count is that of the cgroup's own file, in both versions; where only the root is mounted, that of the root.
func TestOOMKills(t *testing.T) {
	t.Parallel()
	const v1 = "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n"
	const v2 = "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"version 2":       {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.events": v2, "sys/fs/cgroup/memory.events": v1}, 2},
		"in a container":  {map[string]string{"proc/self/cgroup": "0::/../host\n", "sys/fs/cgroup/memory.events": v2}, 2},
		"version 1":       {map[string]string{"proc/self/cgroup": "8:pids:/\n4:memory:/a\n0::/\n", "sys/fs/cgroup/memory/a/memory.oom_control": v1}, 7},
		"the root of 1":   {map[string]string{"proc/self/cgroup": "4:memory:/elsewhere\n", "sys/fs/cgroup/memory/memory.oom_control": v1}, 7},
		"nothing is told": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.procs": "1\n"}, -1},
		"no cgroups":      {nil, -1},
	} {
		root := t.TempDir()
		for file, text := range c.files {
			at := filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := oomKills(root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// E18 A kill is no lack of memory where the kernel has killed nothing.
func TestKilledWithMemory(t *testing.T) {
	t.Parallel()
	r, err := Box{Tier: None, Home: t.TempDir(), Tmp: t.TempDir()}.Run(t.Context(), Command{
		Argv: []string{"sh", "-c", "kill -9 $$"}, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}, Memory: true,
	})
	if err != nil || r.Signal != "SIGKILL" || r.OutOfMemory {
		t.Errorf("%v: %+v", err, r)
	}
}
