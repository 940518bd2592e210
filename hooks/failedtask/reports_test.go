package failedtask

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
)

// Which files among a task's outputs are read as JUnit.
func TestReadReports(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	to := from.Add(time.Minute)
	put := func(name, text string, at time.Time) {
		fixtest.Put(t, filepath.Join(dir, "root"), name, "f:"+text)
		fixtest.Check(t, os.Chtimes(filepath.Join(dir, "root", name), at, at))
	}
	put("build/a.xml", `<testsuite name="a">`, from.Add(time.Second))
	put("build/deep/b.XML", `<?xml version="1.0"?><testsuites name="b">`, to)
	put("build/old.xml", `<testsuite name="old">`, from.Add(-time.Second))
	put("build/later.xml", `<testsuite name="later">`, to.Add(time.Second))
	put("build/page.xml", `<html>`, from)
	put("build/words.txt", `<testsuite name="words">`, from)
	put("build/left/c.xml", `<testsuite name="left">`, from)
	put("other/d.xml", `<testsuite name="other">`, from)
	put("../outside.xml", `<testsuite name="outside">`, from)
	fixtest.Put(t, dir, "root/build/link.xml", "l:a.xml")
	fixtest.Put(t, dir, "root/build/out.xml", "l:../../outside.xml")
	for outputs, want := range map[string]string{
		"build":                    "a b left",
		"build/**":                 "a b left",
		"build/*.xml":              "a",
		"./build/a.xml":            "a",
		"build/** !build/left/**":  "a b",
		"build/*.xml build/deep/*": "a b",
		"build/link.xml":           "",
		"build/out.xml":            "",
		"../outside.xml":           "",
		"bin":                      "",
		"":                         "",
	} {
		var got []string
		for _, text := range readReports(filepath.Join(dir, "root"), strings.Fields(outputs), from, to) {
			_, name, _ := strings.Cut(string(text), `name="`)
			name, _, _ = strings.Cut(name, `"`)
			got = append(got, name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", outputs, got, want)
		}
	}

	put("large/a.xml", `<testsuite>`, from)
	put("large/b.xml", `<testsuite>`+strings.Repeat(" ", maxReport), from)
	if got := readReports(filepath.Join(dir, "root"), []string{"large"}, from, to); got != nil {
		t.Errorf("%d files were read where one is too large", len(got))
	}
	if got := readReports(filepath.Join(dir, "none"), []string{"build"}, from, to); got != nil {
		t.Errorf("%d files of a folder that is not there", len(got))
	}
}
