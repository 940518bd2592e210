package cachedir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(dir, "open", "async-pipeline")
	if err := os.MkdirAll(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, xdg, home, want string
	}{
		{"XDG_CACHE_HOME", filepath.Join(dir, "xdg"), filepath.Join(dir, "home"), filepath.Join(dir, "xdg", "async-pipeline")},
		{"HOME", "", filepath.Join(dir, "home"), filepath.Join(dir, "home", ".cache", "async-pipeline")},
		{"a relative one does not count", "relative", filepath.Join(dir, "home"), filepath.Join(dir, "home", ".cache", "async-pipeline")},
		{"HOME cannot be written", "", file, filepath.Join(dir, "tmp", "async-pipeline-")},
		{"others could write it", filepath.Join(dir, "open"), filepath.Join(dir, "home"), filepath.Join(dir, "home", ".cache", "async-pipeline")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := map[string]string{"XDG_CACHE_HOME": tt.xdg, "HOME": tt.home, "TMPDIR": filepath.Join(dir, "tmp")}
			got, err := Dir(func(name string) string { return env[name] })
			if err != nil || !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}
