package hclfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

// varFile returns options with a file of variables.
func varFile(t *testing.T, name, text string) hclfile.Options {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	check(t, os.WriteFile(path, []byte(text), 0o600))
	return hclfile.Options{VarFiles: []string{path}}
}

// The value of v in JSON, where each of the ways gives one or does not.
func TestVariableOrder(t *testing.T) {
	t.Parallel()
	env := func(name string) (string, bool) { return "environment", name == hclfile.VarPrefix+"v" }
	none := func(string) (string, bool) { return "", false }
	for _, c := range []struct {
		name  string
		files []string // name and text by turns
		vars  map[string]string
		env   func(string) (string, bool)
		want  string
	}{
		{name: "default", env: none, want: "default"},
		{name: "environment over default", env: env, want: "environment"},
		{name: "file over environment", files: []string{"a.hcl", `v = "file"`}, env: env, want: "file"},
		{name: "a later file over an earlier", files: []string{"a.hcl", `v = "file"`, "b.json", `{"v": "later"}`}, env: env, want: "later"},
		{name: "what the later does not have", files: []string{"a.hcl", `v = "file"`, "b.hcl", `w = 1`}, env: env, want: "file"},
		{name: "flag over all", files: []string{"a.hcl", `v = "file"`}, vars: map[string]string{"v": "flag"}, env: env, want: "flag"},
		{name: "a number becomes text", files: []string{"a.hcl", `v = 4`}, env: none, want: "4"},
		{name: "true becomes text in JSON", files: []string{"a.json", `{"v": true}`}, env: none, want: "true"},
		{name: "JSON text is taken as it stands", files: []string{"a.json", `{"v": "${x} %{y}"}`}, env: none, want: "${x} %{y}"},
		{name: "an empty file", files: []string{"a.hcl", ""}, env: none, want: "default"},
		{name: "an empty object", files: []string{"a.json", "{}"}, env: none, want: "default"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := hclfile.Options{Vars: c.vars, Env: c.env}
			for i := 0; i < len(c.files); i += 2 {
				o.VarFiles = append(o.VarFiles, varFile(t, c.files[i], c.files[i+1]).VarFiles...)
			}
			got := good(t, `
variable "v" {
  type    = string
  default = "default"
}
variable "w" {
  type    = number
  default = 0
}
task "a" {
  run = ["x", var.v]
}
`, o)
			if v := got.Tasks[0].Run.Argv[1].Value; v != c.want {
				t.Errorf("got %q, want %q", v, c.want)
			}
		})
	}
}

func TestVariableFileTypes(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"vars.hcl":  "tags = [\"a\", \"b\"]\nopts = {\n  n = 2\n}\n# comment\nany = { x = [1, true, \"t\"] }\n",
		"vars.json": `{"tags": ["a", "b"], "opts": {"n": 2}, "any": {"x": [1, true, "t"]}, "//": "comment"}`,
	} {
		c := good(t, `
variable "tags" {
  type = list(string)
}
variable "opts" {
  type = object({ n = number, race = optional(bool, true) })
}
variable "any" {}
task "a" {
  run = ["x", jsonencode([var.tags, var.opts, var.any])]
}
`, varFile(t, name, text))
		if got, want := c.Tasks[0].Run.Argv[1].Value, `[["a","b"],{"n":2,"race":true},{"x":[1,true,"t"]}]`; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// A fault of a file of variables has its place in that file.
func TestVariableFileFaults(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 100_000)
	for _, c := range []struct{ name, file, text, want, source string }{
		{"unknown name", "v.hcl", "n = 1\n\nflavuor = \"x\"\n", `v.hcl:3:1: there is no variable "flavuor": Did you mean flavour?`, `flavuor = "x"`},
		{"unknown name without a likeness", "v.hcl", "zzzzzzzz = 1\n", `v.hcl:1:1: there is no variable "zzzzzzzz": Declare it`, "zzzzzzzz = 1"},
		{"unknown name in JSON", "v.json", "{\n  \"flavuor\": 1\n}\n", `v.json:2:3: there is no variable "flavuor": Did you mean flavour?`, `  "flavuor": 1`},
		{"wrong type", "v.hcl", "n = \"many\"\n", `v.hcl:1:5: the value of "n" does not have the type number: a number is required.`, `n = "many"`},
		{"wrong type in JSON", "v.json", "{\"n\": [1]}", `v.json:1:7: the value of "n" does not have the type number`, `{"n": [1]}`},
		{"null", "v.hcl", "n = null\n", "v.hcl:1:5: this value is null", "n = null"},
		{"a name", "v.hcl", "flavour = var.n\n", "v.hcl:1:11: this value is not written out: A file of variables names no other values", "flavour = var.n"},
		{"a word", "v.hcl", "flavour = vanilla\n", "Put text in quotes", "flavour = vanilla"},
		{"a function", "v.hcl", "flavour = upper(\"x\")\n", "v.hcl:1:11: this value is not written out", `flavour = upper("x")`},
		{"a secret", "v.hcl", "flavour = secret(\"x\")\n", "v.hcl:1:11: this value is not written out", `flavour = secret("x")`},
		{"a block", "v.hcl", "variable \"n\" {\n}\n", "v.hcl:1:1: a file of variables contains no blocks", `variable "n" {`},
		{"syntax", "v.hcl", "n = \n", "v.hcl:1:5: Invalid expression", "n = "},
		{"syntax of JSON", "v.json", "{\"n\": }", "v.json:1:7: ", `{"n": }`},
		{"twice", "v.hcl", "n = 1\nn = 2\n", `v.hcl:2:1: "n" is written twice`, "n = 2"},
		{"no object", "v.json", "[1]", "v.json: the file is not a JSON object", ""},
		{"empty JSON", "v.json", "", "v.json: the file is not a JSON object", ""},
		{"deep", "v.hcl", "n = " + deep, "nested deeper", ""},
		{"deep JSON", "v.json", `{"n": ` + deep, "nested deeper", ""},
		{"deep JSON behind a text", "v.json", `{"flavour": "${", "n": ` + deep, "nested deeper", ""},
		{"a long number", "v.json", `{"n": 1e999999999}`, "this number is too long", ""},
		{"large", "v.hcl", strings.Repeat("# x\n", 300_000), "larger than 1 MiB", ""},
		{"not UTF-8", "v.json", "{\"n\": \"\xff\"}", "v.json:1:8: the file is not UTF-8", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := varFile(t, c.file, c.text)
			_, err := load(t, "variable \"n\" {\n  type    = number\n  default = 1\n}\nvariable \"flavour\" {\n  default = \"\"\n}\n", o)
			var faults pipeline.Errors
			if !errors.As(err, &faults) || len(faults) != 1 || faults[0].Pos.File != o.VarFiles[0] || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			if c.source != "" && (faults[0].Source != c.source || faults[0].Width < 1) {
				t.Errorf("got line %q, width %d", faults[0].Source, faults[0].Width)
			}
		})
	}
}

// A value that another wins over must be right all the same.
func TestVariableFileIsCheckedThoughNotUsed(t *testing.T) {
	t.Parallel()
	o := varFile(t, "v.hcl", "n = \"x\"\n")
	o.Vars = map[string]string{"n": "1"}
	_, err := load(t, "variable \"n\" {\n  type = number\n}\n", o)
	if err == nil || !strings.Contains(err.Error(), "v.hcl:1:5") {
		t.Errorf("got %v", err)
	}
}

func TestVariableFileThatIsNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, fifo, link := filepath.Join(dir, "folder"), filepath.Join(dir, "fifo"), filepath.Join(dir, "link")
	check(t, os.Mkdir(folder, 0o700), syscall.Mkfifo(fifo, 0o600), os.Symlink("nowhere", link))
	for path, want := range map[string]string{
		folder:                    "cannot be read: It is a folder, not a file: name a file, or put one in its place.",
		fifo:                      "It is a pipe that nothing came through.",
		"/dev/null":               "It is not a regular file: name a file, or put one in its place.",
		link:                      "cannot be read: It is a link to nowhere, where no file is",
		filepath.Join(dir, "not"): "does not exist: Its path is relative to the folder you work in.",
	} {
		_, err := load(t, "", hclfile.Options{VarFiles: []string{path}})
		var faults pipeline.Errors
		if !errors.As(err, &faults) || len(faults) != 1 || faults[0].Pos.File != path || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}

// <(command) of a shell is a pipe, and has a name.
func TestVariableFileThatIsAPipe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"lines":     {"n = \"x\"\n", ""},
		"a fault":   {"n = \n", ":1:5: "},
		"too large": {strings.Repeat("#", 2<<20), "larger than 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, in, err := os.Pipe()
			check(t, err)
			path := fmt.Sprintf("/dev/fd/%d", out.Fd())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = in.WriteString(c.text) // an error where it is not read to its end
				_ = in.Close()
			}()
			config, err := load(t, "variable \"n\" {\n  type = string\n}\ntask \"t\" {\n  run = [\"x\", var.n]\n}\n", hclfile.Options{VarFiles: []string{path}})
			if c.want == "" && (err != nil || config.Tasks[0].Run.Argv[1].Value != "x") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			_ = out.Close() // what is left is not wanted
			<-ended
		})
	}
}

// The values of a sensitive variable, whichever way they came, are kept as secrets and marked.
func TestSensitiveVariable(t *testing.T) {
	t.Parallel()
	const src = `
variable "token" {
  type      = string
  default   = "in-the-file"
  sensitive = true
}
variable "list" {
  type      = list(string)
  default   = ["list-one", "list-two"]
  sensitive = true
}
variable "port" {
  default   = 123456
  sensitive = true
}
locals {
  header = "Bearer ${var.token}"
}
task "a" {
  run = ["x", local.header, var.list[1], base64encode(var.token)]
  env = {
    PORT  = var.port
    PLAIN = "plain"
    LONG  = length(var.token) > 3 ? "yes" : "no"
  }
}
task "b" {
  run = var.list
}
`
	for name, c := range map[string]struct {
		o    hclfile.Options
		want string
	}{
		"default":     {hclfile.Options{}, "in-the-file"},
		"environment": {hclfile.Options{Env: func(n string) (string, bool) { return "from-outside", n == hclfile.VarPrefix+"token" }}, "from-outside"},
		"file":        {varFile(t, "v.json", `{"token": "from-a-file"}`), "from-a-file"},
		"flag":        {hclfile.Options{Vars: map[string]string{"token": "from-a-flag"}}, "from-a-flag"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := good(t, src, c.o)
			for _, want := range []pipeline.Secret{
				{Name: "var.token", Value: c.want},
				{Name: "var.token", Value: "in-the-file"},
				{Name: "var.list", Value: "list-one"},
				{Name: "var.list", Value: "list-two"},
				{Name: "var.port", Value: "123456"},
			} {
				if !slices.Contains(got.Secrets, want) {
					t.Errorf("%v is not among %v", want, got.Secrets)
				}
			}
			if !slices.ContainsFunc(got.Secrets, func(s pipeline.Secret) bool {
				return s.Name == "made from var.token" && s.Value == got.Tasks[0].Run.Argv[3].Value
			}) {
				t.Errorf("what was made from it is no secret: %v", got.Secrets)
			}
			a := got.Tasks[0]
			for i, want := range [][]string{nil, {"var.token"}, {"var.list"}, {"var.token"}} {
				if w := a.Run.Argv[i]; !slices.Equal(w.Secrets, want) || w.Missing != nil {
					t.Errorf("word %d: %+v, want %v", i, w, want)
				}
			}
			if v := a.Run.Argv[1].Value; v != "Bearer "+c.want {
				t.Errorf("got %q", v)
			}
			for _, v := range a.Env {
				if want := map[string]string{"PORT": "var.port", "LONG": "var.token"}[v.Name]; strings.Join(v.Secrets, " ") != want {
					t.Errorf("%s: %v", v.Name, v.Secrets)
				}
			}
			if w := got.Tasks[1].Run.Argv; len(w) != 2 || !slices.Equal(w[0].Secrets, []string{"var.list"}) {
				t.Errorf("got %+v", w)
			}
		})
	}
}

// No fault tells the value of a sensitive variable, whichever way it came.
func TestSensitiveVariableIsNotTold(t *testing.T) {
	t.Parallel()
	const value = "hunter2-hunter2"
	block := func(typ string) string {
		return fmt.Sprintf("variable \"token\" {\n  type      = %s\n  sensitive = true\n  validation {\n    condition     = length(var.token) > 99\n"+
			"    error_message = \"too short\"\n  }\n}\ntask \"t\" {\n  run = [\"x\"]\n  env = { A = tonumber(var.token) }\n}\n", typ)
	}
	for name, c := range map[string]struct{ typ, file, text string }{
		"flag":              {"string", "", ""},
		"flag of no type":   {"object({ a = string })", "", ""},
		"flag of no number": {"number", "", ""},
		"file":              {"string", "v.hcl", "token = \"" + value + "\"\n"},
		"wrong type":        {"number", "v.hcl", "token = \"" + value + "\"\n"},
		"wrong object":      {"object({ a = string })", "v.hcl", "token = { " + value + " = 1 }\n"},
		"wrong type, JSON":  {"number", "v.json", "{\"token\": \"" + value + "\"}"},
		"mistyped name":     {"string", "v.hcl", "tokne = \"" + value + "\"\n"},
		"syntax":            {"string", "v.hcl", "token = \"" + value + "\n"},
		"syntax of JSON":    {"string", "v.json", "{\"token\": " + value + "}"},
		"no quotes":         {"string", "v.hcl", "token = " + value + "\n"},
		"twice":             {"string", "v.hcl", "token = \"x\"\ntoken = \"" + value + "\"\n"},
		"short":             {"number", "v.hcl", "token = \"hunte\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := hclfile.Options{Vars: map[string]string{"token": value}}
			if c.file != "" {
				o = varFile(t, c.file, c.text)
			}
			_, err := load(t, block(c.typ), o)
			var faults pipeline.Errors
			if !errors.As(err, &faults) {
				t.Fatalf("got %v", err)
			}
			for _, e := range faults {
				if text := fmt.Sprintf("%+v", e); strings.Contains(text, "hunte") {
					t.Errorf("told: %s", text)
				}
			}
		})
	}
}
