package attempt

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/hooks/progress"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// baseOf copies a tree of these files.
func baseOf(t *testing.T, files map[string]string) *scratch.Base {
	t.Helper()
	root, parent := t.TempDir(), t.TempDir()
	for name, text := range files {
		fixtest.Put(t, root, name, "f:"+text)
	}
	base, err := scratch.Make(t.Context(), parent, scratch.Source{Root: root})
	fixtest.Check(t, err)
	t.Cleanup(func() { fixtest.Check(t, base.Close()) })
	return base
}

func TestReadAnswer(t *testing.T) {
	t.Parallel()
	base := baseOf(t, map[string]string{"a.txt": "one\ntwo\n", "dos.txt": "one\r\ntwo\r\n", "d/b.txt": "b\n"})
	const good = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
	fixed := &agent.Control{Outcome: agent.Fixed}
	for _, tt := range []struct {
		name, text string
		control    *agent.Control
		want       string // path = content, or kind: why
	}{
		{"a diff", "Here:\n```diff\n" + good + "```\n", fixed, "a.txt=one\n2\n"},
		{"without prefixes", strings.NewReplacer("a/a", "a", "b/a", "a").Replace(good), nil, "a.txt=one\n2\n"},
		{"written with CRLF", strings.ReplaceAll(good, "\n", "\r\n"), nil, "a.txt=one\n2\n"},
		{"of a file with CRLF", "--- a/dos.txt\n+++ b/dos.txt\n@@ -1,2 +1,2 @@\n one\r\n-two\r\n+2\r\n", nil, "dos.txt=one\r\n2\r\n"},
		{"of a file with CRLF, written with CRLF", strings.ReplaceAll(strings.ReplaceAll(good, "a.txt", "dos.txt"), "\n", "\r\n"), nil, "dos.txt=one\r\n2\r\n"},
		{"a new file and a deleted one", "--- /dev/null\n+++ b/n/new\n@@ -0,0 +1 @@\n+x\n--- a/d/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n", nil, "d/b.txt=- n/new=x\n"},
		{"none", "I would change a.txt.", nil, "verdict_ambiguous: the answer has neither"},
		{"none, and nothing at all", " \n", nil, "no_output: "},
		{"none, and it says fixed", `{"outcome":"fixed"}`, fixed, "patch_empty: the agent says fixed"},
		{"none, and it says so", "x", &agent.Control{Outcome: agent.NoFix}, ": "},
		{"a wrong number of lines", strings.Replace(good, "-1,2", "-1,3", 1), fixed, "output_invalid: the diff of the answer cannot be read: line 7 of the answer: the answer ends within a hunk"},
		{"a text that is not there", "Look:\n" + strings.Replace(good, " one", " won", 1), fixed, "output_invalid: the diff in line 2 of the answer cannot be applied: patch does not apply: a.txt, line 1"},
		{"one of two does not apply", good + strings.NewReplacer("a.txt", "d/b.txt").Replace(good), fixed, "output_invalid: the diff in line 1 of the answer cannot be applied: patch does not apply: d/b.txt"},
		{"shifted by a line", strings.Replace(good, "@@ -1,2 +1,2 @@", "@@ -2,2 +2,2 @@", 1), fixed, "output_invalid: "},
		{"out of the tree", strings.NewReplacer("a/a.txt", "a/../x", "b/a.txt", "b/../x").Replace(good), fixed, "output_invalid: the diff in line 1 of the answer cannot be applied: unsafe path"},
		{"an absolute path", strings.NewReplacer("a/a.txt", "/etc/passwd", "b/a.txt", "/etc/passwd").Replace(good), fixed, "output_invalid: the diff in line 1 of the answer cannot be applied: unsafe path"},
		{"git's own", strings.NewReplacer("a.txt", ".git/hooks/x").Replace(good), fixed, "output_invalid: the diff in line 1 of the answer cannot be applied: unsafe path"},
		{"ours", "--- /dev/null\n+++ b/.async/x\n@@ -0,0 +1 @@\n+x\n", fixed, "output_invalid: the diff in line 1 of the answer cannot be applied: unsafe path"},
		{"the end of a longer one", strings.Repeat("+x\n", agent.TailLimit/3) + good, fixed, "output_truncated: "},
		{"behind long prose", strings.Repeat("words\n", agent.TailLimit/6) + good, fixed, "a.txt=one\n2\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changes, err := readAnswer(agent.Turn{Text: tt.text, Control: tt.control}, base)
			var got []string
			for _, c := range changes {
				after := "-"
				if c.After != nil {
					after = string(c.After.Data)
				}
				got = append(got, c.Path+"="+after)
			}
			said := strings.Join(got, " ")
			if none, ok := errors.AsType[*noDiff](err); ok {
				said = string(none.kind) + ": " + none.why
			} else {
				fixtest.Check(t, err)
			}
			if said != tt.want && (err == nil || !strings.HasPrefix(said, tt.want)) {
				t.Errorf("%q, want %q", said, tt.want)
			}
		})
	}
}

// A diff that changes only what no patch takes is none.
func TestAnswerThatChangesNothing(t *testing.T) {
	t.Parallel()
	q := &Request{
		Base: baseOf(t, map[string]string{"a.txt": "one\n"}), Homes: &homes.Homes{Places: homes.Places{Work: t.TempDir()}}, Progress: &progress.Log{},
	}
	_, omitted, err := q.answered(context.Background(), agent.Turn{Text: "--- /dev/null\n+++ b/.env\n@@ -0,0 +1 @@\n+X=1\n"})
	var none *noDiff
	if !errors.As(err, &none) || none.kind != failure.PatchEmpty || len(omitted) != 1 || omitted[0].Why != "secret" {
		t.Errorf("%v, %v", omitted, err)
	}
}
