package review

import "testing"

func TestReportPlaces(t *testing.T) { t.Parallel(); runRows(t, placeRows) }

var placeRows = []reportRow{
	{"PIPELINE.hcl", "PIPELINE.hcl", "a = 1\n", "a = 2\n", ""},
	{"a runner's configuration", "jest.config.js", "module.exports = {}\n", "module.exports = { a: 1 }\n", ""},
	{"symlink to an absolute path", "a", absent, "->/etc/passwd", "symlink_out:0!"},
	{"symlink out of the tree", "a/b", absent, "->../../x", "symlink_out:0!"},
	{"symlink within", "a/b", absent, "->../x", ""},
	{"symlink to itself's folder", "a/b", absent, "->.", ""},
	{"symlink into .git", "a/b", absent, "->../.git/hooks/post-commit", "symlink_out:0!"},
	{"symlink out, in a test folder", "testdata/a", absent, "->/etc", "symlink_out:0!"},
	{"symlink removed", "a", "->/etc/passwd", absent, ""},
	{"a file became a symlink", "a", "x\n", "->b", "mode_changed:0"},
	{"can be executed", "a.sh", "a\n", "x:a\n", "mode_changed:0"},
	{"cannot be executed", "a.sh", "x:a\n", "a\n", "mode_changed:0"},
	{"new and can be executed", "deploy.sh", absent, "x:a\n", ""},
	{"new and named like a program", "bin/python3", absent, "x:#!/bin/sh\n", "program_shadowed:0!"},
	{"named like a program, not executable", "docs/git", absent, "about git\n", ""},
	{"became executable and is named like a program", "bin/make", "a\n", "x:a\n", "mode_changed:0 program_shadowed:0!"},
	{"a program of that name changed", "bin/node", "x:a\n", "x:b\n", "program_shadowed:0"},
	{"a link named like a program", "bin/go", absent, "->true.sh", "program_shadowed:0!"},
	{"a script of the project", "bin/test", absent, "x:#!/bin/sh\n", ""},
	{"a folder go", "go/main.go", absent, "package main\n", ""},
	{"a binary file", "a.bin", "\x00a", "\x00b", ""},
	{"a binary test file", "testdata/a.bin", "\x00a", "\x00b", ""},
	{"an empty file", "empty", absent, "", ""},
	{"without a line end", "f.js", "f()", "f() // eslint-disable-line", "suppression_added:1!"},
}
