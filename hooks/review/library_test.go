package review

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// What a change of a library that the check and the program source leaves for the second half of verification.
func TestRestoreLibrary(t *testing.T) {
	t.Parallel()
	const library = `# Words.
LIMIT=3
SHOWN=yes

same() {
	[ "$1" = "$2" ] || { echo "$1 is not $2"; return 1; }
}
alike() { same "$1" "$2"; }

slug() {
	echo "$1" | tr A-Z a-z
}
upper() {
	echo "$1" | tr a-z A-Z
}
wide() { slug "$1"; }
`
	f := files{
		"lib/text.sh": library, "app.sh": ". \"$(dirname \"$0\")/lib/text.sh\"\nslug \"$1\"\n",
		"test/run.sh": "set -eu\n. ./lib/text.sh\nsame \"$(slug 'A B')\" a-b\nalike \"$LIMIT\" 3\ntest \"$(wide X)\" = x\nupper x > out; grep -qx X out\n",
	}
	c := checkfile.NewChecks(f.tree(), checkfile.Scope{Runs: []checkfile.Command{{Argv: []string{"sh", "test/run.sh"}, Dir: "."}}})
	for name, k := range map[string]struct {
		old, new string
		stays    bool
	}{
		"what is asked for":                     {"tr A-Z a-z", "tr 'A-Z ' 'a-z-'", true},
		"a comment":                             {"# Words.", "# Words and more.", true},
		"a setting that no check reads":         {"SHOWN=yes", "SHOWN=no", true},
		"a function that no check names":        {"wide()", "broad() { slug x; }\nwide()", true},
		"a group in it":                         {"\techo \"$1\" | tr A-Z a-z", "\t{ echo \"$1\" | tr 'A-Z ' 'a-z-'; }", true},
		"a setting that the check reads":        {"LIMIT=3", "LIMIT=4", false},
		"where programs are found":              {"SHOWN=yes", "PATH=.:$PATH", false},
		"a command around":                      {"SHOWN=yes", "SHOWN=yes; trap 'exit 0' EXIT", false},
		"a setting that runs a command":         {"SHOWN=yes", "SHOWN=`exit 0`", false},
		"what compares":                         {`[ "$1" = "$2" ]`, `[ "$1" ]`, false},
		"what only hands on":                    {`alike() { same "$1" "$2"; }`, `alike() { same "$1" "$1"; }`, false},
		"a program's name":                      {"wide()", "grep() { :; }\nwide()", false},
		"an ending":                             {"\techo \"$1\" | tr a-z A-Z", "\texit 0", false},
		"an ending on a line":                   {`wide() { slug "$1"; }`, `wide() { slug "$1"; exit; }`, false},
		"a function in it":                      {"\techo \"$1\" | tr a-z A-Z", "\tsame() { :; }\n\techo X", false},
		"what the check reads, set in it":       {"\techo \"$1\" | tr a-z A-Z", "\tLIMIT=3", false},
		"a string that ends elsewhere in sh":    {"\techo \"$1\" | tr a-z A-Z", "\techo $'\\' ; exit 0 ; echo '\\'' X", false},
		"a test that is none in sh":             {"\techo \"$1\" | tr a-z A-Z", "\t[[ a || exit ]]", false},
		"a second one of a name":                {"wide()", "upper() { :; }\nwide()", false},
		"brackets that end it early":            {"\techo \"$1\" | tr A-Z a-z", "\t: || '{'\n }\n trap 'exit 0' 0\n {\n\t: || '}'", false},
		"brackets that only seem to":            {"\techo \"$1\" | tr A-Z a-z", "\t:\n }\n trap 'exit 0' 0\n {\n\t:", false},
		"an end that is missing":                {"wide() { slug \"$1\"; }\n", "wide() {\n", false},
		"a command behind it":                   {`wide() { slug "$1"; }`, `wide() { slug "$1"; }; trap 'exit 0' 0`, false},
		"a function that is asked for, and new": {"wide() { slug \"$1\"; }\n", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := strings.Replace(library, k.old, k.new, 1)
			if now == library {
				t.Fatal("nothing changes")
			}
			change := change("lib/text.sh", library, now)
			if got := len(c.Restore([]patch.Change{change})) == 1; got != k.stays {
				t.Errorf("it stays: %v, want %v", got, k.stays)
			}
			said := false
			for _, f := range Report(t.Context(), c, []patch.Change{change}) {
				said = said || f.Rule == rules.CheckFile && strings.Contains(f.Detail, "only what is tried") == k.stays
			}
			if !said {
				t.Error("the report does not say what the second check runs with")
			}
		})
	}
}

// Which libraries are of both: a row is a program, and whether its library counts as production's too.
func TestSharedLibrary(t *testing.T) {
	t.Parallel()
	change := change("lib/text.sh", "slug() { echo x; }\n", "slug() { echo y; }\n")
	for name, k := range map[string]struct {
		program, src string
		shared       bool
	}{
		"a script":                       {"app.sh", ". ./lib/text.sh\n", true},
		"a program without a name's end": {"bin/app", "#!/bin/sh\n. \"$(dirname \"$0\")/../lib/text.sh\"\n", true},
		"by a variable":                  {"bin/app", "#!/usr/bin/env bash\nroot=${BASH_SOURCE%/*}/..\nsource \"$root/lib/text.sh\"\n", true},
		"only if it is there":            {"deploy.sh", "[ -f lib/text.sh ] && . lib/text.sh\n", true},
		"through another library":        {"bin/app", "#!/bin/sh\n. lib/all.sh\n", true},
		"another test":                   {"test/other.sh", ". ./lib/text.sh\n", false},
		"a check":                        {"bin/check", "#!/bin/sh\n. lib/text.sh\n", false},
		"no script":                      {"notes", ". lib/text.sh\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := files{"lib/text.sh": "slug() { echo x; }\n", "lib/all.sh": "", "test/run.sh": ". ./lib/text.sh\ntest \"$(slug a)\" = y\n", k.program: k.src}
			if strings.Contains(k.src, "all.sh") {
				f["lib/all.sh"] = ". ./lib/text.sh\n"
				f["test/run.sh"] = ". ./lib/all.sh\ntest \"$(slug a)\" = y\n"
			}
			c := checkfile.NewChecks(f.tree(), checkfile.Scope{Runs: []checkfile.Command{{Shell: "sh test/run.sh", Dir: "."}}})
			if got := len(c.Restore([]patch.Change{change})) == 1; got != k.shared {
				t.Errorf("it stays: %v, want %v", got, k.shared)
			}
		})
	}
}

// What a test is named after is part of it while its shell reads it, however the test is started; its functions are
// what is tried.
func TestTestedLibrary(t *testing.T) {
	t.Parallel()
	const before = "add() { echo 1; }\n"
	for name, k := range map[string]struct{ test, run string }{
		"named":            {"tests/test_calc.sh", "bash tests/test_calc.sh"},
		"at the top":       {"calc_test.sh", "sh calc_test.sh"},
		"in t":             {"t/calc.sh", "sh t/calc.sh"},
		"a pattern":        {"spec/calc_spec.sh", "for t in spec/*_spec.sh; do bash $t || exit 1; done"},
		"every file":       {"tests/calc.sh", "for t in tests/*; do bash $t || exit 1; done"},
		"started itself":   {"tests/calc.test.sh", "for t in tests/*.sh; do ./$t || exit 1; done"},
		"a list":           {"tests/test-calc.sh", "for t in tests/a.sh tests/test-calc.sh; do bash \"$t\" || exit 1; done"},
		"a list, itself":   {"tests/test-calc.sh", "for t in tests/a.sh tests/test-calc.sh; do \"$t\" || exit 1; done"},
		"found":            {"tests/test-calc.sh", "find tests -name '*.sh' -exec sh {} \\;"},
		"given":            {"tests/test-calc.sh", "ls tests/* | xargs -n1 sh"},
		"in the one shell": {"tests/test_calc.sh", "set -e; for t in tests/*.sh; do . $t; done"},
		"bats":             {"tests/calc.bats", "bats tests"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := files{"lib/calc.sh": before, k.test: ". ./lib/calc.sh\n[ \"$(add 2 3)\" = 5 ] || exit 1\n"}
			c := checkfile.NewChecks(f.tree(), checkfile.Scope{Runs: []checkfile.Command{{Shell: k.run, Dir: "."}}})
			if class := c.Class("lib/calc.sh"); class != 4 {
				t.Errorf("lib/calc.sh is class %d", class)
			}
			for after, stays := range map[string]bool{"add() { echo 5; }\n": true, before + "exit 0\n": false, "add() { exit 0; }\n": false} {
				if got := len(c.Restore([]patch.Change{change("lib/calc.sh", before, after)})) == 1; got != stays {
					t.Errorf("%q stays: %v", after, got)
				}
			}
		})
	}
}
