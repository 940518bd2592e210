package lang

import (
	"slices"
	"strings"
	"testing"
)

// Which bytes are code: c, s(tring) or # (comment), and a dot for a line end.
func TestMark(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ language, src, want string }{
		{"go", "a // b", "cc####"},
		{"go", "a /* b\nc */ d", "cc####.####cc"},
		{"go", "\"//\" `\n\\` 'x'", "sssscs.ssscsss"[:4] + "cs.ss" + "csss"},
		{"py", "x = '#' # y", "ccccsssc###"},
		{"py", "'''a\n#'''b", "ssss.ssssc"},
		{"py", "'it\nx", "sss.c"},
		{"web", "a = /'/; b", "ccccsssccc"},
		{"web", "a / b / c", "ccccccccc"},
		{"web", "`a${b}c`d", "sssscsssc"},
		{"web", "`${ {a:`x`} }`", "ssscccccsssccs"[:3] + "cccc" + "sss" + "cc" + "ss"},
		{"shell", "echo $# # x", "cccccccc###"},
		{"shell", `echo 'a\' # b`, "cccccssssc###"},
		{"yaml", "a: b#c # d", "ccccccc###"},
		{"c", "'\"' /* x", "sssc####"},
		{"json", `{"a": 1}`, "cccccccc"},
		{"", "anything # at 'all'", strings.Repeat("c", 19)},
	} {
		kinds := Mark(tt.language, tt.src)
		got := make([]byte, len(kinds))
		for i, k := range kinds {
			got[i] = "cs#"[k]
			if tt.src[i] == '\n' {
				got[i] = '.'
			}
		}
		if string(got) != tt.want {
			t.Errorf("%s %q:\n got %s\nwant %s", tt.language, tt.src, got, tt.want)
		}
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ path, text, want string }{
		{"a/b.go", "", "go"}, {"a.PY", "", "py"}, {"a.pyx", "", "py"}, {"Makefile", "", "make"}, {"makefile.inc", "", "make"}, {".env.local", "", "ini"}, {"go.mod", "", "gomod"},
		{"bin/run", "#!/usr/bin/env python3\n", "py"}, {"bin/run", "#!/bin/sh -e\n", "shell"}, {"bin/run", "#!/usr/bin/perl\n", "perl"}, {"bin/run", "x", ""}, {"README.md", "", ""},
	} {
		if got := Of(tt.path, tt.text); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.path, got, tt.want)
		}
	}
	if ByPath("a.zsh") != "" || ByPath("a.yml") != "" || ByPath("a.sh") != "shell" || ByPath("a.R") != "r" {
		t.Error("ByPath goes by the extensions of programs alone")
	}
	if !IsCode("go") || IsCode("yaml") || IsCode("") {
		t.Error("IsCode is of languages that are no settings")
	}
}

// Every language is in the list once, and no two claim a name.
func TestAll(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, l := range all {
		for _, name := range slices.Concat([]string{"name " + l.Name}, l.Exts, l.Also, l.Files, l.Programs) {
			if other, ok := seen[name]; ok {
				t.Errorf("%s is of %s and of %s", name, other, l.Name)
			}
			seen[name] = l.Name
		}
	}
}
