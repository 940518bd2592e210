package checkfile

import (
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// Changes of what belongs to a check stay that mean nothing to what it decides.
func TestIdle(t *testing.T) {
	t.Parallel()
	const ini = "[pytest]\naddopts = -q\nmarkers =\n    slow: a minute\n"
	for _, c := range []struct {
		path, before, after string
		stays               bool
	}{
		{"a_test.go", "package a\nfunc  f( ) { g(1) }\n", "package a\n\nfunc f() { g(1) }\n", true},
		{"a_test.go", "package a\nfunc  f( ) { g(1) }\n", "package a\n\nfunc f() { g(2) }\n", false},
		{"testdata/a.go", "package a\nfunc  f( ) { g(1) }\n", "package a\n\nfunc f() { g(1) }\n", false},
		{"pytest.ini", ini, ini + "    money: prices\n", true},
		{"pytest.ini", ini, "[pytest]\naddopts = -q\nmarkers =\n    money: prices\n", false},
		{"pytest.ini", ini, "[pytest]\naddopts = -q -k x\nmarkers =\n    slow: a minute\n    money: prices\n", false},
		{"pytest.ini", ini, ini + "python_files = x\n", false},
	} {
		checks := NewChecks(Tree{Paths: []string{c.path}}, Scope{})
		change := patch.Change{Path: c.path, Before: regular(c.before), After: regular(c.after)}
		if got := checks.Idle(change); got != c.stays || len(checks.Restore([]patch.Change{change})) == 1 != c.stays {
			t.Errorf("%s: %q: stays: %t, want %t", c.path, c.after, got, c.stays)
		}
	}
}

// A file that completes commands of bash is what a test of it tries: its functions stay, unless they may decide.
func TestCompletions(t *testing.T) {
	t.Parallel()
	const completion = "_shop() {\n    COMPREPLY=($(compgen -W 'add list' -- \"$2\"))\n}\ncomplete -F _shop shop\n"
	tree := map[string]string{"shop.bash": completion, "tests/run.sh": "#!/bin/bash\n. ./shop.bash\n_shop shop a\n[ \"${COMPREPLY[*]}\" = add ]\n"}
	c := NewChecks(Tree{Paths: []string{"shop.bash", "tests/run.sh"}, Read: func(p string) ([]byte, error) { return []byte(tree[p]), nil }},
		Scope{Runs: []Command{{Dir: ".", Argv: []string{"tests/run.sh"}}}})
	for after, stays := range map[string]bool{
		"_shop() {\n    COMPREPLY=()\n    COMPREPLY=($(compgen -W 'add list' -- \"$2\"))\n}\ncomplete -F _shop shop\n": true,
		"_shop() {\n    exit 0\n}\ncomplete -F _shop shop\n":                                                           false,
		completion + "[() { :; }\n": false,
		completion + "exit 0\n":     false,
	} {
		if got := c.OnlyTested(patch.Change{Path: "shop.bash", Before: regular(completion), After: regular(after)}); got != stays {
			t.Errorf("%q: stays: %t, want %t", after, got, stays)
		}
	}
}

// Data is the program's where the program names its folder, and puts the name of the file together.
func TestFilledInNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		program string
		class   int
	}{
		{"const dir = path.join(__dirname, 'locales');\nread(path.join(dir, `${lang}.json`));\n", 0},
		{"const dir = path.join(__dirname, 'locales');\nread(path.join(dir, `${lang}.txt`));\n", 3},
		{"read(path.join(dir, `${lang}.json`));\n", 3},
	} {
		tree := map[string]string{
			"words.js": c.program, "locales/de.json": "{}", "locales/en.json": "{}",
			"words.test.js": "require('./words.js');\nread(path.join(__dirname, 'locales', 'de.json'));\n",
		}
		checks := NewChecks(Tree{Paths: []string{"locales/de.json", "locales/en.json", "words.js", "words.test.js"}, Read: func(p string) ([]byte, error) { return []byte(tree[p]), nil }}, Scope{})
		if got := checks.Class("locales/de.json"); got != c.class {
			t.Errorf("%q: class %d, want %d", c.program, got, c.class)
		}
	}
}
