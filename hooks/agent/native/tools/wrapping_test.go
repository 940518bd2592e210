package tools

import (
	"strings"
	"testing"
)

func TestStripWrapping(t *testing.T) {
	t.Parallel()
	const xml = "<analysis>\n  <mode>fast</mode>\n</analysis>\n"
	const readme = "```sh\nmake\n```\n"
	for _, c := range []struct{ name, file, content, want string }{
		{"B68 the body is an XML configuration", "a.xml", xml, xml},
		{"B68 also where the name does not say so", "config", xml, xml},
		{"B68 with more behind it", "a.xml", "<analysis>\n</analysis>\n<other/>\n", "<analysis>\n</analysis>\n<other/>\n"},
		{"B69 a tag that only begins alike", "a.go", "<analysisResult>\nx\n</analysisResult>\ny\n", "<analysisResult>\nx\n</analysisResult>\ny\n"},
		{"B69 another", "a.go", "<thinkpad>x</thinkpad>\ny\n", "<thinkpad>x</thinkpad>\ny\n"},
		{"B70 Markdown that is one fence", "README.md", readme, readme},
		{"B70 in capitals", "README.MD", readme, readme},
		{"B72 bare three backticks", "a.go", "```", ""},
		{"B72 with a line end", "a.go", "```\n", ""},
		{"B72 an empty fence", "a.go", "```go\n```", ""},

		{"a fence", "a.go", "```go\npackage a\n```", "package a\n"},
		{"a fence without a language", "a.go", "```\npackage a\n```\n", "package a\n"},
		{"a longer fence", "a.go", "````go\na := \"```\"\n````\n", "a := \"```\"\n"},
		{"a fence with a blank line inside", "a.go", "```go\n\na\n\n```\n\n", "\na\n"},
		{"a fence with CRLF", "a.go", "```go\r\na\r\n```\r\n", "a\r\n"},
		{"two fences", "a.go", "```go\na\n```\ntext\n```\nb\n```\n", "```go\na\n```\ntext\n```\nb\n```\n"},
		{"text in front", "a.go", "Here:\n```go\na\n```\n", "Here:\n```go\na\n```\n"},
		{"text behind", "a.go", "```go\na\n```\nDone.\n", "```go\na\n```\nDone.\n"},
		{"an open fence", "a.go", "```go\na\n", "```go\na\n"},
		{"a fence that is a sentence", "a.go", "``` is a fence\na\n```\n", "``` is a fence\na\n```\n"},
		{"backticks of Go", "a.go", "var a = `\n```\nx\n```\n`\n", "var a = `\n```\nx\n```\n`\n"},

		{"thinking", "a.go", "<think>I should\nwrite</think>\npackage a\n", "package a\n"},
		{"thinking with attributes", "a.go", "<thinking level=\"2\">x</thinking>\n\n  indented\n", "  indented\n"},
		{"blank lines in front", "a.go", "\n <reasoning>x</reasoning>package a", "package a\n"},
		{"a block that is not closed", "a.go", "<think>I should\npackage a\n", "<think>I should\npackage a\n"},
		{"nothing but a block", "a.go", "<think>x</think>\n", "<think>x</think>\n"},
		{"only the first", "a.go", "<think>x</think>\n<think>y</think>\nz\n", "<think>y</think>\nz\n"},
		{"not in the middle", "a.go", "package a\n// <think>x</think>\n", "package a\n// <think>x</think>\n"},
		{"an element of a page", "a.html", "<reflection>x</reflection>\n<p>y</p>\n", "<reflection>x</reflection>\n<p>y</p>\n"},
		{"thinking and a fence", "a.py", "<think>x</think>\n```python\nprint(1)\n```\n", "print(1)\n"},
		{"nothing to take off", "a.go", "  x  \n\n\n", "  x  \n\n\n"},
		{"empty", "a.go", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, said := stripWrapping(c.file, c.content)
			if got != c.want || (said != "") != (c.content != c.want) {
				t.Errorf("got %q (%s), want %q", got, said, c.want)
			}
		})
	}
}

// What was taken off is said, and the file is compared without it.
func TestWriteSaysWhatWasStripped(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"same.go": "package a\n"})
	got := w.do(t, "write", o{"path": "a.go", "content": "<think>hm</think>\n```go\npackage a\n```"}, "ok", "a.go: created, 1 line, 10 bytes",
		"warning: a <think> block at its start and the fence around it was taken off")
	if w.content(t, "a.go") != "package a\n" || len(got.Warnings) != 1 {
		t.Errorf("%q %q", w.content(t, "a.go"), got.Warnings)
	}
	w.do(t, "write", o{"path": "same.go", "content": "```go\npackage a\n```\n"}, "ok", "nothing was written", "taken off")
	w.do(t, "write", o{"path": "doc.md", "content": "```go\npackage a\n```\n"}, "ok")
	if w.content(t, "doc.md") != "```go\npackage a\n```\n" {
		t.Error("Markdown lost its fence")
	}
}

func FuzzStripWrapping(f *testing.F) {
	for _, s := range []string{"```", "```go\na\n```", "<think>a</think>\nb", "<think>", "\r\n```\r\n", "````\n```\n````"} {
		f.Add("a.go", s)
		f.Add("a.md", s)
	}
	f.Fuzz(func(t *testing.T, name, content string) {
		got, said := stripWrapping(name, content)
		if said == "" && got != content {
			t.Fatalf("%q became %q and nothing was said", content, got)
		}
		body := strings.TrimRight(got, "\r\n")
		if !strings.Contains(content, body) {
			t.Fatalf("%q became %q, which was not in it", content, got)
		}
	})
}
