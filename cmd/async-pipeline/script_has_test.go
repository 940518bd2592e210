package main

import (
	"path/filepath"
	"regexp"
	"sort"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdHas is `has FILE REGEXP`: like grep, but FILE may hold *, and the last match counts.
func cmdHas(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, false, len(args) == 2, "has FILE REGEXP")
	matches, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(matches) == 0 {
		ts.Fatalf("no file %s", args[0])
	}
	sort.Strings(matches)
	text := ts.ReadFile(matches[len(matches)-1])
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	if re.MatchString(text) == neg {
		ts.Logf("%s", text)
		ts.Fatalf("%s: %q matches: %v", args[0], args[1], !neg)
	}
}
