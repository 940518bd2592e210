package lang

import (
	"fmt"
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
		{"a/b.go", "", "go"},
		{"a.PY", "", "py"},
		{"a.pyx", "", "py"},
		{"Makefile", "", "make"},
		{"makefile.inc", "", "make"},
		{".env.local", "", "ini"},
		{"go.mod", "", "gomod"},
		{"bin/run", "#!/usr/bin/env python3\n", "py"},
		{"bin/run", "#!/bin/sh -e\n", "shell"},
		{"bin/run", "#!/usr/bin/perl\n", "perl"},
		{"bin/run", "x", ""},
		{"README.md", "", ""},
	} {
		if got := Of(tt.path, tt.text); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.path, got, tt.want)
		}
	}
	if ByPath("a.ksh") != "" || ByPath("a.yml") != "" || ByPath("a.sh") != "shell" || ByPath("a.R") != "r" {
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

// What a source imports, in a tree of a few files. A row of one language is its example.
func TestImports(t *testing.T) {
	t.Parallel()
	ix := NewIndex([]string{
		"go.mod", "calc/calc.go", "calc/more.go", "calc/data/a.txt", "calc/data/deep/b.txt", "app/__init__.py", "app/calc.py", "src/shop/tax.py", "web/sum.ts", "web/lib/index.js", "web/src/x.js",
		"include/calc.h", "src/calc.c", "lib/calc.rb", "spec/helper.rb", "src/main/java/shop/Cart.java", "src/main/java/shop/Tax.java", "php/Shop/Cart.php", "rs/lib.rs", "rs/cart.rs", "rs/tax/mod.rs",
	}, "web")
	ix.AddGoModule(".", []byte("// shop\nmodule \"example.com/shop\" // the shop\n"))
	for _, row := range []struct{ p, src, want string }{
		{"a.go", "package a\nimport (\n\"example.com/shop/calc\"\n\"example.com/other/calc\"\n\"os\")", "calc/*.go"},
		{"calc/e.go", "package calc\nimport \"testing\"\n//go:embed data\n", "calc/data/a.txt calc/data/deep/b.txt tests"},
		{"app/a.py", "from . import calc, none\nimport os, shop.tax.rate as r\n", "app/calc.py src/shop/tax.py"},
		{"app/a.py", "import unittest\n", "tests"},
		{"web/a.js", "import './sum.js'\nrequire('./lib')\n// import './sum'\nimport '@/x'", "web/lib/index.js web/src/x.js web/sum.ts"},
		{"src/a.c", "#include <calc.h>\n# include \"gtest/gtest.h\"\n", "include/calc.h tests"},
		{"spec/a.rb", "require 'calc'\nrequire_relative 'helper'\n", "lib/calc.rb spec/helper.rb"},
		{"A.java", "import shop.Cart;\nimport static shop.Tax.rate;\n", "src/main/java/shop/Cart.java src/main/java/shop/Tax.java"},
		{"A.kt", "import shop.*\nimport org.junit.Test\n", "src/main/java/shop/Cart.java src/main/java/shop/Tax.java tests"},
		{"a.php", "<?php\nuse App\\Shop\\Cart;\nrequire __DIR__ . '/php/Shop/Cart.php';\n", "php/Shop/Cart.php php/Shop/Cart.php"},
		{"rs/lib.rs", "pub mod cart;\nmod tax;\n#[cfg(test)]\nmod none;\n", "rs/cart.rs rs/tax/mod.rs"},
	} {
		got, testing := Imports(ix, row.p, []byte(row.src))
		slices.Sort(got)
		if testing {
			got = append(got, "tests")
		}
		if s := strings.Join(got, " "); s != row.want {
			t.Errorf("%s %q\nimports %s\n   want %s", row.p, row.src, s, row.want)
		}
	}
}

func TestHelperNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"test_utils": "true false", "testUtils": "true false", "iotest": "true false", "latest": "false false", "testimony": "false false",
		"assertions": "false true", "fake-clock": "true false", "clock": "false false",
	} {
		sure, maybe := HelperName(name)
		if got := fmt.Sprint(sure, maybe); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for p, want := range map[string]string{"a/date.test.js": "date", "test_date.py": "date", "DateTest.java": "date", "date_unittest.cc": "date", "date.go": "date", "test.go": "test"} {
		if got := SubjectOf(p); got != want {
			t.Errorf("%s is about %s, want %s", p, got, want)
		}
	}
	for p, want := range map[string]bool{"gulpfile.js": true, "a/vite.config.ts": true, "bench/a.go": true, "src/config.ts": false} {
		if Tooling(p) != want {
			t.Errorf("%s configures tools: not %v", p, want)
		}
	}
}

// A regular expression of JavaScript is looked for in a line as far as one may be long, so that many slashes in a long line
// take no time that grows with its square.
func TestMarkPattern(t *testing.T) {
	t.Parallel()
	for length, want := range map[int]byte{10: InString, maxPattern: InCode} {
		if got := Mark("web", "/"+strings.Repeat("a", length)+"/")[1]; got != want {
			t.Errorf("%d bytes: %d, want %d", length, got, want)
		}
	}
}
