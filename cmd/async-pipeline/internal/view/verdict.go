// States and verdicts of a fix, in words a person can act on.
package view

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

// stateWord is a state in a few words.
func stateWord(state string) string {
	switch state {
	case fix.NotReproduced:
		return "the failure did not come back in a copy"
	case fix.Flaky:
		return "the failure comes and goes"
	case fix.NoFix:
		return "the agent found none"
	case fix.Skipped:
		return "healing was skipped"
	case fix.Cancelled:
		return "healing was cancelled"
	case fix.Interrupted:
		return "healing was interrupted"
	case fix.Failed:
		return "healing failed"
	}
	return Harmless(state)
}

// stateText says why there is no proposal.
func stateText(f *fix.Fix) string {
	var lines []string
	if f.Reason != nil && *f.Reason != "" {
		lines = append(lines, "Reason: "+*f.Reason)
	}
	switch f.State {
	case fix.NotReproduced:
		lines = append(lines, "No agent was started and nothing was spent: a fix that was never seen to fail in the copy could not be judged.")
	case fix.Flaky:
		lines = append(lines, "No agent was started: with a check that passes by itself, a fix could not be told from luck.")
	}
	if f.Kind != nil && *f.Kind != "" {
		lines = append(lines, "The last attempt ended with: "+*f.Kind)
		if f.Advice != nil && *f.Advice != "" {
			lines = append(lines, "What to do: "+*f.Advice)
		}
		if f.ResumeAt != nil {
			lines = append(lines, "The agent says that it can go on at "+*f.ResumeAt)
		}
	}
	return strings.Join(lines, "\n")
}

// verdictOf is the verdict and its colour.
func verdictOf(f *fix.Fix) (word, colour string) {
	if f.Verdict == nil {
		return "no verdict", yellow
	}
	switch *f.Verdict {
	case "verified":
		return "verified", green
	case "suspect":
		return "suspect", red
	case "unverified":
		return "unverified", yellow
	}
	return Harmless(*f.Verdict), yellow
}

// verdictText is what the verdict means and does not mean.
func verdictText(f *fix.Fix) string {
	task := Harmless(f.Task)
	word, _ := verdictOf(f)
	text := ""
	switch word {
	case "verified":
		text = fmt.Sprintf("In a fresh copy with only this patch, %s passes, also with every test and protected file put back to what it was.", task)
	case "suspect":
		switch {
		case f.Verification != nil && onlyByName(f.Verification.OriginalChecks), strings.HasPrefix(reasonOf(f), "tests_not_run: asked for by name"):
			text = fmt.Sprintf("With the patch %s passes, also with the check files as they were. But asked by name for the tests that had failed, "+
				"go test does not say that they pass: they may not run any more.", task)
		case f.Verification != nil && !allPassed(f.Verification.OriginalChecks):
			text = fmt.Sprintf("With the patch %s passes, but not with the check files as they were: the patch needs its own changes to the checks. "+
				"That can be an honest correction of a wrong test; it is for you to decide.", task)
		case caps(f):
			text = fmt.Sprintf("%s passes, but a flag below says that the patch may have changed what the check means.", task)
		default:
			text = fmt.Sprintf("%s passes in a fresh copy with this patch, but not everything speaks for it.", task)
		}
	case "unverified":
		text = fmt.Sprintf("It was not seen that %s passes with this patch.", task)
		if bad := failedCheck(f); bad != nil {
			text = fmt.Sprintf("With this patch, %s FAILED in a fresh copy", Harmless(bad.Task))
			if bad.ExitCode != nil {
				text += fmt.Sprintf(" (exit %d)", *bad.ExitCode)
			}
			text += "."
		}
		if r := reasonOf(f); r == "tree_changed" || r == "tree_unknown" {
			text = fmt.Sprintf("With this patch %s passes in a fresh copy, but your tree changed while the agent worked, and nothing kept the agent out of it.", task)
		}
	}
	if r := reasonOf(f); r != "" {
		text += " (" + r + ")"
	}
	return strings.TrimSpace(text)
}

// reasonOf is why a verification came to its verdict, empty for none.
func reasonOf(f *fix.Fix) string {
	if f.Verification == nil || f.Verification.Reason == nil {
		return ""
	}
	return *f.Verification.Reason
}

// failedCheck is the check that failed with the patch as proposed; nil where none did, or the time ended first.
func failedCheck(f *fix.Fix) *fix.Check {
	if f.Verification == nil || reasonOf(f) == "no_time" {
		return nil
	}
	for i := range f.Verification.Proposed {
		if c := &f.Verification.Proposed[i]; !c.Passed {
			return c
		}
	}
	return nil
}

func allPassed(checks []fix.Check) bool {
	for _, c := range checks {
		if !c.Passed {
			return false
		}
	}
	return true
}

// onlyByName says whether checks failed, and none but those that ran where go test was asked by name.
func onlyByName(checks []fix.Check) bool {
	failed := false
	for i := range checks {
		if !checks[i].Passed && !byName(&checks[i]) {
			return false
		}
		failed = failed || !checks[i].Passed
	}
	return failed
}

func caps(f *fix.Fix) bool {
	for _, g := range f.Flags {
		if g.Caps {
			return true
		}
	}
	return false
}

// doubts is what is uncertain about a fix and what a reviewer can check, from the evidence alone.
func doubts(f *fix.Fix) []string {
	var d []string
	add := func(format string, args ...any) { d = append(d, fmt.Sprintf(format, args...)) }
	word, _ := verdictOf(f)
	switch {
	case f.State != fix.Proposed:
	case word == "verified":
		add("A special case for the test's own input would pass these checks too: read the changed lines that are not tests.")
	case word == "suspect":
		add("Read each flagged place and each changed check file, and ask whether the test or the code was wrong.")
	case word == "unverified":
		add("Apply it only to go on from there, and run the task yourself.")
	}
	if f.Tree != nil && len(f.Tree.Changed) > 0 {
		add("The tree changed while this hook worked (you, an editor, or the agent; nothing was undone): %s", list(f.Tree.Changed))
	}
	for _, tier := range tiers(f) {
		switch tier {
		case "none":
			add("The agent worked with sandbox none: nothing held it back from writing outside its copy.")
		case "fence":
			add("The agent worked with sandbox fence: writing outside its copy was refused, reading and the network were open.")
		case "view":
			add("The agent worked with sandbox view: its writes stayed in the copy, reading elsewhere and the network were open.")
		}
	}
	if f.Control != nil {
		switch *f.Control {
		case "missing":
			if f.Patch == nil {
				break
			}
			add("The agent ended without a readable report; the patch is what it left in its copy.")
		case "recovered":
			add("The agent's report had to be asked for again.")
		}
	}
	if f.State == fix.Proposed && f.Reproduction != nil && f.Reproduction.Runs > 1 {
		add("The failure was looked for in %d runs before it was believed.", f.Reproduction.Runs)
	}
	if f.Base != nil && !f.Base.Complete {
		add("Not all of the base could be kept (over 64 MiB): some of it may be missing when this is checked again later.")
	}
	if n := len(f.Omitted); n > 0 {
		var paths []string
		for _, o := range f.Omitted {
			paths = append(paths, o.Path+" ("+o.Why+")")
		}
		add("Not in the patch: %s", list(paths))
	}
	if f.Note != nil && *f.Note != "" {
		add("%s", sentence(*f.Note))
	}
	return d
}

// sentence is a note as a sentence of its own.
func sentence(text string) string {
	first, n := utf8.DecodeRuneInString(text)
	if word, _, _ := strings.Cut(text, " "); !strings.ContainsAny(word, "_/.:") {
		text = string(unicode.ToUpper(first)) + text[n:]
	}
	if !strings.HasSuffix(text, ".") && !strings.Contains(text, "async-pipeline ") {
		text += "."
	}
	return text
}

// list names the first few of what may be many.
func list(items []string) string {
	const most = 8
	if len(items) <= most {
		return strings.Join(items, ", ")
	}
	return strings.Join(items[:most], ", ") + fmt.Sprintf(" and %d more", len(items)-most)
}

// tiers are the sandbox tiers of the attempts, without doubles.
func tiers(f *fix.Fix) []string {
	var t []string
	seen := map[string]bool{}
	for _, a := range f.Attempts {
		if a.Sandbox != "" && !seen[a.Sandbox] {
			seen[a.Sandbox] = true
			t = append(t, a.Sandbox)
		}
	}
	return t
}
