package review

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// A comment that speaks to the project's own checker.
func TestOwnSuppressions(t *testing.T) {
	t.Parallel()
	base := files{
		"scripts/lint.js": "// lint-never: no mark, for it is in a comment\nif (l.includes('lint-disable-line') || /skip-print/.test(l) || l.endsWith('// allow')) return;\nreport('no-var', 'allow');\nfor (const skipped of [l]) walk('src');\n",
		"src/a.js":        "var a = 1;\n", "src/b.py": "print(1)\n", "src/c.js": "f(); // lint-disable-line\n",
	}
	for _, row := range []struct{ run, path, after, want string }{
		{"node scripts/lint.js", "src/a.js", "var a = 1; // lint-disable-line\n", "suppression_added:1!"},
		{"node scripts/lint.js", "src/a.js", "let a = 1; // lint-disable-line\n", "suppression_added:1"},
		{"node scripts/lint.js", "src/a.js", "var a = 1; // allow\n", "suppression_added:1!"},
		{"node scripts/lint.js", "src/b.py", "print(1)  # skip-print\n", "suppression_added:1!"},
		{"node scripts/lint.js", "src/a.js", "let a = 1; // lint-never, no-var, to allow it\n", ""},
		{"node scripts/lint.js", "src/a.js", "let a = 'lint-disable-line'; // skipped\n", ""},
		{"node scripts/lint.js", "src/c.js", "g(); // lint-disable-line\n", ""},
		{"! grep -rn print src | grep -v print-ok", "src/b.py", "print(1)  # print-ok\n", "suppression_added:1!"},
		{"! grep -rn var src", "src/a.js", "/* @generated */\nlet a = 1;\n", "suppression_added:1!"},
		{"! grep -rn var src", "src/a.js", "/* eslint-disable no-var */\nlet a = 1;\n", "suppression_added:1!"},
		{"! grep -rn var src", "src/a.js", "/* eslint-disable */\nlet a = 1;\n/* eslint-enable */\n", "suppression_added:1"},
		{"! grep -rn print src", "src/b.py", "print(1)  # print-ok\n", ""},
	} {
		c := checkfile.NewChecks(base.tree(), checkfile.Scope{Runs: []checkfile.Command{{Shell: row.run, Dir: "."}}})
		found := Report(c, []patch.Change{change(row.path, base[row.path], row.after)})
		if got := strings.TrimSpace(brief(found, false)); got != row.want {
			t.Errorf("%s: %q: got %q, want %q", row.run, row.after, got, row.want)
		}
	}
}
