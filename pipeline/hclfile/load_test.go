package hclfile_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestGoodFiles(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("testdata/good/*.hcl")
	if len(files) < 4 {
		t.Fatal("the files are missing")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".hcl"), func(t *testing.T) {
			t.Parallel()
			src := read(t, file)
			c, err := hclfile.Load(file, hclfile.Options{Env: environ})
			check(t, err)
			compare(t, expected(string(src), "# WARN:"), c.Warnings)
			c.Warnings = nil
			text, err := json.MarshalIndent(c, "", "  ")
			check(t, err)
			got := strings.ReplaceAll(string(text), c.Root, "/root") + "\n"
			golden := strings.TrimSuffix(file, ".hcl") + ".golden"
			if *update {
				check(t, os.WriteFile(golden, []byte(got), 0o600))
			}
			want := read(t, golden)
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c := good(t, "task \"a\" {\n  run = [\"x\"]\n}\n", hclfile.Options{})
	if c.Name != filepath.Base(c.Root) || c.File != filepath.Join(c.Root, hclfile.Name) || c.Concurrency != 0 || c.Tasks[0].Dir != "." {
		t.Errorf("%+v", c)
	}
}

func TestFilesWithCarriageReturns(t *testing.T) {
	t.Parallel()
	c := good(t, "task \"a\" {\r\n  run = <<EOT\r\necho a\r\necho b\\\r\nEOT\r\n  env = { A = \"x\\r\" }\r\n}\r\n", hclfile.Options{})
	if got := c.Tasks[0].Run.Shell.Value; got != "echo a\necho b\\\n" {
		t.Errorf("got %q", got)
	}
	if got := c.Tasks[0].Env[0].Value; got != "x\r" {
		t.Errorf("only shell text loses it, got %q", got)
	}
	_, err := load(t, "nope = 1\r\n", hclfile.Options{})
	var faults pipeline.Errors
	if !errors.As(err, &faults) || faults[0].Source != "nope = 1" || faults[0].Width != 4 {
		t.Errorf("got %+v", err)
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, block, env, flag, want, fault string
	}{
		{name: "default", block: `default = "d"`, want: `"d"`},
		{name: "environment before default", block: `default = "d"`, env: "e", want: `"e"`},
		{name: "flag before environment", block: `default = "d"`, env: "e", flag: "f", want: `"f"`},
		{name: "empty is a value", block: `default = "d"`, env: "-", want: `""`},
		{name: "text is taken as it stands", block: `type = string`, flag: `${x} ["a"] null`, want: `"${x} [\"a\"] null"`},
		{name: "without a type too", block: ``, flag: `["a"]`, want: `"[\"a\"]"`},
		{name: "number", block: `type = number`, flag: "4", want: "4"},
		{name: "bool", block: `type = bool`, env: "true", want: "true"},
		{name: "list", block: `type = list(string)`, flag: `["a", 1]`, want: `["a","1"]`},
		{name: "map", block: `type = map(number)`, env: `{ a = 1 }`, want: `{"a":1}`},
		{name: "object with optional", block: `type = object({ a = string, b = optional(string, "z") })`, flag: `{ a = "x" }`, want: `{"a":"x","b":"z"}`},
		{name: "set", block: `type = set(string)`, flag: `["b", "a", "b"]`, want: `["a","b"]`},
		{name: "not a number", block: `type = number`, flag: "four", fault: "the value that --var v gives does not have the type number"},
		{name: "not a list", block: `type = list(string)`, env: "a,b", fault: "the value that ASYNC_PIPELINE_VAR_v gives cannot be read: Write it as in the file"},
		{name: "no names", block: `type = list(string)`, flag: `[var.x]`, fault: "cannot be read"},
		{name: "no functions", block: `type = list(string)`, flag: `split(",", "a")`, fault: "cannot be read"},
		{name: "null", block: `type = list(string)`, flag: `null`, fault: "It is null"},
		{name: "deep", block: `type = list(string)`, flag: strings.Repeat("[", 1000), fault: "cannot be read"},
		{name: "none", block: ``, fault: `variable "v" has no value: Give one with --var v=VALUE, with --var-file or with ASYNC_PIPELINE_VAR_v, or write a default.`},
		{name: "a bad default counts also with a flag", block: "type = number\ndefault = \"x\"", flag: "1", fault: "the default of variable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := hclfile.Options{Env: func(name string) (string, bool) {
				return strings.TrimPrefix(c.env, "-"), name == "ASYNC_PIPELINE_VAR_v" && c.env != ""
			}}
			if c.flag != "" {
				o.Vars = map[string]string{"v": c.flag}
			}
			got, err := load(t, "variable \"v\" {\n"+c.block+"\n}\ntask \"a\" {\n  run = [\"x\"]\n  env = { V = jsonencode(var.v) }\n}\n", o)
			switch {
			case c.fault != "":
				var faults pipeline.Errors
				if !errors.As(err, &faults) || len(faults) != 1 || !strings.Contains(err.Error(), c.fault) || faults[0].Pos.Line == 0 {
					t.Errorf("got %v, want %s", err, c.fault)
				}
			case err != nil:
				t.Error(err)
			case got.Tasks[0].Env[0].Value != c.want:
				t.Errorf("got %s, want %s", got.Tasks[0].Env[0].Value, c.want)
			}
		})
	}
}

// What comes from outside reaches a task as it is, although the values of the language have composed letters (NFC).
func TestDecomposedLetters(t *testing.T) {
	t.Parallel()
	const apart, joined = "cafe\u0301-value", "caf\u00e9-value"
	c := good(t, `
variable "v" {}
variable "s" {
  sensitive = true
}
locals {
  e = env("E")
}
task "a" {
  run = ["x", var.v, local.e, secret("S"), "Bearer ${secret("S")}", var.s, "in ${env("E")}", "`+joined+`", upper(secret("S"))]
  env = { E = env("E"), B = base64encode(secret("S")) }
  dir = env("D")
}
task "b" {
  run = env("S")
}
`, hclfile.Options{
		Vars: map[string]string{"v": "v " + apart, "s": "s " + apart},
		Env: func(name string) (string, bool) {
			return map[string]string{"D": "d " + apart, "E": apart, "S": "secret " + apart, "P": "p"}[name], true
		},
	})
	var got []string
	for _, text := range c.Tasks[0].Run.Argv[1:] {
		got = append(got, text.Value)
		if len(text.Secrets) > 0 && !slices.ContainsFunc(c.Secrets, func(s pipeline.Secret) bool { return strings.Contains(text.Value, s.Value) }) {
			t.Errorf("%q is not hidden", text.Value)
		}
	}
	want := []string{
		"v " + apart, joined, "secret " + apart, "Bearer secret " + apart, "s " + apart, "in " + joined, joined,
		strings.ToUpper("secret " + joined),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %+q\nwant %+q", got, want)
	}
	if dir := c.Tasks[0].Dir; dir != "d "+apart {
		t.Errorf("dir is %+q", dir)
	}
	if run := c.Tasks[1].Run.Shell.Value; run != "secret "+apart {
		t.Errorf("run is %+q", run)
	}
}

func TestUnknownVar(t *testing.T) {
	t.Parallel()
	_, err := load(t, "variable \"version\" {\n  default = 1\n}\n", hclfile.Options{Vars: map[string]string{"versionn": "2", "other": "3"}})
	var faults pipeline.Errors
	if !errors.As(err, &faults) || len(faults) != 2 || faults[1].Suggestion != "version" || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("got %v", err)
	}
}

func TestSecretValues(t *testing.T) {
	t.Parallel()
	c, err := hclfile.Load("testdata/good/secrets.hcl", hclfile.Options{Env: environ})
	check(t, err)
	has := func(value string) bool {
		return slices.ContainsFunc(c.Secrets, func(s pipeline.Secret) bool { return s.Value == value && s.Name != "" })
	}
	for _, value := range []string{token, "1234", strings.ToUpper(token), "dTpodW50ZXIyLWh1bnRlcjI="} {
		if !has(value) {
			t.Errorf("%q is not kept as a secret", value)
		}
	}
	for _, value := range []string{"", "15", "with the token", "plain", "u:" + token} {
		if has(value) {
			t.Errorf("%q is kept as a secret", value)
		}
	}
}

func TestSecretInTheFileItself(t *testing.T) {
	t.Parallel()
	_, err := load(t, "locals {\n  a = secret(\"TOKEN\")\n  hunter2-hunter2 = 1 + local.nope\n}\n", hclfile.Options{Env: environ})
	var faults pipeline.Errors
	if !errors.As(err, &faults) || len(faults) != 1 || strings.Contains(faults[0].Source, "hunter2") || faults[0].Source[faults[0].Pos.Column-1:] != "local.nope" {
		t.Errorf("got %+v", faults)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	check(t, os.MkdirAll(deep, 0o700))
	if _, err := hclfile.Find(deep); !errors.Is(err, hclfile.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	write := func(path string) {
		check(t, os.WriteFile(path, nil, 0o600))
	}
	want := filepath.Join(root, hclfile.Name)
	write(want)
	for _, dir := range []string{root, deep, filepath.Join(deep, "not", "there")} {
		if got, err := hclfile.Find(dir); err != nil || got != want {
			t.Errorf("from %s: got %s, %v", dir, got, err)
		}
	}
	json := filepath.Join(root, "a", hclfile.NameJSON)
	write(json)
	if got, err := hclfile.Find(deep); err != nil || got != json {
		t.Errorf("the nearest one counts, got %s, %v", got, err)
	}
	write(filepath.Join(root, "a", hclfile.Name))
	if _, err := hclfile.Find(deep); err == nil || !strings.Contains(err.Error(), "there are both") {
		t.Errorf("got %v", err)
	}
	write(filepath.Join(deep, hclfile.Name))
	if got, err := hclfile.Find(deep); err != nil || got != filepath.Join(deep, hclfile.Name) {
		t.Errorf("the nearest one counts, got %s, %v", got, err)
	}
}

func TestLoadWhatIsNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, fifo, link := filepath.Join(dir, "folder"), filepath.Join(dir, "fifo"), filepath.Join(dir, "link")
	check(t, os.Mkdir(folder, 0o700), syscall.Mkfifo(fifo, 0o600), os.Symlink("nowhere", link))
	for path, want := range map[string]string{
		folder:                    "is a folder",
		fifo:                      "is not a regular file",
		link:                      "is a link to nowhere, where no file is",
		filepath.Join(dir, "not"): "no such file",
		"/dev/null":               "is not a regular file",
	} {
		err := loadInTime(t, path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

// loadInTime returns the error of reading a file, and ends the test where that waits for something.
func loadInTime(t *testing.T, path string) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		_, err := hclfile.Load(path, hclfile.Options{})
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s: Load waits", path)
		return nil
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	words := hclfile.Words()
	for _, w := range []string{"pipeline.concurrency", "task.on_fail.agent.budget.attempts", "task.on_fail.run.timeout", "task.scratch.exclude", "agent.command", "job.tasks", "locals", "variable.default"} {
		if !slices.Contains(words, w) {
			t.Errorf("%s is missing", w)
		}
	}
	for _, w := range words {
		if strings.Contains(w, "network") || strings.Contains(w, "apply") {
			t.Errorf("%s is refused and must not be listed", w)
		}
	}
	// Every word that is accepted is written in the good file, and reaches the Config.
	src := read(t, "testdata/good/language.hcl")
	for _, w := range words {
		name := w[strings.LastIndex(w, ".")+1:]
		if !strings.Contains(string(src), name) {
			t.Errorf("%s is not in the good file", w)
		}
	}
	c, err := hclfile.Load("testdata/good/language.hcl", hclfile.Options{Env: environ})
	check(t, err)
	task := reflect.ValueOf(*c.Task("test"))
	for i := range task.NumField() {
		if name := task.Type().Field(i).Name; task.Field(i).IsZero() && name != "Service" && name != "Auto" && name != "Agent" && name != "Programs" && name != "Seen" {
			t.Errorf("Task.%s stays empty", name)
		}
	}
}

// Patterns are kept as written, whoever checks them; a file of JSON has the same.
func TestAllow(t *testing.T) {
	t.Parallel()
	native := "agent \"m\" {\n  command = [\"x\"]\n}\ntask \"a\" {\n  run = [\"x\"]\n  on_fail \"agent\" {\n    use = agent.m\n    budget {\n      attempts = 1\n      wall_clock = \"1m\"\n    }\n    allow = %s\n  }\n}\n"
	want := [][]string{{"go", "test", "**"}, {"make"}}
	for _, allow := range []string{`[["go", "test", "**"], ["make"]]`, `concat([["go", "test", "**"]], [tolist(["make"])])`, `[for p in ["go test **", "make"]: split(" ", p)]`} {
		c := good(t, strings.Replace(native, "%s", allow, 1), hclfile.Options{})
		if diff := cmp.Diff(want, c.Tasks[0].OnFail[0].Agent.Allow); diff != "" {
			t.Errorf("%s: %s", allow, diff)
		}
	}
	src := `{"agent":{"m":{"command":["x"]}},"task":{"a":{"run":["x"],"on_fail":{"agent":{"use":"agent.m","budget":{"attempts":1,"wall_clock":"1m"},"allow":[["go","test","**"],["make"]]}}}}}`
	c, err := loadJSON(t, src, hclfile.Options{})
	check(t, err)
	if diff := cmp.Diff(want, c.Tasks[0].OnFail[0].Agent.Allow); diff != "" {
		t.Error(diff)
	}
	_, err = load(t, strings.Replace(native, "%s", `[["go", "**", "test"]]`, 1), hclfile.Options{})
	var faults pipeline.Errors
	if !errors.As(err, &faults) || len(faults) != 1 || faults[0].Pos.Line != 12 || faults[0].Pos.Column != 21 {
		t.Errorf("got %+v", err)
	}
}

// FuzzLoad looks for a panic, for an error that is no fault of the file, and for a secret that is told.
func FuzzLoad(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*.hcl")
	for _, file := range files {
		f.Add(string(read(f, file)))
	}
	const value = "qzxj-9173-qzxj"
	o := hclfile.Options{Env: func(name string) (string, bool) { return value, name != "NOT_SET" }}
	f.Fuzz(func(t *testing.T, src string) {
		if strings.Contains(src, "qzxj") || strings.Contains(src, "env(") {
			t.Skip()
		}
		start := time.Now()
		c, err := load(t, src, o)
		if took := time.Since(start); took > 3*time.Minute {
			t.Errorf("took %v", took)
		}
		if err == nil {
			if _, err := pipeline.Select(c, nil, false); err != nil && c.Job("default") == nil {
				t.Errorf("a file without faults cannot be selected: %v", err)
			}
			return
		}
		var faults pipeline.Errors
		if !errors.As(err, &faults) || c != nil || len(faults) == 0 {
			t.Fatalf("got %v and %v", c, err)
		}
		for _, e := range faults {
			if strings.Contains(e.Error()+e.Source, value) {
				t.Errorf("a secret is told: %v", e)
			}
			if e.Summary == "" || e.Pos.File == "" || e.Pos.Line > 0 && e.Width < 1 {
				t.Errorf("incomplete: %+v", e)
			}
		}
	})
}
