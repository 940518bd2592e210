package checkfile

import (
	"bytes"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// uses are the files of the tree that the source at p uses, and whether it imports a library for tests.
func (s *survey) uses(p string, src []byte) (files []string, testing bool) {
	language := lang.ByPath(p)
	if re := lang.TestLibrary[language]; re != nil && language != "go" {
		testing = re().Match(src)
	}
	switch dir := path.Dir(p); language {
	case "go":
		return s.goUses(p, src)
	case "py":
		files = s.pyUses(dir, src)
	case "web":
		for _, m := range lang.WebUse().FindAllSubmatchIndex(src, -1) {
			if !lang.Commented(src, m[0]) {
				files = append(files, s.webFile(dir, string(src[m[2]:m[3]]))...)
			}
		}
	case "c":
		for _, m := range lang.Include().FindAllSubmatch(src, -1) {
			files = append(files, s.first(string(m[1]), dir, ".", s.sub, "include", "src", path.Join(s.sub, "include"), path.Join(s.sub, "src"))...)
		}
	case "ruby":
		for _, m := range lang.RbUse().FindAllSubmatch(src, -1) {
			name := strings.TrimSuffix(string(m[2]), ".rb") + ".rb"
			if string(m[1]) == "require_relative" || strings.HasPrefix(name, ".") {
				files = append(files, s.first(name, dir)...)
				continue
			}
			files = append(files, s.first(name, ".", "lib", "spec", "test", s.sub, path.Join(s.sub, "lib"), path.Join(s.sub, "spec"), path.Join(s.sub, "test"))...)
		}
	case "shell":
		files = s.shellUses(dir, src)
	case "jvm":
		for _, m := range lang.JvmUse().FindAllSubmatch(src, -1) {
			files = append(files, s.named(strings.ReplaceAll(string(m[1]), ".", "/"), lang.JvmExts)...)
		}
	case "php":
		for _, m := range lang.PhpFile().FindAllSubmatch(src, -1) {
			files = append(files, s.first(strings.TrimPrefix(string(m[1]), "/"), dir, ".", s.sub)...)
		}
		for _, m := range lang.PhpUse().FindAllSubmatch(src, -1) {
			segments := strings.Split(strings.Trim(string(m[1]), `\`), `\`)
			if n := len(segments); n > 1 {
				files = append(files, s.named(path.Join(segments[n-2:]...), []string{".php"})...)
			}
		}
	case "rust":
		for _, m := range lang.RustMod().FindAllSubmatch(src, -1) {
			if len(m[1]) == 0 {
				in := dir
				if stem := strings.TrimSuffix(path.Base(p), ".rs"); stem != "mod" && stem != "lib" && stem != "main" {
					in = path.Join(dir, stem)
				}
				files = append(files, s.first(string(m[2])+".rs", in)...)
				files = append(files, s.first(string(m[2])+"/mod.rs", in)...)
			}
		}
	}
	return files, testing
}

// first is name in the first of dirs that holds it.
func (s *survey) first(name string, dirs ...string) []string {
	for _, dir := range dirs {
		if p := path.Join(dir, name); s.files[p] {
			return []string{p}
		}
	}
	return nil
}

// named are the files whose path ends with what an import of a package names; the last name may be a member of it, or *.
func (s *survey) named(suffix string, exts []string) []string {
	var found []string
	for try := 0; try < 3 && strings.Contains(suffix, "/"); try++ {
		base := path.Base(suffix)
		if base == "*" {
			for dir := range s.byDirBase[path.Base(path.Dir(suffix))] {
				if lang.Ends(dir, path.Dir(suffix)) {
					for _, p := range s.inDir[dir] {
						if slices.Contains(exts, path.Ext(p)) {
							found = append(found, p)
						}
					}
				}
			}
			return found
		}
		for _, p := range s.byStem[base] {
			if slices.Contains(exts, path.Ext(p)) && lang.Ends(strings.TrimSuffix(p, path.Ext(p)), suffix) {
				found = append(found, p)
			}
		}
		if len(found) > 0 {
			return found
		}
		suffix = path.Dir(suffix)
	}
	return nil
}

func (s *survey) goUses(p string, src []byte) (files []string, testing bool) {
	f, _ := parser.ParseFile(token.NewFileSet(), "", src, parser.ImportsOnly) // a broken file tells what it can
	if f != nil {
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue
			}
			testing = testing || lang.TestLibrary["go"]().MatchString(name)
			if dir, ok := s.goPackage(name); ok {
				files = append(files, path.Join(dir, goPackageFile))
			}
		}
	}
	if strings.HasSuffix(p, "_test.go") || !bytes.Contains(src, []byte("//go:embed")) {
		return files, testing
	}
	for _, m := range lang.GoEmbed().FindAllSubmatch(src, -1) {
		for _, pattern := range strings.Fields(string(m[1])) {
			pattern = path.Join(path.Dir(p), strings.TrimPrefix(strings.Trim(pattern, "\"`"), "all:"))
			for _, dir := range s.dirList {
				if dir == pattern || lang.Matches(pattern, dir) {
					files = append(files, s.below(dir)...)
				}
			}
			if s.files[pattern] {
				files = append(files, pattern)
			} else if strings.ContainsAny(pattern, "*?[") {
				for _, f := range s.inDir[path.Dir(pattern)] {
					if lang.Matches(pattern, f) {
						files = append(files, f)
					}
				}
			}
		}
	}
	return files, testing
}

// goPackage is the folder of an imported package, when it is one of the tree's modules'.
func (s *survey) goPackage(name string) (dir string, ok bool) {
	for mod := name; ; mod = path.Dir(mod) {
		if root, ok := s.modules[mod]; ok {
			return path.Join(root, strings.TrimPrefix(name, mod)), true
		}
		if !strings.Contains(mod, "/") || mod == "/" {
			return "", false
		}
	}
}

func (s *survey) pyUses(dir string, src []byte) []string {
	var files []string
	for _, m := range lang.PyImport().FindAllSubmatch(src, -1) {
		for name := range strings.SplitSeq(string(m[1]), ",") {
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
			files = append(files, s.pyModule(dir, name)...)
		}
	}
	for _, m := range lang.PyFrom().FindAllSubmatch(src, -1) {
		from := string(m[1])
		for name := range strings.SplitSeq(strings.Trim(string(m[2]), "() \t\r\n"), ",") {
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
			if name == "" || name == "*" {
				files = append(files, s.pyModule(dir, from)...)
				continue
			}
			if !strings.HasSuffix(from, ".") {
				name = "." + name
			}
			files = append(files, s.pyModule(dir, from+name)...)
		}
	}
	return files
}

// pyModule is the file of module name as seen from dir; its last part may be a member.
func (s *survey) pyModule(dir, name string) []string {
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
			p := path.Join(append([]string{root}, parts[:n]...)...)
			for _, file := range []string{p + ".py", p + "/__init__.py", p + ".pyi"} {
				if s.files[file] {
					return []string{file}
				}
			}
		}
	}
	return nil
}

// webFile is what a relative specifier names.
func (s *survey) webFile(dir, spec string) []string {
	spec, _, _ = strings.Cut(spec, "?")
	roots := []string{path.Join(dir, spec)}
	if rest, ok := strings.CutPrefix(spec, "@/"); ok {
		roots = []string{path.Join(s.sub, "src", rest), path.Join("src", rest), path.Join(s.sub, rest)}
	} else if rest, ok := strings.CutPrefix(spec, "~/"); ok {
		roots = []string{path.Join(s.sub, "src", rest), path.Join(s.sub, "app", rest), path.Join(s.sub, rest)}
	}
	for _, root := range roots {
		if s.files[root] {
			return []string{root}
		}
		stem := root
		if ext := path.Ext(root); ext == ".js" || ext == ".jsx" || ext == ".mjs" || ext == ".cjs" {
			stem = strings.TrimSuffix(root, ext) // TypeScript names what will be compiled
		}
		for _, base := range []string{root, stem} {
			for _, ext := range append([]string{".json"}, lang.WebExts...) {
				for _, p := range []string{base + ext, base + "/index" + ext} {
					if s.files[p] {
						return []string{p}
					}
				}
			}
		}
	}
	return nil
}
