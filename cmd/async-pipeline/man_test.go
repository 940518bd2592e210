package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pagesIn writes all manual pages to a new folder and returns them by name.
func pagesIn(t *testing.T, environ ...string) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "share", "man1")
	var out bytes.Buffer
	h := process{args: []string{"man", "--dir", dir}, stdout: &out, stderr: &out, dir: t.TempDir(), environ: environ}
	if code := h.main(); code != 0 {
		t.Fatalf("exit %d, %s", code, out.String())
	}
	pages := map[string]string{}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		pages[e.Name()] = string(b)
	}
	return pages
}

// Every verb has a page that tells its flags and examples, the same whenever it is written.
func TestManPages(t *testing.T) {
	t.Parallel()
	day := "SOURCE_DATE_EPOCH=86400"
	pages, again := pagesIn(t, day), pagesIn(t, day)
	n := 0
	for _, c := range everyVerb() {
		n++
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		text := pages[name]
		if text == "" {
			t.Errorf("no page %s", name)
		}
		if text != again[name] {
			t.Errorf("%s is another the second time", name)
		}
		if !strings.Contains(text, `"1970\-01\-02"`) {
			t.Errorf("%s does not have the date of SOURCE_DATE_EPOCH", name)
		}
		for _, want := range []string{".TH ", `.SH "NAME"`, `.SH "SYNOPSIS"`, `.SH "DESCRIPTION"`, `.SH "EXAMPLES"`, `.SH "SEE ALSO"`} {
			if c.Example == "" && strings.Contains(want, "EXAMPLES") {
				continue
			}
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %s", name, want)
			}
		}
		for line := range strings.Lines(c.Example) {
			if !strings.Contains(text, "\n"+roff.Replace(strings.TrimSpace(line))+"\n") {
				t.Errorf("%s does not have the example %q", name, line)
			}
		}
		for line := range strings.Lines(c.LocalFlags().FlagUsages()) {
			_, flag, _ := strings.Cut(line, "--")
			flag, _, _ = strings.Cut(flag, " ")
			if flag != "" && strings.HasPrefix(strings.TrimSpace(line), "-") && !strings.Contains(text, `\fB\-\-`+roff.Replace(strings.TrimSpace(flag))+`\fP`) {
				t.Errorf("%s does not tell --%s", name, flag)
			}
		}
	}
	if n != len(pages) {
		t.Errorf("%d pages for %d verbs", len(pages), n)
	}
}

// groff finds nothing to complain about, and prints what the help says.
func TestManPagesAreRead(t *testing.T) {
	t.Parallel()
	notShort(t)
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("no groff")
	}
	for name, text := range pagesIn(t) {
		c := exec.CommandContext(t.Context(), groff, "-man", "-Tutf8", "-ww", "-P-cbou", "-rLL=200n", "-dAD=l")
		c.Stdin = strings.NewReader(text)
		var stderr, stdout bytes.Buffer
		c.Stdout, c.Stderr = &stdout, &stderr
		if err := c.Run(); err != nil || stderr.Len() > 0 {
			t.Errorf("%s: %v, %s", name, err, stderr.String())
		}
		if name == "async-pipeline-fix-diff.1" {
			for _, want := range []string{"`git apply` takes it", "-C, --directory DIR", "test > fix.patch"} {
				if !strings.Contains(stdout.String(), want) {
					t.Errorf("%s does not say %q:\n%s", name, want, stdout.String())
				}
			}
		}
	}
}

// roff escapes what examples and flags contain.
var roff = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, `"`, `\(dq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)
