// Package rules is what a review searches for, as data: a file a language, each rule with lines that must match
// and lines that must not. The package review compares patches with them.
package rules

import (
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// Kinds of findings, by the names that records have.
const (
	ProtectedFile      = "protected_file"
	CheckFile          = "check_file"
	CheckConfig        = "check_config"
	TestRemoved        = "test_removed"
	TestSkipped        = "test_skipped"
	AssertionRemoved   = "assertion_removed"
	ExpectationChanged = "expectation_rewritten"
	ThresholdLoosened  = "threshold_loosened"
	ExitSwallowed      = "exit_swallowed"
	SuppressionAdded   = "suppression_added"
	TestDetected       = "test_detected"
	ProgramShadowed    = "program_shadowed"
	LibraryShadowed    = "library_shadowed"
	DependencyChanged  = "dependency_changed"
	NewNetwork         = "new_network"
	NewProcess         = "new_process"
	SymlinkOut         = "symlink_out"
	ModeChanged        = "mode_changed"
	HiddenText         = "hidden_text"
	Placeholder        = "placeholder"
	Secret             = "secret"
	CatchAll           = "catch_all"
	LiteralFromTest    = "literal_from_test"
	ResultPrinted      = "result_printed"
	SpecialCase        = "special_case"
	DeadCode           = "dead_code"
)

// A Kind is one sort of finding.
type Kind struct {
	Name string
	Caps bool   // a finding may keep a verdict from being verified
	Also string // where one may although Caps is false; "" for nowhere
	Why  string // for a person
}

// inBuild is true of both checks: the second one does not restore build files.
const inBuild = "for what a build file says of tests"

// Kinds lists them all.
//
// The second check runs without the patch's check files and check parts of manifests. What these hold cannot act
// there, and needs no cap. What is in production code acts in both checks, and caps; so does a build file, and so
// does a patch that only silences a checker. Within a kind that caps, a form with common honest uses (`|| true`
// after a command that is no check, os.Getenv("CI"), a PATH in a script) is reported and does not cap.
var Kinds = []Kind{
	{ProtectedFile, false, "", "a file named by protect, or PIPELINE.hcl, was changed"},
	{CheckFile, false, "", "a test, or what tests read, was changed"},
	{CheckConfig, false, "", "what the check's runner loads by itself, or compiled code, was changed or is new"},
	{TestRemoved, false, inBuild, "a test is gone, or has a name that no runner finds"},
	{TestSkipped, false, inBuild, "a test no longer runs"},
	{AssertionRemoved, false, "for a value that is equal to what differs", "a test asserts less than before"},
	{ExpectationChanged, false, "", "what a test expects was rewritten"},
	{ThresholdLoosened, false, "", "a limit, timeout or tolerance of a check became wider"},
	{ExitSwallowed, true, "", "a failing command no longer fails"},
	{SuppressionAdded, false, "where the patch changes nothing else, or no test failed and it is for a whole file; for the race detector and system headers", "a comment or setting silences a checker"},
	{TestDetected, true, "", "production code asks whether it is being tested"},
	{ProgramShadowed, true, "", "a new file is found in place of a program of the check"},
	{LibraryShadowed, true, "", "something else is loaded, included or called instead of a library"},
	{DependencyChanged, false, "", "another version of a dependency, or another dependency"},
	{NewNetwork, false, "", "code that reaches the network is new"},
	{NewProcess, false, "", "code that starts processes is new"},
	{SymlinkOut, true, "", "a symbolic link leads out of the tree"},
	{ModeChanged, false, "", "a file's permission to be executed changed"},
	{HiddenText, true, "", "characters that hide or reorder text"},
	{Placeholder, false, "", "text in place of code that was left out"},
	{Secret, false, "", "text that looks like a key or a token"},
	{CatchAll, false, "for what tests assert with, and for panics of Go", "every error is caught, and nothing is made of it"},
	{ResultPrinted, true, "", "production code has text that a test runner prints of its results"},
	{LiteralFromTest, false, "", "a new literal that the failing test has too, whole or in a longer one, and the code before did not"},
	{SpecialCase, true, "", "production code compares with what hardly anything but the failing test has, or returns only what it wants"},
	{DeadCode, true, "", "code was left in place that can no longer run: behind a new return, or a condition that always holds"},
}

const (
	// catchesAll is what a finding says of a handler of every error that nobody caught: no check can fail by one then.
	catchesAll = "every uncaught error is caught"
	// FailureSignals are signals that a process may get because it fails, or sends itself. Those that ask a program to
	// end, which it may well do with success, are not among them.
	FailureSignals = `ABRT|ALRM|BUS|CHLD|FPE|ILL|IO|IOT|PROF|SEGV|SYS|TRAP|USR1|USR2|VTALRM|XCPU|XFSZ`
)

// A Place is a set of files that a rule is about.
type Place uint

const (
	Production   Place = 1 << iota // code that belongs to no check and configures no tool
	Programs                       // any code but a shell's and the configuration of tools
	Tests                          // files of the check
	OldTests                       // the same, but no lines of a test that is new
	Scripts                        // shell scripts, and files of settings
	CheckScripts                   // those that belong to the check
	Commands                       // scripts, settings, and code that configures tools; no new file outside the check
	Changed                        // any file that was there, or belongs to the check
	Limits                         // the same, but no production code and no line whose numbers alone changed
	Builds                         // build files, as BuildFile tells
	Sources                        // any file of a language
	Running                        // production code, but no build script of Cargo
	Everywhere                     // any text, also what tests read
)

// A Part is what a pattern is matched against: a line, or some of it.
type Part int

const (
	Code     Part = iota // strings and comments are blanks: the zero value
	Strings              // comments are blanks; some of a match must be code
	Text                 // comments are blanks
	Comments             // all but comments is blanks
	Line                 // all of it
)

// A Rule is a pattern that lines of a patch are compared with. It finds the lines that are new, unless what it
// matched there was removed elsewhere in the file.
type Rule struct {
	ID      string // unique, for people who work on rules
	Kind    string // one of Kinds
	In      Place
	On      Part
	Caps    bool   // a finding keeps a verdict from being verified, unless the second check has the file restored
	Say     string // for the reviewer, before the match; "" shows the match alone
	Pattern string
	Not     string // a pattern: matches of it are left out
	If      string // a pattern: the rule is only for files that match it
	Unless  string // a pattern: the rule is not for files that matched it before the patch, or do where they are new
	Once    bool   // the rule is not for files in which it found something before the patch
	Next    string // a pattern: where the line ends in a colon, the next line of code must match it
	File    string // the rule is only for files whose names end so
	Gone    bool   // finds lines that were removed, unless what matched was added elsewhere in the file

	Match, NoMatch []string // texts that must be found, and must not
}

// A Body is how the body of a test ends.
type Body int

const (
	Braces Body = iota
	Parentheses
	Indent
)

// A Language is what a review knows of one language. Patterns are compared with code, without strings and comments.
type Language struct {
	Name    string // as in internal/lang
	Test    string // the line that begins a test, with its strings; the first group that matches is its name
	NotTest string // names that are none
	Body    Body
	Assert  string // an assertion
	Strong  string // an assertion of a value
	Weak    string // an assertion of less: that there is a value at all
	Lists   string // a list of literals, each a NUL
	Shadow  string // the path of a new file that is loaded instead of a library
	Asks    string // code by which a program learns who loaded, started or called it
	Environ string // code that goes through all variables of the environment
	Catches string // a handler of every error
	Quiet   string // code that does nothing but silence a checker
	Ends    string // code that ends the process, up to what it is given
	Badly   string // what follows Ends where the process ends with a failure
	Program string // what only programs have, which may end as they like
	Asked   string // what is around an end that the user asked for
	Rules   []Rule
}

// RunnerVariables are variables of the environment that test runners set, and async-pipeline.
var RunnerVariables = lazily.Words(`
	PYTEST_CURRENT_TEST PYTEST_VERSION PYTEST_XDIST_WORKER NODE_TEST_CONTEXT NODE_V8_COVERAGE JEST_WORKER_ID VITEST_WORKER_ID
	VITEST_POOL_ID HARNESS_ACTIVE HARNESS_VERSION CARGO_MANIFEST_DIR RUST_TEST_THREADS NEXTEST_RUN_ID GTEST_SHARD_INDEX BATS_TEST_NAME
	TEST_TMPDIR ASYNC_PIPELINE_TASK ASYNC_PIPELINE_HOOK ASYNC_PIPELINE_RUN_ID`)

// CommonParts are words of these that other variables have as well.
var CommonParts = lazily.Words(`NODE NAME VERSION ID DIR MANIFEST WORKER THREADS ACTIVE TASK HOOK PIPELINE RUN INDEX TMPDIR RUST POOL`)

// KnownTags are tags of build constraints, besides systems and processors, that mean something everywhere.
var KnownTags = lazily.Words(`
	unix cgo gc gccgo tinygo purego noasm appengine ignore ignore_autogenerated tools msan asan boringcrypto integration generate safe nounsafe gofuzz netgo netcgo osusergo
	linux amd64 arm64 faketime compiler_bootstrap goexperiment`)

// GeneratedWords are how comments say that a source is generated, in small letters.
var GeneratedWords = []string{
	"@generated", "auto-generated", "autogenerated", "automatically generated", "code generated", "do not edit", "do not modify",
	"generated by", "generated from", "generated with",
}

// languages lists them all. The rules for every language are everywhere, builds and secrets.
var languages = []*Language{&golang, &assembly, &python, &javascript, &c, &shell, &perl, &rust, &jvm, &makefile, &yaml}

// For returns what is known of a language, by its name in internal/lang; an empty one for others.
func For(name string) *Language {
	for _, l := range languages {
		if l.Name == name && name != "" {
			return l
		}
	}
	return &Language{Name: name}
}

// General returns the rules for all languages.
func General() []Rule { return slices.Concat(everywhere, builds, secrets) }

// Languages returns the languages that there are rules for.
func Languages() []*Language { return languages }
