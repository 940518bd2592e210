package layers

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestConformance compares docs/conformance.md with the tests: each test that a row names exists in a file that
// carries the row's id, and each id in a test has its row.
func TestConformance(t *testing.T) {
	id := regexp.MustCompile(`(?:^|[^A-Za-z0-9#])([GCBPEH]\d\d+b?)\b`)
	inName := regexp.MustCompile(`[GCBPEH]\d\d+b?`)
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	carries := map[string]map[string]bool{} // test or script → ids in its file
	for file, text := range testFiles(t) {
		ids := map[string]bool{}
		var tests []string
		if strings.HasSuffix(file, ".txtar") {
			text, _, _ = strings.Cut(text, "\n-- ") // the files of a script are no promises
			tests = []string{path.Base(file)}
		}
		for _, m := range id.FindAllStringSubmatch(text, -1) {
			ids[m[1]] = true
		}
		for _, m := range function.FindAllStringSubmatch(text, -1) {
			tests = append(tests, m[1])
			for _, row := range inName.FindAllString(m[1], -1) {
				ids[row] = true
			}
		}
		for _, name := range tests {
			if carries[name] == nil {
				carries[name] = map[string]bool{}
			}
			for row := range ids {
				carries[name][row] = true
			}
		}
	}

	doc, err := os.ReadFile(filepath.FromSlash("docs/conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	row := regexp.MustCompile("(?m)^\\| ([GCBPEH]\\d\\d+b?) \\| [^|]+ \\| ((?:`\\w+(?:\\.txtar)?`(?:, )?)+) \\|$")
	for _, m := range row.FindAllStringSubmatch(string(doc), -1) {
		rows[m[1]] = true
		for name := range strings.SplitSeq(m[2], ", ") {
			if name = strings.Trim(name, "`"); !carries[name][m[1]] {
				t.Errorf("docs/conformance.md: %s: no test %s carries this row", m[1], name)
			}
		}
	}
	if n := strings.Count(string(doc), "\n| ") - strings.Count(string(doc), "\n| row |"); n != len(rows) {
		t.Errorf("docs/conformance.md has %d rows, and %d of them can be read or are there once", n, len(rows))
	}
	rust := map[string]bool{"E0041": true, "E0308": true, "E0309": true} // error codes of rustc in test data
	for name, ids := range carries {
		for id := range ids {
			if !rows[id] && !rust[id] {
				t.Errorf("%s carries %s, which docs/conformance.md does not have", name, id)
			}
		}
	}
}

// testFiles reads every Go test and every script of the module, by path.
func testFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "examples") {
			return fs.SkipDir
		}
		if strings.HasSuffix(p, "_test.go") && filepath.Dir(p) != "." || strings.HasSuffix(p, ".txtar") {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			files[filepath.ToSlash(p)] = string(b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
