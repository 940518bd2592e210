package apply

import (
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A source that an apply or a revert puts in the place of one of this second and its size gets another second;
// nobody waits for any other.
func TestApplyInTheSameSecond(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file, before, after string
		old                 time.Duration
		other               bool // another second
	}{
		"same size":     {"calc.py", "f:a-b\n", "f:a+b\n", 0, true},
		"another size":  {"calc.py", "f:a-b\n", "f:a + b\n", 0, false},
		"no source":     {"calc.txt", "f:a-b\n", "f:a+b\n", 0, false},
		"an old one":    {"calc.py", "f:a-b\n", "f:a+b\n", time.Hour, false},
		"only its mode": {"calc.py", "f:a-b\n", "x:a-b\n", 0, false},
		"a link before": {"calc.py", "l:abcd", "f:a+b\n", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTree(t, fixtest.Files{tt.file: tt.before, "other.py": "f:1\n"})
			p := fixtest.Sealed(t, s.Store, "test", fixtest.Files{tt.file: tt.before}, fixtest.Files{tt.file: tt.after}, nil)
			at := filepath.Join(s.Root, tt.file)
			second := func() int64 {
				info, err := os.Lstat(at)
				fixtest.Check(t, err)
				return info.ModTime().Unix()
			}
			for _, do := range []func() error{
				func() error { _, err := apply(t, s, p, Options{}); return err },
				func() error { _, err := revert(t, s, Options{}); return err },
			} {
				for time.Now().Nanosecond() > 3e8 { // what follows is done in one second
					time.Sleep(10 * time.Millisecond)
				}
				started := time.Now()
				if tt.before[0] != 'l' {
					fixtest.Check(t, os.Chtimes(at, started, started.Add(-tt.old)))
				}
				was := second()
				fixtest.Check(t, do())
				if is := second(); tt.other && is != was+1 {
					t.Errorf("of second %d, and before of %d", is, was)
				}
				if took := time.Since(started); !tt.other && took > 650*time.Millisecond {
					t.Errorf("took %s", took)
				}
			}
			settled(t, s)
		})
	}
}
