package draft_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

func TestDraftFiles(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a.go": "f:one\n", "untracked.txt": "f:mine\n"}
	s := fixtest.NewStore(t, before)
	dir := fixtest.Dir(s)
	d, err := draft.Begin(dir, fixtest.RunID, "sha256:abc", "test",
		func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("hunter"), []byte("***")) })
	fixtest.Check(t, err)
	defer func() { fixtest.Check(t, d.Close()) }()
	fixtest.Check(t, d.Event("gate", map[string]any{"result": "same", "words": "hunter"}))
	fixtest.Check(t, d.Transcript(1, "text", map[string]any{"text": "the hunter", "at": "x"}))
	fixtest.Check(t, d.Transcript(1, "end", nil))
	raw, err := d.Raw(1)
	fixtest.Check(t, err)
	for _, part := range []string{"{\"a\":\"hun", "ter\"}\n", "tail hunter"} {
		fixtest.OK(t)(raw.Write([]byte(part)))
	}
	fixtest.Check(t, raw.Close())
	fixtest.Check(t, raw.Close())
	log, rel, err := d.Log("verify proposed")
	fixtest.Check(t, err)
	if rel != "fixes/test/verify%20proposed.log" {
		t.Errorf("log is %q", rel)
	}
	fixtest.OK(t)(log.Write([]byte("ok hunter\n")))
	fixtest.Check(t, log.Close())

	d.BaseTook = 1500 * time.Millisecond
	complete, err := d.StoreBase(fixtest.Manifest(t, s.Root), "c0ffee", []string{"untracked.txt", "gone"},
		func(path string) (*patch.File, error) { return before.File(path), nil })
	fixtest.Check(t, err)
	if !complete {
		t.Error("base is not complete")
	}
	changes := fixtest.Change(before, fixtest.Files{"a.go": "f:two\n", "untracked.txt": "f:mine\n"})
	fixtest.Check(t, d.StoreTouched(changes))
	rescue, err := d.Rescue(1, changes)
	fixtest.Check(t, err)
	if rescue.Path != "fixes/test/attempt-1.patch" || rescue.Redacted != "" || rescue.Left != nil {
		t.Errorf("rescue %+v", rescue)
	}
	d.Sub = "."
	f := &fix.Fix{AgentSaid: &fix.Said{Outcome: "fixed", Summary: "no hunter"}, Verdict: new("unverified")}
	fixtest.Check(t, d.Propose(f, changes))
	fixtest.Check(t, d.Seal(f))
	if err := d.Seal(f); err == nil {
		t.Error("sealed twice")
	}

	read := func(name string) string {
		b := fixtest.Read(t, filepath.Join(dir, "fixes", name))
		return string(b)
	}
	events := strings.Split(read("events.jsonl"), "\n")
	if !strings.Contains(events[0], `"type":"opened","run":"`+fixtest.RunID+`","run_digest":"sha256:abc","prev":null}`) {
		t.Errorf("first event: %s", events[0])
	}
	if !strings.Contains(events[1], `"seq":2`) || !strings.Contains(events[1], `"type":"gate"`) ||
		!strings.Contains(events[1], `"prev":"`+recordfile.Digest([]byte(events[0]))+`"`) {
		t.Errorf("second event: %s", events[1])
	}
	if got := read("test.transcript.jsonl"); !strings.Contains(got, `"attempt":1,"type":"text","text":"the ***"}`) ||
		strings.Count(got, `"at":`) != 2 || !strings.Contains(got, `"seq":2`) {
		t.Errorf("transcript: %s", got)
	}
	if got := read("test/attempt-1.raw.jsonl"); got != "{\"a\":\"***\"}\ntail ***" {
		t.Errorf("raw: %q", got)
	}
	if got := read("test/verify%20proposed.log"); got != "ok ***\n" {
		t.Errorf("log: %q", got)
	}
	for _, content := range []string{"mine\n", "one\n"} {
		if got := read("test/base/" + strings.TrimPrefix(recordfile.Digest([]byte(content)), "sha256:")); got != content {
			t.Errorf("base content %q, want %q", got, content)
		}
	}
	var base fix.BaseFile
	fixtest.Check(t, json.Unmarshal([]byte(read("test/base.json")), &base))
	if base.Tree != fixtest.Manifest(t, s.Root).Digest() || *base.Commit != "c0ffee" || len(base.Entries) != 2 ||
		!base.Complete {
		t.Errorf("base.json: %+v", base)
	}
	sealed := read("test.json")
	for _, want := range []string{
		`"schema_version":1,"run":"` + fixtest.RunID + `","run_digest":"sha256:abc","task":"test"`, `"summary":"no ***"`,
		`"base":{"tree":"` + base.Tree + `","commit":"c0ffee","complete":true,"sub":".","duration_ms":1500}`, `"flags":[]`, `"omitted":[]`, `"attempts":[]`,
		`"path":"a.go","change":"modified","added":1,"removed":1`, `"digest":"` + recordfile.Digest([]byte(read("test.patch"))) + `"`,
	} {
		if !strings.Contains(sealed, want) {
			t.Errorf("no %s in %s", want, sealed)
		}
	}
	if recordfile.Exists(filepath.Join(dir, "fixes", "test", "draft.json")) {
		t.Error("draft.json outlives the draft")
	}
	fixtest.Check(t, filepath.WalkDir(filepath.Join(dir, "fixes"), func(path string, e os.DirEntry, err error) error {
		info, _ := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	}))
}

func TestSecondFixGetsItsOwnName(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, nil)
	for i, want := range []string{"test", "test@2", "test@3"} {
		d := fixtest.Begin(t, s, "test", nil)
		if d.Name != want {
			t.Errorf("fix %d is %q, want %q", i+1, d.Name, want)
		}
		if i == 1 { // the second is never sealed: its name is taken all the same
			fixtest.Check(t, d.Close())
			continue
		}
		fixtest.Check(t, d.Seal(&fix.Fix{State: fix.NoFix}))
		fixtest.Check(t, d.Close())
	}
}

func TestSealRefuses(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, nil)
	d := fixtest.Begin(t, s, "test", nil)
	for name, f := range map[string]*fix.Fix{
		"unknown state":          {State: "great"},
		"proposed, no patch":     {State: fix.Proposed},
		"a patch, not proposed":  {State: fix.Failed, Patch: &fix.PatchRef{}},
		"nothing said about end": {},
	} {
		if err := d.Seal(f); err == nil {
			t.Errorf("%s: sealed", name)
		}
	}
	fixtest.Check(t, d.Close())
	if err := d.Seal(&fix.Fix{State: fix.NoFix}); !errors.Is(err, os.ErrClosed) {
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
	old := fixtest.Files{"had.txt": "f:x = s3cr3t-value\n", "far.txt": "f:s3cr3t-value\n" + strings.Repeat("line\n",
		40) + "end\n"}
	cases := map[string]struct {
		before, after fixtest.Files
		held          bool
	}{
		"added":   {fixtest.Files{}, fixtest.Files{"a": "f:s3cr3t-value"}, true},
		"removed": {old, fixtest.Files{"far.txt": old["far.txt"]}, true},
		"over several lines": {
			fixtest.Files{},
			fixtest.Files{"a": "f:k:\n-----BEGIN-----\nabcdef\n-----END-----\n"},
			true,
		},
		"in a binary": {fixtest.Files{}, fixtest.Files{"a": "f:\x00\x01s3cr3t-value\x00"}, true},
		"in a path":   {fixtest.Files{}, fixtest.Files{"s3cr3t-value.txt": "f:x\n"}, true},
		"in a link":   {fixtest.Files{}, fixtest.Files{"a": "l:s3cr3t-value"}, true},
		"far from the change": {old, fixtest.Files{
			"had.txt": old["had.txt"],
			"far.txt": strings.TrimSuffix(old["far.txt"], "end\n") + "END\n",
		}, false},
		"no secret":        {fixtest.Files{}, fixtest.Files{"a": "f:ok\n"}, false},
		"part of a secret": {fixtest.Files{}, fixtest.Files{"a": "f:s3cr3t\n"}, false},
		"a change of mode, no text": {
			fixtest.Files{"had.txt": old["had.txt"]},
			fixtest.Files{"had.txt": "x" + old["had.txt"][1:]},
			false,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fixtest.NewStore(t, nil)
			d := fixtest.Begin(t, s, "test", nil)
			d.Secrets = set
			changes := fixtest.Change(c.before, c.after)
			f := &fix.Fix{State: fix.Failed}
			err := d.Propose(f, changes)
			if errors.Is(err, draft.ErrSecret) != c.held || (f.Patch == nil) != c.held ||
				recordfile.Exists(path(s, d, ".patch")) == c.held {
				t.Errorf("Propose: %v, patch %+v", err, f.Patch)
			}
			if c.held && !strings.Contains(err.Error(), "TOKEN") && !strings.Contains(err.Error(), "KEY") {
				t.Errorf("the message does not name the secret: %v", err)
			}
			changes = append(changes, patch.Change{Path: "zz", After: &patch.File{Mode: 0o644, Data: []byte("work\n")}})
			r, err := d.Rescue(1, changes)
			fixtest.Check(t, err)
			b := fixtest.Read(t, filepath.Join(fixtest.Dir(s), r.Path))
			if !bytes.Contains(b, []byte("work")) || bytes.Contains(b, []byte("s3cr3t-value")) {
				t.Errorf("rescue: %s", b)
			}
			if (len(r.Left) == 1) != c.held || (r.Redacted != "") != c.held || c.held && r.Left[0].Why != "secret" {
				t.Errorf("left out: %+v", r)
			}
			read := func(path string) (*patch.File, error) { return c.before.File(path), nil }
			var paths []string
			for p := range c.before {
				paths = append(paths, p)
			}
			complete, err := d.StoreBase(fixtest.Manifest(t, s.Root), "", paths, read)
			fixtest.Check(t, err)
			fixtest.Check(t, filepath.WalkDir(s.Dir, func(path string, e os.DirEntry, err error) error {
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
	s := fixtest.NewStore(t, nil)
	d := fixtest.Begin(t, s, "test", nil)
	r, err := d.Rescue(1, nil)
	if r.Path != "" || r.Redacted != "" || r.Left != nil || err != nil {
		t.Errorf("G60 no change: %+v %v", r, err)
	}
	if err := d.Propose(&fix.Fix{}, nil); err == nil {
		t.Error("an empty difference was proposed")
	}
	r, err = d.Rescue(2, []patch.Change{
		{Path: ".git/hooks/x", After: &patch.File{Mode: 0o644, Data: []byte("evil")}},
		{Path: "ok", After: &patch.File{Mode: 0o644, Data: []byte("ok\n")}},
	})
	fixtest.Check(t, err)
	if r.Path == "" || fmt.Sprint(r.Left) != "[{.git/hooks/x special}]" {
		t.Errorf("what no patch can hold must not lose the rest: %+v", r)
	}
}

func TestBaseIsBounded(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, nil)
	d := fixtest.Begin(t, s, "test", nil)
	big := make([]byte, 64<<20-10)
	complete, err := d.StoreBase(fixtest.Manifest(t, s.Root), "", []string{"big", "over", "bad", "small"},
		func(path string) (*patch.File, error) {
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
	fixtest.Check(t, err)
	var base fix.BaseFile
	text := fixtest.Read(t, path(s, d, "/base.json"))
	fixtest.Check(t, json.Unmarshal(text, &base))
	if l := base.LeftOut; complete || len(l) != 2 || l[0].Path != "over" || l[0].Why != "oversize" ||
		l[1].Why != "unreadable" {
		t.Errorf("complete %v, left out %+v", complete, l)
	}
	if !recordfile.Exists(path(s, d, "/base/"+strings.TrimPrefix(recordfile.Digest([]byte("small")), "sha256:"))) {
		t.Error("what fits after something that did not is not stored")
	}
}

func TestBoundedStreams(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, nil)
	d := fixtest.Begin(t, s, "test", nil)
	log, rel, err := d.Log("check")
	fixtest.Check(t, err)
	line := strings.Repeat("x", 1023) + "\n"
	for range 5 * 1024 {
		fixtest.OK(t)(log.Write([]byte(line)))
	}
	fixtest.OK(t)(log.Write([]byte("the end")))
	fixtest.Check(t, log.Close())
	b := fixtest.Read(t, filepath.Join(fixtest.Dir(s), rel))
	head, _, _ := bytes.Cut(b, []byte("\n"))
	if want := fmt.Sprintf("[%d bytes left out]", 5*1024*1024+7-1<<20); string(head) != want ||
		!bytes.HasSuffix(b, []byte("the end")) || len(b) != len(head)+1+1<<20 {
		t.Errorf("log begins %q, has %d bytes, want %q", head, len(b), want)
	}
}

// Two drafts of one run write one journal, its first line once.
// B45: a line of the transcript that the disk has no room for is left out whole, and later ones can be read. The limit is
// the whole program's, so that the test runs beside no other.
func TestB45HalfALine(t *testing.T) { //nolint:paralleltest // see above
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	s := fixtest.NewStore(t, fixtest.Files{"a.go": "f:one\n"})
	d, err := draft.Begin(fixtest.Dir(s), fixtest.RunID, "sha256:abc", "test", func(b []byte) []byte { return b })
	fixtest.Check(t, err)
	defer func() { fixtest.Check(t, d.Close()) }()
	say := func(text string) error { return d.Transcript(1, "text", map[string]any{"text": text}) }
	fixtest.Check(t, say("one"))
	var was syscall.Rlimit
	fixtest.Check(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was))
	full := was
	full.Cur = 300
	fixtest.Check(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full))
	wrong := say(strings.Repeat("x", 400))
	fixtest.Check(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was))
	if wrong == nil {
		t.Error("a line that was cut is no error")
	}
	fixtest.Check(t, say("two"))
	lines, err := (&fix.Proposal{Dir: fixtest.Dir(s), Name: "test"}).Transcript()
	if err != nil || len(lines) != 2 || fmt.Sprintf("%v %v", lines[1].Data["seq"], lines[1].Data["text"]) != "2 two" {
		t.Errorf("%+v, %v", lines, err)
	}
}

func TestJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clean := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`pa"ss`), []byte("[x]")) }
	a, err := fix.OpenJournal(dir, "sha256:run", clean)
	fixtest.Check(t, err)
	defer func() { fixtest.Check(t, errors.Join(a.Close(), a.Close())) }()
	b, err := fix.OpenJournal(dir, "sha256:run", nil)
	fixtest.Check(t, err)
	defer func() { fixtest.Check(t, b.Close()) }()
	data := map[string]any{"task": "t", "x": `my pa"ss`}
	fixtest.Check(t, a.Event("one", nil))
	fixtest.Check(t, b.Event("two", nil))
	fixtest.Check(t, a.Event("three", data))
	if data["task"] != "t" {
		t.Error("the caller's data was changed")
	}
	if err := a.Event("four", map[string]any{"prev": 1}); err == nil {
		t.Error("a field of every line was taken")
	}
	lines := fixtest.ReadChain(t, filepath.Join(dir, "fixes", "events.jsonl"), nil)
	if len(lines) != 4 || !bytes.Contains(lines[0],
		[]byte(`"type":"opened","run":"`+filepath.Base(dir)+`","run_digest":"sha256:run","prev":null}`)) ||
		!bytes.Contains(lines[3], []byte(`"type":"three","task":"t","x":"my [x]","prev":"`)) {
		t.Errorf("%s", bytes.Join(lines, []byte("\n")))
	}
}

// A second fix does not use a link that has the name of its folder, and a draft that is taken up again writes
// through none.
func TestLinkedFoldersOfADraft(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.One)
	fixtest.MoveAway(t, filepath.Join(fixtest.Dir(s), "fixes", "test"))
	d := fixtest.Begin(t, s, "test", nil)
	if d.Name != "test@2" {
		t.Errorf("the draft is %s", d.Name)
	}
	for _, suffix := range []string{"/base", "/attempt-1.files"} {
		fixtest.MoveAway(t, path(s, d, suffix))
	}
	if _, err := d.StoreBase(fixtest.Manifest(t, s.Root), "", nil, nil); err == nil ||
		!strings.Contains(err.Error(), "is a link") {
		t.Errorf("StoreBase: %v", err)
	}
	if _, err := d.KeepFile(1, "big", strings.NewReader("x")); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("KeepFile: %v", err)
	}
}

// A patch that is only kept to be read has no secret either, not even in a binary change, which is compressed.
func TestKeepPatchHidesSecrets(t *testing.T) {
	t.Parallel()
	const token = "binary-secret-7719"
	s := fixtest.NewStore(t, fixtest.One)
	set := &redact.Set{}
	set.Add("TOKEN", token)
	d := fixtest.Begin(t, s, "test", set.Bytes)
	d.Secrets = set
	file := func(name, data string) patch.Change {
		return patch.Change{Path: name, After: &patch.File{Mode: 0o644, Data: []byte(data)}}
	}
	rel, err := d.KeepPatch(1, "before", []patch.Change{file("bin", "\x00\x01"+token+"\x00"), file("plain", "one\n"), file("text", token+"\n")})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(fixtest.Dir(s), rel))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "+one") || !strings.Contains(string(text), "+[redacted]") {
		t.Errorf("it lacks what has no secret:\n%s", text)
	}
	tree := t.TempDir()
	if err := os.WriteFile(filepath.Join(tree, "p"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	apply := exec.CommandContext(t.Context(), "git", "apply", "p")
	apply.Dir = tree
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s", err, out)
	}
	for _, name := range []string{"bin", "text"} {
		if data, _ := os.ReadFile(filepath.Join(tree, name)); strings.Contains(string(data), token) {
			t.Errorf("%s has the secret: %q", name, data)
		}
	}
}

// path returns one of a draft's files.
func path(s *fix.Store, d *draft.Draft, suffix string) string {
	return filepath.Join(fixtest.Dir(s), "fixes", d.Name+suffix)
}
