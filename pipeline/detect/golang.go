// Go modules and workspaces.
package detect

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// goEnv are the variables of the go command that people set. Not GO*: GOOGLE_APPLICATION_CREDENTIALS begins like
// that too.
var goEnv = []string{
	"GOFLAGS", "GOPROXY", "GOPRIVATE", "GONOSUMDB", "GOSUMDB", "GOTOOLCHAIN", "GOPATH", "GOCACHE", "GOMODCACHE",
	"GOWORK", "XDG_CACHE_HOME",
}

func (d *detector) golang(f *folder) *project {
	if text := d.read(f, "go.work"); text != "" {
		d.workspace(f, text)
	}
	text := d.read(f, "go.mod")
	if text == "" {
		return nil
	}
	module := directive(text, "module")
	if module == "" {
		d.note("%s: left out, because it names no module", at(f.path, "go.mod"))
		return nil
	}
	s := goScan{tree: d.tree, left: maxScanFile}
	s.descend(f.path, "", 0)
	if !s.found {
		d.note("%s: left out, because there is no Go file yet", at(f.path, "go.mod"))
		return nil
	}
	p := &project{dir: f.path, kind: "go", found: at(f.path, "go.mod") + ": Go module " + line(module, 100), env: goEnv}
	if v := directive(text, "go"); v != "" {
		p.found += ", Go " + line(v, 20)
	}
	// What tests open, what go:embed takes and what C compilers read is not to be told from names.
	p.sources = []string{"**", "!bin/**"}
	d.add(p, &task{name: "vet", about: "Find what compiles and is wrong", argv: []string{"go", "vet", "./..."}, sources: true, timeout: "10m"})
	if config := f.has(".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"); config != "" {
		d.add(p, &task{
			name: "lint", about: "golangci-lint, as " + config + " says", argv: []string{"golangci-lint", "run"},
			needs: []string{"golangci-lint", "go"}, timeout: "10m",
		})
	}
	d.add(p, &task{name: "test", about: "Run the tests", argv: []string{"go", "test", "./..."}, sources: true, timeout: "15m", checks: true})
	switch {
	case s.programs:
		made := d.add(p, &task{
			name: "build", about: "Compile the programs of cmd/ to bin/",
			argv:    []string{"go", "build", "-o", "bin/", "./cmd/..."},
			sources: true, outputs: []string{"bin/**"}, timeout: "10m",
		})
		d.ignored(f, made, "bin")
	case s.main:
		d.add(p, &task{name: "build", about: "Compile and link the program, and keep nothing", argv: []string{"go", "build", "-o", "/dev/null", "."}, sources: true, timeout: "10m"})
	}
	return p
}

// workspace adds notes for the modules of a go.work that are not in a folder near enough to be projects of their own.
func (d *detector) workspace(f *folder, text string) {
	inside := false
	for raw := range strings.Lines(text) {
		raw, _, _ = strings.Cut(raw, "//")
		words := strings.Fields(raw)
		switch {
		case len(words) > 0 && words[0] == ")":
			inside = false
			continue
		case len(words) > 1 && words[0] == "use" && words[1] == "(":
			inside = true
			continue
		case len(words) > 1 && words[0] == "use":
			words = words[1:]
		case !inside || len(words) == 0:
			continue
		}
		dir := path.Join(f.path, strings.Trim(words[0], "\"`"))
		if strings.HasPrefix(dir, "../") || dir == ".." || path.IsAbs(dir) {
			d.note("%s: the module in %s was left out: it is not in this folder", at(f.path, "go.work"), dir)
		} else if dir != top && strings.Count(dir, "/") >= deep {
			d.note("%s: the module in %s was left out: only folders two levels deep are read",
				at(f.path, "go.work"), dir)
		}
	}
}

// directive is the argument of a line of go.mod: module example.com/shop.
func directive(text, name string) string {
	for raw := range strings.Lines(text) {
		raw, _, _ = strings.Cut(raw, "//")
		if words := strings.Fields(raw); len(words) == 2 && words[0] == name {
			return strings.Trim(words[1], "\"`")
		}
	}
	return ""
}

// A goScan reads the Go files of one module, without nested modules.
type goScan struct {
	*tree
	left int64 // bytes that may still be read
	seen int   // folders that were looked at

	found    bool // there is a Go file
	main     bool // the module's own folder is a program
	programs bool // there is a program below cmd/
}

// descend reads dir and what is below it. in is the path from the module's folder, slash-separated, "" for that
// folder itself.
func (s *goScan) descend(dir, in string, level int) {
	if s.seen++; level > 12 || s.seen > maxScanFolders {
		return
	}
	f, err := s.folder(dir)
	if err != nil || in != "" && f.files["go.mod"] {
		return
	}
	for _, name := range sorted(f.files) {
		if path.Ext(name) == ".go" {
			s.file(path.Join(dir, name), in)
		}
	}
	for _, name := range f.dirs {
		if !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_") && name != "testdata" && name != "vendor" &&
			name != "node_modules" {
			s.descend(path.Join(dir, name), path.Join(in, name), level+1)
		}
	}
}

func (s *goScan) file(p, in string) {
	text, err := s.open(p, s.left)
	if err != nil {
		return
	}
	s.left -= int64(len(text))
	s.found = true
	if strings.HasSuffix(p, "_test.go") || !isProgram(text) {
		return
	}
	s.main = s.main || in == ""
	s.programs = s.programs || in == "cmd" || strings.HasPrefix(in, "cmd/")
}

// isProgram reports whether a Go file is part of a program that is built: package main without a build constraint,
// which we cannot evaluate.
func isProgram(text string) bool {
	for raw := range strings.Lines(text) {
		switch raw = strings.TrimSpace(raw); {
		case strings.HasPrefix(raw, "//go:build"), strings.HasPrefix(raw, "// +build"):
			return false
		case strings.HasPrefix(raw, "package "):
			words := strings.Fields(strings.TrimPrefix(raw, "package "))
			return len(words) > 0 && strings.TrimSuffix(words[0], ";") == "main"
		}
	}
	return false
}

// ignored adds a note where git does not ignore a folder that a task makes.
func (d *detector) ignored(f *folder, by *task, made string) {
	if by.lacks != "" {
		return
	}
	for _, where := range []string{path.Join(f.path, ".gitignore"), ".gitignore"} {
		text, err := d.open(where, maxFile)
		if err != nil {
			continue
		}
		for raw := range strings.Lines(text) {
			if raw = strings.Trim(strings.TrimSpace(raw), "/*"); raw == made || raw == path.Join(f.path, made) {
				return
			}
		}
	}
	d.note("%s/ is made by a task, and no .gitignore names it: add it there", path.Join(f.path, made))
}

func sorted[V any](set map[string]V) []string { return slices.Sorted(maps.Keys(set)) }
