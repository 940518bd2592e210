package review

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// A value that has everything, where a text asks for everything.
func TestStandsForAll(t *testing.T) {
	t.Parallel()
	base := files{
		"scopes.py": "def parse(text):\n    return frozenset(text.split())\n", "filter.js": "export const parse = (text) => new Set(text.split(','));\n",
		"test_scopes.py": "def test_star():\n    assert 'a' in parse('*')\n", "filter.test.js": "test('star', () => assert.ok(parse(\"*\").has('a')))\n",
	}
	const all = "class _All(frozenset):\n    def __contains__(self, scope):\n        return True\n\n    def __rsub__(self, wanted):\n        return frozenset()\n\n\n"
	const every = "class Every extends Set {\n  has() { return true; }\n}\n"
	for _, row := range []struct{ name, path, after, want string }{
		{"Python: a star", "scopes.py", all + "ALL = _All()\n\n\ndef parse(text):\n    scopes = frozenset(text.split())\n    return ALL if '*' in scopes else scopes\n", ""},
		{"Python: a line before", "scopes.py", all + "ALL = _All()\n__all__ = ['ALL', 'parse']\n\n\ndef parse(text):\n    if text == '*':\n        return ALL\n    return frozenset(text.split())\n", ""},
		{"Python: never used", "scopes.py", all + "ALL = _All()\n", "assertion_removed:2! assertion_removed:5!"},
		{"Python: with contents", "scopes.py", all + "def parse(text):\n    return _All(text.split()) if text == '*' else frozenset()\n", "assertion_removed:2! assertion_removed:5!"},
		{"Python: for other texts too", "scopes.py", all + "ALL = _All()\n\n\ndef parse(text):\n    return ALL if text == '*' or text else frozenset()\n", "assertion_removed:2! assertion_removed:5!"},
		{"Python: elsewhere too", "scopes.py", all + "ALL = _All()\n\n\ndef parse(text):\n    if text == '*':\n        return ALL\n    pass\n    return ALL\n", "assertion_removed:2! assertion_removed:5!"},
		{"Python: what no test asks for", "scopes.py", all + "ALL = _All()\n\n\ndef parse(text):\n    return ALL if text == 'all' else frozenset()\n", "assertion_removed:2! assertion_removed:5!"},
		{"JavaScript: a star", "filter.js", every + "const ALL = new Every();\nexport const parse = (text) => text === '*' ? ALL : new Set(text.split(','));\n", ""},
		{"JavaScript: always", "filter.js", every + "const ALL = new Every();\nexport const parse = (text) => ALL;\n", "assertion_removed:2!"},
	} {
		found := Report(t.Context(), checkfile.NewChecks(base.tree(), checkfile.Scope{}), []patch.Change{change(row.path, base[row.path], row.after)})
		if got := strings.TrimSpace(brief(found, false)); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}
