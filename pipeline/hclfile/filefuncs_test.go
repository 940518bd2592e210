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

// project makes a root with files in it and gives the path of its PIPELINE.hcl.
func project(t *testing.T, src string, files map[string]string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	files[hclfile.Name] = src
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		check(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
	}
	return filepath.Join(root, hclfile.Name)
}

// value evaluates an expression in a project and gives it as JSON, with what was read for it.
func value(t *testing.T, expr string, files map[string]string) (string, []string, error) {
	t.Helper()
	c, err := hclfile.Load(project(t, "task \"a\" {\n  run = [\"x\", jsonencode("+expr+")]\n}\n", files), hclfile.Options{})
	if err != nil {
		return "", nil, err
	}
	return c.Tasks[0].Run.Argv[1].Value, c.Tasks[0].Reads, nil
}

func TestFileFunctions(t *testing.T) {
	t.Parallel()
	files := func() map[string]string {
		return map[string]string{
			"VERSION": "1.2\n", "empty": "", "a/one.go": "1", "a/b/two.go": "2", "a/b/three.txt": "3", "top.go": "0", "[x].go": "4",
			".git/config": "g", "a/.git": "gitdir: x", ".async/runs/x.go": "r", ".hidden/h.go": "h",
		}
	}
	for _, c := range []struct {
		name, expr, want string
		reads            []string
	}{
		{"text", `file("VERSION")`, `"1.2\n"`, []string{"VERSION"}},
		{"a path that is not clean", `file("./a/../VERSION")`, `"1.2\n"`, []string{"VERSION"}},
		{"an empty file", `file("empty")`, `""`, []string{"empty"}},
		{"sum", `filesha256("a/one.go")`, `"6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"`, []string{"a/one.go"}},
		{"set", `fileset("**/*.go")`, `[".hidden/h.go","[x].go","a/b/two.go","a/one.go","top.go"]`, []string{".hidden/h.go", "[x].go", "a/b/two.go", "a/one.go", "top.go"}},
		{"set of a folder", `fileset("a/**")`, `["a/b/three.txt","a/b/two.go","a/one.go"]`, []string{"a/b/three.txt", "a/b/two.go", "a/one.go"}},
		{"set of either", `fileset("./a/b/*.{go,txt}")`, `["a/b/three.txt","a/b/two.go"]`, []string{"a/b/three.txt", "a/b/two.go"}},
		{"set of one name", `fileset("VERSION")`, `["VERSION"]`, []string{"VERSION"}},
		{"set with a bracket", `fileset("\\[x\\].go")`, `["[x].go"]`, []string{"[x].go"}},
		{"no folder", `fileset("nowhere/*")`, `[]`, nil},
		{"git's", `fileset(".git/*")`, `[]`, nil},
		{"ours", `fileset(".async/**")`, `[]`, nil},
		{"a folder is no file", `fileset("*")`, `["PIPELINE.hcl","VERSION","[x].go","empty","top.go"]`, []string{"PIPELINE.hcl", "VERSION", "[x].go", "empty", "top.go"}},
		{"tried", `try(file("nowhere"), "none")`, `"none"`, nil},
		{"in a loop", `[for f in fileset("a/*.go") : file(f)]`, `["1"]`, []string{"a/one.go"}},
		{"thrice", `[file("VERSION"), file("VERSION"), filesha256("empty")]`, `["1.2\n","1.2\n","e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"]`, []string{"VERSION", "empty"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, reads, err := value(t, c.expr, files())
			if err != nil || got != c.want || !slices.Equal(reads, c.reads) {
				t.Errorf("got %s, read %q, %v; want %s, %q", got, reads, err, c.want, c.reads)
			}
		})
	}
}

func TestLength(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		`length("añb")`: "3", `length([1, "b"])`: "2", `length({ a = 1, b = "c" })`: "2", `length(tomap({ a = 1 }))`: "1", `length({})`: "0",
	} {
		if got, _, err := value(t, expr, map[string]string{}); got != want || err != nil {
			t.Errorf("%s is %s, %v", expr, got, err)
		}
	}
	if _, _, err := value(t, "length(3)", map[string]string{}); err == nil {
		t.Error("a number has a length")
	}
}

func TestFileFunctionFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ expr, want string }{
		"not UTF-8":     {`file("binary")`, `binary is not UTF-8 text: let the task read it, or take filesha256("binary")`},
		"large":         {`file("large")`, "large is larger than 1 MiB: let the task read it"},
		"many":          {`length(join("", [for i in range(20) : file("part${i}")]))`, "more than 16 MiB of files are read"},
		"folder":        {`filesha256("sub")`, `sub is a folder: name a file, or find those in it with fileset("sub/**")`},
		"FIFO":          {`file("fifo")`, "fifo is not a regular file"},
		"sum of a FIFO": {`filesha256("fifo")`, "fifo is not a regular file"},
		"way out":       {`file("out")`, "out is a link that leads out of the folder of PIPELINE.hcl"},
		"absolute link": {`file("absolute")`, "absolute is a link that leads out of the folder of PIPELINE.hcl"},
		"linked folder": {`file("outdir/secret")`, "outdir/secret is a link that leads out of the folder of PIPELINE.hcl"},
		"broken link":   {`file("broken")`, "there is no file broken"},
		"device":        {`file("/dev/zero")`, "/dev/zero is an absolute path"},
		"not NFC":       {`fileset("apart/*")`, `apart/* finds apart/e` + "\u0301" + `, whose name is not in the composed Unicode form (NFC) that values have: rename it (now it is "apart/e\u0301")`},
		"NUL":           {`file(jsondecode("\"a\\u0000b\""))`, "it contains a NUL byte"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{
				"binary": "\xff\xfe", "large": strings.Repeat("x", 1<<20+1), "sub/x": "x", "apart/e\u0301": "", "../secret": "outside", "here": "inside",
			}
			if name == "many" {
				for i := range 20 {
					files[fmt.Sprintf("part%d", i)] = strings.Repeat("x", 1<<20)
				}
			}
			path := project(t, "task \"a\" {\n  run = [\"x\", "+c.expr+"]\n}\n", files)
			at := func(name string) string { return filepath.Join(filepath.Dir(path), name) }
			check(t,
				syscall.Mkfifo(at("fifo"), 0o600), os.Symlink("../secret", at("out")), os.Symlink(at("here"), at("absolute")),
				os.Symlink("..", at("outdir")), os.Symlink("nowhere", at("broken")),
			)
			var faults pipeline.Errors
			if err := loadInTime(t, path); !errors.As(err, &faults) || faults[0].Pos.Line != 2 || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// A file that cannot be read in one task is no input of another, and what a value was made of comes along with it.
func TestFilesAreInputs(t *testing.T) {
	t.Parallel()
	path := project(t, `
variable "version" {
  default = file("VERSION")
}
variable "given" {
  default = file("unread")
}
locals {
  all   = [local.first, file("second")]
  first = file("first")
}
task "none" {
  run = ["x"]
}
task "direct" {
  run = ["x", file("direct")]
  env = { A = filesha256("sub/sum") }
}
task "through_locals" {
  run = local.all
}
task "through_a_variable" {
  run = ["x", var.version, var.given]
}
task "linked" {
  run = ["x", file("link")]
}
task "in_a_hook" {
  run = ["x"]
  on_fail "run" {
    run = ["x", file("direct")]
  }
}
`, map[string]string{"VERSION": "1", "unread": "", "first": "1", "second": "2", "direct": "d", "sub/sum": "s"})
	check(t, os.Symlink("sub/sum", filepath.Join(filepath.Dir(path), "link")))
	c, err := hclfile.Load(path, hclfile.Options{Vars: map[string]string{"given": "g"}})
	check(t, err)
	for name, want := range map[string][]string{
		"none": nil, "direct": {"direct", "sub/sum"}, "through_locals": {"first", "second"}, "through_a_variable": {"VERSION"},
		"linked": {"link", "sub/sum"}, "in_a_hook": {"direct"},
	} {
		if got := c.Task(name).Reads; !slices.Equal(got, want) {
			t.Errorf("%s reads %q, want %q", name, got, want)
		}
	}
}

// Links are followed inside the root only, and a set holds no way out.
func TestFileSetAndLinks(t *testing.T) {
	t.Parallel()
	path := project(t, "task \"a\" {\n  run = tolist(fileset(\"**\"))\n}\n", map[string]string{"a/x": "x", "../secret": "outside"})
	at := func(name string) string { return filepath.Join(filepath.Dir(path), name) }
	check(t,
		os.Symlink("a/x", at("inside")), os.Symlink("../secret", at("outside")), os.Symlink("a", at("folder")), os.Symlink("..", at("up")),
		os.Symlink(".", at("a/loop")), syscall.Mkfifo(at("fifo"), 0o600),
	)
	c, err := hclfile.Load(path, hclfile.Options{})
	check(t, err)
	if want := []string{"PIPELINE.hcl", "a/x", "inside"}; !slices.Equal(c.Tasks[0].Reads, want) {
		t.Errorf("found %q, want %q", c.Tasks[0].Reads, want)
	}
}

// The number of files in a set has a limit.
func TestFileSetTooMany(t *testing.T) {
	t.Parallel()
	path := project(t, "task \"a\" {\n  run = tolist(fileset(\"many/*\"))\n}\n", map[string]string{"many/0": ""})
	for i := range 10_001 {
		check(t, os.Link(filepath.Join(filepath.Dir(path), "many/0"), filepath.Join(filepath.Dir(path), "many", fmt.Sprintf("f%d", i))))
	}
	if _, err := hclfile.Load(path, hclfile.Options{}); err == nil || !strings.Contains(err.Error(), "many/* finds more than 10000 files: write a narrower pattern") {
		t.Errorf("got %v", err)
	}
}
