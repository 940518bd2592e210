package checkfile

import "testing"

// Where a check that lists and reads files would not find one any more.
func TestPassesOver(t *testing.T) {
	t.Parallel()
	f := files{
		"scripts/lint.js":        "const walk = (d) => { for (const e of fs.readdirSync(d)) if (e.isDirectory()) walk(e); else if (e.endsWith('.js')) lint(fs.readFileSync(e)); };\nwalk(path.join(__dirname, '..', 'src'));\n",
		"scripts/both.js":        "const walk = (d) => { for (const e of fs.readdirSync(d)) if (/\\.[cm]?js$/.test(e)) lint(fs.readFileSync(e)); };\nwalk('src');\n",
		"scripts/check.py":       "for p in (root / 'config/services').glob('*.json'):\n    json.loads(p.read_text())\n",
		"scripts/check-all.py":   "for p in root.rglob('*.json'):\n    json.loads(p.read_text())\n",
		"scripts/lint.sh":        "for f in bin/*.sh; do bash -n \"$f\" || exit 1; done\n",
		"scripts/check-names.sh": "test -z \"$(find config -name '*.bak')\"\n",
		"src/a.js":               "", "src/b/c.js": "", "config/services/web.json": "", "bin/a.sh": "", "config/old.bak": "",
	}
	for _, row := range []struct {
		run, was, now string
		want          bool
	}{
		{"node scripts/lint.js", "src/a.js", "src/a.cjs", true},
		{"node scripts/lint.js", "src/a.js", "lib/a.js", true},
		{"node scripts/lint.js", "src/a.js", "src/deep/a.js", false},
		{"node scripts/lint.js", "src/a.js", "src/new.js", false},
		{"node scripts/both.js", "src/a.js", "src/a.cjs", false},
		{"python3 scripts/check.py", "config/services/web.json", "config/services/web.json5", true},
		{"python3 scripts/check.py", "config/services/web.json", "config/services/off/web.json", true},
		{"python3 scripts/check.py", "config/services/web.json", "config/services/www.json", false},
		{"python3 scripts/check.py", "src/a.js", "src/a.cjs", false},
		{"python3 scripts/check-all.py", "config/services/web.json", "config/services/off/web.json", false},
		{"sh scripts/lint.sh", "bin/a.sh", "bin/a", true},
		{"shellcheck bin/*.sh", "bin/a.sh", "bin/a.bash", true},
		{"shellcheck bin/*.sh", "bin/a.sh", "bin/b.sh", false},
		{"sh scripts/check-names.sh", "config/old.bak", "config/old.json", false}, // it reads none
		{"node --test", "src/a.js", "src/a.cjs", false},
	} {
		c := NewChecks(f.tree(), Scope{Runs: []Command{{Dir: ".", Shell: row.run}}})
		if got := c.Listings().PassOver(row.was, row.now); got != row.want {
			t.Errorf("%s: %s to %s: %v, want %v", row.run, row.was, row.now, got, row.want)
		}
	}
}

// A file that fileset() found, and finds no more under its new path.
func TestFoundFiles(t *testing.T) {
	t.Parallel()
	c := NewChecks(Tree{}, Scope{Sub: "app", Found: []string{"app/src/a.txt"}, Sets: []string{"src/*.{txt,md}"}})
	for _, row := range []struct {
		was, now string
		want     bool
	}{
		{"app/src/a.txt", "app/src/a.rst", true},
		{"app/src/a.txt", "app/src/deep/a.txt", true},
		{"app/src/a.txt", "src/a.txt", true},
		{"app/src/a.txt", "app/src/b.md", false},
		{"app/src/b.txt", "app/src/b.rst", false}, // no command names it
	} {
		if got := c.Listings().PassOver(row.was, row.now); got != row.want {
			t.Errorf("%s to %s: %v", row.was, row.now, got)
		}
	}
	if c.Listings().Size() == 0 {
		t.Error("nothing is looked at")
	}
}
