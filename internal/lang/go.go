package lang

import (
	"bytes"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var golang = Language{
	Name:    "go",
	Exts:    []string{".go"},
	Syntax:  Syntax{Line: []string{"//"}, Blocks: slashStar, Quotes: `"'`, Long: "`", Bare: "`"},
	Tests:   []string{"?*_test"},
	Imports: goImports,
	Unit: func(p string) string {
		if strings.HasSuffix(p, "_test.go") {
			return p
		}
		return GoPackage(path.Dir(p))
	},
}

// gomod is the language of go.mod and go.work.
var gomod = Language{
	Name: "gomod", Files: []string{"go.mod", "go.work"}, Settings: true,
	Syntax: Syntax{Line: []string{"//"}},
}

// assembly is that of Go and of the C compilers.
var assembly = Language{
	Name: "assembly", Also: []string{".s"},
	Syntax: Syntax{Line: []string{"//"}, Blocks: slashStar, Quotes: `"`},
}

var (
	goTestLibrary = lazily.Regexp(`^(?:testing(?:/.*)?|net/http/httptest|github\.com/stretchr/testify.*|` +
		`github\.com/onsi/.*|github\.com/google/go-cmp/.*|gotest\.tools/.*)$`)
	goEmbed = lazily.Regexp(`(?m)^//go:embed[ \t]+(.+)$`)
)

// GoPackage returns a path for the Go package in dir, without its tests.
func GoPackage(dir string) string { return path.Join(dir, "*.go") }

// AddGoModule notes the module of a go.mod in dir. It comes before the sources that import from the module.
func (ix *Index) AddGoModule(dir string, src []byte) {
	for line := range strings.Lines(string(src)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			rest, _, _ = strings.Cut(rest, "//")
			if name := strings.Trim(strings.TrimSpace(rest), "\"`"); name != "" {
				ix.modules[name] = dir
			}
			return
		}
	}
}

func goImports(_ *Language, ix *Index, p string, src []byte) (files []string, testing bool) {
	f, _ := parser.ParseFile(token.NewFileSet(), "", src, parser.ImportsOnly) // of a broken file, as much as can be read
	if f != nil {
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue
			}
			testing = testing || goTestLibrary().MatchString(name)
			if dir, ok := ix.goFolder(name); ok {
				files = append(files, GoPackage(dir))
			}
		}
	}
	if strings.HasSuffix(p, "_test.go") || !bytes.Contains(src, []byte("//go:embed")) {
		return files, testing
	}
	for _, m := range goEmbed().FindAllSubmatch(src, -1) {
		for _, pattern := range strings.Fields(string(m[1])) {
			pattern = path.Join(path.Dir(p), strings.TrimPrefix(strings.Trim(pattern, "\"`"), "all:"))
			for _, dir := range ix.dirs {
				if dir == pattern || Matches(pattern, dir) {
					files = append(files, ix.below(dir)...)
				}
			}
			for _, f := range ix.inDir[path.Dir(pattern)] {
				if f == pattern || Matches(pattern, f) {
					files = append(files, f)
				}
			}
		}
	}
	return files, testing
}

// goFolder returns the folder of an imported package, where it belongs to a module of the tree.
func (ix *Index) goFolder(name string) (dir string, ok bool) {
	for mod := name; ; mod = path.Dir(mod) {
		if root, ok := ix.modules[mod]; ok {
			return path.Join(root, strings.TrimPrefix(name, mod)), true
		}
		if !strings.Contains(mod, "/") || mod == "/" {
			return "", false
		}
	}
}
