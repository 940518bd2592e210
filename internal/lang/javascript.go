package lang

import (
	"bytes"
	"path"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazyregexp"
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
	TestLibrary: lazyregexp.New(
		`['"](?:vitest|@jest/globals|chai|sinon|mocha|jest|supertest|` +
			`@testing-library/[^'"\n]+|@playwright/test|node:test|ava|tap|tape)['"]`),
}

var javascriptImport = lazyregexp.New(
	`\b(?:from|import|require|requireActual|importActual|mock|resolve)\s*\(?\s*['"]((?:\.|@/|~/)[^'"\n]*)['"]`)

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

// javascriptFile returns the file that a relative specifier, or one that bundlers resolve (@/ and ~/), names.
func (ix *Index) javascriptFile(l *Language, dir, spec string) []string {
	spec, _, _ = strings.Cut(spec, "?")
	roots := []string{path.Join(dir, spec)}
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
