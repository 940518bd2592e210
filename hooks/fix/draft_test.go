package fix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

func TestDraftFiles(t *testing.T) {
	t.Parallel()
	before := files{"a.go": "f:one\n", "untracked.txt": "f:mine\n"}
	s := newStore(t, before)
	dir := runDir(s, runID)
	d, err := Begin(dir, runID, "sha256:abc", "test", func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("hunter"), []byte("***")) })
	check(t, err)
	defer func() { check(t, d.Close()) }()
	check(t, d.Event("gate", map[string]any{"result": "same", "words": "hunter"}))
	check(t, d.Transcript(1, "text", map[string]any{"text": "the hunter", "at": "x"}))
	check(t, d.Transcript(1, "end", nil))
	raw, err := d.Raw(1)
	check(t, err)
	for _, part := range []string{"{\"a\":\"hun", "ter\"}\n", "tail hunter"} {
		_, err = raw.Write([]byte(part))
		check(t, err)
	}
	check(t, raw.Close())
	check(t, raw.Close())
	log, rel, err := d.Log("verify proposed")
	check(t, err)
	if rel != "fixes/test/verify%20proposed.log" {
		t.Errorf("log is %q", rel)
	}
	_, err = log.Write([]byte("ok hunter\n"))
	check(t, err)
	check(t, log.Close())

	complete, err := d.StoreBase(manifest(t, s.Root), "c0ffee", []string{"untracked.txt", "gone"}, func(path string) (*patch.File, error) { return before.file(path), nil })
	check(t, err)
	if !complete {
		t.Error("base is not complete")
	}
	changes := change(before, files{"a.go": "f:two\n", "untracked.txt": "f:mine\n"})
	check(t, d.StoreTouched(changes))
	rescue, err := d.Rescue(1, changes)
	check(t, err)
	if rescue.Path != "fixes/test/attempt-1.patch" || rescue.Redacted != "" || rescue.Left != nil {
		t.Errorf("rescue %+v", rescue)
	}
	d.Sub = "."
	f := &Fix{AgentSaid: &Said{Outcome: "fixed", Summary: "no hunter"}, Verdict: ptr("unverified")}
	check(t, d.Propose(f, changes))
	check(t, d.Seal(f))
	if err := d.Seal(f); err == nil {
		t.Error("sealed twice")
	}

	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, "fixes", name))
		check(t, err)
		return string(b)
	}
	events := strings.Split(read("events.jsonl"), "\n")
	if !strings.Contains(events[0], `"type":"opened","run":"`+runID+`","run_digest":"sha256:abc","prev":null}`) {
		t.Errorf("first event: %s", events[0])
	}
	if !strings.Contains(events[1], `"seq":2`) || !strings.Contains(events[1], `"type":"gate"`) || !strings.Contains(events[1], `"prev":"`+digest([]byte(events[0]))+`"`) {
		t.Errorf("second event: %s", events[1])
	}
	if got := read("test.transcript.jsonl"); !strings.Contains(got, `"attempt":1,"type":"text","text":"the ***"}`) || strings.Count(got, `"at":`) != 2 || !strings.Contains(got, `"seq":2`) {
		t.Errorf("transcript: %s", got)
	}
	if got := read("test/attempt-1.raw.jsonl"); got != "{\"a\":\"***\"}\ntail ***" {
		t.Errorf("raw: %q", got)
	}
	if got := read("test/verify%20proposed.log"); got != "ok ***\n" {
		t.Errorf("log: %q", got)
	}
	for _, content := range []string{"mine\n", "one\n"} {
		if got := read("test/base/" + strings.TrimPrefix(digest([]byte(content)), "sha256:")); got != content {
			t.Errorf("base content %q, want %q", got, content)
		}
	}
	var base baseFile
	check(t, json.Unmarshal([]byte(read("test/base.json")), &base))
	if base.Tree != manifest(t, s.Root).Digest() || *base.Commit != "c0ffee" || len(base.Entries) != 2 || !base.Complete {
		t.Errorf("base.json: %+v", base)
	}
	sealed := read("test.json")
	for _, want := range []string{
		`"schema_version":1,"run":"` + runID + `","run_digest":"sha256:abc","task":"test"`, `"summary":"no ***"`,
		`"base":{"tree":"` + base.Tree + `","commit":"c0ffee","complete":true,"sub":"."}`, `"flags":[]`, `"omitted":[]`, `"attempts":[]`,
		`"path":"a.go","change":"modified","added":1,"removed":1`, `"digest":"` + digest([]byte(read("test.patch"))) + `"`,
	} {
		if !strings.Contains(sealed, want) {
			t.Errorf("no %s in %s", want, sealed)
		}
	}
	if exists(filepath.Join(dir, "fixes", "test", "draft.json")) {
		t.Error("draft.json outlives the draft")
	}
	check(t, filepath.WalkDir(filepath.Join(dir, "fixes"), func(path string, e os.DirEntry, err error) error {
		info, _ := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	}))
}

func TestSecondHealingGetsItsOwnName(t *testing.T) {
	t.Parallel()
	s := newStore(t, nil)
	for i, want := range []string{"test", "test@2", "test@3"} {
		d, err := Begin(runDir(s, runID), runID, "sha256:00", "test", nil)
		check(t, err)
		if d.name != want {
			t.Errorf("healing %d is %q, want %q", i+1, d.name, want)
		}
		if i == 1 { // the second is never sealed: its name is taken all the same
			check(t, d.Close())
			continue
		}
		check(t, d.Seal(&Fix{State: NoFix}))
		check(t, d.Close())
	}
}

func TestSealRefuses(t *testing.T) {
	t.Parallel()
	s := newStore(t, nil)
	d, err := Begin(runDir(s, runID), runID, "sha256:00", "test", nil)
	check(t, err)
	for name, f := range map[string]*Fix{
		"unknown state":          {State: "great"},
		"proposed, no patch":     {State: Proposed},
		"a patch, not proposed":  {State: Failed, Patch: &PatchRef{}},
		"nothing said about end": {},
	} {
		if err := d.Seal(f); err == nil {
			t.Errorf("%s: sealed", name)
		}
	}
	check(t, d.Close())
	if err := d.Seal(&Fix{State: NoFix}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("sealed after Close: %v", err)
	}
	if err := d.Event("x", nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("event after Close: %v", err)
	}
	if err := d.Transcript(1, "x", nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("transcript after Close: %v", err)
	}
}

func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	set := &redact.Set{}
	set.Add("TOKEN", "s3cr3t-value")
	set.Add("KEY", "-----BEGIN-----\nabcdef\n-----END-----\n")
	old := files{"had.txt": "f:x = s3cr3t-value\n", "far.txt": "f:s3cr3t-value\n" + strings.Repeat("line\n", 40) + "end\n"}
	cases := map[string]struct {
		before, after files
		held          bool
	}{
		"added":                     {files{}, files{"a": "f:s3cr3t-value"}, true},
		"removed":                   {old, files{"far.txt": old["far.txt"]}, true},
		"over several lines":        {files{}, files{"a": "f:k:\n-----BEGIN-----\nabcdef\n-----END-----\n"}, true},
		"in a binary":               {files{}, files{"a": "f:\x00\x01s3cr3t-value\x00"}, true},
		"in a path":                 {files{}, files{"s3cr3t-value.txt": "f:x\n"}, true},
		"in a link":                 {files{}, files{"a": "l:s3cr3t-value"}, true},
		"far from the change":       {old, files{"had.txt": old["had.txt"], "far.txt": strings.TrimSuffix(old["far.txt"], "end\n") + "END\n"}, false},
		"no secret":                 {files{}, files{"a": "f:ok\n"}, false},
		"part of a secret":          {files{}, files{"a": "f:s3cr3t\n"}, false},
		"a change of mode, no text": {files{"had.txt": old["had.txt"]}, files{"had.txt": "x" + old["had.txt"][1:]}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, nil)
			d, err := Begin(runDir(s, runID), runID, "sha256:00", "test", nil)
			check(t, err)
			defer func() { check(t, d.Close()) }()
			d.Secrets = set
			changes := change(c.before, c.after)
			f := &Fix{State: Failed}
			err = d.Propose(f, changes)
			if errors.Is(err, ErrSecret) != c.held || (f.Patch == nil) != c.held || exists(d.path(".patch")) == c.held {
				t.Errorf("Propose: %v, patch %+v", err, f.Patch)
			}
			if c.held && !strings.Contains(err.Error(), "TOKEN") && !strings.Contains(err.Error(), "KEY") {
				t.Errorf("the message does not name the secret: %v", err)
			}
			changes = append(changes, patch.Change{Path: "zz", After: &patch.File{Mode: 0o644, Data: []byte("work\n")}})
			r, err := d.Rescue(1, changes)
			check(t, err)
			b, err := os.ReadFile(filepath.Join(runDir(s, runID), r.Path))
			check(t, err)
			if !bytes.Contains(b, []byte("work")) || bytes.Contains(b, []byte("s3cr3t-value")) {
				t.Errorf("rescue: %s", b)
			}
			if (len(r.Left) == 1) != c.held || (r.Redacted != "") != c.held || c.held && r.Left[0].Why != "secret" {
				t.Errorf("left out: %+v", r)
			}
			read := func(path string) (*patch.File, error) { return c.before.file(path), nil }
			var paths []string
			for p := range c.before {
				paths = append(paths, p)
			}
			complete, err := d.StoreBase(manifest(t, s.Root), "", paths, read)
			check(t, err)
			check(t, filepath.WalkDir(s.Dir, func(path string, e os.DirEntry, err error) error {
				if err == nil && e.Type().IsRegular() {
					b, _ := os.ReadFile(path)
					if name, ok := set.Find(b); ok {
						t.Errorf("%s holds %s", path, name)
					}
				}
				return err
			}))
			if complete != (len(c.before) == 0) {
				t.Errorf("complete: %v", complete)
			}
		})
	}
}

func TestRescueOfNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t, nil)
	d, err := Begin(runDir(s, runID), runID, "sha256:00", "test", nil)
	check(t, err)
	defer func() { check(t, d.Close()) }()
	r, err := d.Rescue(1, nil)
	if r.Path != "" || r.Redacted != "" || r.Left != nil || err != nil {
		t.Errorf("G60 no change: %+v %v", r, err)
	}
	if err := d.Propose(&Fix{}, nil); err == nil {
		t.Error("an empty difference was proposed")
	}
	r, err = d.Rescue(2, []patch.Change{
		{Path: ".git/hooks/x", After: &patch.File{Mode: 0o644, Data: []byte("evil")}},
		{Path: "ok", After: &patch.File{Mode: 0o644, Data: []byte("ok\n")}},
	})
	check(t, err)
	if r.Path == "" || fmt.Sprint(r.Left) != "[{.git/hooks/x special}]" {
		t.Errorf("what no patch can hold must not lose the rest: %+v", r)
	}
}

func TestBaseIsBounded(t *testing.T) {
	t.Parallel()
	s := newStore(t, nil)
	d, err := Begin(runDir(s, runID), runID, "sha256:00", "test", nil)
	check(t, err)
	defer func() { check(t, d.Close()) }()
	big := make([]byte, maxBase-10)
	complete, err := d.StoreBase(manifest(t, s.Root), "", []string{"big", "over", "bad", "small"}, func(path string) (*patch.File, error) {
		switch path {
		case "big":
			return &patch.File{Data: big}, nil
		case "over":
			return &patch.File{Data: []byte("more than the ten that are left")}, nil
		case "bad":
			return nil, os.ErrPermission
		}
		return &patch.File{Data: []byte("small")}, nil
	})
	check(t, err)
	if complete || len(d.base.LeftOut) != 2 || d.base.LeftOut[0].Path != "over" || d.base.LeftOut[0].Why != "oversize" || d.base.LeftOut[1].Why != "unreadable" {
		t.Errorf("complete %v, left out %+v", complete, d.base.LeftOut)
	}
	if !exists(d.path("/base/" + strings.TrimPrefix(digest([]byte("small")), "sha256:"))) {
		t.Error("what fits after something that did not is not stored")
	}
}

func TestBoundedStreams(t *testing.T) {
	t.Parallel()
	s := newStore(t, nil)
	d, err := Begin(runDir(s, runID), runID, "sha256:00", "test", nil)
	check(t, err)
	defer func() { check(t, d.Close()) }()
	log, rel, err := d.Log("check")
	check(t, err)
	line := strings.Repeat("x", 1023) + "\n"
	for range 5 * 1024 {
		_, err := log.Write([]byte(line))
		check(t, err)
	}
	_, err = log.Write([]byte("the end"))
	check(t, err)
	check(t, log.Close())
	b, err := os.ReadFile(filepath.Join(runDir(s, runID), rel))
	check(t, err)
	head, _, _ := bytes.Cut(b, []byte("\n"))
	if want := fmt.Sprintf("[%d bytes left out]", 5*1024*1024+7-maxLog); string(head) != want || !bytes.HasSuffix(b, []byte("the end")) || len(b) != len(head)+1+maxLog {
		t.Errorf("log begins %q, has %d bytes, want %q", head, len(b), want)
	}
	raw := &headWriter{left: 10}
	raw.f, err = create(d.path("/attempt-9.raw.jsonl"))
	check(t, err)
	for _, l := range []string{"12345678\n", "abc\n", "d\n"} {
		_, err := raw.Write([]byte(l))
		check(t, err)
	}
	check(t, raw.Close())
	if b, _ := os.ReadFile(d.path("/attempt-9.raw.jsonl")); string(b) != "12345678\n{\"left_out_bytes\":6}\n" {
		t.Errorf("raw: %q", b)
	}
}

// Two drafts of one run write one journal, its first line once.
func TestJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clean := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`pa"ss`), []byte("[x]")) }
	a, err := OpenJournal(dir, "sha256:run", clean)
	check(t, err)
	defer func() { check(t, errors.Join(a.Close(), a.Close())) }()
	b, err := OpenJournal(dir, "sha256:run", nil)
	check(t, err)
	defer func() { check(t, b.Close()) }()
	data := map[string]any{"task": "t", "x": `my pa"ss`}
	check(t, a.Event("one", nil))
	check(t, b.Event("two", nil))
	check(t, a.Event("three", data))
	if data["task"] != "t" {
		t.Error("the caller's data was changed")
	}
	if err := a.Event("four", map[string]any{"prev": 1}); err == nil {
		t.Error("a field of every line was taken")
	}
	lines := readChain(t, filepath.Join(dir, "fixes", "events.jsonl"), nil)
	if len(lines) != 4 || !bytes.Contains(lines[0], []byte(`"type":"opened","run":"`+filepath.Base(dir)+`","run_digest":"sha256:run","prev":null}`)) ||
		!bytes.Contains(lines[3], []byte(`"type":"three","task":"t","x":"my [x]","prev":"`)) {
		t.Errorf("%s", bytes.Join(lines, []byte("\n")))
	}
}

// A second healing does not use a link that has the name of its folder, and a draft that is taken up again writes
// through none.
func TestLinkedFoldersOfADraft(t *testing.T) {
	t.Parallel()
	s := newStore(t, one)
	moveAway(t, filepath.Join(runDir(s, runID), "fixes", "test"))
	d, err := Begin(runDir(s, runID), runID, verdictOf(t, s, runID), "test", nil)
	check(t, err)
	defer func() { check(t, d.Close()) }()
	if d.name != "test@2" {
		t.Errorf("the draft is %s", d.name)
	}
	for _, suffix := range []string{"/base", "/attempt-1.files"} {
		moveAway(t, d.path(suffix))
	}
	if _, err := d.StoreBase(manifest(t, s.Root), "", nil, nil); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("StoreBase: %v", err)
	}
	if _, err := d.KeepFile(1, "big", strings.NewReader("x")); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("KeepFile: %v", err)
	}
}
