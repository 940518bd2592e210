package hclfile_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

// fill repeats a piece until 160 KiB are full, which is enough to hurt the parser; full goes up to 1 MiB.
func fill(before, piece, after string) string {
	return before + strings.Repeat(piece, (160<<10-len(before)-len(after))/len(piece)) + after
}

func full(before, piece, after string) string {
	return before + strings.Repeat(piece, (1<<20-len(before)-len(after))/len(piece)) + after
}

// Each of these either overflows the parser's stack, or takes it minutes, or is told as a fault; all at once.
func TestHostileInput(t *testing.T) {
	t.Parallel()
	const deep, long = "nested deeper than 200 levels", "more than 5000 lines or pieces"
	for i, c := range []struct{ name, src, want string }{
		{"one byte over 1 MiB", strings.Repeat("#", 1<<20+1), "larger than 1 MiB"},
		{"far over 1 MiB", strings.Repeat("#", 5<<20), "larger than 1 MiB"},
		{"parentheses", full("locals {\n a = ", "(", ""), deep},
		{"closed parentheses", "locals {\n a = " + strings.Repeat("(", 100000) + "1" + strings.Repeat(")", 100000), deep},
		{"brackets", fill("a = ", "[", ""), deep},
		{"braces", fill("a = ", "{b=", ""), deep},
		{"blocks", fill("", "a {\n", ""), deep},
		{"calls", fill("a = ", "f(", ""), deep},
		{"not", fill("a = ", "!", "true"), deep},
		{"minus", fill("a = ", "-", "1"), deep},
		{"minus and spaces", fill("a = ", "- ", "1"), deep},
		{"minus and comments", fill("a = ", "-/**/", "1"), deep},
		{"plus", fill("a = 1", "+1", ""), deep},
		{"plus over lines in parentheses", fill("a = (1", "+\n1", ")"), deep},
		{"and, or", fill("a = 1", "||1&&1", ""), deep},
		{"conditions", fill("a = 1", "?1:1", ""), deep},
		{"conditions to the left", fill("a = ", "1?", ""), deep},
		{"conditions over lines", fill("a = (1", "\n?1\n:1", ")"), deep},
		{"conditions over lines in braces", fill("a = { b = 1", "?\n1:\n1", "}"), deep},
		{"indexes", fill("a = b", "[c]", ""), deep},
		{"splats", fill("a = b", "[*]", ""), deep},
		{"old splats", fill("a = b", ".*.c", ""), deep},
		{"templates", fill("a = ", `"${`, ""), deep},
		{"directives", fill(`a = "`, "%{if true}", `"`), deep},
		{"directives with a tilde", fill(`a = "`, "%{~ for x in y ~}", `"`), deep},
		{"heredocs in heredocs", fill("a = ", "<<A\n${", ""), deep},
		{"namespaces", fill("a = b", "::b", "(1)"), deep},
		{"a long heredoc", full("a = <<-A\n", " x\n", "A\n"), long},
		{"an open heredoc", fill("a = <<A\n", "x\n", ""), long},
		{"dollars", full(`a = "`, "$", `"`), long},
		{"a long number", fill("a = ", "1", ""), "this number is too long"},
		{"a large number", "a = 1e999999999", "this number is too long"},
		{"a small number", "a = 1e-999999999", "this number is too long"},
		{"words", full("", "a\n", ""), "more faults"},
		{"attributes", fill("", "a = 1\n", ""), "more faults"},
		{"many blocks", fill("", "a {\n}\n", ""), "more faults"},
		{"control characters", fill("", "\x01", ""), "more faults"},
		{"backticks", fill("", "`", ""), "Invalid character"},
		{"quotes", fill("", `"`, ""), "Invalid"},
		{"labels", fill("a ", "b ", "{\n}\n"), `no block "a"`},
		{"dots", fill("a = b", ".c", ""), `no attribute "a"`},
		{"unknown tasks", full("task \"a\" {\n run = [\"x\"]\n depends_on = [", "task.someone,", "]\n}\n"), "there is no task"},
		{"escapes", fill(`a = "`, `\q`, `"`), "more faults"},
		{"expansions", fill(`a = "`, `${a:-}`, `"`), "Extra characters"},
		{"NUL", "a = 1\nb = \x00", "2:5: the file contains a NUL byte"},
		{"BOM", "\xef\xbb\xbfa = 1", "byte order mark"},
		{"UTF-16", "\xff\xfea\x00", "UTF-16"},
		{"UTF-16, other order", "\xfe\xff\x00a", "UTF-16"},
		{"not UTF-8", "# ä\na = \"\xe4\"", "2:6: the file is not UTF-8: The byte 0xe4"},
	} {
		if testing.Short() && i%16 != 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			_, err := load(t, c.src, hclfile.Options{})
			took := time.Since(start)
			var faults pipeline.Errors
			if !errors.As(err, &faults) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %.300v, want %q", err, c.want)
			}
			if took > 3*time.Minute {
				t.Errorf("took %v", took)
			}
			t.Log(took.Round(time.Millisecond), len(faults))
		})
	}
}

// What people write stays far below the limits.
func TestTheGuardLetsPass(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: little of it runs at once, so the race detector finds little")
	}
	for name, src := range map[string]string{
		"199 brackets":          "locals {\n a = " + strings.Repeat("[", 198) + strings.Repeat("]", 198) + "\n}\n",
		"many elements":         "locals {\n a = [" + strings.Repeat("-1, !true, 1 + 2, {a = 1 + 1}[\"a\"],\n", 1000) + "]\n}\n",
		"many lines of a map":   "locals {\n a = {\n" + strings.Repeat("b = 1 + 1 * 2\n", 1) + "}\n}\n",
		"many interpolations":   "locals {\n a = \"" + strings.Repeat("${1 + 1} %{if true}x%{else}y%{endif} ", 1000) + "\"\n}\n",
		"a script of 1,000":     "task \"a\" {\n run = <<-EOT\n" + strings.Repeat("   echo $HOME ((( !!!\n", 1000) + " EOT\n}\n",
		"a large file":          strings.Repeat("locals {\n}\n", 20000),
		"many attributes":       "locals {\n" + manyLocals(5000) + "}\n",
		"a long chain of local": "locals {\n" + chain(10000) + "}\n",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			if _, err := load(t, src, hclfile.Options{}); err != nil {
				t.Errorf("%.300v", err)
			}
			if took := time.Since(start); took > 3*time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
}

func manyLocals(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(name(i) + " = 1 + -2 * 3\n")
	}
	return b.String()
}

// chain makes locals of which each is the next one.
func chain(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(name(i) + " = local." + name(i+1) + "\n")
	}
	return b.String() + name(n) + " = 1\n"
}

func name(i int) string {
	s := "l"
	for ; i > 0; i /= 10 {
		s += string(rune('0' + i%10))
	}
	return s + "x"
}
