package agent

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const plainDiff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"

func TestDiffs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, answer, want string }{
		{"bare", plainDiff, plainDiff},
		{"fenced, between prose", "Here:\n```diff\n" + plainDiff + "```\nDone.\n", plainDiff},
		{"B60 in a tag, between prose", "I read it.\n<diff>\n" + plainDiff + "</diff>\nDone.\n", plainDiff},
		{"B62 in a tag that is not closed", "I read it.\n<diff>\n" + plainDiff, plainDiff},
		{"B60 with its tag on the first line", "So:\n<patch>" + plainDiff + "</patch>\n", plainDiff},
		{"B60 with its tag on the line of git", "<patch id=\"1\">diff --git a/x b/x\n" + plainDiff + "</patch>\n", plainDiff},
		{"B60 with a tag at the end of the last line", "<diff>\n" + strings.TrimSuffix(plainDiff, "\n") + "</diff>\nDone.\n", plainDiff},
		{"B60 with both, in one paragraph", "<diff>" + strings.TrimSuffix(plainDiff, "\n") + "</diff>", plainDiff},
		{"B60 with CRLF", strings.ReplaceAll("<diff>\n"+strings.TrimSuffix(plainDiff, "\n")+"</diff>\nDone.\n", "\n", "\r\n"), plainDiff},
		{"B60 with a tag that is the file's own", "<diff>\n" + strings.ReplaceAll(plainDiff, "2\n", "2</diff>\n") + "</diff>\n", strings.ReplaceAll(plainDiff, "2\n", "2</diff>\n")},
		{"B60 a tag each", "<diff>" + plainDiff + "<diff>" + strings.ReplaceAll(plainDiff, "/x", "/y"), strings.ReplaceAll(plainDiff, "/x", "/y")},
		{"a tag at the end of the last line, and none in front", strings.ReplaceAll(plainDiff, "2\n", "2</diff>\n"), strings.ReplaceAll(plainDiff, "2\n", "2</diff>\n")},
		{"a tag that ends an earlier line", "<diff>\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-one\n+1</diff>\n two\n", "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-one\n+1</diff>\n two\n"},
		{"a tag that ends an earlier hunk", "<diff>\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+1</diff>\n@@ -9 +9 @@\n-two\n+2</diff>\n", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+1</diff>\n@@ -9 +9 @@\n-two\n+2\n"},
		{"B64 behind thinking that holds another", "<think>\n" + strings.ReplaceAll(plainDiff, "2\n", "3\n") + "</think>\n" + plainDiff, plainDiff},
		{"B64 behind thinking without ends", "<think\nhm\n</think\n" + plainDiff, plainDiff},
		{"B64 behind thinking on its line", "<think>hm</think>" + plainDiff, plainDiff},
		{"B62 thinking that is not closed", "<think>\nhm\n" + plainDiff, plainDiff},
		{"an indented fence", "1. So:\n   ```diff\n" + plainDiff + "   ```\n2. Done.\n", plainDiff},
		{"prose at once behind it", plainDiff + "That is all.\n{\"outcome\": \"fixed\"}\n", plainDiff},
		{"the last line has no end", strings.TrimSuffix(plainDiff, "\n"), plainDiff},
		{"headers of git", "diff --git a/x b/x\nindex 123..abc 100644\n" + plainDiff, plainDiff},
		{"names without prefixes", "diff --git x x\n--- x\n+++ x\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n", plainDiff},
		{"other prefixes", "--- i/x\n+++ w/x\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n", plainDiff},
		{"times", "--- x\t2026-11-21\n+++ x\t2026-11-22\n@@ -1,2 +1,2 @@ func main() {\n one\n-two\n+2\n", plainDiff},
		{"a folder named a", "--- a/x\n+++ a/x\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n", strings.ReplaceAll(strings.ReplaceAll(plainDiff, "a/x", "a/a/x"), "b/x", "b/a/x")},
		{"CRLF everywhere", strings.ReplaceAll("See:\n"+plainDiff+"Done.\n", "\n", "\r\n"), plainDiff},
		{"CRLF of the file", "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\r\n-two\r\n+2\r\n", "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\r\n-two\r\n+2\r\n"},
		{"a new file", "diff --git a/n b/n\nnew file mode 100755\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n", "diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n"},
		{"a new file without prefixes", "diff --git b/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n", "diff --git a/b/n b/b/n\nnew file mode 100644\n--- /dev/null\n+++ b/b/n\n@@ -0,0 +1 @@\n+x\n"},
		{"a deleted file", "--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"},
		{"a mode alone", "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"},
		{"an empty file", "diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n", "diff --git a/e b/e\nnew file mode 100644\n"},
		{"quoted names", "diff --git \"a/\\303\\274 x\" \"b/\\303\\274 x\"\n--- \"a/\\303\\274 x\"\n+++ \"b/\\303\\274 x\"\n@@ -1 +1 @@\n-x\n+y\n", "--- \"a/\\303\\274 x\"\n+++ \"b/\\303\\274 x\"\n@@ -1 +1 @@\n-x\n+y\n"},
		{"two files", plainDiff + "\n" + strings.ReplaceAll(plainDiff, "/x", "/y"), plainDiff + strings.ReplaceAll(plainDiff, "/x", "/y")},
		{"several: the last", plainDiff + "No, rather:\n" + strings.ReplaceAll(plainDiff, "2\n", "3\n"), strings.ReplaceAll(plainDiff, "2\n", "3\n")},
		{"several: the last complete one", plainDiff + "No, rather:\n--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n one\n", plainDiff},
		{"an empty line that lost its space", "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n\n one\n-two\n+2\n", "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n \n one\n-two\n+2\n"},
		{"no newline at the end", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n"},
		{"fences and diffs inside", "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n ```\n---- a\n+--- b\n ```\n", "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n ```\n---- a\n+--- b\n ```\n"},
		{"a list behind it", plainDiff + "\n- changed two\n+ added 2\n", plainDiff},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, found := LastDiff(tt.answer)
			if !found || d.Problem != "" || d.Text != tt.want {
				t.Errorf("found %v, problem %q, text\n%s\nwant\n%s", found, d.Problem, d.Text, tt.want)
			}
		})
	}
	if d, found := LastDiff("<think>\n" + plainDiff + "</think>\nI give up.\n"); found {
		t.Errorf("B64 what the model only thought of is taken: %+v", d)
	}
	d, _ := LastDiff(strings.ReplaceAll(plainDiff, "\n", "\r\n"))
	if want := "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\r\n-two\r\n+2\r\n"; d.CRLF != want {
		t.Errorf("the reading with the file's line ends is %q, want %q", d.CRLF, want)
	}
	if d, _ := LastDiff(plainDiff); d.CRLF != "" {
		t.Errorf("two readings of what has one: %q", d.CRLF)
	}
}

func TestDiffProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, answer, want string }{
		{"fewer lines than the head says", "Hi\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n```\n", "line 8 of the answer: a line of a hunk begins with a space, + or -; 1 old and 1 new lines are missing"},
		{"more lines", plainDiff + "+3\n", "line 7 of the answer: the hunk before it has more lines"},
		{"one side has more", "--- a/x\n+++ b/x\n@@ -1,1 +1,3 @@\n-one\n-two\n+2\n", "line 5 of the answer: the hunk has more lines"},
		{"cut", "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n", "line 5 of the answer: the answer ends within a hunk: 1 old and 1 new lines are missing"},
		{"no numbers", "--- a/x\n+++ b/x\n@@ ... @@\n one\n", "line 3 of the answer: the head of a hunk is"},
		{"a rename", "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", "line 2 of the answer: renames"},
		{"binary", "diff --git a/x b/x\nindex 1..2\nGIT binary patch\n", "line 3 of the answer: a binary patch"},
		{"two names", "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-x\n+y\n", "line 1 of the answer: the two names"},
		{"no hunks", "diff --git a/x b/x\nindex 1..2\nthat's it\n", "line 3 of the answer: no hunks"},
		{"one bad file among good ones", plainDiff + "--- a/y\n+++ b/y\n@@ -1,2 +1 @@\n-one\nbye\n", "line 11 of the answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, found := LastDiff(tt.answer)
			if !found || !strings.HasPrefix(d.Problem, tt.want) {
				t.Errorf("found %v, %q, want %q", found, d.Problem, tt.want)
			}
		})
	}
	for _, none := range []string{"", "I would change x.", "---\ntitle: x\n---\n", "--- a\n+++ b\nno hunk\n", "diff --git says nothing\n", "+++ x\n--- y\n@@ -1 +1 @@\n"} {
		if d, found := LastDiff(none); found {
			t.Errorf("a diff in %q: %+v", none, d)
		}
	}
}

// Whatever stands around a diff, it is read as it was written, and nothing hostile makes it long or loop.
func TestDiffsProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringOfN(rapid.RuneFrom([]rune("ab +-@\\`\r/")), 0, 8, -1)
		prose := rapid.SliceOfN(rapid.OneOf(line, rapid.SampledFrom([]string{"--- a/x", "+++ b/x", "@@ -1 +1 @@", "diff --git a/x b/x", "```diff"})), 0, 12)
		text := strings.Join(prose.Draw(t, "prose"), "\n")
		for _, d := range Diffs(text) {
			if d.Problem == "" && !strings.HasPrefix(d.Text, "--- ") && !strings.HasPrefix(d.Text, "diff --git ") || len(d.Text) > 2*len(text)+40 {
				t.Fatalf("%q gives %+v", text, d)
			}
		}
		after := rapid.SampledFrom([]string{"", "```\n", "\nThat is all.\n", "{}\n"}).Draw(t, "after")
		if d, ok := LastDiff("Well.\n\n" + plainDiff + after); !ok || d.Text != plainDiff || d.Line != 3 {
			t.Fatalf("%+v", d)
		}
	})
}

func FuzzDiffs(f *testing.F) {
	f.Add("Hi\n```diff\n" + plainDiff + "```\n")
	f.Add(strings.ReplaceAll(plainDiff, "\n", "\r\n"))
	f.Fuzz(func(t *testing.T, answer string) {
		for _, d := range Diffs(answer) {
			if d.Line < 1 || d.Problem == "" && d.Text == "" || len(d.Text) > 3*len(answer)+100 {
				t.Fatalf("%q gives %+v", answer, d)
			}
		}
	})
}
