package guard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"pgregory.net/rapid"
)

func exact(src []byte) bool {
	tokens, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos)
	_, _, ok := tooMuch(tokens)
	return ok
}

// What plain lets pass the exact count lets pass too, with the limits nowhere near.
func TestPlainNeverMissesAnything(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"(", ")", "[", "]", "{", "}", `"`, `"`, "${", "%{", "$${", "%%{", "$", "%", "~", "~}", "\\", `\"`, "\n", "\r\n", "\r", " ", ",", ".",
		"<<A\n", "<<-A\n", "\nA\n", "A\n", "  A\r\n", "<<", "#", "//", "/*", "*/", "-", "!", "+1", "?1:", "a", "a = 1\n", "a1e5", "1e9", "1", "0.5",
		"=", "==", "=>", "&&", "::", "'", "`", "ä", "\u00a0", "if", "endif", `"x"`, `"${a}"`, `"${"`, `"}"`, "[0]", ".*", "x[",
	}
	units := []string{"1+\n", "1\n+", "?1\n:1\n", "a[0]", "$${", "${", "<<A\n${[\nA\n", "[ # ]\n", "[\"]\"", "[\"\\\"]\"", "{a=", "f(", "!", "-", "\"${", "(1,", "[1\n", "a=!\n!"}
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(1, 6).Draw(t, "parts") {
			if rapid.Bool().Draw(t, "known") {
				b.WriteString(strings.Repeat(rapid.SampledFrom(units).Draw(t, "unit"), rapid.IntRange(1, 260).Draw(t, "times")))
				continue
			}
			unit := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 5).Draw(t, "pieces"), "")
			b.WriteString(strings.Repeat(unit, rapid.SampledFrom([]int{1, 1, 2, 50, 210}).Draw(t, "times")))
		}
		if src := []byte(b.String()); plain(src) && !exact(src) {
			t.Fatalf("plain lets pass what is too much: %q", src)
		}
	})
}

func FuzzPlain(f *testing.F) {
	files, _ := filepath.Glob("../testdata/*/*.hcl")
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src), 1)
	}
	f.Add("a = (\"${[", 100)
	f.Add("a = <<A\n$${ (\nA\n", 3)
	f.Fuzz(func(t *testing.T, piece string, times int) {
		if times < 1 || times > 300 || len(piece)*times > 1<<16 {
			t.Skip()
		}
		if src := []byte(strings.Repeat(piece, times)); plain(src) && !exact(src) {
			t.Errorf("plain lets pass what is too much: %.200q, %d times", piece, times)
		}
	})
}

// Each of these is over a limit, or hides what is from a careless count.
func TestWhatIsNotPlain(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{
		"(", "[", "{a=", "!", "-", "+1", "?1:", "1+\n", "(1\n+", "a = b ?\n", "[0]", "[[0]", "\"${", "\"${[", "${", "<<A\n${\n", "[ # ]\n", "[ // ]\n", "[ /* ] */",
		"[\"]\",", "[\"\\\"]\",", "[<<A\n]\nA\n,", "[<<-A\n]\n A\n,", "\"$${\" [", "\"%%{\" [", "%{if x}", "\"%{if x}", "{\n", "[1,", "f(", "a::", "x ~} [",
	} {
		if src := []byte("a = " + strings.Repeat(unit, 300)); plain(src) {
			t.Errorf("%q, 300 times, is plain", unit)
		}
	}
	for name, src := range map[string]string{
		"pieces of a text":    `a = "` + strings.Repeat("$", maxPieces) + `"`,
		"lines of a heredoc":  "a = <<A\n" + strings.Repeat("x\n", maxPieces) + "A\n",
		"pieces of a heredoc": "a = <<A\n" + strings.Repeat("$", maxPieces) + "\nA\n",
		"templates in a text": `a = "` + strings.Repeat("${1}", maxPieces) + `"`,
		"an exponent":         "a = 1e9",
		"a long number":       "a = " + strings.Repeat("1", maxNumber),
	} {
		if plain([]byte(src)) {
			t.Errorf("%s: plain", name)
		}
	}
}

// What people write is plain: otherwise reading costs a third more.
func TestPlainFiles(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"simple":      "task \"a\" {\n  run = [\"true\", -1, !true]\n  env = { A = 1 + 2, B = x ? 1 : 2 }\n}\n",
		"comments":    "# (((\n// [[[ \"\n" + "task \"a\" { # {{{\n}",
		"templates":   strings.Repeat("a = \"${var.x}/${f(\"y\", [1, {}])} $HOME $${x} 100% \\\" \"\n", 300),
		"heredocs":    strings.Repeat("run = <<-EOT\n  for x in $(ls); do ((( \"\n EOT_\n  EOT\n", 300),
		"deep":        "a = " + strings.Repeat("[", 150) + strings.Repeat("]", 150) + "\n",
		"many blocks": strings.Repeat("task \"a\" {\n  run = a[0]\n  b = 1 +\n 2\n}\n", 5000),
		"windows":     "a = 1\r\nb = <<X\r\ntext\r\nX\r\n# c\r\n",
	} {
		if !plain([]byte(src)) {
			t.Errorf("%s is not plain", name)
		}
		if !exact([]byte(src)) {
			t.Errorf("%s is too much", name)
		}
	}
}
