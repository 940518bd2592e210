package lang

import (
	"bytes"
	"cmp"
	jsontext "encoding/json"
	"path"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// javascript is TypeScript too, and the components that hold them.
var javascript = Language{
	Name:     "web",
	Exts:     []string{".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte"},
	Programs: []string{"node", "deno", "bun", "tsx"},
	Syntax:   Syntax{Line: []string{"//"}, Blocks: slashStar, Quotes: `"'`, Template: true, Regexp: true},
	Tests: []string{
		"?*.test", "?*.tests", "?*.test-d", "?*.e2e", "?*.e2e-spec", "?*.e2e-test", "?*.cy", "?*.integration-spec",
	},
	TestFolders: []string{"spec", "specs", "e2e", "cypress"},
	Imports:     javascriptImports,
	TestLibrary: lazily.Regexp(
		`['"](?:vitest|@jest/globals|chai|sinon|mocha|jest|supertest|` +
			`@testing-library/[^'"\n]+|@playwright/test|node:test|ava|tap|tape)['"]`),
}

var javascriptImport = lazily.Regexp(
	`\b(?:from|import|require|requireActual|importActual|mock|resolve)\s*\(?\s*['"]([^'"\n]+)['"]`)

func javascriptImports(l *Language, ix *Index, p string, src []byte) (files []string, testing bool) {
	for _, m := range javascriptImport().FindAllSubmatchIndex(src, -1) {
		line := bytes.TrimLeft(src[bytes.LastIndexByte(src[:m[0]+1], '\n')+1:], " \t")
		if comment := bytes.HasPrefix(line, []byte("//")) || bytes.HasPrefix(line, []byte("*")) ||
			bytes.HasPrefix(line, []byte("/*")); !comment {
			files = append(files, ix.javascriptFile(l, path.Dir(p), string(src[m[2]:m[3]]))...)
		}
	}
	return files, false
}

// AddNodePackage makes the packages of a tree known by the names that workspaces import them by. src is a package.json
// in dir.
func (ix *Index) AddNodePackage(dir string, src []byte) {
	var p struct {
		Name, Main, Module string
		Exports            any
	}
	if jsontext.Unmarshal(src, &p) == nil && p.Name != "" {
		ix.packages[p.Name] = path.Join(dir, cmp.Or(exported(p.Exports), p.Main, p.Module, "index"))
		ix.packages[p.Name+"/"] = dir
	}
}

// exported returns the first file that the exports of a package.json name for the package itself; empty: none.
func exported(exports any) string {
	switch e := exports.(type) {
	case string:
		return e
	case map[string]any:
		for _, key := range []string{".", "import", "node", "require", "default"} {
			if file := exported(e[key]); file != "" {
				return file
			}
		}
	}
	return ""
}

// nodePackage returns the path that a specifier stands for that begins with the name of a package of the tree.
func (ix *Index) nodePackage(spec string) (p string, ok bool) {
	if p, ok = ix.packages[spec]; ok {
		return p, true
	}
	for at := range spec {
		if dir, ok := ix.packages[spec[:at+1]]; ok && spec[at] == '/' {
			return path.Join(dir, spec[at+1:]), true
		}
	}
	return "", false
}

// javascriptFile returns the file that a specifier names which is relative, one that bundlers resolve (@/ and ~/), or a
// package of the tree.
func (ix *Index) javascriptFile(l *Language, dir, spec string) []string {
	spec, _, _ = strings.Cut(spec, "?")
	roots := []string{path.Join(dir, spec)}
	if p, ok := ix.nodePackage(spec); ok {
		roots = []string{p}
	} else if !strings.HasPrefix(spec, ".") && !strings.HasPrefix(spec, "@/") && !strings.HasPrefix(spec, "~/") {
		return nil
	}
	if rest, ok := strings.CutPrefix(spec, "@/"); ok {
		roots = []string{path.Join(ix.sub, "src", rest), path.Join("src", rest), path.Join(ix.sub, rest)}
	} else if rest, ok := strings.CutPrefix(spec, "~/"); ok {
		roots = []string{path.Join(ix.sub, "src", rest), path.Join(ix.sub, "app", rest), path.Join(ix.sub, rest)}
	}
	for _, root := range roots {
		stem := root
		if ext := path.Ext(root); ext == ".js" || ext == ".jsx" || ext == ".mjs" || ext == ".cjs" {
			stem = strings.TrimSuffix(root, ext) // TypeScript names what will be compiled
		}
		ends := []string{"", ".json", "/index.json"}
		for _, ext := range l.Exts {
			ends = append(ends, ext, "/index"+ext)
		}
		for _, base := range []string{root, stem} {
			for _, end := range ends {
				if found := ix.First(base+end, "."); found != nil {
					return found
				}
			}
		}
	}
	return nil
}
