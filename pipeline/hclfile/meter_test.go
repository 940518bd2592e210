package hclfile_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

// A few bytes that ask for more than there is are refused where they stand, and soon; what people write is not.
func TestWhatReadingCosts(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("a", 200_000)
	tests := map[string]struct{ text, says string }{
		"nested loops":          {`[for x in range(1000): [for y in range(1000): [for z in range(1000): "${x}${y}${z}"]]]`, "go round more than"},
		"loops that keep none":  {`[for x in range(1000): [for y in range(1000): [for z in range(1000): z if z > 5000]]]`, "go round more than"},
		"loops in a template":   {`"%{ for x in range(1000) }%{ for y in range(1000) }%{ for z in range(1000) }x%{ endfor }%{ endfor }%{ endfor }"`, "go round more than"},
		"loops in an object":    {`{for x in range(1000): "${x}" => [for y in range(1000): [for z in range(1000): z]]}`, "go round more than"},
		"loops in try":          {`try([for x in range(1000): [for y in range(1000): [for z in range(1000): z]]], 1)`, "cannot take these values"},
		"setproduct":            {`setproduct(range(1000), range(1000), range(1000))`, "it would make more than"},
		"join":                  {`join("` + big + `", range(1000))`, "it would make more than"},
		"replace":               {`replace("` + big + `", "a", "` + big + `")`, "it would make more than"},
		"regexreplace":          {`regexreplace("` + big + `", "a", "` + big + `")`, "it would make more than"},
		"format":                {`format("%99999999999s", "x")`, "it would make more than"},
		"formatlist":            {`formatlist("%99999s", range(1000))`, "it would make more than"},
		"indent":                {`indent(999999999, "a\nb")`, "it would make more than"},
		"honest loops":          {`[for x in range(100): [for y in range(100): "${x}-${y}" if y > x]]`, ""},
		"honest functions":      {`[join(", ", formatlist("%05d", range(100))), indent(4, "a\nb"), replace("a-b", "-", "_")]`, ""},
		"a loop in a secret's":  {`[for x in ["a", "b"]: "${x}${secret("TOKEN")}"]`, "secret"},
		"an unknown in a loop":  {`[for x in ["a"]: nothing(x)]`, `no function "nothing"`},
		"an unknown in a deep":  {`[for x in ["a"]: [for y in ["b"]: nothing(x)]]`, `no function "nothing"`},
		"an unknown in a where": {`[for x in ["a"]: x if nothing(x)]`, `no function "nothing"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := "locals {\n  a = " + tt.text + "\n}\ntask \"t\" {\n  run = [\"true\"]\n  description = jsonencode(local.a)\n}\n"
			_, err := load(t, src, hclfile.Options{Env: environ})
			if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %.300v, want %q", err, tt.says)
			}
		})
	}
}

// The values of variables that come from outside are held to the same.
func TestWhatAVariableCosts(t *testing.T) {
	t.Parallel()
	list := "[" + strings.Repeat("1,", 700) + "1]"
	loops := "[for x in " + list + ": [for y in " + list + ": y]]"
	src := "variable \"v\" {\n  type = any\n}\ntask \"t\" {\n  run = [\"true\"]\n}\n"
	if _, err := load(t, src, varFile(t, "vars.hcl", "v = "+loops+"\n")); err == nil {
		t.Error("a file of variables may go round for ever")
	}
}

// Nothing is divided by zero, which the library lets pass.
func TestDivision(t *testing.T) {
	t.Parallel()
	for text, fine := range map[string]bool{"1 / 0": false, "5 % 0": false, "6 / (2 - 2)": false, "[for x in [1, 0]: 1 / x]": false, "6 / 4": true, "[for x in [1, 2]: 7 % x]": true} {
		_, err := load(t, "task \"t\" {\n  run = [\"echo\", jsonencode("+text+")]\n}\n", hclfile.Options{Env: environ})
		if (err == nil) != fine || err != nil && !strings.Contains(err.Error(), "ivision by zero") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What a text of secrets may be shown as holds none of them, however it is quoted, cut or changed afterwards; and
// what is made of a secret is kept from every place that can still see only the text.
func TestHiddenTexts(t *testing.T) {
	t.Parallel()
	src := `variable "pin" {
  type      = number
  default   = 987654321
  sensitive = true
}
variable "word" {
  default   = "defaultsecretpw"
  sensitive = true
}
task "t" {
  run = ["echo", secret("ODD"), "${var.pin * 2}", substr(var.word, 0, 10), secret("NOT_SET"), "plain"]
}
task "sh" {
  run = "echo ${secret("ODD")}"
}
`
	odd := "it's\ta\rsecret\x1b[31m\u202evalue"
	env := func(name string) (string, bool) { return odd, name == "ODD" }
	c := good(t, src, hclfile.Options{Env: env})
	var shown []string
	for _, w := range c.Task("t").Run.Argv {
		shown = append(shown, w.Show())
	}
	if got := strings.Join(shown, "|"); got != "echo|[redacted]|[redacted]|[redacted]|[NOT_SET is not set]|plain" {
		t.Errorf("shown: %q", got)
	}
	if got := c.Task("sh").Run.Shell.Show(); got != "echo [redacted]" {
		t.Errorf("shown: %q", got)
	}
	known := make(map[string]bool)
	for _, s := range c.Secrets {
		known[s.Value] = true
	}
	for _, want := range []string{odd, strings.ReplaceAll(odd, "\r", ""), "987654321", "1975308642", "defaultsecretpw", "defaultsec"} {
		if !known[want] {
			t.Errorf("%q is not kept secret", want)
		}
	}
}

// A file that cannot be read may hold a sensitive value anywhere: its lines are not quoted.
func TestSyntaxFaultsHideLines(t *testing.T) {
	t.Parallel()
	src := "variable \"a\" {\n  sensitive = true\n  default = \"hunter2hunter2\" oops\n}\n"
	_, err := load(t, src, hclfile.Options{Env: environ})
	var faults pipeline.Errors
	if !errors.As(err, &faults) {
		t.Fatal(err)
	}
	for _, f := range faults {
		if strings.Contains(f.Source+f.Summary+f.Detail, "hunter2") || f.Pos.Line != 3 {
			t.Errorf("%+v", f)
		}
	}
}
