package checkfile

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// A module that runs the examples of its own documentation is production, without these and what could change them.
func TestOwnExamples(t *testing.T) {
	const before = `import math

def half(n):
    """Half of n.

    >>> half(5)
    3
    """
    return n // 2

class Cart:
    def total(self):
        """
        >>> Cart().total()
        1
        """
        return 0

if __name__ == "__main__":
    import doctest, sys
    sys.exit(doctest.testmod()[0])
`
	c := NewChecks(Tree{Paths: []string{"calc.py"}, Read: func(string) ([]byte, error) { return []byte(before), nil }},
		Scope{Runs: []Command{{Dir: ".", Argv: []string{"python3", "calc.py"}}}})
	if c.Class("calc.py") != 0 {
		t.Errorf("class %d", c.Class("calc.py"))
	}
	for name, r := range map[string]struct {
		old, new string
		stays    bool // all of it
	}{
		"a repair":                   {"n // 2", "math.ceil(n / 2)", true},
		"a new function":             {"class Cart", "def other(n):\n    return n\n\nclass Cart", true},
		"words":                      {"Half of n.", "Half of n, rounded up by sys.exit.", true},
		"words in a comment":         {"import math", "import math  # as os and sys do", true},
		"an example":                 {"    3\n", "    2\n", false},
		"an example is gone":         {">>> half", "half", false},
		"the block":                  {"doctest.testmod()[0]", "0", false},
		"an exit":                    {"return n // 2", "raise SystemExit", false},
		"a module that ends it":      {"import math", "import math, os", false},
		"documentation":              {"class Cart", "half.__doc__ = ''\n\nclass Cart", false},
		"what is printed":            {"class Cart", "class Rounded(float):\n    def __repr__(self):\n        return '3'\n\nclass Cart", false},
		"a decorator":                {"def half", "@undocumented\ndef half", false},
		"a second definition":        {"class Cart", "def half(n):\n    return n // 2\n\nclass Cart", false},
		"another value":              {"class Cart", "half = min\n\nclass Cart", false},
		"another value of a method":  {"        return 0\n", "        return 0\n\n    total = None\n", false},
		"a method for another":       {"if __name__", "Cart.total = len\nif __name__", false},
		"a global":                   {"return n // 2", "global half\n    return n // 2", false},
		"a name that is not its own": {"return 0", "subtotal = 1\n        return subtotal", true},
	} {
		after := strings.Replace(before, r.old, r.new, 1)
		if after == before {
			t.Fatalf("%s: no change", name)
		}
		change := patch.Change{Path: "calc.py", Before: &patch.File{Mode: 0o644, Data: []byte(before)}, After: &patch.File{Mode: 0o644, Data: []byte(after)}}
		left := c.Restore([]patch.Change{change})
		if got := len(left) == 1 && string(left[0].After.Data) == after; got != r.stays {
			t.Errorf("%s: stays: %t, want %t", name, got, r.stays)
		}
		if got := len(c.Parts(change)) == 0; got != r.stays {
			t.Errorf("%s: no part of it is the check's: %t, want %t", name, got, r.stays)
		}
	}
}
