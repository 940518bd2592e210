package hclfile_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

// loadText reads a file of this name with this text.
func loadText(t *testing.T, name, text string) (*pipeline.Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return hclfile.Load(file, hclfile.Options{})
}

// inputs = auto is a word, in JSON a text; strict and tools belong to inputs.
func TestInputs(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"PIPELINE.hcl":      "task \"t\" {\n run = [\"x\"]\n inputs = auto\n tools = { b = [\"b\"], a = [\"a\", \"-v\"] }\n cache { ttl = \"1h\" }\n}\n",
		"PIPELINE.hcl.json": `{"task":{"t":{"run":["x"],"inputs":"auto","tools":{"b":["b"],"a":["a","-v"]},"cache":{"ttl":"1h"}}}}`,
	} {
		c, err := loadText(t, name, text)
		if err != nil {
			t.Fatal(name, err)
		}
		task := c.Task("t")
		want := []pipeline.Tool{{Name: "a", Argv: []string{"a", "-v"}}, {Name: "b", Argv: []string{"b"}}}
		if !task.Auto || !task.HasInputs() || task.Inputs != nil || !reflect.DeepEqual(task.Tools, want) {
			t.Errorf("%s: %+v", name, task)
		}
	}
	for text, want := range map[string]string{
		`inputs = "auto"`:                                    "inputs must be a list",
		`inputs = [auto]`:                                    "auto",
		"inputs = auto\n strict = true":                      "strict is of no use with inputs = auto",
		"inputs = auto\n service = true":                     "a service has no inputs = auto",
		"strict = true":                                      "strict",
		`tools = { a = ["a"] }`:                              "tools",
		"inputs = [\"a\"]\n tools = [\"a\"]":                 "tools must be a map",
		"inputs = [\"a\"]\n tools = { a = \"a -v\" }":        "tools a must be a list",
		"inputs = [\"a\"]\n tools = { a = [] }":              "tools has an entry without a program",
		"inputs = [\"a\"]\n tools = { a = [\"\", \"b\"] }":   "tools has an entry without a program",
		"inputs = [\"a\"]\n tools = { a = [secret(\"X\")] }": "may not be made from a secret",
	} {
		_, err := loadText(t, "PIPELINE.hcl", "task \"t\" {\n run = [\"x\"]\n "+text+"\n}\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
