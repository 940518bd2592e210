package checkfile

// Programs that an interpreter is given: a file, a module, a text.

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
)

// interpret follows `python x.py` and `node --test x.js`.
func (n *finder) interpret(c shelltext.Command, kind string, w site) {
	args := c.Words[1:]
	testing := false
	n.settings(args, w, preloads)
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "run" && (kind == "deno" || kind == "bun"):
		case arg == "test" && (kind == "deno" || kind == "bun"), arg == "--test" && strings.HasPrefix(kind, "node"):
			testing = true
		case arg == "-m" && i+1 < len(args):
			n.module(args[i+1], args[i+2:], c, w)
			return
		case arg == "-f" && strings.HasSuffix(kind, "awk") && i+1 < len(args):
			i++
			if p := n.resolve(args[i], w); p != "" && !w.inner {
				n.add(p)
			}
			n.operands(args[i+1:], w, n.input)
			return
		case (arg == "-c" || arg == "--check" || arg == "-n") && (kind != "python" && kind != "pypy"):
			n.operands(args[i+1:], w, n.subject) // only reads them
			return
		case arg == "-c" || arg == "-e" || arg == "-p" || arg == "--eval" || arg == "--print":
			if i+1 < len(args) {
				n.code(args[i+1], kind, w)
				n.operands(args[i+2:], w, n.input)
			}
			return
		case slices.Contains(preloads, arg) || arg == "-W" || arg == "-X" || arg == "-I" || arg == "-d":
			i++
		case strings.HasPrefix(arg, "-"):
		case strings.HasSuffix(kind, "awk") || kind == "sed": // a program, then what it reads
			n.operands(args[i+1:], w, n.input)
			return
		case testing:
			n.tests(arg, w)
		default:
			n.started(n.resolve(arg, w), c, w)
			n.operands(args[i+1:], w, n.input)
			return
		}
	}
}

// module follows `python -m name`.
func (n *finder) module(name string, args []string, c shelltext.Command, w site) {
	switch top, _, _ := strings.Cut(name, "."); {
	case name == "coverage" && len(args) > 0 && args[0] == "run":
		c.Words = shelltext.Unwrap(append([]string{name}, args...))
		if len(c.Words) > 0 {
			n.command(c, w)
		}
	case name == "doctest":
		n.doctests = true
		n.operands(args, w, func(word string, w site) {
			if p := n.resolve(word, w); path.Ext(p) != ".py" { // of a program only the examples are the check
				n.add(p)
			}
		})
	case name == "unittest" && len(args) > 0 && args[0] == "discover":
		n.discover(args[1:], w)
	case slices.Contains(testRunners, top) || slices.Contains(linters(), name) || slices.Contains(checkTools, top):
		n.tool(name, args, w)
	default:
		for _, file := range []string{
			strings.ReplaceAll(name, ".", "/") + "/__main__.py",
			strings.ReplaceAll(name, ".", "/") + ".py",
		} {
			for _, in := range []string{"", "src/"} {
				if p := n.resolve(in+file, w); n.seen.Has(p) {
					n.started(p, c, w)
					return
				}
			}
		}
	}
}

// discover adds what `python -m unittest discover` finds: sources below a folder that import unittest, whatever they are
// called.
func (n *finder) discover(args []string, w site) {
	start, pattern := ".", "test*.py"
	words := parseFlags(args, []string{"-s", "--start-directory", "-p", "--pattern", "-t", "--top-level-directory"}, func(flag, value string) {
		switch flag {
		case "-s", "--start-directory":
			start = value
		case "-p", "--pattern":
			pattern = value
		}
	})
	if len(words) > 0 {
		start = words[0]
	}
	if len(words) > 1 {
		pattern = words[1]
	}
	below := path.Join(w.dir, start) + "/"
	for _, u := range n.seen.order {
		if u.testing && (start == "." || strings.HasPrefix(u.key, below)) && lang.Matches(pattern, path.Base(u.key)) && !n.imported(u.key) {
			n.testSource(u.key)
		}
	}
}

// testSource adds a source that is run as a test. One that holds what it tests, too, is judged by its parts.
func (n *finder) testSource(p string) {
	if u := n.seen.units[p]; path.Ext(p) == ".py" && u != nil && !lang.TestName(n.seen.Rel(p)) && !slices.ContainsFunc(u.uses, (*unit).production) {
		if src, ok := n.readOnce(p, "own tests"); ok && ownTests(string(src)) || n.mains[p] {
			n.mains[p] = true
			return
		} else if runsOwnExamples(string(n.search(p))) {
			n.mains[p], n.examples[p] = true, true
			return
		}
	}
	n.add(p)
}
