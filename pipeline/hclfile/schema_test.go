package hclfile_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

// docs/language.md is what the table says: go generate ./pipeline/hclfile.
func TestReference(t *testing.T) {
	t.Parallel()
	page := filepath.Join("..", "..", "docs", "language.md")
	got := hclfile.Reference()
	if *update {
		if err := os.WriteFile(page, got, 0o644); err != nil { //nolint:gosec // a page of documentation
			t.Fatal(err)
		}
	}
	want := read(t, page)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/language.md is not up to date: go generate ./pipeline/hclfile\n%s", diff)
	}
	for _, w := range hclfile.Words() {
		name := w[strings.LastIndex(w, ".")+1:]
		if !bytes.Contains(got, []byte(name)) {
			t.Errorf("%s is not on the page", w)
		}
	}
	for row := range strings.SplitSeq(string(got), "\n") {
		if strings.HasPrefix(row, "| ") && strings.HasSuffix(row, "|  |") {
			t.Errorf("nothing is said of %s", row)
		}
	}
	if regexp.MustCompile("(?m)[ \t]$").Match(got) {
		t.Error("a line ends with spaces")
	}
}

// Language has every word that is accepted, and no other, each with a type that is explained and a doc.
func TestLanguage(t *testing.T) {
	t.Parallel()
	var all []string
	var walk func(way string, s hclfile.Schema)
	walk = func(way string, s hclfile.Schema) {
		if s.Doc == "" {
			t.Errorf("%s: nothing is said of it", way)
		}
		if s.Attributes == nil || s.Blocks == nil {
			t.Errorf("%s: null instead of an empty list", way)
		}
		for _, a := range s.Attributes {
			all = append(all, way+a.Name)
			if a.Doc == "" || strings.TrimRight(a.Doc, ".") == a.Doc {
				t.Errorf("%s%s: %q is no sentence", way, a.Name, a.Doc)
			}
			parts := strings.FieldsFunc(a.Type, func(c rune) bool { return c == '(' || c == ')' })
			if slices.Contains(hclfile.TypeNames(), a.Type) {
				parts = nil
			}
			for _, part := range parts {
				if !slices.Contains(hclfile.TypeNames(), part) && !slices.Contains(hclfile.TypeNames(), part+"(…)") {
					t.Errorf("%s%s: the type %q is not explained", way, a.Name, part)
				}
			}
			if a.Required && a.Default != "" {
				t.Errorf("%s%s is required and has a default", way, a.Name)
			}
		}
		for _, b := range s.Blocks {
			next := way + b.Name
			if !slices.Contains(all, next) {
				all = append(all, next)
			}
			if strings.HasPrefix(b.Label, `"`) {
				next += "." + strings.Trim(b.Label, `"`)
				all = append(all, next)
			}
			walk(next+".", b)
		}
	}
	walk("", hclfile.Language())
	want := hclfile.Words()
	slices.Sort(all)
	slices.Sort(want)
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	if _, err := json.Marshal(hclfile.Language()); err != nil {
		t.Error(err)
	}
}

// Every example can be read and has every attribute of its block. Without one that is required it cannot be read,
// without any other it can; and a default that is written says the same as one that is left out.
func TestExamples(t *testing.T) {
	t.Parallel()
	read := func(t *testing.T, src string) (*pipeline.Config, error) {
		t.Helper()
		o := hclfile.Options{Env: environ}
		if strings.Contains(src, `variable "go"`) {
			o.Vars = map[string]string{"go": "go"} // it need not have a default
		}
		c, err := tree(t, map[string]string{
			hclfile.Name:                src,
			"services/api/PIPELINE.hcl": "variable \"region\" {\n  default = \"us\"\n}\ntask \"test\" {\n  run = [\"./test.sh\", var.region]\n}\n",
		}, o)
		if c != nil {
			c.File, c.Included, c.Root, c.Name = "", nil, "", ""
			withoutPlaces(c)
		}
		return c, err
	}
	for _, x := range hclfile.Illustrations() {
		t.Run(x.Block, func(t *testing.T) {
			t.Parallel()
			c, err := read(t, x.File)
			check(t, err)
			if len(c.Warnings) > 0 {
				t.Errorf("a warning: %v", c.Warnings)
			}
			formatted, err := hclfile.Format("x.hcl", []byte(x.File))
			if err != nil || string(formatted) != x.File {
				t.Errorf("not formatted: %v\n%s", err, cmp.Diff(x.File, string(formatted)))
			}
			for _, a := range x.Attributes {
				line := regexp.MustCompile(`(?m)^ +` + a.Name + ` += .*\n`)
				if !line.MatchString(x.File) {
					t.Errorf("%s is not in the example", a.Name)
					continue
				}
				once := false // the first only: it may stand in other tasks as well
				without := line.ReplaceAllStringFunc(x.File, func(l string) string {
					if once {
						return l
					}
					once = true
					return ""
				})
				less, err := read(t, without)
				if inUse := regexp.MustCompile(`\b(each|matrix)\.`).MatchString(without) && (a.Name == "for_each" || a.Name == "matrix"); inUse {
					continue // what is made of it stands in other attributes
				}
				if needed := a.Required || a.OneOf != nil; (err != nil) != needed {
					t.Errorf("without %s, which is required: %v, got %v", a.Name, needed, err)
				}
				if err != nil || a.Default == "" {
					continue
				}
				at := line.FindStringIndex(x.File)
				more, err := read(t, x.File[:at[0]]+"  "+a.Name+" = "+a.Default+"\n"+x.File[at[1]:])
				if err != nil {
					t.Errorf("%s = %s: %v", a.Name, a.Default, err)
					continue
				}
				if diff := cmp.Diff(text(t, less), text(t, more)); diff != "" {
					t.Errorf("%s = %s is not what is without it:\n%s", a.Name, a.Default, diff)
				}
			}
		})
	}
}

// text is a Config as JSON, in which no list and an empty one are the same.
func text(t *testing.T, c *pipeline.Config) string {
	t.Helper()
	b, err := json.MarshalIndent(c, "", " ")
	check(t, err)
	return strings.ReplaceAll(string(b), "[]", "null")
}
