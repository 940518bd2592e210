package verify

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A check file that changes while the check runs with a patch is found, and not one that the check changes anyway.
func TestRewritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text string
		always     bool // without the patch too
		want       string
	}{
		"a check file":                 {"PIPELINE.hcl", "# other\n", false, "suspect (check_rewritten: with the patch, PIPELINE.hcl changed while the check ran)"},
		"a check file is a pipe":       {"PIPELINE.hcl", "", false, "suspect (check_rewritten: with the patch, PIPELINE.hcl changed while the check ran)"},
		"a check file without a patch": {"PIPELINE.hcl", "# other\n", true, Verified},
		"a new file that pytest loads": {"tests/conftest.py", "import os\n", false, "suspect (check_rewritten: with the patch, tests/conftest.py changed while the check ran)"},
		"a new file that npm loads":    {".npmrc", "if-present=true\n", false, "suspect (check_rewritten: with the patch, .npmrc changed while the check ran)"},
		"compiled code":                {"tests/__pycache__/a.pyc", "x", false, Verified},
		"what a compiler made":         {"tests/a.o", "x", false, Verified},
		"an installed library":         {"node_modules/a/index.js", "x", false, Verified},
		"a person's settings":          {".env", "x=1", false, Verified},
		"another new file":             {"tests/out.txt", "x", false, Verified},
		"what is under repair":         {"a", "good", false, Verified},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := (&checks{}).request(t, sandbox.Fence)
			q.Parallel = 1
			f := *q.Failure
			f.RunTask = func(_ context.Context, _ string, task *pipeline.Task, box sandbox.Box, _ io.Writer) (record.Task, error) {
				r := record.Task{Name: task.Name, Status: record.Passed, ExitCode: new(0), DurationMS: new(int64(1))}
				text, err := os.ReadFile(filepath.Join(box.Copy, "a"))
				fixtest.Check(t, err)
				patched := string(text) == "good"
				if !patched {
					r.Status, r.ExitCode = record.Failed, new(1)
				}
				if patched || c.always {
					at := filepath.Join(box.Copy, c.file)
					fixtest.Check(t, os.MkdirAll(filepath.Dir(at), 0o755))
					if c.text == "" {
						fixtest.Check(t, os.Remove(at))
						fixtest.Check(t, syscall.Mkfifo(at, 0o600))
						return r, nil
					}
					fixtest.Check(t, os.WriteFile(at, []byte(c.text), 0o644))
				}
				return r, nil
			}
			q.Failure = failedtask.Read(f)
			r := Run(t.Context(), q)
			if r.String() != c.want {
				t.Errorf("%s, want %s", &r, c.want)
			}
		})
	}
}
