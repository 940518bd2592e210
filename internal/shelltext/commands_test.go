package shelltext

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ src, want string }{
		{"", ""},
		{"a b 'c d' \"e $X f\" g\\ h", "a|b|c d|e ? f|g h"},
		{"a && b || c; d & e\nf", "a / b / c / d / e / f"},
		{"X=1 Y=2 a $X", "a|?"},
		{"X=./a.sh\nsh $X ${X} \"$X\"", " / sh|./a.sh|./a.sh|./a.sh"},
		{"sh ${CC:-cc} ${Y}", "sh|cc|?"},
		{"a | grep b", "a! / grep|b"},
		{"a | tee b | cat", "a / tee|b / cat"},
		{"a | tee b | grep c", "a! / tee|b! / grep|c"},
		{"a |& diff - b", "a! / diff|-|b"},
		{"test \"$(a b)\" = c", "a|b! / test|?|=|c"},
		{"echo `a b` c", "a|b! / echo|?|c"},
		{"echo \"`a`\"", "a! / echo|?"},
		{"diff <(a) b", "a! / diff|?|b"},
		{"a > out.txt && cmp out.txt b", "a! / cmp|out.txt|b"},
		{"a >out.txt; cat out.txt", "a / cat|out.txt"},
		{"a < in.txt 2>&1 >/dev/null", "a<in.txt"},
		{"(cd x && ./y.sh)", "cd|x / ./y.sh"},
		{"# no\na # no\nb#c", "a / b#c"},
		{"cat <<EOF && a\n./not.sh\nEOF\nb", "cat / a / b"},
		{"cat <<-'E O'\n\tx\n\tE O\nb", "cat / b"},
		{"if a; then b; else c; fi", "a / b / c"},
		{"f() { ./x.sh; }", "./x.sh"},
		{"for f in checks/*.sh; do sh \"$f\"; done", "sh|checks/*.sh"},
		{"a \\\n  b", "a|b"},
		{"a \\\r\n  b\r\nc", "a|b / c"},
		{"echo $((1 + 2)) $'x' $? $", "echo|?|x|?|$"},
		{"case x in a) b;; esac", "b"},
		{"'unclosed", ""},
		{"\"unclosed $(a", ""},
		{"`unclosed", ""},
		{"${unclosed", ""},
		{")))", ""},
		{"a 2>log b", "a|b"},
		{"a &>log", "a"},
		{"! a", "a"},
		{"a || {\n  b\n}", "a / b"},
		{"{ a; b; } > out; cmp out c", "a! / b! / cmp|out|c"},
		{"{ a; b; } | grep c", "a! / b! / grep|c"},
		{"while read x; do a; done < in.txt", "read|x / a / <in.txt"},
		{"[[ -f x && $(a) == y* ]]", "a! / [[|x|?|y*"},
		{"export A=1 B; readonly C", "export|A=1|B / readonly|C"},
		{"for f in a b; do sh $f; done", "sh|?"},
		{"time a; coproc b; let c=1; ((d=2))", "a / b"},
		{"@test \"x\" { a; }", "a"},
		{"X=a; X+=b; sh $X ${X%b} ${#X}", " /  / sh|ab|?|?"},
		{"a\nif b\nc 'd\ne \"f\"\n", "a / e|f"},
		{"a\ndone\n@echo off\nb", "a / @echo|off / b"},
	} {
		var got []string
		for _, s := range Commands(c.src) {
			text := strings.ReplaceAll(strings.Join(s.Words, "|"), string(Unknown), "?")
			if s.Asked {
				text += "!"
			}
			for _, in := range s.In {
				text += "<" + in
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " / "); text != c.want {
			t.Errorf("%q\n got %q\nwant %q", c.src, text, c.want)
		}
	}
}

// No text is slow, or grows without a bound.
func TestCommandsAreBounded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine at work: the race detector, with which CI runs -short, finds nothing in it")
	}
	began := time.Now()
	doubles := "A0=xx\n"
	for i := range 60 {
		doubles += fmt.Sprintf("A%d=$A%d$A%d\n", i+1, i, i)
	}
	for _, src := range []string{
		strings.Repeat("$(", 200_000), strings.Repeat("(", 200_000), strings.Repeat("`", 200_000), strings.Repeat("\"$(", 100_000), strings.Repeat("a;", 600_000),
		strings.Repeat("a && ", 200_000) + "b", strings.Repeat("a | ", 200_000) + "grep", strings.Repeat("if ", 300_000), strings.Repeat("! ", 300_000), strings.Repeat("$((", 200_000), strings.Repeat("[[ ( ", 200_000), strings.Repeat("f() ", 200_000),
		strings.Repeat("{ ", 300_000), strings.Repeat("'\n", 300_000), strings.Repeat("echo $((1"+strings.Repeat("+1", 100_000)+"))\n", 4), strings.Repeat("<<E ", 100_000), strings.Repeat("a|", 300_000) + "grep", strings.Repeat("${", 200_000), doubles + "sh $A60", strings.Repeat("a>b\n", 3000) + strings.Repeat("grep b\n", 2000),
	} {
		if n := len(Commands(src)); n > maxCommands+1 {
			t.Errorf("%.20q: %d commands", src, n)
		}
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %s", took)
	}
}

func TestFunctions(t *testing.T) {
	t.Parallel()
	const text = "#!/bin/sh\n# words\nset -e # more\n\nslug() { tr a b; } # one\nfunction price {\n  # two\n  cat <<EOF\n}\nEOF\n}\nX=1\nif a; then\n  b() { c; }\nfi\nd() { e; } > f\n"
	functions, around, ok := Functions(text)
	if !ok || len(functions) != 3 || functions["d"] != "{ e; } > f" || functions["slug"] != "{ tr a b; }" || !strings.HasSuffix(functions["price"], "EOF\n}") {
		t.Errorf("%q %v", functions, ok)
	}
	if got := strings.Join(around, "|"); got != "#!/bin/sh|set -e|X=1|if a; then|  b() { c; }|fi" {
		t.Errorf("around: %q", got)
	}
	// A text of which some may be anywhere is not split.
	for _, src := range []string{"a() { b; }\na() { c; }\n", "a() { b\n", "a() { b; }}\n", "'", strings.Repeat("(", 100_000), "#" + strings.Repeat("x", maxText)} {
		if _, _, ok := Functions(src); ok {
			t.Errorf("%.40q is split", src)
		}
	}
	// The part of a here-document after its function is around it.
	_, around, _ = Functions("a() { sh <<EOF; }\nevil\nEOF\n")
	if strings.Join(around, "|") != "evil|EOF" {
		t.Errorf("around: %q", around)
	}
}

func FuzzCommands(f *testing.F) {
	for _, src := range []string{"a | b <<E >(c)\nE\n", "f() { ${x:-$(y)}; }", "[[ a =~ (b) ]] && ((c++))", "case x in (a|b) ;; esac", "@test 'a' { b; }", "for ((;;)); do :; done", "a=(b [c]=d) e", "0&0\xff"} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		for _, c := range Commands(src) {
			Unwrap(c.Words)
		}
		Programs(src)
		functions, around, ok := Functions(src)
		if !ok && len(functions)+len(around) > 0 {
			t.Fatalf("%q %q", functions, around)
		}
	})
}

func TestUnwrap(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"env X=1 -u Y ./a.sh b", "./a.sh b"},
		{"timeout -k 5 30 ./a.sh", "./a.sh"},
		{"time nice -n 10 make check", "make check"},
		{"npx --yes jest -c x", "jest -c x"},
		{"npx -p typescript tsc", "tsc"},
		{"pnpm exec vitest", "vitest"},
		{"pnpm test", "pnpm test"},
		{"uv run --with pytest pytest -c x", "pytest -c x"},
		{"poetry run python a.py", "python a.py"},
		{"coverage run -m pytest x", "python -m pytest x"},
		{"coverage run --source shop a.py", "python a.py"},
		{"coverage report", "coverage report"},
		{"cross-env NODE_ENV=test node a.js", "node a.js"},
		{"c8 report", "c8 report"},
		{"c8 node a.js", "node a.js"},
		{"env -- ./a.sh", "./a.sh"},
		{"env", ""},
		{"", ""},
	} {
		if got := strings.Join(Unwrap(strings.Fields(c[0])), " "); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}
