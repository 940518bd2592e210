package tools

import (
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/hooks/review"
	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

func TestPlaceholders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file, line string
		warn             bool
	}{
		{"B80", "a.go", "    // ... rest of the code", true},
		{"B81", "a.py", "    # existing code unchanged", true},
		{"B82", "a.html", "<!-- snip -->", true},
		{"B82 between elements", "a.html", "<div><!-- snip --></div>", true},
		{"B82 behind code", "a.go", "	return x; // snip", true},
		{"B82 behind code in C", "a.c", "foo() /* ... snip ... */", true},
		{"B82 a comment that says more", "a.go", "	x = x[1:] // snip the quote", false},
		{"B82 an address", "a.go", "	get(http://snip)", false},
		{"B82 another word", "a.go", "	x := y // snippet", false},
		{"B82 in a string", "a.go", `	say("snip")`, false},
		{"B84", "a.xml", "<text>the rest of the story ... goes on</text>", false},
		{"B84 with an ellipsis", "a.xml", "<text>… rest of the story</text>", false},
		{"B85", "a.go", `	fmt.Println("... rest of the code unchanged")`, false},
		{"B85 prose", "a.txt", `He wrote "rest of the code unchanged" and left.`, false},
		{"B86", "a.go", "", false},
		{"B86 blank", "a.go", "   \t ", false},

		{"an ellipsis as one character", "a.go", "// … rest of the file", true},
		{"existing code", "a.js", "// ... existing code ...", true},
		{"omitted", "a.c", "/* rest omitted for brevity */", true},
		{"remainder", "a.sql", "-- remainder omitted", true},
		{"the implementation", "a.rs", "// implementation unchanged", true},
		{"previous code", "a.lisp", "; previous code unchanged", true},
		{"TeX", "a.tex", "% code omitted", true},
		{"as before", "a.go", "// same as before", true},
		{"in brackets", "a.go", "// func b (unchanged)", true},
		{"snip", "a.go", "// snip", true},
		{"snip in C", "a.c", "/* ... snip ... */", true},
		{"angle brackets", "a.go", "<unchanged>", true},
		{"angle brackets with more", "a.go", "<omitted for length>", true},
		{"within a block comment", "a.c", " * ... rest of the code", true},
		{"a function to be written", "a.go", "// TODO: implement", true},
		{"your code here", "a.go", "// Your code goes here", true},
		{"capitals", "a.go", "// REST OF THE CODE UNCHANGED", true},
		{"an HTML comment in Markdown", "a.md", "<!-- rest of the file unchanged -->", true},
		{"a heading", "a.md", "# Existing code unchanged", false},
		{"a list in Markdown", "a.md", "* same as before", false},
		{"code without a comment", "a.go", "rest of the code unchanged", false},
		{"a comment about the rest", "a.go", "// The rest of the words is joined.", false},
		{"snippets", "a.go", "// snippets are short", false},
		{"a plain TODO", "a.go", "// TODO(anna): faster", false},
		{"an ellipsis", "a.go", "// Walk(a, b, ...) goes on", false},
		{"an include", "a.c", "#include <unchanged.h>", false},
		{"very long", "a.js", "// ... rest of the code" + strings.Repeat("x", 400), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := placeholders(c.file, "a\n"+c.line+"\nb\n"); slices.Equal(got, []int{2}) != c.warn || !c.warn && got != nil {
				t.Errorf("%q: got lines %v", c.line, got)
			}
		})
	}
}

// The report on a patch has the same rule: what it flags of lines that are comments, the model was warned of.
func TestPlaceholdersAgreeWithTheReport(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line           string
		warned, report bool
	}{
		{"// ... rest of the code", true, true},
		{"// ... existing code ...", true, true},
		{"// (omitted for brevity)", true, true},
		{"// TODO: implement", true, true},
		{"// rest of the file unchanged", true, true},
		{"// the remainder of this function stays as before", true, true},
		{"// other methods remain", true, true},
		{"// original imports here", true, true},
		{"// … other cases", true, true},
		{"// snipped", true, true},
		{"// no changes below", true, true},
		{"// unchanged", true, true},
		{"// insert your logic here", true, true},
		{"// FIXME fill in", true, true},
		{"// implementation unchanged", true, false},
		{"// same as before", true, false},
		{"// rest omitted", true, false},
		{"// The rest of the words is joined.", false, false},
	} {
		before, after := "package a\n\nfunc A() {}\n", "package a\n\n"+c.line+"\nfunc A() {}\n"
		tree := checkfile.Tree{Paths: []string{"a.go"}, Read: func(string) ([]byte, error) { return []byte(before), nil }}
		found := review.Report(t.Context(), checkfile.NewChecks(tree, checkfile.Scope{}), []patch.Change{{
			Path: "a.go", Before: &patch.File{Mode: 0o644, Data: []byte(before)}, After: &patch.File{Mode: 0o644, Data: []byte(after)},
		}})
		flagged := slices.ContainsFunc(found, func(f review.Finding) bool { return f.Rule == rules.Placeholder && f.Line == 3 })
		if flagged != c.report {
			t.Errorf("%s: the report flags it: %v", c.line, flagged)
		}
		if warned := len(placeholders("a.go", after)) == 1; warned != c.warned {
			t.Errorf("%s: the model is warned: %v", c.line, warned)
		}
		if c.report && !c.warned {
			t.Errorf("%s: the report would say what the model was not told", c.line)
		}
	}
}

func TestWriteWarnsOfPlaceholders(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x()\n", 40)
	w := workIn(t, map[string]string{"old.go": long, "had.go": "// ... rest of the code\na\nb\n"})
	got := w.do(t, "write", o{"path": "new.go", "content": "a\n// ... rest of the code\n"}, "ok", `warning: new.go looks like a placeholder (line 2, "// ... rest of the code"): write out what it stands for`)
	if len(got.Warnings) != 1 {
		t.Errorf("%q", got.Warnings)
	}
	w.do(t, "read", o{"path": "old.go"}, "ok")
	w.do(t, "write", o{"path": "old.go", "content": "y()\n// ... rest of the code\n"}, "ok", "had no such line and is shorter now: what it stands for is lost, put it back")
	w.do(t, "read", o{"path": "had.go"}, "ok")
	if got := w.do(t, "write", o{"path": "had.go", "content": "// ... rest of the code\na\n"}, "ok"); len(got.Warnings) != 0 {
		t.Errorf("a line that was there before: %q", got.Warnings)
	}
	w.do(t, "edit", o{"path": "had.go", "old": "a\n", "new": "// same as before\n"}, "ok", `warning: had.go looks like a placeholder (line 2, "// same as before")`)
}
