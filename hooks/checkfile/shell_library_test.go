package checkfile

import (
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// A function whose name is given to one of the check's own decides only where that may run it.
func TestNamesOfCases(t *testing.T) {
	const library = "trim() { printf '%s' \"$1\"; }\n"
	for more, stays := range map[string]bool{"": true, "#!/bin/sh\ncheck() { \"$1\"; }\n": false} {
		tree := map[string]string{
			"lib.sh": library, "greet.sh": "#!/bin/sh\n. ./lib.sh\ntrim \"$1\"\n", "more_test.sh": more,
			"test.sh": "#!/bin/sh\n. ./lib.sh\ncheck() { [ \"$2\" = \"$3\" ]; }\ncheck trim \"a b\" \"$(trim ' a b ')\"\n",
		}
		c := NewChecks(Tree{Paths: []string{"greet.sh", "lib.sh", "more_test.sh", "test.sh"}, Read: func(p string) ([]byte, error) { return []byte(tree[p]), nil }},
			Scope{Runs: []Command{{Dir: ".", Shell: "./more_test.sh; ./test.sh"}}})
		change := patch.Change{
			Path: "lib.sh", Before: &patch.File{Mode: 0o644, Data: []byte(library)},
			After: &patch.File{Mode: 0o644, Data: []byte("trim() { printf '%s' \"$1\" | tr -d x; }\n")},
		}
		if got := c.OnlyTested(change); got != stays {
			t.Errorf("with %q: stays: %t, want %t", more, got, stays)
		}
	}
	for body, stays := range map[string]bool{
		`if [ "$2" = "$3" ]; then echo "ok - $1"; else echo "not ok - $1"; fail=1; fi`: true,
		`if "$1" "$2"; then echo ok; fi`:                                               false,
		`if [ "$($1 "$2")" = "$3" ]; then :; fi`:                                       false,
		`"$@"`:                                                                         false,
		`other "$@"`:                                                                   false,
		`sh -c "$1"`:                                                                   false,
		`cat "$1"`:                                                                     false,
		`eval "$1"`:                                                                    false,
		`[ "$2" = "$3" ] || other "$1"`:                                                false,
	} {
		tree := map[string]string{
			"lib.sh": library, "greet.sh": "#!/bin/sh\n. ./lib.sh\ntrim \"$1\"\n",
			"test.sh": "#!/bin/sh\n. ./lib.sh\nother() { \"$@\"; }\ncat() { \"$@\"; }\ncheck() {\n" + body + "\n}\ncheck trim \"a b\" \"$(trim ' a b ')\"\n",
		}
		c := NewChecks(Tree{Paths: []string{"greet.sh", "lib.sh", "test.sh"}, Read: func(p string) ([]byte, error) { return []byte(tree[p]), nil }},
			Scope{Runs: []Command{{Dir: ".", Argv: []string{"./test.sh"}}}})
		change := patch.Change{
			Path: "lib.sh", Before: &patch.File{Mode: 0o644, Data: []byte(library)},
			After: &patch.File{Mode: 0o644, Data: []byte("trim() { printf '%s' \"$1\" | tr -d x; }\n")},
		}
		if got := c.OnlyTested(change); got != stays {
			t.Errorf("check() { %s; }: stays: %t, want %t", body, got, stays)
		}
	}
}
