package hclfile_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/policy"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

const token = "hunter2-hunter2"

// environ is the environment of every test file.
func environ(name string) (string, bool) {
	value, ok := map[string]string{
		"HOME":                    "/home/u",
		"TOKEN":                   token,
		"JSON":                    `{"user": "` + token + `"}`,
		"PIN":                     "1234",
		"EMPTY":                   "",
		"ASYNC_PIPELINE_VAR_from": "the environment",
		"ASYNC_PIPELINE_VAR_both": "the environment",
	}[name]
	return value, ok
}

// expected reads the comments "# ERROR: text" of a file: line → what its faults say.
func expected(src, mark string) map[int][]string {
	all := make(map[int][]string)
	for i, line := range strings.Split(src, "\n") {
		for _, want := range strings.Split(line, mark)[1:] {
			all[i+1] = append(all[i+1], strings.TrimSpace(want))
		}
	}
	return all
}

// compare finds a fault for every expectation on its line, and no other.
func compare(t *testing.T, want map[int][]string, got []pipeline.Error) {
	t.Helper()
	for _, e := range got {
		found := false
		for i, w := range want[e.Pos.Line] {
			if strings.Contains(e.Summary+": "+e.Detail, w) {
				want[e.Pos.Line] = append(append([]string{}, want[e.Pos.Line][:i]...), want[e.Pos.Line][i+1:]...)
				found = true
				break
			}
		}
		if !found {
			t.Errorf("not expected: %v", e)
		}
	}
	for line, left := range want {
		for _, w := range left {
			t.Errorf("line %d: no fault says %q", line, w)
		}
	}
}

func TestErrorFiles(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("testdata/errors/*.hcl")
	distinct := make(map[string]bool)
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := expected(string(src), "# ERROR:")
		for _, some := range want {
			for _, w := range some {
				distinct[w] = true
			}
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".hcl"), func(t *testing.T) {
			t.Parallel()
			c, err := hclfile.Load(file, hclfile.Options{Env: environ, Pattern: policy.CheckPattern, BaseURL: model.CheckURL})
			var got pipeline.Errors
			if !errors.As(err, &got) || c != nil {
				t.Fatalf("want faults, got %v and %v", c, err)
			}
			compare(t, want, got)
			lines := strings.Split(string(src), "\n")
			last := pipeline.Pos{}
			for _, e := range got {
				if e.Pos.File != file || e.Pos.Line == 0 || e.Source != blanked(lines[e.Pos.Line-1]) || e.Width < 1 || e.Warning {
					t.Errorf("place, source line or width is missing or wrong: %+v", e)
				}
				if e.Pos.Line < last.Line || e.Pos.Line == last.Line && e.Pos.Column < last.Column {
					t.Errorf("%v stands after %v", e.Pos, last)
				}
				last = e.Pos
				if e.Suggestion == "" && strings.Contains(e.Detail, "Did you mean ") && !strings.Contains(e.Detail, "mean task.") {
					t.Errorf("a suggestion that is only in the text: %+v", e)
				}
				if strings.Contains(fmt.Sprintf("%+v", e), "hunter2") {
					t.Errorf("a secret was told: %+v", e)
				}
			}
		})
	}
	if len(distinct) < 60 {
		t.Errorf("only %d different faults in %d files", len(distinct), len(files))
	}
	t.Logf("%d different faults in %d files", len(distinct), len(files))
	for _, word := range hclfile.Refused() {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(distinct)), func(w string) bool { return strings.HasPrefix(w, "`"+word+"` needs") }) {
			t.Errorf("no file has `%s`, which is refused", word)
		}
	}
}

// blanked is a line of a test file as it is shown where its secrets are known.
func blanked(line string) string {
	for _, secret := range []string{token, "hunter2"} {
		line = strings.ReplaceAll(line, secret, strings.Repeat("*", len(secret)))
	}
	return line
}

// H02: a budget that is missing, or bounds nothing, is an error at its place.
func TestBudgetPlace(t *testing.T) {
	t.Parallel()
	file := func(budget string) string {
		return "agent \"m\" {\n  command = [\"x\"]\n}\ntask \"t\" {\n  run = [\"x\"]\n  on_fail \"agent\" {\n    use = agent.m\n" + budget + "  }\n}\n"
	}
	for name, c := range map[string]struct{ budget, want string }{
		"no budget":          {"", "6:3: on_fail"},
		"no attempts":        {"    budget {\n      wall_clock = \"1m\"\n    }\n", "8:5: the budget has no attempts"},
		"no wall_clock":      {"    budget {\n      attempts = 1\n    }\n", "8:5: the budget has no wall_clock"},
		"attempts zero":      {"    budget {\n      attempts   = 0\n      wall_clock = \"1m\"\n    }\n", "9:20: attempts must"},
		"wall_clock zero":    {"    budget {\n      attempts   = 1\n      wall_clock = \"0s\"\n    }\n", "10:20: wall_clock must"},
		"wall_clock forever": {"    budget {\n      attempts   = 1\n      wall_clock = \"inf\"\n    }\n", "10:20: wall_clock is not a time"},
	} {
		t.Run("H02 "+name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, file(c.budget), hclfile.Options{})
			var got pipeline.Errors
			if !errors.As(err, &got) || len(got) != 1 || !strings.Contains(got[0].Error(), "PIPELINE.hcl:"+c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// load reads a text as PIPELINE.hcl.
func load(t testing.TB, src string, o hclfile.Options) (*pipeline.Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), hclfile.Name)
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	return hclfile.Load(path, o)
}
