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

// The first character may have several bytes.
func TestSentence(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "write it": "Write it.", "älter als": "Älter als.", "→ x": "→ x."} {
		if got := hclfile.Sentence(text); got != want {
			t.Errorf("of %q it makes %q", text, got)
		}
	}
}

func TestErrorFiles(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("testdata/errors/*.hcl")
	distinct := make(map[string]bool)
	for _, file := range files {
		src := read(t, file)
		want := expected(string(src), "# ERROR:")
		for _, some := range want {
			for _, w := range some {
				distinct[w] = true
			}
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".hcl"), func(t *testing.T) {
			t.Parallel()
			c, err := hclfile.Load(file, hclfile.Options{Env: environ})
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
	check(t, os.WriteFile(path, []byte(src), 0o600))
	return hclfile.Load(path, o)
}

// tree reads the PIPELINE.hcl, or the PIPELINE.hcl.json, at the top of a tree of files.
func tree(t testing.TB, files map[string]string, o hclfile.Options) (*pipeline.Config, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		check(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
	}
	path, err := hclfile.Find(dir)
	check(t, err)
	return hclfile.Load(path, o)
}

// loadJSON reads a text as PIPELINE.hcl.json.
func loadJSON(t testing.TB, src string, o hclfile.Options) (*pipeline.Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), hclfile.NameJSON)
	check(t, os.WriteFile(path, []byte(src), 0o600))
	return hclfile.Load(path, o)
}

// good returns what a text without faults is read as.
func good(t testing.TB, src string, o hclfile.Options) *pipeline.Config {
	t.Helper()
	c, err := load(t, src, o)
	check(t, err)
	return c
}

// read returns the content of a file.
func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	check(t, err)
	return b
}

// check ends the test where there is an error.
func check(t interface {
	Helper()
	Fatal(args ...any)
}, errs ...error,
) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// withoutPlaces removes the places of blocks from a Config.
func withoutPlaces(c *pipeline.Config) {
	for _, task := range c.Tasks {
		task.Pos = pipeline.Pos{}
		for i := range task.OnFail {
			task.OnFail[i].Pos = pipeline.Pos{}
		}
	}
	for _, a := range c.Agents {
		a.Pos = pipeline.Pos{}
	}
	for _, j := range c.Jobs {
		j.Pos = pipeline.Pos{}
	}
}

// One quote that is missing is one fault, in its line, wherever it is missed.
func TestMissingQuote(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: little of it runs at once, so the race detector finds little")
	}
	src := read(t, "../../examples/go-service/PIPELINE.hcl")
	line, quotes, removed := 1, 0, 0
	for i, c := range src {
		switch c {
		case '\n':
			line++
		case '"':
			if quotes++; quotes%3 != 0 { // some that begin a text, some that end one
				continue
			}
			without := string(src[:i]) + string(src[i+1:])
			_, err := load(t, without, hclfile.Options{})
			var got pipeline.Errors
			if err == nil || strings.Contains(err.Error(), "go-service") { // in a comment, or in a text for the shell
				continue
			}
			if !errors.As(err, &got) {
				t.Fatal(err)
			}
			quoted := 0
			for _, e := range got {
				if e.Summary == "a quote is missing in this line" {
					quoted++
				}
			}
			removed++
			if quoted > 1 || len(got) > 1 || got[0].Pos.Line != line {
				t.Errorf("without the quote in line %d:\n%v", line, got)
			}
		}
	}
	if removed < 50 {
		t.Errorf("only %d quotes were taken out", removed)
	}
}

// What is meant for the shell hides nothing that stands above or below it.
func TestShellTextFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, run, want string }{
		{"length", `"echo ${#arr}"`, "7:15: a comment begins in this text|write $${#arr}."},
		{"length of an array", `"echo ${#arr[@]} x"`, "7:15: a comment begins in this text|write $${#arr[@]}."},
		{"in a heredoc", "<<EOT\necho ${#arr} ${#two}\nEOT", "8:6: a comment begins in this text|write $${#arr}.|8:14: a comment|write $${#two}."},
		{"two of them", `"echo ${#a} ${b:-c}"`, "7:15: a comment|write $${#a}.|7:24: Extra characters|write $${b:-c}."},
		{"inside another", `"echo ${a:-${b}}"`, "7:20: Invalid character|write $${a:-${b}}.|7:22: b is not a pipeline value|write $b, or $${b}"},
		{"with quotes", `"echo ${a:-\"b\"}"`, "7:21: a quote is missing|write $${…}."},
		{"a directive", `"curl -w %{http_code}"`, "7:20: Invalid template control keyword|write %%{http_code}."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			src := "task \"above\" {\n  run = \"cd ${PWD}\"\n}\n# ${#comment}\ntask \"x\" {\n  # ${#comment}\n  run = " + c.run + "\n}\ntask \"below\" {\n  run = \"cd ${PWD}\"\n}\n"
			_, err := load(t, src, hclfile.Options{})
			var got pipeline.Errors
			if !errors.As(err, &got) {
				t.Fatal(err)
			}
			var all []string
			for _, e := range got {
				all = append(all, fmt.Sprintf("%d:%d: %s %s", e.Pos.Line, e.Pos.Column, e.Summary, e.Detail))
			}
			text := strings.Join(all, "\n")
			rest := text
			want := append([]string{"2:15: PWD is not a pipeline value"}, strings.Split(c.want, "|")...)
			below := fmt.Sprintf("%d:15: PWD is not", 10+strings.Count(c.run, "\n"))
			if c.name == "with quotes" {
				want, below = want[1:], ""
			}
			for _, w := range append(want, below) {
				_, after, ok := strings.Cut(rest, w)
				if !ok {
					t.Errorf("%q is missing, or out of its place, in:\n%s", w, text)
				}
				rest = after
			}
			if n := strings.Count(c.want, ": ") + 2; c.name != "with quotes" && len(got) != n {
				t.Errorf("%d faults, want %d:\n%s", len(got), n, text)
			}
		})
	}
}
