package hclfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

func TestFormat(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ src, want string }{
		"spaces":             {"task   \"a\"{\nrun=[\"x\",\"y\"]\n  dir   =  \".\"\n}\n", "task \"a\" {\n  run = [\"x\", \"y\"]\n  dir = \".\"\n}\n"},
		"equals signs align": {"a=1\nlong=2\n", "a    = 1\nlong = 2\n"},
		"a line end":         {"a=1", "a = 1\n"},
		"one line end":       {"a = 1\n\n \t\n", "a = 1\n"},
		"comments stay":      {"# one\na=1 // two\n/* three */\n", "# one\na = 1 // two\n/* three */\n"},
		"heredoc":            {"a=<<-EOT\n    two  spaces \n  EOT\n", "a = <<-EOT\n    two  spaces \n  EOT\n"},
		"heredoc at the end": {"a=<<EOT\nx\nEOT\n\n", "a = <<EOT\nx\nEOT\n"},
		"carriage returns":   {"a=1\r\nb=<<E\r\nx\r\nE\r\n\r\n", "a = 1\r\nb = <<E\r\nx\r\nE\r\n"},
		"their missing end":  {"a=1\r\nb=2", "a = 1\r\nb = 2\r\n"},
		"shell text":         {"run=\"echo $${A}  $B %%{c}\"\n", "run = \"echo $${A}  $B %%{c}\"\n"},
		"nothing":            {"", ""},
		"only spaces":        {" \n\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := hclfile.Format("PIPELINE.hcl", []byte(c.src))
			if err != nil || string(got) != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
			again, err := hclfile.Format("PIPELINE.hcl", got)
			if err != nil || !bytes.Equal(again, got) {
				t.Errorf("a second time: %q, %v", again, err)
			}
		})
	}
}

func TestFormatWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, src, want string }{
		"syntax":     {"PIPELINE.hcl", "a = 1\ntask {\n", "PIPELINE.hcl:2:"},
		"twice":      {"PIPELINE.hcl", "a = 1\na = 2\n", "PIPELINE.hcl:2:1: \"a\" is written twice"},
		"too deep":   {"PIPELINE.hcl", "a = " + strings.Repeat("(", 100_000) + "\n", "nested deeper"},
		"no text":    {"PIPELINE.hcl", "a = \"\xff\"\n", "not UTF-8"},
		"JSON":       {"PIPELINE.hcl.json", "{}\n", "JSON is not formatted"},
		"large file": {"PIPELINE.hcl", strings.Repeat("# x\n", 300_000), "larger than 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := hclfile.Format(c.file, []byte(c.src))
			var faults pipeline.Errors
			if got != nil || !errors.As(err, &faults) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

// Every file of the tests, with its spaces changed at random, says the same after formatting, and is formatted once
// and for all.
func TestFormatKeepsWhatIsSaid(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("testdata/good/*.hcl")
	sources := make(map[string][]byte)
	for _, file := range files {
		sources[file] = read(t, file)
	}
	dir := t.TempDir()
	said := func(t *rapid.T, src []byte, from string) string {
		path := filepath.Join(dir, hclfile.Name)
		check(t, os.WriteFile(path, src, 0o600))
		c, err := hclfile.Load(path, hclfile.Options{Env: environ})
		if err != nil {
			t.Fatalf("%s: %v\n%s", from, err, src)
		}
		withoutPlaces(c)
		c.Warnings = nil
		text, err := json.Marshal(c)
		check(t, err)
		return string(text)
	}
	check(t, os.CopyFS(dir, os.DirFS("testdata/good")))
	rapid.Check(t, func(t *rapid.T) {
		file := rapid.SampledFrom(files).Draw(t, "file")
		src := spaced(t, sources[file])
		formatted, err := hclfile.Format(file, src)
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		again, err := hclfile.Format(file, formatted)
		if err != nil || !bytes.Equal(again, formatted) {
			t.Fatalf("a second time: %v\n%s", err, cmp.Diff(string(formatted), string(again)))
		}
		if diff := cmp.Diff(said(t, src, file), said(t, formatted, file)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// spaced puts other spaces at the beginning of lines and around equals signs, outside heredocs and texts.
func spaced(t *rapid.T, src []byte) []byte {
	var out strings.Builder
	inText := ""
	for _, line := range strings.Split(string(src), "\n") {
		switch {
		case inText != "":
			if strings.TrimSpace(line) == inText {
				inText = ""
			}
		case strings.Contains(line, "<<"):
			_, word, _ := strings.Cut(line, "<<")
			inText = strings.TrimLeft(word, "-")
			fallthrough
		default:
			indent := rapid.StringMatching("[ \t]{0,3}").Draw(t, "indent")
			line = indent + strings.TrimLeft(line, " ")
			if name, value, ok := strings.Cut(line, "="); ok && !strings.Contains(name, `"`) && !strings.HasPrefix(value, "=") && !strings.Contains(name, "#") {
				line = strings.TrimRight(name, " ") + rapid.StringMatching(" {0,3}").Draw(t, "before") + "=" +
					rapid.StringMatching(" {0,3}").Draw(t, "after") + strings.TrimLeft(value, " ")
			}
		}
		out.WriteString(line + "\n")
	}
	return []byte(out.String())
}

// FuzzFormat looks for a file that is formatted in another way the second time, or says something else.
func FuzzFormat(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*.hcl")
	for _, file := range files {
		src := read(f, file)
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		out, err := hclfile.Format("x.hcl", src)
		if err != nil {
			if strings.Contains(err.Error(), "without changing") {
				t.Fatal(err)
			}
			return
		}
		again, err := hclfile.Format("x.hcl", out)
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("a second time: %v\n%q\n%q", err, out, again)
		}
	})
}
