package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// oomKills returns how many processes of this one's memory cgroup the kernel has killed because there was not enough
// memory; negative: that is not known. root is / but in tests. Commands are in the cgroup of their runner.
func oomKills(root string) int64 {
	text, _ := os.ReadFile(filepath.Join(root, "proc", "self", "cgroup")) // without it the roots are read
	var files []string
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // 0::/path, or 4:memory:/path of version 1
		switch {
		case len(parts) < 3:
		case parts[1] == "":
			files = append(files, filepath.Join(parts[2], "memory.events"), "memory.events")
		case parts[1] == "memory":
			// In a container the path is often that of the host, and what is mounted begins with the container's own.
			files = append(files, filepath.Join("memory", parts[2], "memory.oom_control"), "memory/memory.oom_control")
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root, "sys", "fs", "cgroup", file))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(line, "oom_kill ")), 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}
