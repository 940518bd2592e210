package policy

import (
	"slices"
	"strings"
	"testing"
)

func words(s string) []string { return strings.Fields(s) }

func TestDecide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, allow, argv string // patterns are separated by ;
		grant, reason     string // what it must be, what it must hold
	}{
		{name: "nothing is allowed", argv: "ls", reason: "ls is not allowed"},
		{name: "the task's own", argv: "make -f own.mk check", grant: OwnCommand},
		{name: "the task's own with one more", argv: "make -f own.mk check x", reason: "only as it stands"},
		{name: "the task's own with one less", argv: "make -f own.mk", reason: "only as it stands"},
		{name: "word for word", allow: "go vet ./...", argv: "go vet ./...", grant: "go vet ./..."},
		{name: "another word", allow: "go vet ./...", argv: "go vet ./x", reason: "go is allowed, but not with these arguments"},
		{name: "too few", allow: "go vet ./...", argv: "go vet", reason: "not with these"},
		{name: "rest", allow: "go test **", argv: "go test -run X ./...", grant: "go test **"},
		{name: "rest of nothing", allow: "go test **", argv: "go test", grant: "go test **"},
		{name: "rest needs what stands before", allow: "go test **", argv: "go", reason: "not with these"},
		{name: "star in a word", allow: "go test ./*", argv: "go test ./a", grant: "go test ./*"},
		{name: "star stops at a slash", allow: "go test ./*", argv: "go test ./a/b", reason: "not with these"},
		{name: "two stars do not", allow: "go test ./**", argv: "go test ./a/b", grant: "go test ./**"},
		{name: "star alone is one word", allow: "npm run *", argv: "npm run a b", reason: "not with these"},
		{name: "star may be empty", allow: "x a*b", argv: "x ab", grant: "x a*b"},
		{name: "several stars", allow: "x *a*b*", argv: "x 1a2b3", grant: "x *a*b*"},
		{name: "no other wildcard", allow: "x [ab]?", argv: "x a1", reason: "not with these"},
		{name: "the second pattern", allow: "go vet **;go test **", argv: "go test", grant: "go test **"},
		{name: "a prefix is not the program", allow: "go **", argv: "gofmt", reason: "gofmt is not allowed"},

		{name: "a path is not its name", allow: "go **", argv: "./go test", reason: "only go is allowed, found on the PATH"},
		{name: "an absolute path is not its name", allow: "go **", argv: "/tmp/go test", reason: "only go is allowed, found on the PATH"},
		{name: "a name is not its path", allow: "./go **", argv: "go test", reason: "go is not allowed"},
		{name: "the path in the pattern", allow: "./bin/tool **", argv: "./bin/tool x", grant: "./bin/tool **"},
		{name: "with and without ./", allow: "bin/tool **", argv: "./bin/tool x", grant: "bin/tool **"},
		{name: "a star in a folder", allow: "./bin/* **", argv: "./bin/tool", grant: "./bin/* **"},
		{name: "not in the next", allow: "./bin/* **", argv: "./bin/a/tool", reason: "not allowed"},
		{name: "nor above", allow: "./*/tool **", argv: "./../tool", reason: "not allowed"},

		{name: "what a program makes of its arguments is not asked", allow: "go test **", argv: "go test -exec ./x", grant: "go test **"},
		{name: "nor of a shell", allow: "sh -c **", argv: "sh -c id", grant: "sh -c **"},
		{name: "nor of one that starts others", allow: "env **", argv: "env X=1 sh -c id", grant: "env **"},
		{name: "the first pattern is the grant", allow: "go test **;go **", argv: "go test", grant: "go test **"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := Policy{Own: words("make -f own.mk check")}
			for pattern := range strings.SplitSeq(c.allow, ";") {
				if w := words(pattern); len(w) > 0 {
					p.Allow = append(p.Allow, w)
				}
			}
			got := p.Decide(words(c.argv))
			if got.Allowed != (c.grant != "") || got.Grant != c.grant || !strings.Contains(got.Reason, c.reason) || got.Allowed == (got.Reason != "") {
				t.Errorf("got %+v, want grant %q, reason %q", got, c.grant, c.reason)
			}
		})
	}
}

func TestDecideNothing(t *testing.T) {
	t.Parallel()
	p := Policy{Allow: [][]string{{"x", "**"}, {}, nil, {""}}}
	for _, c := range []struct {
		argv []string
		want string
	}{
		{nil, "empty"},
		{[]string{}, "empty"},
		{[]string{""}, "empty"},
		{[]string{"", "x"}, "empty"},
		{[]string{"x", "a\x00b"}, "NUL"},
		{[]string{"x\x00"}, "NUL"},
	} {
		if got := p.Decide(c.argv); got.Allowed || !strings.Contains(got.Reason, c.want) {
			t.Errorf("%q: got %+v, want %s", c.argv, got, c.want)
		}
	}
	if got := (Policy{Own: []string{}}).Decide([]string{"x"}); got.Allowed {
		t.Error("the zero Policy allows something")
	}
}

// A program that the agent could have put there is not the one that was meant.
func TestPlanted(t *testing.T) {
	t.Parallel()
	asked := []string{}
	p := Policy{
		Own: []string{"go", "test"}, Allow: [][]string{{"go", "**"}, {"./x"}, {"git", "**"}},
		Planted: func(name string) string {
			asked = append(asked, name)
			if name == "go" {
				return "/tree/bin/go"
			}
			return ""
		},
	}
	if got := p.Decide(words("go vet")); got.Allowed || got.Reason != "go would be found at /tree/bin/go, where the agent can write" {
		t.Errorf("got %+v", got)
	}
	for _, argv := range []string{"go test", "./x", "git log"} {
		if got := p.Decide(words(argv)); !got.Allowed {
			t.Errorf("%s: %+v", argv, got)
		}
	}
	if !slices.Equal(asked, words("go git")) {
		t.Errorf("asked for %q", asked)
	}
}

func TestCheckPattern(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern []string
		word    int
		want    string
	}{
		{[]string{"go", "test", "**"}, 0, ""},
		{[]string{"./scripts/*", "**"}, 0, ""},
		{[]string{"go", ""}, 0, ""},
		{[]string{"sh", "./run.sh"}, 0, ""},
		{nil, -1, "it is empty"},
		{[]string{""}, 0, "its first word is empty"},
		{[]string{"**"}, 0, "must name a program"},
		{[]string{"*", "x"}, 0, "must name a program"},
		{[]string{"g*"}, 0, "must name a program"},
		{[]string{"**/x"}, 0, "in all folders"},
		{[]string{"go", "**", "x"}, 1, "** must be its last word"},
		{[]string{"go", "a\x00"}, 1, "NUL"},
		{[]string{"sh", "-c", "**"}, 0, ""},
		{[]string{"/usr/bin/env", "X=*", "make"}, 0, ""},
	} {
		word, err := CheckPattern(c.pattern)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || word != c.word) {
			t.Errorf("%q: got word %d, %v; want word %d, %q", c.pattern, word, err, c.word, c.want)
		}
		if err := Check([][]string{{"ok"}, c.pattern}); (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), "pattern ") {
			t.Errorf("Check of %q: %v", c.pattern, err)
		}
	}
}

func TestAllowed(t *testing.T) {
	t.Parallel()
	got := Policy{Own: []string{"echo", "a b", ""}, Allow: [][]string{{"go", "test", "**"}}}.Allowed()
	want := []string{`echo "a b" "" (the task's own command)`, "go test **"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (Policy{}).Allowed(); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	have := words("/usr/bin/go /opt/bin/go /opt/tool")
	runnable := func(p string) bool { return slices.Contains(have, p) }
	for _, c := range []struct{ name, path, want string }{
		{"go", "/usr/bin:/opt/bin", "/usr/bin/go"},
		{"go", "bin:/usr/bin", "/opt/bin/go"},
		{"go", "/nowhere:../opt/bin", "/opt/bin/go"},
		{"tool", "/usr/bin:", "/opt/tool"},
		{"tool", "/usr/bin", ""},
		{"./tool", "/opt", ""},
		{"", "/opt", ""},
	} {
		if got := Lookup(c.name, "/opt", c.path, runnable); got != c.want {
			t.Errorf("%s in %s: got %q, want %q", c.name, c.path, got, c.want)
		}
	}
}

// Whatever the words: only a pattern without a fault allows anything, and only the program that it names.
func FuzzDecide(f *testing.F) {
	f.Add("go\ntest\n**", "go\ntest\n-exec\nx")
	f.Add("sh\n-c\nx", "sh\n-c\nx")
	f.Add("x\n*a*b**", "x\naaaaaaaaaaaaab/b")
	f.Add("./*\n**", "./a\n--\n")
	f.Fuzz(func(t *testing.T, pattern, argv string) {
		p, a := strings.Split(pattern, "\n"), strings.Split(argv, "\n")
		got := Policy{Allow: [][]string{p}}.Decide(a)
		if got.Allowed == (got.Reason != "") {
			t.Fatalf("%+v", got)
		}
		if !got.Allowed {
			return
		}
		if _, err := CheckPattern(p); err != nil {
			t.Fatalf("%q is faulty (%v) and allows %q", p, err, a)
		}
		if !strings.Contains(p[0], "*") && strings.TrimPrefix(p[0], "./") != strings.TrimPrefix(a[0], "./") {
			t.Fatalf("%q allows %q", p, a)
		}
	})
}
