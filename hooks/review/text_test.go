package review

import (
	"strings"
	"testing"
)

var textRows = []reportRow{
	{"right-to-left override", "f.go", "package f\n", "package f\n\nvar a = \"x\u202e\" // y\n", "hidden_text:3!"},
	{"isolate in a comment", "f.js", "f()\n", "f() /* \u2066 */\n", "hidden_text:1!"},
	{"zero width in a name", "f.py", "x = 1\n", "x\u200b = 1\n", "hidden_text:1!"},
	{"zero width was there", "f.py", "x = '\u200b'\n", "x = '\u200b!'\n", ""},
	{"zero width taken away", "f.py", "x = '\u200b'\n", "x = ''\n", ""},
	{"joiner of an emoji", "f.js", "f()\n", "f('\U0001f468\u200d\U0001f469\u200d\U0001f467')\n", ""},
	{"emoji", "f.go", "package f\n", "package f\n\nvar ok = \"\u2705 \u2764\ufe0f \U0001f3f3\ufe0f\u200d\U0001f308\"\n", ""},
	{"flag of Scotland", "f.js", "f()\n", "f('\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f')\n", ""},
	{"tag characters", "f.js", "f()\n", "f('a\U000e0067\U000e0062')\n", "hidden_text:1!"},
	{"soft hyphen in a string", "f.js", "f()\n", "f('Donau\u00addampf')\n", "hidden_text:1"},
	{"frames of a spinner", "f.js", "f()\n", "f(['\u2800', '\u2801'])\n", ""},
	{"Persian", "f.js", "f()\n", "f('\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645')\n", ""},
	{"Hindi", "f.js", "f()\n", "f('\u0915\u094d\u200d\u0937')\n", ""},
	{"byte order mark", "f.cs", "x\n", "\ufeffx\n", ""},
	{"byte order mark inside", "f.js", "f()\n", "f\ufeff()\n", "hidden_text:1!"},
	{"Hangul filler as a name", "f.js", "f()\n", "const { a, \u3164 } = b\n", "hidden_text:1!"},
	{"two scripts in a name", "f.go", "package f\n", "package f\n\nvar p\u0430ssword = 1\n", "hidden_text:3!"},
	{"a Russian name", "f.py", "x = 1\n", "\u0446\u0435\u043d\u0430 = 1\n", ""},
	{"Russian in a string", "f.py", "x = 1\n", "x = 'p\u0430ssword'  # p\u0430ss\n", ""},
	{"Greek letters in formulas", "f.jl", "x = 1\n", "\u0394x = \u03c32 + \u03bb_max\n", ""},
	{"mathematical letters in Python", "f.py", "x = 1\n", "\U0001d41e\U0001d42f\U0001d41al('x')\n", "hidden_text:1!"},
	{"Japanese", "f.go", "package f\n", "package f\n\n// \u65e5\u672c\u8a9e\nvar s = \"\u3053\u3093\u306b\u3061\u306f\"\n", ""},
	{"carriage return inside a line", "f.sh", "a\n", "rm -rf x\recho safe\n", "hidden_text:1!"},
	{"CRLF", "f.js", "f()\r\n", "f()\r\ng()\r\n", ""},
	{"escape sequence", "f.py", "x = 1\n", "x = '\x1b[2K'\n", "hidden_text:1!"},
	{"escape sequence as text", "f.py", "x = 1\n", "x = '\\x1b[2K\\u202e'\n", ""},
	{"escape sequence in a golden file", "testdata/out.golden", "", "\x1b[31mred\n", ""},
	{"form feed", "f.c", "int x;\n", "int x;\n\f\nint y;\n", ""},
	{"override in a translation", "i18n/ar.json", "{}\n", "{\"a\": \"\u2067x\u2069\"}\n", "hidden_text:1"},
	{"override in prose", "README.md", "a\n", "a\u202eb\n", "hidden_text:1"},
	{"code behind blanks", "f.js", "f()\n", "f()" + strings.Repeat(" ", 150) + ";g()\n", "hidden_text:1!"},
	{"code behind tabs", "f.py", "x = 1\n", "x = 1" + strings.Repeat("\t", 50) + ";y = 2\n", "hidden_text:1!"},
	{"comment behind blanks", "f.js", "f()\n", "f()" + strings.Repeat(" ", 150) + "// g()\n", ""},
	{"blanks in a string", "f.js", "f()\n", "f('" + strings.Repeat(" ", 150) + "')\n", ""},
	{"a macro's backslash", "f.c", "int x;\n", "#define A" + strings.Repeat(" ", 150) + "\\\n  int x;\n", ""},
	{"a table of data", "f.csv", "a\n", "a" + strings.Repeat(" ", 150) + "b\n", ""},
	{"a very long line", "f.js", "f()\n", "f('" + strings.Repeat("a", 5000) + "')\n", "hidden_text:1"},
	{"a very long line, minified", "f.min.js", "f()\n", "f('" + strings.Repeat("a", 5000) + "')\n", ""},
	{"far below", "f.js", "f()\n", "f()\n" + strings.Repeat("\n", 80) + "g()\n", "hidden_text:82"},
	{"Latin-1", "f.c", "int x;\n", "int x; /* \xe9 */\n", ""},
	{"hidden in a name of a file", "a\u202eb.txt", absent, "x\n", "hidden_text:0!"},
	{"private key", "key.txt", absent, "-----BEGIN RSA PRIVATE KEY-----\nabc\n", "secret:1"},
	{"public key", "key.txt", absent, "-----BEGIN PUBLIC KEY-----\nabc\n", ""},
	{"AWS", "f.go", "package f\n", "package f\n\nconst k = \"AKIA" + "QWERTYUIOPASDFGH\"\n", "secret:3"},
	{"AWS of the manual", "f.go", "package f\n", "package f\n\nconst k = \"AKIA" + "IOSFODNN7EXAMPLE\"\n", ""},
	{"GitHub", "f.yml", "a: b\n", "a: ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789\n", "secret:1"},
	{"GitHub, not one", "f.yml", "a: b\n", "a: ghp_" + strings.Repeat("x", 36) + "\n", ""},
	{"a secret that was there", "f.yml", "a: ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789\n", "b: ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789\n", ""},
	{"omitted for brevity", "f.go", "package f\n\nvar a = 1\n", "package f\n\n// (omitted for brevity)\n", "placeholder:3"},
	{"TODO of another kind", "f.c", "int x;\n", "int x; // TODO: use a table\n", ""},
	{"the rest in prose", "README.md", "a\n", "... the rest of the code is unchanged\n", ""},
}

// Details never show what looks like a secret, also not those of other rules.
func TestSecretsAreNotQuoted(t *testing.T) {
	t.Parallel()
	key := "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
	for _, p := range []string{"requirements.txt", "test_f.py", "lib.sh", "f.py"} {
		for _, f := range reportOf(change(p, "assert f() == 'x'\n", "assert f() == '"+key+"'\nexport PATH="+key+"\na==1 "+key+"\n# TODO: implement "+key+"\n")) {
			if strings.Contains(f.Detail, key[:12]) {
				t.Errorf("%s %s: %s", p, f.Rule, f.Detail)
			}
		}
	}
}
