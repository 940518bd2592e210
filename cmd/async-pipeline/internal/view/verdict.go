// States and verdicts of a fix, in words a person can act on.
package view

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// Verdicts, as records have them.
const (
	verified   = "verified"
	suspect    = "suspect"
	unverified = "unverified"
)

// stateWord returns a state in a few words, with the code of its reason in brackets.
func stateWord(f *fix.Fix) string {
	word := map[string]string{
		fix.NotReproduced: "the failure did not come back in a copy",
		fix.Flaky:         "the failure comes and goes",
		fix.NoFix:         "the agent found none",
	}[f.State]
	if word == "" {
		word = Harmless(f.State)
	}
	if code, _ := reasonOf(f); code != "" {
		word += " (" + code + ")"
	}
	return word
}

var codedReason = lazily.Regexp(`(?s)^([a-z][a-z_0-9]*): (.*)$`)

// reasonOf splits the reason of a fix without proposal into its code and the words for a person. Either may be empty.
func reasonOf(f *fix.Fix) (code, text string) {
	text = strings.TrimSpace(value(f.Reason))
	if m := codedReason().FindStringSubmatch(text); m != nil {
		return m[1], m[2]
	}
	return value(f.Kind), text
}

// stateText returns why there is no proposal, and what to do about it.
func stateText(f *fix.Fix) string {
	var lines []string
	add := func(text string) {
		if strings.TrimSpace(text) != "" {
			lines = append(lines, sentence(text))
		}
	}
	_, reason := reasonOf(f)
	add(reason)
	switch f.State {
	case fix.NotReproduced:
		add("No agent was started: a fix can be verified only where the task fails without it.")
	case fix.Flaky:
		add("No agent was started: the task may pass without any fix.")
	}
	add(value(f.Advice))
	if value(f.Kind) != "" && f.ResumeAt != nil {
		add("The agent can continue at " + *f.ResumeAt)
	}
	return strings.Join(lines, "\n")
}

// verdictOf returns the verdict and its colour.
func verdictOf(f *fix.Fix) (word, colour string) {
	switch value(f.Verdict) {
	case "":
		return "no verdict", yellow
	case verified:
		return verified, green
	case suspect:
		return suspect, red
	}
	return Harmless(*f.Verdict), yellow
}

// verdictText returns what the verdict means, and does not mean.
func verdictText(f *fix.Fix) string {
	const passes, restored = "Passes in a clean copy", ", also with the original checks restored."
	why := verificationReason(f)
	text := ""
	switch word, _ := verdictOf(f); {
	case word == verified && f.Verification != nil && f.Verification.Note != nil:
		text = notedText(*f.Verification.Note, f.Verification.Tests)
	case word == verified:
		text = passes + restored
	case word == suspect && (f.Verification != nil && onlyByName(f.Verification.OriginalChecks) ||
		strings.HasPrefix(why, "tests_not_run: asked for by name")):
		text = passes + restored + " But the tests that had failed may no longer run."
	case word == suspect && f.Verification != nil && !allPassed(f.Verification.OriginalChecks):
		text = passes + ", but not with " + originals(f) + ": the patch needs its own changes to the checks. " +
			"That can be right where a check was wrong; it is for you to decide."
	case word == suspect && f.Opinion != nil && !slices.ContainsFunc(f.Flags, func(g fix.Flag) bool {
		return g.Caps && g.Rule != "second_opinion"
	}):
		text = passes + restored + " But agent " + f.Opinion.Agent + ", asked for a second opinion, objects: see the flags."
	case word == suspect && slices.ContainsFunc(f.Flags, func(g fix.Flag) bool { return g.Caps }):
		text = passes + ", but a flag below says that the patch may have changed what the check means."
	case word == suspect:
		text = passes + ", but not all of the evidence supports it."
	case word == unverified && (why == "tree_changed" || why == "tree_unknown"):
		text = passes + ", but your tree changed while the agent worked, and the sandbox did not keep the agent out of it."
	case word == unverified && why == "no_time":
		text = "The wall clock of the budget ended before the verification did."
	case word == unverified:
		text = "Not shown to pass with this patch."
		if bad := failedCheck(f); bad != nil {
			text = "With this patch, " + taskName(bad.Task) + " fails in a clean copy"
			if bad.ExitCode != nil {
				text += fmt.Sprintf(" (exit %d)", *bad.ExitCode)
			}
			text += "."
		}
	}
	if m := codedReason().FindStringSubmatch(why); m != nil {
		text += " " + sentence(m[2])
	} else if strings.Contains(why, " ") {
		text += " " + sentence(why)
	}
	return text
}

// originals returns what the check failed with: a check need not have tests, as a Makefile that only builds.
func originals(f *fix.Fix) string {
	var paths []string
	for _, g := range f.Flags {
		if g.Path != nil && slices.Contains([]string{"protected_file", "check_file", "check_config"}, g.Rule) && !slices.Contains(paths, Harmless(*g.Path)) {
			paths = append(paths, Harmless(*g.Path))
		}
	}
	switch len(paths) {
	case 0:
		return "the original checks restored"
	case 1:
		return paths[0] + " as it was"
	}
	return english.List(paths, mostNames) + " as they were"
}

// notedText returns what the verdict verified means where some tests failed.
func notedText(note string, t *fix.TestResults) string {
	text := "Passes in a clean copy, also with the original checks restored"
	if t != nil && len(t.Unchanged) > 0 {
		text = "The tests that the fix is judged by pass in a clean copy, also with the original checks restored; the task still fails"
	}
	for part := range strings.SplitSeq(note, "; ") {
		if m := codedReason().FindStringSubmatch(part); m != nil {
			text += ". " + strings.TrimSuffix(sentence(m[2]), ".")
		}
	}
	return text + "."
}

// verificationReason returns why a verification came to its verdict; empty for none.
func verificationReason(f *fix.Fix) string {
	if f.Verification == nil {
		return ""
	}
	return value(f.Verification.Reason)
}

// failedCheck returns the check that failed with the patch as proposed; nil where none did, or the time ended first.
func failedCheck(f *fix.Fix) *fix.Check {
	if f.Verification == nil || verificationReason(f) == "no_time" {
		return nil
	}
	for i := range f.Verification.Proposed {
		if c := &f.Verification.Proposed[i]; !c.Passed && !c.CorePassed {
			return c
		}
	}
	return nil
}

func allPassed(checks []fix.Check) bool {
	return !slices.ContainsFunc(checks, func(c fix.Check) bool { return !c.Passed && !c.CorePassed })
}

// onlyByName reports whether checks failed, and none but those that asked go test for tests by name.
func onlyByName(checks []fix.Check) bool {
	return !allPassed(checks) && !slices.ContainsFunc(checks,
		func(c fix.Check) bool { return !c.Passed && !c.CorePassed && !byName(&c) })
}

var byNameLog = lazily.Regexp(`/verify-[0-9]+-by-name-[^/]*$`)

// byName reports whether a check ran in the copy where tests are asked for by name. Earlier versions recorded that
// only in the name of the log.
func byName(c *fix.Check) bool { return c.ByName || c.Log != nil && byNameLog().MatchString(*c.Log) }

// doubts lists what is uncertain about a fix and what a reviewer can check, from the evidence alone.
func doubts(f *fix.Fix) []string {
	var d []string
	add := func(format string, args ...any) { d = append(d, fmt.Sprintf(format, args...)) }
	proposed := f.State == fix.Proposed
	switch word, _ := verdictOf(f); {
	case !proposed:
	case word == verified:
		add("A special case for the test's own input would pass too: read the changed lines that are not tests.")
		if v := f.Verification; v != nil && v.Tests != nil && len(v.Tests.Unchanged) > 0 {
			add("The task still fails. What fails in it besides the named tests is not seen: read its log.")
		}
	case word == suspect:
		add("Look at each flagged place and each changed check file: was the check wrong, or the code?")
	case word == unverified:
		add("Use it only as a starting point, and run the task yourself.")
	}
	if f.Tree != nil && len(f.Tree.Changed) > 0 {
		add("Your tree changed while the agent worked (by you, an editor or the agent; nothing was undone): %s",
			english.List(f.Tree.Changed, mostNames))
	}
	for _, tier := range tiers(f) {
		switch tier {
		case "none":
			add("The agent worked without a sandbox: nothing kept it from writing outside its copy.")
		case "fence":
			add("The agent worked in sandbox fence: it could not write outside its copy; it could read other files and use the network.")
		case "view":
			add("The agent worked in sandbox view: its writes stayed in its copy; it could read other files and use the network.")
		}
	}
	switch {
	case value(f.Control) == "missing" && f.Patch != nil:
		add("The agent ended without a readable report; the patch is what it left in its copy.")
	case value(f.Control) == "recovered":
		add("The agent gave its report only when asked for it.")
	}
	if proposed && f.Reproduction != nil && f.Reproduction.Runs > 1 {
		add("It took %d runs to reproduce the failure.", f.Reproduction.Runs)
	}
	if f.Base != nil && !f.Base.Complete {
		add("Not all files that the fix was made from are kept (over 64 MiB in all, or with a secret): fix replay may lack some.")
	}
	if len(f.Omitted) > 0 {
		add("Left out of copies, or of the patch: %s", english.List(omitted(f), mostNames))
	}
	if value(f.Note) != "" {
		add("%s", sentence(*f.Note))
	}
	return d
}

// omitted lists what the patch leaves out, with the reason. Several files of one folder are one item.
func omitted(f *fix.Fix) []string {
	type group struct {
		folder, why string
		n           int
	}
	var groups []*group
	for _, o := range f.Omitted {
		top, _, below := strings.Cut(o.Path, "/")
		i := slices.IndexFunc(groups, func(g *group) bool {
			return below && g.why == o.Why && (g.folder == top || strings.HasPrefix(g.folder, top+"/"))
		})
		if i < 0 {
			groups = append(groups, &group{o.Path, o.Why, 1})
			continue
		}
		g := groups[i]
		for g.folder != o.Path && !strings.HasPrefix(o.Path, g.folder+"/") {
			g.folder = path.Dir(g.folder)
		}
		g.n++
	}
	items := make([]string, len(groups))
	for i, g := range groups {
		items[i] = g.folder + " (" + g.why + ")"
		if g.n > 1 {
			items[i] = fmt.Sprintf("%s/ (%s, %s)", g.folder, english.Count(g.n, "file"), g.why)
		}
	}
	return items
}

// noWord matches text that begins with a name or with an error of Go's network, and not with an English word.
var noWord = lazily.Regexp(`^(\S*[_/.:-]|(dial|read|write) (tcp|udp|unix))`)

// sentence returns text as a sentence: with a capital letter where it begins with a word, and a full stop where it
// does not end in a command.
func sentence(text string) string {
	if !noWord().MatchString(text) {
		first, n := utf8.DecodeRuneInString(text)
		text = string(unicode.ToUpper(first)) + text[n:]
	}
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "?") && !strings.Contains(text, "async-pipeline ") {
		text += "."
	}
	return text
}

// tiers returns the sandbox tiers of the attempts, each once.
func tiers(f *fix.Fix) []string {
	var all []string
	for _, a := range f.Attempts {
		if a.Sandbox != "" && !slices.Contains(all, a.Sandbox) {
			all = append(all, a.Sandbox)
		}
	}
	return all
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
