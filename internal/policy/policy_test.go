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

		{name: "a path is not its name", allow: "go **", argv: "./go test", reason: "named by its path"},
		{name: "an absolute path is not its name", allow: "go **", argv: "/tmp/go test", reason: "named by its path"},
		{name: "a name is not its path", allow: "./go **", argv: "go test", reason: "go is not allowed"},
		{name: "the path in the pattern", allow: "./bin/tool **", argv: "./bin/tool x", grant: "./bin/tool **"},
		{name: "with and without ./", allow: "bin/tool **", argv: "./bin/tool x", grant: "bin/tool **"},
		{name: "a star in a folder", allow: "./bin/* **", argv: "./bin/tool", grant: "./bin/* **"},
		{name: "not in the next", allow: "./bin/* **", argv: "./bin/a/tool", reason: "not allowed"},
		{name: "nor above", allow: "./*/tool **", argv: "./../tool", reason: "not allowed"},

		{name: "shell", allow: "sh **", argv: "sh -c id", reason: "sh is a shell: only a pattern that writes out every word allows it"},
		{name: "shell, written out", allow: "sh ./run.sh", argv: "sh ./run.sh", grant: "sh ./run.sh"},
		{name: "shell by path", allow: "/bin/bash **", argv: "/bin/bash -c id", reason: "bash is a shell"},
		{name: "shell with a version", allow: "bash-5.2 **", argv: "bash-5.2 -c id", reason: "is a shell"},
		{name: "env", allow: "env **", argv: "env X=1 sh -c id", reason: "env starts other programs"},
		{name: "env, written out", allow: "env CI=1 npm test", argv: "env CI=1 npm test", grant: "env CI=1 npm test"},
		{name: "sed", allow: "sed -n **", argv: "sed -n 1e a", reason: "1e of sed can start another program"},
		{name: "sed, written out", allow: "sed -n 1p a", argv: "sed -n 1p a", grant: "sed -n 1p a"},
		{name: "an editor", allow: "vim **", argv: "vim -es -c !id", reason: "vim starts other programs"},
		{name: "the loader", allow: "/lib64/ld-linux-x86-64.so.2 *", argv: "/lib64/ld-linux-x86-64.so.2 x", reason: "starts other programs"},

		{name: "go -exec", allow: "go test **", argv: "go test -exec ./x ./...", reason: "-exec of go can start another program"},
		{name: "go --exec=", allow: "go test **", argv: "go test --exec=./x", reason: "--exec=./x of go"},
		{name: "go -toolexec", allow: "go **", argv: "go build -toolexec ./x", reason: "-toolexec"},
		{name: "go -toolexec through a star", allow: "go test *", argv: "go test -toolexec=x", reason: "-toolexec"},
		{name: "go -exec written out", allow: "go test -exec ./x **", argv: "go test -exec ./x ./...", grant: "go test -exec ./x **"},
		{name: "go -exec twice", allow: "go test -exec ./x **", argv: "go test -exec ./x -exec ./y", reason: "-exec"},
		{name: "go -vettool", allow: "go vet **", argv: "go vet -vettool=./x", reason: "-vettool"},
		{name: "go -overlay", allow: "go **", argv: "go build -overlay=o.json", reason: "-overlay"},
		{name: "go -modfile", allow: "go **", argv: "go build -modfile o.mod", reason: "-modfile"},
		{name: "go -extld", allow: "go **", argv: "go build -ldflags=-extld=./x", reason: "-extld"},
		{name: "go -o inside", allow: "go build **", argv: "go build -o bin/x .", grant: "go build **"},
		{name: "go -o nowhere", allow: "go build **", argv: "go build -o /dev/null .", grant: "go build **"},
		{name: "go -o outside", allow: "go build **", argv: "go build -o /usr/bin/x .", reason: "would write outside"},
		{name: "go -o=outside", allow: "go build **", argv: "go build -o=../x .", reason: "would write outside"},
		{name: "go -o written out, its value not", allow: "go build -o **", argv: "go build -o ../../x", reason: "would write outside"},
		{name: "go -C outside", allow: "go vet **", argv: "go vet -C /x .", reason: "-C /x of go would write outside"},
		{name: "go -C inside", allow: "go vet **", argv: "go vet -C sub .", grant: "go vet **"},
		{name: "go -coverprofile outside", allow: "go test **", argv: "go test -coverprofile=/x .", reason: "would write outside"},
		{name: "go --coverprofile outside", allow: "go test **", argv: "go test --coverprofile ../x .", reason: "would write outside"},
		{name: "go -test.cpuprofile outside", allow: "go test **", argv: "go test -test.cpuprofile=/x .", reason: "would write outside"},
		{name: "go -outputdir outside", allow: "go test **", argv: "go test -outputdir /x .", reason: "would write outside"},
		{name: "go -coverprofile inside", allow: "go test **", argv: "go test -coverprofile=c.out -coverpkg=./... .", grant: "go test **"},
		{name: "go env -w", allow: "go **", argv: "go env -w GOFLAGS=-toolexec=./x", reason: "-w of go"},
		{name: "go -ldflags=-w", allow: "go **", argv: "go build -ldflags=-w .", grant: "go **"},
		{name: "go -args ends the flags", allow: "go test **", argv: "go test . -args -exec x", grant: "go test **"},
		{name: "a flag that begins alike", allow: "go test **", argv: "go test -execute", grant: "go test **"},

		{name: "git status", allow: "git **", argv: "git status -sb", grant: "git **"},
		{name: "git -c", allow: "git **", argv: "git -c core.fsmonitor=./x status", reason: "-c of git"},
		{name: "git -c without a value", allow: "git **", argv: "git -c core.fsmonitor status", reason: "-c of git"},
		{name: "git -c behind another flag", allow: "git **", argv: "git -P -c a.b=c log", reason: "-c of git"},
		{name: "git -c of a subcommand", allow: "git **", argv: "git log -c", grant: "git **"},
		{name: "git --exec-path", allow: "git **", argv: "git --exec-path=. x", reason: "--exec-path"},
		{name: "git --upload-pack", allow: "git **", argv: "git fetch --upload-pack ./x", reason: "--upload-pack"},
		{name: "git --upload-pack cut short", allow: "git **", argv: "git fetch --upload-p=./x", reason: "--upload-p"},
		{name: "git rebase -x", allow: "git **", argv: "git rebase -x id HEAD~1", reason: "-x of git"},
		{name: "git grep -O", allow: "git **", argv: "git grep -O./x y", reason: "-O./x"},
		{name: "git config", allow: "git **", argv: "git config alias.x !sh", reason: "config of git"},
		{name: "git submodule foreach", allow: "git submodule **", argv: "git submodule foreach id", reason: "foreach"},
		{name: "git bisect run", allow: "git **", argv: "git bisect run sh -c id", reason: "bisect of git"},
		{name: "git bisect, written out", allow: "git bisect run **", argv: "git bisect run make", grant: "git bisect run **"},
		{name: "git --output outside", allow: "git **", argv: "git diff --output=/etc/x", reason: "would write outside"},

		{name: "node -e", allow: "node **", argv: "node -e 1", reason: "-e of node"},
		{name: "node -pe", allow: "node **", argv: "node -pe 1", reason: "-pe of node"},
		{name: "node --eval=", allow: "node **", argv: "node --eval=1", reason: "--eval=1"},
		{name: "node with a file", allow: "node **", argv: "node --test a.test.js", grant: "node **"},
		{name: "nodejs is node", allow: "nodejs **", argv: "nodejs -e 1", reason: "-e of nodejs"},
		{name: "python -c", allow: "python3.12 **", argv: "python3.12 -Bc 1", reason: "-Bc"},
		{name: "python with a module", allow: "python3 **", argv: "python3 -m pytest -q", reason: "-m of python3"},
		{name: "perl -ne", allow: "perl **", argv: "perl -ne 1", reason: "-ne"},
		{name: "perl -i", allow: "perl **", argv: "perl -pi.bak x", grant: "perl **"},
		{name: "ruby -e", allow: "ruby **", argv: "ruby -e1", reason: "-e1"},
		{name: "php -r", allow: "php **", argv: "php -r 1", reason: "-r of php"},
		{name: "npm exec", allow: "npm **", argv: "npm exec -- x", reason: "exec of npm"},
		{name: "npm init", allow: "npm **", argv: "npm init evil", reason: "init of npm"},
		{name: "npm create", allow: "npm **", argv: "npm create evil", reason: "create of npm"},
		{name: "npm innit", allow: "npm **", argv: "npm innit evil", reason: "innit of npm"},
		{name: "npm init, written out", allow: "npm init **", argv: "npm init -y", grant: "npm init **"},
		{name: "npm config set", allow: "npm **", argv: "npm config set script-shell ./x", reason: "config of npm"},
		{name: "npm set", allow: "npm **", argv: "npm set script-shell ./x", reason: "set of npm"},
		{name: "npm test", allow: "npm **", argv: "npm test", grant: "npm **"},
		{name: "pnpm create", allow: "pnpm **", argv: "pnpm create evil", reason: "create of pnpm"},
		{name: "yarn create", allow: "yarn **", argv: "yarn create evil", reason: "create of yarn"},
		{name: "bun create", allow: "bun **", argv: "bun create evil", reason: "create of bun"},
		{name: "npm --script-shell cut short", allow: "npm run **", argv: "npm run a --script-sh=./x", reason: "--script-sh"},
		{name: "npm run of a script called exec", allow: "npm run **", argv: "npm run exec", grant: "npm run **"},
		{name: "npx -c", allow: "npx jest **", argv: "npx jest -c id", reason: "-c of jest"},
		{name: "make SHELL=", allow: "make **", argv: "make SHELL=./x all", reason: "SHELL=./x"},
		{name: "make with a function", allow: "make **", argv: "make X=$(shell) all", reason: "of make"},
		{name: "make -f", allow: "make **", argv: "make -f x.mk", reason: "-f of make"},
		{name: "make with a variable", allow: "make **", argv: "make V=1 -j4 all", grant: "make **"},
		{name: "cargo --config", allow: "cargo **", argv: "cargo test --config build.rustc-wrapper='x'", reason: "--config"},
		{name: "a compiler's -wrapper", allow: "gcc-13 **", argv: "gcc-13 -wrapper ./x a.c", reason: "-wrapper"},
		{name: "a compiler's -o", allow: "gcc **", argv: "gcc -o/tmp/x a.c", reason: "would write outside"},
		{name: "find -exec", allow: "find **", argv: "find . -exec id", reason: "-exec of find"},
		{name: "tar --to-command", allow: "tar **", argv: "tar xf a.tar --to-comm=id", reason: "--to-comm"},
		{name: "a program by its path has the same dangers", allow: "./node_modules/.bin/npx **", argv: "./node_modules/.bin/npx -c id", reason: "-c of npx"},
		{name: "the first reason is told", allow: "go test **;go *", argv: "go test -exec x", reason: "-exec of go"},
		{name: "a later pattern may allow it", allow: "go test **;go test -exec x", argv: "go test -exec x", grant: "go test -exec x"},
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
		{[]string{"sh", "-c", "**"}, 2, "sh is a shell: write out every word"},
		{[]string{"/usr/bin/env", "X=*", "make"}, 1, "env starts other programs: the one to start"},
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
	have := words("/usr/bin/go /work/bin/go /work/tool")
	runnable := func(p string) bool { return slices.Contains(have, p) }
	for _, c := range []struct{ name, path, want string }{
		{"go", "/usr/bin:/work/bin", "/usr/bin/go"},
		{"go", "bin:/usr/bin", "/work/bin/go"},
		{"go", "/nowhere:../work/bin", "/work/bin/go"},
		{"tool", "/usr/bin:", "/work/tool"},
		{"tool", "/usr/bin", ""},
		{"./tool", "/work", ""},
		{"", "/work", ""},
	} {
		if got := Lookup(c.name, "/work", c.path, runnable); got != c.want {
			t.Errorf("%s in %s: got %q, want %q", c.name, c.path, got, c.want)
		}
	}
}

// Whatever the words: nothing is allowed that its grant does not match, and only what is written out is a carrier.
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
		if carrier(a[0]) != "" && !slices.Equal(p, a) && !slices.Equal(words("./"+p[0]), words(a[0])) {
			plain := slices.Clone(a)
			plain[0] = p[0] // ./ in front may differ
			if !slices.Equal(p, plain) {
				t.Fatalf("%q allows %q", p, a)
			}
		}
	})
}
