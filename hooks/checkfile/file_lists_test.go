package checkfile

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// Of a list of the project's files the lines of new sources stay.
func TestFileLists(t *testing.T) {
	t.Parallel()
	const manifest = "MANIFEST\nlib/A.pm\nlib/A/B.pm  # the rest\nt/manifest.t\n"
	f := files{
		"MANIFEST": manifest, "lib/A.pm": "", "lib/A/B.pm": "", "t/manifest.t": "open my $f, '<', 'MANIFEST';\nopen my $g, '<', 'lint-ignore.txt';\nopen my $h, '<', 'words.txt';\n",
		"lint-ignore.txt": "lib/A.pm\nlib/A/B.pm\nt/manifest.t\n", "words.txt": "one\ntwo\nthree\n", "bin/x.py": "",
	}
	c := NewChecks(f.tree(), Scope{Runs: []Command{{Dir: ".", Shell: "prove -l t"}}})
	for _, row := range []struct {
		path, now string
		want      bool
	}{
		{"MANIFEST", "MANIFEST\nlib/A.pm\nlib/A/B.pm  # the rest\nlib/A/C.pm\nt/manifest.t\n", true},
		{"MANIFEST", manifest + "t/other.t\n", false},   // a test
		{"MANIFEST", manifest + "bin/y.py\n", false},    // of its like none is listed
		{"MANIFEST", manifest + "notes.txt\n", false},   // no source
		{"MANIFEST", manifest + "../lib/C.pm\n", false}, // outside
		{"MANIFEST", "MANIFEST\nlib/A.pm\nlib/A/C.pm\nt/manifest.t\n", false},
		{"MANIFEST", "MANIFEST\nlib/A.pm\nt/manifest.t\n", false},
		{"lint-ignore.txt", f["lint-ignore.txt"] + "lib/A/C.pm\n", false},
		{"words.txt", f["words.txt"] + "lib/A/C.pm\n", false},
	} {
		change := patch.Change{Path: row.path, Before: &patch.File{Mode: 0o644, Data: []byte(f[row.path])}, After: &patch.File{Mode: 0o644, Data: []byte(row.now)}}
		if c.Class(row.path) == 0 {
			t.Errorf("%s belongs to no check", row.path)
		}
		if got := len(c.Restore([]patch.Change{change})) == 1; got != row.want {
			t.Errorf("%s: %q stays: %v, want %v", row.path, strings.TrimPrefix(row.now, f[row.path]), got, row.want)
		}
	}
}
