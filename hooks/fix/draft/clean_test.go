package draft_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// A secret that is spelled like a task, a state, a path or a field must not make a record that nobody can use.
func TestSecretThatIsAWordOfTheRecord(t *testing.T) {
	t.Parallel()
	for _, word := range []string{
		"postgres", "proposed", "verified", "fixes/postgres", "modified", "schema_version",
		"sha256:", "check_file", "reason",
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			s := fixtest.NewStore(t, fixtest.One)
			set := &redact.Set{}
			set.Add("PW", word)
			d := fixtest.Begin(t, s, "postgres", set.Bytes)
			fixtest.OK(t)(d.StoreBase(fixtest.Manifest(t, s.Root), "", nil, nil))
			f := &fix.Fix{
				Verdict: new("verified"), Note: new("the word is " + word),
				Flags:     []fix.Flag{{ID: "F1", Rule: "check_file", Path: new("a.txt"), Detail: word}},
				AgentSaid: &fix.Said{Outcome: "fixed", Summary: word},
				Omitted:   []tree.Omitted{{Path: "x-" + word, Why: "ignored"}},
				Verification: &fix.Verification{
					Reason:         new("verified: " + word),
					Proposed:       []fix.Check{{Task: "postgres", Passed: true, Log: new("fixes/postgres/a.log")}},
					OriginalChecks: []fix.Check{{Task: "postgres", Passed: true}},
				},
				Attempts: []fix.Attempt{{Number: 1, Evidence: new(word), Rescue: new("fixes/postgres/attempt-1.patch")}},
			}
			fixtest.Check(t, d.Propose(f, fixtest.Change(fixtest.One, fixtest.Two)))
			fixtest.Check(t, d.Event("rescue_saved", map[string]any{"path": "fixes/postgres/attempt-1.patch", "text": word}))
			fixtest.Check(t, d.Transcript(1, "text", map[string]any{"reason": word}))
			fixtest.Check(t, d.Seal(f))
			if f.AgentSaid.Summary != word {
				t.Error("what the caller holds was changed")
			}

			items, errs := s.List()
			if len(errs) > 0 || len(items) != 1 || items[0].Task != "postgres" || items[0].Disposition != fix.Open {
				t.Fatalf("List: %+v, %v", items, errs)
			}
			p := fixtest.Find(t, s, fixtest.RunID, "postgres")
			if *p.Verdict != "verified" || p.Flags[0].Rule != "check_file" ||
				*p.Verification.Proposed[0].Log != "fixes/postgres/a.log" ||
				*p.Attempts[0].Rescue != "fixes/postgres/attempt-1.patch" {
				t.Errorf("%+v", p.Fix)
			}
			for what, text := range map[string]string{
				"note": *p.Note, "summary": p.AgentSaid.Summary, "omitted": p.Omitted[0].Path, "detail": p.Flags[0].Detail,
				"evidence": *p.Attempts[0].Evidence, "reason": strings.TrimPrefix(*p.Verification.Reason, "verified: "),
			} {
				if strings.Contains(text, word) {
					t.Errorf("%s holds the secret: %s", what, text)
				}
			}
			if !strings.HasPrefix(*p.Verification.Reason, "verified: ") {
				t.Errorf("reason: %s", *p.Verification.Reason)
			}
			events := fixtest.Read(t, filepath.Join(fixtest.Dir(s), "fixes", "events.jsonl"))
			if !bytes.Contains(events, []byte(`"type":"rescue_saved","task":"postgres","fix":"postgres","path":"fixes/postgres/attempt-1.patch","text":"[redacted]"`)) {
				t.Errorf("events: %s", events)
			}
			transcript := fixtest.Read(t, path(s, d, ".transcript.jsonl"))
			if !bytes.Contains(transcript, []byte(`"type":"text","reason":"[redacted]"`)) {
				t.Errorf("transcript: %s", transcript)
			}
			if _, err := (apply.Tree{Fixes: s}).Apply(t.Context(), p, apply.Options{Accept: []string{"F1"}}); err != nil {
				t.Errorf("Apply: %v", err)
			}
		})
	}
}

// What readFix would refuse is not written.
func TestSealRefusesWhatNobodyCouldRead(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.One)
	d := fixtest.Begin(t, s, "test", nil)
	f := &fix.Fix{}
	fixtest.Check(t, d.Propose(f, fixtest.Change(fixtest.One, fixtest.Two)))
	f.Patch.Path = "fixes/other.patch"
	if err := d.Seal(f); err == nil || recordfile.Exists(path(s, d, ".json")) {
		t.Errorf("sealed: %v", err)
	}
}

// Files that hold a secret are not lost: they are in a patch of their own, without it.
func TestRescueOfWhatHoldsASecret(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, nil)
	set := &redact.Set{}
	set.Add("TOKEN", "s3cr3t-value")
	d := fixtest.Begin(t, s, "test", set.Bytes)
	d.Secrets = set
	before := fixtest.Files{
		"conf": "f:a\ntoken = s3cr3t-value\nb\n", "only": "f:s3cr3t-value\n", "plain": "f:1\n", "x/s3cr3t-value": "f:old\n", "y": "l:s3cr3t-value",
	}
	after := fixtest.Files{
		"conf": "f:A\ntoken = s3cr3t-value\nB\n", "only": "x:s3cr3t-value-2\n", "plain": "f:2\n", "x/s3cr3t-value": "f:new\n",
		"x/[redacted]": "f:s3cr3t-value\n", "new": "x:#!/bin/sh\nlogin s3cr3t-value\nwork\n", "bin": "f:\x00s3cr3t-value\x00work\x00",
	}
	changes := append(fixtest.Change(before, after), patch.Change{Path: ".git/x", After: &patch.File{Mode: 0o644}})
	r, err := d.Rescue(1, changes)
	fixtest.Check(t, err)
	if r.Path != "fixes/test/attempt-1.patch" || r.Redacted != "fixes/test/attempt-1.redacted.patch" {
		t.Fatalf("%+v", r)
	}
	why := map[string]string{}
	for _, o := range r.Left {
		why[o.Path] = o.Why
	}
	got, err := json.Marshal(why)
	fixtest.Check(t, err)
	want := `{".git/x":"special","bin":"secret","conf":"secret","new":"secret","only":"secret","x/[redacted]":"secret","x/[redacted]-2":"secret","y":"secret"}`
	if string(got) != want {
		t.Errorf("left out %s, want %s", got, want)
	}
	text := fixtest.Read(t, filepath.Join(fixtest.Dir(s), r.Redacted))
	if name, ok := set.Find(text); ok {
		t.Errorf("the redacted patch holds %s:\n%s", name, text)
	}
	// Applied to the tree without the secrets, it makes the new tree without them.
	clean := func(f fixtest.Files) fixtest.Files {
		all := fixtest.Files{}
		for name, v := range f {
			if name == "x/s3cr3t-value" {
				name = "x/[redacted]-2"
			}
			all[name] = set.String(v)
		}
		return all
	}
	parsed, err := patch.Parse(text)
	fixtest.Check(t, err)
	old, goal := clean(before), clean(after)
	made, err := parsed.Apply(func(path string) (*patch.File, error) { return old.File(path), nil })
	fixtest.Check(t, err)
	if len(made) != 7 {
		t.Errorf("%d files in it, want 7", len(made))
	}
	for _, c := range made {
		want := goal.File(c.Path)
		if (c.After == nil) != (want == nil) || want != nil && (!bytes.Equal(c.After.Data, want.Data) ||
			c.After.Mode != want.Mode) {
			t.Errorf("%s: made %+v, want %+v", c.Path, c.After, want)
		}
	}
	fixtest.Check(t, d.Seal(&fix.Fix{State: fix.Failed}))
	items, _ := s.List()
	if len(items) != 1 || strings.Join(items[0].Rescue, " ") != r.Path+" "+r.Redacted {
		t.Errorf("listed: %+v", items)
	}
}

// A path of the tree that holds a secret does not reach base.json, and the base is marked as not whole.
func TestSecretInAPathOfTheBase(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.Files{"dir/s3cr3t-value.txt": "f:x\n", "a": "f:a\n"})
	d := fixtest.Begin(t, s, "test", nil)
	d.Secrets = &redact.Set{}
	d.Secrets.Add("TOKEN", "s3cr3t-value")
	m := fixtest.Manifest(t, s.Root)
	complete, err := d.StoreBase(m, "", nil, nil)
	fixtest.Check(t, err)
	text := fixtest.Read(t, path(s, d, "/base.json"))
	if _, found := d.Secrets.Find(text); found || complete || !bytes.Contains(text,
		[]byte(`"path":"dir/[redacted].txt","why":"secret"`)) {
		t.Errorf("complete %v: %s", complete, text)
	}
	if _, ok := m.Find("dir/s3cr3t-value.txt"); !ok {
		t.Error("the caller's manifest was changed")
	}
}

func TestNobodyIsNull(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.One)
	p := fixtest.Sealed(t, s, "test", fixtest.One, fixtest.Two, nil)
	fixtest.OK(t)(apply.Tree{Fixes: s}.Apply(t.Context(), p, apply.Options{}))
	text := fixtest.Read(t, p.StatePath())
	if !bytes.Contains(text, []byte(`"by":null,`)) {
		t.Errorf("%s", text)
	}
	if p, err := s.Find("", ""); err != nil || p.Disposition != fix.Applied {
		t.Errorf("read back: %+v, %v", p, err)
	}
}
