package lang

import (
	"path"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var python = Language{
	Name:        "py",
	Exts:        []string{".py", ".pyi"},
	Also:        []string{".pth", ".pyx"},
	Programs:    []string{"python", "pypy"},
	Syntax:      Syntax{Line: []string{"#"}, Quotes: `"'`, Triple: true},
	Tests:       []string{"test_*", "?*_test", "tests", "conftest"},
	TestFolders: []string{"e2e", "cypress"},
	Imports:     pythonImports,
	TestLibrary: lazily.Regexp(`(?m)^[ \t]*(?:import|from)[ \t]+(?:pytest|unittest|mock|hypothesis|nose|doctest)\b`),
	HasTest:     lazily.Regexp(`(?m)^[ \t]*(?:(?:async[ \t]+)?def[ \t]+test|class[ \t]+Test|class[ \t]+\w+\([^)\n]*TestCase)`),
}

var (
	pythonFrom   = lazily.Regexp(`(?m)^[ \t]*from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]+)`)
	pythonImport = lazily.Regexp(`(?m)^[ \t]*import[ \t]+([^\n#;]+)`)
)

func pythonImports(_ *Language, ix *Index, p string, src []byte) (files []string, testing bool) {
	dir := path.Dir(p)
	for _, m := range pythonImport().FindAllSubmatch(src, -1) {
		for name := range strings.SplitSeq(string(m[1]), ",") {
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
			files = append(files, ix.pythonModule(dir, name)...)
		}
	}
	for _, m := range pythonFrom().FindAllSubmatch(src, -1) {
		from := string(m[1])
		for name := range strings.SplitSeq(strings.Trim(string(m[2]), "() \t\r\n"), ",") {
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
			switch {
			case name == "" || name == "*":
				name = ""
			case !strings.HasSuffix(from, "."):
				name = "." + name
			}
			files = append(files, ix.pythonModule(dir, from+name)...)
		}
	}
	return files, false
}

// pythonModule returns the file of a module as seen from dir; the last part of its name may be a member.
func (ix *Index) pythonModule(dir, name string) []string {
	dots := len(name) - len(strings.TrimLeft(name, "."))
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '.' })
	var roots []string
	if dots > 0 {
		root := dir
		for range dots - 1 {
			root = path.Dir(root)
		}
		roots = []string{root}
	} else {
		for d := dir; ; d = path.Dir(d) {
			roots = append(roots, d, path.Join(d, "src"))
			if d == "." || d == "/" {
				break
			}
		}
	}
	for _, root := range roots {
		for n := len(parts); n > 0 && n >= len(parts)-1; n-- {
			module := path.Join(parts[:n]...)
			for _, file := range []string{module + ".py", module + "/__init__.py", module + ".pyi"} {
				if found := ix.First(file, root); found != nil {
					return found
				}
			}
		}
	}
	return nil
}
