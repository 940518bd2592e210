package hclfile_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

// A member is one property of a JSON object, in its place.
type member struct {
	name  string
	value any
}

type object []member

func (o object) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	for i, m := range o {
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteString(",")
		}
		b.Write(name)
		b.WriteString(": ")
		b.Write(value)
	}
	return []byte("{" + b.String() + "}"), nil
}

// asJSON writes a native file as JSON, as a person would: lists and maps that are written out as such, texts as
// texts, and what is left as "${…}".
func asJSON(t *testing.T, src []byte) []byte {
	t.Helper()
	file, diags := hclsyntax.ParseConfig(src, "", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var value func(e hclsyntax.Expression) any
	value = func(e hclsyntax.Expression) any {
		source := string(e.Range().SliceBytes(src))
		switch e := e.(type) {
		case *hclsyntax.TupleConsExpr:
			all := []any{}
			for _, x := range e.Exprs {
				all = append(all, value(x))
			}
			return all
		case *hclsyntax.ObjectConsExpr:
			all := object{}
			for _, x := range e.Items {
				key, diags := x.KeyExpr.Value(nil)
				if diags.HasErrors() {
					return "${" + source + "}"
				}
				all = append(all, member{key.AsString(), value(x.ValueExpr)})
			}
			return all
		case *hclsyntax.TemplateExpr:
			if e.IsStringLiteral() {
				v, _ := e.Value(nil)
				return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(v.AsString())
			}
		}
		return "${" + source + "}"
	}
	code := func(e hclsyntax.Expression) any {
		if list, ok := e.(*hclsyntax.TupleConsExpr); ok {
			all := []string{}
			for _, x := range list.Exprs {
				all = append(all, string(x.Range().SliceBytes(src)))
			}
			return all
		}
		return string(e.Range().SliceBytes(src))
	}
	var body func(b *hclsyntax.Body) object
	body = func(b *hclsyntax.Body) object {
		var all object
		for _, a := range b.Attributes {
			v := value(a.Expr)
			if slices.Contains([]string{"type", "depends_on", "use", "fallback", "reviewer", "verify", "tasks"}, a.Name) {
				v = code(a.Expr)
			}
			all = append(all, member{a.Name, v})
		}
		slices.SortFunc(all, func(a, b member) int { return strings.Compare(a.name, b.name) })
		blocks := make(map[string][]any)
		var order []string
		for _, c := range b.Blocks {
			var inner any = body(c.Body)
			if len(c.Labels) > 0 {
				inner = object{{c.Labels[0], inner}}
			}
			if blocks[c.Type] == nil {
				order = append(order, c.Type)
			}
			blocks[c.Type] = append(blocks[c.Type], inner)
		}
		for _, name := range order {
			all = append(all, member{name, blocks[name]})
		}
		return all
	}
	text, err := json.MarshalIndent(body(file.Body.(*hclsyntax.Body)), "", "  ")
	check(t, err)
	return text
}

// What the two syntaxes say is the same.
func TestGoodFilesAsJSON(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("testdata/good/*.hcl")
	if len(files) < 4 {
		t.Fatal("the files are missing")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".hcl"), func(t *testing.T) {
			t.Parallel()
			src := read(t, file)
			// Beside the files that it may name.
			root := t.TempDir()
			check(t, os.CopyFS(root, os.DirFS("testdata/good")))
			native, path := filepath.Join(root, hclfile.Name), filepath.Join(root, hclfile.NameJSON)
			text := asJSON(t, src)
			check(t, os.WriteFile(native, src, 0o600), os.WriteFile(path, text, 0o600))
			want, err := hclfile.Load(native, hclfile.Options{Env: environ})
			check(t, err)
			got, err := hclfile.Load(path, hclfile.Options{Env: environ})
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if got.File != path {
				t.Errorf("File is %s", got.File)
			}
			places := cmp.Options{
				cmpopts.IgnoreFields(pipeline.Config{}, "File"), cmpopts.IgnoreUnexported(pipeline.Config{}), cmpopts.IgnoreTypes(pipeline.Pos{}),
				cmpopts.IgnoreFields(pipeline.Error{}, "Source", "Width"), cmpopts.EquateEmpty(),
				cmpopts.SortSlices(func(a, b pipeline.Error) bool { return a.Summary < b.Summary }),
			}
			if diff := cmp.Diff(want, got, places); diff != "" {
				t.Errorf("native and JSON differ:\n%s", diff)
			}
			for _, task := range got.Tasks {
				if task.Pos.File != path {
					continue // of an included file, which is the same one
				}
				lines := strings.Split(string(text), "\n")
				if line := lines[task.Pos.Line-1]; !strings.HasPrefix(line[task.Pos.Column-1:], `"`+task.Base+`"`) {
					t.Errorf("%s stands at %v: %s", task.Name, task.Pos, line)
				}
			}
		})
	}
}

// In JSON the expectation stands in a property "//" of the line at fault.
func TestErrorFilesInJSON(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("testdata/errors/*.json")
	if len(files) < 4 {
		t.Fatal("the files are missing")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			src := read(t, file)
			want := expected(string(src), "# ERROR:")
			for line, all := range want {
				for i := range all {
					text := all[i]
					if end := strings.LastIndex(text, `"`); end >= 0 && i == len(all)-1 {
						text = text[:end] // of the comment
					}
					all[i] = strings.ReplaceAll(strings.TrimSpace(text), `\"`, `"`)
				}
				want[line] = all
			}
			c, err := hclfile.Load(file, hclfile.Options{Env: environ})
			var got pipeline.Errors
			if !errors.As(err, &got) || c != nil {
				t.Fatalf("want faults, got %v and %v", c, err)
			}
			compare(t, want, got)
			lines := strings.Split(string(src), "\n")
			for _, e := range got {
				if e.Pos.File != file || e.Pos.Line == 0 || e.Source != lines[e.Pos.Line-1] || e.Width < 1 || e.Pos.Column+e.Width-1 > len([]rune(e.Source)) {
					t.Errorf("place, source line or width is missing or wrong: %+v", e)
				}
			}
		})
	}
}

// A fault in a text is told where it stands in the file, whatever was escaped before it.
func TestPlacesInJSONTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`${nope}`, `a ${nope}`, `a\nb\nc ${nope}`, `\"\\\/\b\f\t ${nope}`, `\u00e4ä\u20ac€ ${nope}`, `\ud83d\ude00😀 ${nope}`,
		`\u0041 ${nope}`, `${\"\\n\"}${nope}`, `%{ if true }x%{ endif }\n${nope}`,
	} {
		src := "{\n  \"task\": {\"a\": {\n    \"run\": \"" + text + " x\"\n  }}\n}\n"
		_, err := loadJSON(t, src, hclfile.Options{})
		var faults pipeline.Errors
		if !errors.As(err, &faults) || len(faults) != 1 {
			t.Errorf("%s: got %v", text, err)
			continue
		}
		if e := faults[0]; e.Pos.Line != 3 || string([]rune(e.Source)[e.Pos.Column-1:][:e.Width]) != "nope" || !strings.Contains(e.Detail, "write $nope, or $${nope}") {
			t.Errorf("%s: got %+v", text, e)
		}
	}
}

func TestHostileJSON(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: little of it runs at once, so the race detector finds little")
	}
	const deep = "nested deeper than 200 levels"
	for _, c := range []struct{ name, src, want string }{
		{"far over 1 MiB", strings.Repeat(" ", 5<<20), "larger than 1 MiB"},
		{"brackets", fill("", "[", ""), deep},
		{"braces", fill("", `{"a":`, ""), deep},
		{"brackets behind an open text", fill("[\"a\n", "[", ""), deep},
		{"brackets behind a text that hides its quote", fill("[\"\u0600\", \"\u0600\"", "[", `"`), "cannot follow this character"},
		{"brackets behind escaped quotes", fill(`["\"", `, "[", ""), deep},
		{"brackets behind backslashes", fill(`["\\", `, "[", ""), deep},
		{"templates in a text", fill(`{"locals": {"a": "`, `${[`, `"}}`), deep},
		{"operators in a text", fill(`{"locals": {"a": "${1`, `+1`, `}"}}`), deep},
		{"pieces of text", fill(`{"locals": {"a": "${1}`, `\n$`, `"}}`), "more than 5000 lines or pieces"},
		{"brackets in a reference", fill(`{"job": {"a": {"tasks": ["`, `[`, `"]}}}`), deep},
		{"a large number", `{"pipeline": {"concurrency": 1e999999999}}`, "this number is too long"},
		{"a long number", fill(`{"pipeline": {"concurrency": `, "1", "}}"), "this number is too long"},
		{"NUL", "{\"a\": \"\x00\"}", "NUL byte"},
		{"BOM", "\xef\xbb\xbf{}", "byte order mark"},
		{"not UTF-8", "{\"a\": \"\xe4\"}", "not UTF-8"},
		{"names", `{` + strings.TrimSuffix(fill("", `"a":1,`, ""), ",") + `}`, "is written twice"},
		{"many blocks", `{"taks": [` + strings.TrimSuffix(fill("", `{"a":{}},`, ""), ",") + `]}`, "there is no"},
		{"empty", "", "Missing value"},
		{"native", "task \"a\" {\n}\n", "1:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			_, err := loadJSON(t, c.src, hclfile.Options{})
			var faults pipeline.Errors
			if !errors.As(err, &faults) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %.300v, want %q", err, c.want)
			}
			if took := time.Since(start); took > 3*time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
}

// FuzzLoadJSON is FuzzLoad for the other syntax.
func FuzzLoadJSON(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*.json")
	for _, file := range files {
		f.Add(string(read(f, file)))
	}
	f.Fuzz(func(t *testing.T, src string) {
		start := time.Now()
		c, err := loadJSON(t, src, hclfile.Options{Env: environ})
		if took := time.Since(start); took > 3*time.Minute {
			t.Errorf("took %v", took)
		}
		var faults pipeline.Errors
		if err == nil {
			return
		}
		if !errors.As(err, &faults) || c != nil || len(faults) == 0 {
			t.Fatalf("got %v and %v", c, err)
		}
		for _, e := range faults {
			if e.Summary == "" || e.Pos.File == "" || e.Pos.Line > 0 && e.Width < 1 {
				t.Errorf("incomplete: %+v", e)
			}
		}
	})
}
