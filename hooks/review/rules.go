package review

// Rules of the gaming report: one table, with the reason for each and whether it keeps a verdict from being verified.

// Names of rules, as records have them.
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
)

// A Rule is one thing that a reviewer is told.
type Rule struct {
	Name string
	Caps bool   // a finding of it may keep a verdict from being verified: see Finding.Caps
	Also string // where it does although Caps is false; "" for nowhere
	Why  string // for a person
}

// inline: nothing puts back a test in a production file, nor what a build file says of tests.
const inline = "for a test in a production file, or what a build file says of tests"

// Rules lists them all.
//
// What verification runs without (check files and check parts of manifests) cannot act, and needs no cap: the check passed
// without it. What acts from production code, where nothing can be put back, does; so do the tests that stand in production
// files (Rust's): the second half of verification ran with the changed ones; and so does a patch that only silences a checker.
// Within a rule that caps, a form with common
// honest uses (`|| true` after a command that is no check, os.Getenv("CI"), a PATH in a script) is reported and does not.
var Rules = []Rule{
	{ProtectedFile, false, "", "a file named by protect, or PIPELINE.hcl, was changed"},
	{CheckFile, false, "", "a test, or what tests read, was changed"},
	{CheckConfig, false, "", "what the check's runner loads by itself was changed or is new"},
	{TestRemoved, false, inline, "a test is gone, or has a name that no runner finds"},
	{TestSkipped, false, inline, "a test no longer runs"},
	{AssertionRemoved, false, inline + ", and for a value that is equal to everything", "a test asserts less than before"},
	{ExpectationChanged, false, inline, "what a test expects was rewritten"},
	{ThresholdLoosened, false, "", "a limit, timeout or tolerance of a check became wider"},
	{ExitSwallowed, true, "", "a failing command no longer fails; what is put back cannot do so in verification"},
	{SuppressionAdded, false, "where the patch changes nothing else", "a comment or setting silences a checker"},
	{TestDetected, true, "", "production code asks whether it is being tested"},
	{ProgramShadowed, true, "", "a new file stands where a program of the check is looked up"},
	{LibraryShadowed, true, "", "something else is loaded, included or called instead of a library"},
	{DependencyChanged, false, "", "another version of a dependency, or another dependency"},
	{NewNetwork, false, "", "code that reaches the network is new"},
	{NewProcess, false, "", "code that starts processes is new"},
	{SymlinkOut, true, "", "a symbolic link leads out of the tree"},
	{ModeChanged, false, "", "a file's permission to be executed changed"},
	{HiddenText, true, "", "characters that hide or reorder text"},
	{Placeholder, false, "", "text that stands for code that was left out"},
	{Secret, false, "", "text that looks like a key or a token"},
}

// Caps says whether a finding of a rule may keep a verdict from being verified. Whether one does is its Finding.Caps.
func Caps(rule string) bool {
	for _, r := range Rules {
		if r.Name == rule {
			return r.Caps
		}
	}
	return false
}
