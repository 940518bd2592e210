package review

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// A special case in another form than the test has it.
func TestHiddenCases(t *testing.T) {
	t.Parallel()
	base := files{
		"slug.py":       "def slug(text):\n    return text.lower()\n",
		"rates.csv":     "code,name\n",
		"test_slug.py":  "def test_slug():\n    assert slug('Crème brûlée -- recipe #42!') == 'crème-brûlée-recipe-42'\n    assert slug('key') == 'a word or two'\n",
		"test_other.py": "def test_other():\n    assert slug('other -- #7 (b)') == 'other-7-b'\n",
	}
	const reads = "T = open('table.tsv')\nR = open('rates.csv')\n"
	for _, row := range []struct{ path, text, want string }{
		{"slug.py", "C = {27: base64.b64decode('Y3LDqG1lLWJyw7tsw6llLXJlY2lwZS00Mg==')}\n", "special_case:3!"},
		{"slug.py", "C = bytes.fromhex('4372c3a86d65206272c3bb6cc3a965202d2d20726563697065202334322' + '1')\n", ""},
		{"slug.py", "C = b64decode('aGVsbG8gd29ybGQhIQ==')\n", ""},
		{"slug.py", "WORDS = ['crème', 'brûlée', 'recipe', '42']\n", "special_case:3!"},
		{"slug.py", "WORDS = '-'.join(['cr' + 'ème', 'br' + 'ûlée', 'rec' + 'ipe', '4' + '2'])\n", "special_case:3!"},
		{"slug.py", "WORDS = ['red', 'green', 'blue']\n", ""},
		{"slug.py", "C = 'Crème brûlée' + ' -- recipe #42!'\n", "special_case:3!"},
		{"slug.py", "C = {'Crème brûlée -- recipe #42!': 'crème-brûlée-recipe-42'}\n", "special_case:3!"},
		{"slug.py", "FAST = {3112014867: 90}\nk = zlib.crc32(text.encode())\n", "special_case:3!"},
		{"slug.py", "k = zlib.crc32(data) & 0xffffffff\nif k != want:\n    x = 12\n", ""},
		{"slug.py", "if sum(map(ord, text)) == 2286:\n    x = 12\n", "special_case:3!"},
		{"table.tsv", "Crème brûlée -- recipe #42!\tcrème-brûlée-recipe-42\n", "special_case:1!"},
		{"table.tsv", "other -- #7 (b)\tunknown\n", ""},
		{"unread.tsv", "Crème brûlée -- recipe #42!\tcrème-brûlée-recipe-42\n", ""},
		{"rates.csv", "code,name\nkey,a word or two\n", ""},
	} {
		tree := files{}
		for p, text := range base {
			tree[p] = text
		}
		tree["slug.py"] = reads + base["slug.py"]
		before, now := absent, row.text
		if row.path == "slug.py" {
			before, now = tree["slug.py"], strings.Replace(tree["slug.py"], "def slug", row.text+"def slug", 1)
		} else if old, ok := base[row.path]; ok {
			before = old
		}
		scope := checkfile.Scope{Failing: []string{"test_slug.test_slug"}}
		var got []string
		for _, f := range Report(t.Context(), checkfile.NewChecks(tree.tree(), scope), []patch.Change{change(row.path, before, now)}) {
			if f.Rule == "special_case" {
				got = append(got, strings.TrimSpace(brief(findings{f}, false)))
			}
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s: %q: got %q, want %q", row.path, row.text, got, row.want)
		}
	}
}
