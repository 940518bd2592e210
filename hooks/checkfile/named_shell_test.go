package checkfile

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestShellCommands(t *testing.T) {
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
		{"if a; then b; else c; fi", "if|a / then|b / else|c / fi"},
		{"f() { ./x.sh; }", "f / {|./x.sh / }"},
		{"for f in checks/*.sh; do sh \"$f\"; done", "for|f|in|checks/*.sh / do|sh|checks/*.sh / done"},
		{"a \\\n  b", "a|b"},
		{"a \\\r\n  b\r\nc", "a|b / c"},
		{"echo $((1 + 2)) $'x' $? $", "echo|?|x|?|$"},
		{"case x in a) b;; esac", "case|x|in|a / b / esac"},
		{"'unclosed", "unclosed"},
		{"\"unclosed $(a", "a! / unclosed ?"},
		{"`unclosed", ""},
		{"${unclosed", ""},
		{")))", ""},
		{"a 2>log b", "a|b"},
		{"a &>log", "a"},
	} {
		var got []string
		for _, s := range shellCommands(c.src) {
			text := strings.ReplaceAll(strings.Join(s.words, "|"), string(unknown), "?")
			if s.asked {
				text += "!"
			}
			for _, in := range s.in {
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
func TestShellCommandsAreBounded(t *testing.T) {
	t.Parallel()
	began := time.Now()
	doubles := "A0=xx\n"
	for i := range 60 {
		doubles += fmt.Sprintf("A%d=$A%d$A%d\n", i+1, i, i)
	}
	for _, src := range []string{
		strings.Repeat("$(", 200_000), strings.Repeat("(", 200_000), strings.Repeat("`", 200_000), strings.Repeat("\"$(", 100_000), strings.Repeat("a;", 600_000),
		strings.Repeat("<<E ", 100_000), strings.Repeat("a|", 300_000) + "grep", strings.Repeat("${", 200_000), doubles + "sh $A60", strings.Repeat("a>b\n", 3000) + strings.Repeat("grep b\n", 2000),
	} {
		if n := len(shellCommands(src)); n > maxCommands+maxNested {
			t.Errorf("%.20q: %d commands", src, n)
		}
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %s", took)
	}
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
		{"! { if then ./a.sh", "./a.sh"},
		{"c8 report", "c8 report"},
		{"c8 node a.js", "node a.js"},
		{"env -- ./a.sh", "./a.sh"},
		{"env", ""},
		{"", ""},
	} {
		if got := strings.Join(unwrap(strings.Fields(c[0])), " "); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}
