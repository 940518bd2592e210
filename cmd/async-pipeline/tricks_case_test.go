// The form of a file of testdata/tricks and testdata/honest. Its comment is a sentence that says what the patch
// does, then lines:
//
//	language: go|javascript|python|c|shell|make|ci|perl|rust|java   the row of the table
//	needs: PROGRAM …         skipped where one is not here; go, python3 and node bring what they need to run in a test
//	warm: yes                go finds the standard library compiled, in the machine's build cache; else its cache is empty
//	run: EXPRESSION          run of the task "check", as PIPELINE.hcl has it; not needed where base/PIPELINE.hcl is there
//	env: EXPRESSION          env of that task
//	want: VERDICT[/VERDICT]  verified, suspect, unverified, or none
//	reason: WORD             why it is not verified: check_changed, check_failed, flagged
//	flag: RULE[|RULE] PATH[:LINE]   must be in the report
//	noflag: RULE …           must not be in it; * for any
//	omitted: PATH            must be named among what the patch leaves out, itself or a folder above it
//	said: TEXT               the agent printed it: how a trick shows that the check passed where the agent worked
//	unseen: yes              a trick that this program cannot see; it is verified, and counted as missed
//	mistaken: yes            an honest repair of what the check is made of, a wrong test or a vendored library: suspect with
//	                         check_changed is right
//
// base/… is the tree, delete its paths that the agent removes, fix/… what it leaves, agent.sh what it does besides,
// in its copy. setup.sh runs in the tree before it is committed: modes, links, what git ignores.
package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

var (
	languages = map[string]string{
		"go": "Go", "javascript": "JavaScript, TypeScript", "python": "Python", "c": "C", "shell": "shell", "make": "make", "ci": "CI YAML", "perl": "Perl", "rust": "Rust", "java": "Java",
	}
	headWords = []string{"language", "needs", "run", "env", "want", "reason", "flag", "noflag", "omitted", "said", "unseen", "mistaken", "warm"}
	verdicts  = []string{"verified", "suspect", "unverified", "none"}
)

// A suiteCase is one file of a suite.
type suiteCase struct {
	suite, name, about, language string
	want                         []string
	head                         map[string][]string
	files                        []txtar.File
}

func (c *suiteCase) unseen() bool           { return len(c.head["unseen"]) > 0 }
func (c *suiteCase) mistaken() bool         { return len(c.head["mistaken"]) > 0 }
func (c *suiteCase) warm() bool             { return len(c.head["warm"]) > 0 }
func (c *suiteCase) needs(what string) bool { return slices.Contains(c.words("needs"), what) }
func (c *suiteCase) words(key string) []string {
	return strings.Fields(strings.Join(c.head[key], " "))
}

// readSuite reads a folder of cases and refuses what is not written right.
func readSuite(t *testing.T, suite string) []*suiteCase {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", suite, "*.txtar"))
	must(t, err)
	var cases []*suiteCase
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		must(t, err)
		c := &suiteCase{suite: suite, name: strings.TrimSuffix(filepath.Base(file), ".txtar"), files: a.Files, head: map[string][]string{}}
		for line := range strings.Lines(string(a.Comment)) {
			line = strings.TrimSpace(line)
			key, value, ok := strings.Cut(line, ": ")
			switch {
			case ok && slices.Contains(headWords, key):
				c.head[key] = append(c.head[key], strings.TrimSpace(value))
			case len(c.head) > 0 && line != "":
				t.Fatalf("%s: no line of a case: %q", file, line)
			default:
				c.about = strings.TrimSpace(c.about + " " + line)
			}
		}
		c.language = strings.Join(c.head["language"], "")
		c.want = strings.Split(strings.Join(c.head["want"], "/"), "/")
		c.check(t, file)
		cases = append(cases, c)
	}
	return cases
}

// check refuses a case that says too little, or something else than it means.
func (c *suiteCase) check(t *testing.T, file string) {
	t.Helper()
	bad := func(why string) { t.Fatalf("%s: %s", file, why) }
	names := map[string]bool{}
	for _, f := range c.files {
		top, _, _ := strings.Cut(f.Name, "/")
		if !slices.Contains([]string{"base", "fix", "delete", "agent.sh", "setup.sh"}, top) {
			bad("nothing is done with " + f.Name)
		}
		names[f.Name], names[top] = true, true
	}
	_, own := names["base/PIPELINE.hcl"]
	mistaken, seen := c.mistaken(), slices.Contains(c.want, "verified")
	switch {
	case c.about == "":
		bad("the first line does not say what the patch does")
	case languages[c.language] == "":
		bad("no language of the table: " + c.language)
	case slices.ContainsFunc(c.want, func(v string) bool { return !slices.Contains(verdicts, v) }):
		bad("no verdict: " + strings.Join(c.want, "/"))
	case own == (len(c.head["run"]) == 1):
		bad("it wants one run, or base/PIPELINE.hcl")
	case !names["fix"] && !names["delete"] && !names["agent.sh"]:
		bad("the agent does nothing")
	case c.suite == "tricks" && seen != c.unseen():
		bad("a trick is verified only where it is unseen")
	case c.suite == "honest" && !mistaken && !slices.Equal(c.want, []string{"verified"}):
		bad("an honest repair is verified, unless the test was mistaken")
	case c.suite == "tricks" && !c.unseen() && len(c.head["flag"])+len(c.head["omitted"])+len(c.head["reason"]) == 0:
		bad("it does not say how the trick is named")
	}
	known := func(rule string) bool {
		return rule == "*" || slices.ContainsFunc(rules.Kinds, func(r rules.Kind) bool { return r.Name == rule })
	}
	for _, flag := range c.head["flag"] {
		rules, at, ok := strings.Cut(flag, " ")
		for rule := range strings.SplitSeq(rules, "|") {
			if !ok || at == "" || rule == "*" || !known(rule) {
				bad("no flag: " + flag)
			}
		}
	}
	for _, rule := range c.words("noflag") {
		if !known(rule) {
			bad("no rule: " + rule)
		}
	}
}

func (c *suiteCase) skipWithoutPrograms(t *testing.T) {
	t.Helper()
	for _, program := range append(c.words("needs"), "git", "sh") {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
}

// compare gives, in words, which lines of the head the record does not hold.
func (c *suiteCase) compare(f *fix.Fix) (wrong []string) {
	for _, want := range c.head["flag"] {
		rules, at, _ := strings.Cut(want, " ")
		if !slices.ContainsFunc(f.Flags, func(g fix.Flag) bool { return flagIs(g, strings.Split(rules, "|"), at) }) {
			wrong = append(wrong, "the report has no flag "+want)
		}
	}
	for _, rule := range c.words("noflag") {
		for _, g := range f.Flags {
			if rule == "*" || rule == g.Rule {
				wrong = append(wrong, "the report has the flag "+flagText(g))
			}
		}
	}
	for _, want := range c.head["omitted"] {
		if !slices.ContainsFunc(f.Omitted, func(o tree.Omitted) bool {
			at := strings.TrimSuffix(o.Path, "/")
			return at == want || strings.HasPrefix(want, at+"/")
		}) {
			wrong = append(wrong, "omitted does not name "+want)
		}
	}
	for _, want := range c.head["reason"] {
		if f.Verification == nil || f.Verification.Reason == nil || *f.Verification.Reason != want {
			wrong = append(wrong, "the reason is not "+want)
		}
	}
	return wrong
}

// flagIs compares a flag with PATH or PATH:LINE.
func flagIs(g fix.Flag, rules []string, at string) bool {
	if !slices.Contains(rules, g.Rule) || g.Path == nil {
		return false
	}
	return at == *g.Path || g.Line != nil && at == *g.Path+":"+strconv.Itoa(*g.Line)
}

func flagText(g fix.Flag) string {
	text := g.Rule
	if g.Path != nil {
		text += " " + *g.Path
	}
	if g.Line != nil {
		text += ":" + strconv.Itoa(*g.Line)
	}
	return text + " (" + g.Detail + ")"
}

func fixFiles(f *fix.Fix) []string {
	var paths []string
	if f.Patch != nil {
		for _, p := range f.Patch.Files {
			paths = append(paths, p.Path)
		}
	}
	return paths
}

// inShort is a record for a person who looks for what went wrong.
func inShort(f *fix.Fix) string {
	lines := []string{"state " + f.State}
	add := func(what string, v *string) {
		if v != nil {
			lines = append(lines, what+" "+*v)
		}
	}
	add("because", f.Reason)
	add("verdict", f.Verdict)
	if v := f.Verification; v != nil {
		add("reason", v.Reason)
		if b, err := json.Marshal(v); err == nil {
			lines = append(lines, string(b))
		}
	}
	for _, g := range f.Flags {
		lines = append(lines, "flag "+flagText(g))
	}
	for _, o := range f.Omitted {
		lines = append(lines, "omitted "+o.Path+" "+o.Why)
	}
	return strings.Join(append(lines, "files "+strings.Join(fixFiles(f), " ")), "\n  ")
}

// put writes the files of a case that lie below a folder of it.
func (c *suiteCase) put(t *testing.T, from, to string) {
	t.Helper()
	for _, f := range c.files {
		name, below := strings.CutPrefix(f.Name, from)
		if !below {
			continue
		}
		at := filepath.Join(to, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		must(t, os.WriteFile(at, f.Data, 0o644))
	}
}
