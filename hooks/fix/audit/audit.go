// Package audit checks whether the records of a run's fixes are still what they were, and takes in records that were made
// elsewhere.
//
// What is believed, from the top: fixes/events.jsonl, a chain with its end file, names the digest of run.json and of each
// sealed <name>.json. That names the digest of every file of the fix and of the context pack; the journal names those of
// the packs too, also of tasks that nobody tried to fix. <name>.state.jsonl is a chain that begins with the digest of
// <name>.json and has an end file; events.jsonl has a line for each of its lines too. So one flipped byte or one missing
// line or file is found, and where it is. Nobody finds who writes all of this anew, consistently: no anchor lies outside
// the folder.
package audit

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// An audit is one of the fixes of one run.
type audit struct {
	*journal.Report
	dir, run  string
	runDigest string // of run.json as it is; empty: it cannot be read
	opened    string // what the journal says of it
	chain     journal.Chain
	whole     bool              // the journal is as it was written
	sealed    map[string]string // digest of <name>.json by name, as the journal has it
	at        map[string]int    // the line that says so
	traces    map[string][]fix.Trace
	told      map[string]pack // of context packs, by file
}

// AuditRun adds to a report what is not as the records of the fixes of a run say. runDir is .async/runs/<run>. task: only fixes of it, or the one that TASK@N means; empty: all. It gives the
// names (<name>.json) that it looked at.
func Run(r *journal.Report, runDir, task string) ([]string, error) {
	a := &audit{Report: r, dir: runDir, run: filepath.Base(runDir), sealed: map[string]string{}, at: map[string]int{}, told: map[string]pack{}}
	if err := fix.CheckRunFolders(a.dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(a.dir, "fixes"))
	if errors.Is(err, fs.ErrNotExist) && !recordfile.Exists(filepath.Join(a.dir, fix.MarkFile)) {
		return nil, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names, drafts []string
	must, marked := false, ""
	for _, e := range entries {
		name, sealed := strings.CutSuffix(e.Name(), ".json")
		switch {
		case strings.HasPrefix(name, "."):
		case sealed:
			names = append(names, name)
			var f struct {
				Provenance *struct{}       `json:"provenance"`
				Advice     json.RawMessage `json:"advice"` // null counts: versions that wrote no mark had no such field
			}
			text, err := recordfile.Read(filepath.Join(a.dir, "fixes", e.Name()), recordfile.MaxJSON)
			if err == nil && json.Unmarshal(text, &f) == nil {
				must = must || f.Provenance != nil
				if f.Advice != nil {
					marked = e.Name()
				}
			}
		case e.IsDir() && !recordfile.Exists(filepath.Join(a.dir, "fixes", e.Name()+".json")):
			drafts = append(drafts, e.Name())
		}
	}
	a.journal(must)
	a.begun(marked)
	var looked []string
	for _, name := range names {
		if a.fix(name, task) {
			looked = append(looked, name)
		}
	}
	for name, line := range a.at {
		if !slices.Contains(names, name) {
			a.Fault("fixes/"+name+".json", fmt.Sprintf("line %d of fixes/events.jsonl", line), "a sealed fix", "none: it is gone")
			a.own(name)
		}
	}
	for _, name := range drafts {
		if _, sealed := a.at[name]; sealed {
			continue
		}
		a.own(name)
		a.Note("fixes/"+name, "a healing that was begun and not sealed: nothing says what its files were")
	}
	a.packs()
	return looked, nil
}

// journal checks the journal of the hooks and what it says of other files.
func (a *audit) journal(must bool) {
	const file = "fixes/events.jsonl"
	a.Files["run.json"] = true
	if b, err := recordfile.Read(filepath.Join(a.dir, "run.json"), recordfile.MaxJSON); err == nil {
		a.runDigest = recordfile.Digest(b)
	}
	a.chain, a.whole = a.Chain(file, "the journal of the hooks", nil, nil, must)
	for i, line := range a.chain.Lines {
		var l struct {
			Type      string  `json:"type"`
			Run       string  `json:"run"`
			RunDigest string  `json:"run_digest"`
			Fix       string  `json:"fix"`
			Path      string  `json:"path"`
			Digest    string  `json:"digest"`
			Log       *string `json:"log"`
			LogDigest *string `json:"log_digest"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			a.Fault(file, fmt.Sprintf("line %d", i+1), "fields of an event", err.Error())
			continue
		}
		switch l.Type {
		case "opened":
			a.opened = l.RunDigest
			if l.RunDigest != a.runDigest {
				a.Fault("run.json", fmt.Sprintf("line %d of %s", i+1, file), l.RunDigest, a.runDigest)
			}
		case "sealed":
			a.sealed[l.Fix], a.at[l.Fix] = l.Digest, i+1
		case fix.Packed:
			a.told[l.Path] = pack{l.Digest, i + 1}
		case "hook_run_finished":
			switch {
			case l.Log == nil:
			case l.LogDigest != nil && path.Dir(*l.Log) == "fixes" && filepath.IsLocal(*l.Log):
				a.Digest(*l.Log, fmt.Sprintf("line %d of %s", i+1, file), -1, *l.LogDigest)
			default:
				a.Files[*l.Log] = true
				a.Note(*l.Log, "the journal has no digest of it")
			}
		}
	}
	var err error
	if a.traces, err = fix.Traces(a.dir, a.chain); err != nil {
		a.Fault(file, "what it tells of decisions", "a fix, how many, and the hash of the last", err.Error())
	}
}

// own marks the files of a fix as known: whoever speaks of them cannot be believed.
func (a *audit) own(name string) {
	files, _ := filesOf(a.dir, name) // what cannot be read is said elsewhere
	for _, file := range files {
		a.Files[file] = true
	}
}

// fix checks one sealed fix; false: it is of another task.
func (a *audit) fix(name, task string) bool {
	file := "fixes/" + name + ".json"
	text, ok := a.Read(file, "a sealed fix", recordfile.MaxJSON)
	if !ok {
		a.own(name)
		return true
	}
	var f fix.Fix
	err := json.Unmarshal(text, &f)
	if task != "" && err == nil && !fix.Means(task, f.Task, name) {
		a.own(name)
		return false
	}
	sum := recordfile.Digest(text)
	if want, known := a.sealed[name]; known && want != sum {
		a.Fault(file, fmt.Sprintf("line %d of fixes/events.jsonl", a.at[name]), want, sum)
		a.Note(file, "what it says of other files was not checked: it is not the fix that was sealed")
		a.own(name)
		return true
	}
	if v := fix.CheckVersion(file, text); v != nil {
		err = v
	}
	if err == nil {
		err = f.WellFormed(a.run, name)
	}
	if err != nil {
		a.Fault(file, "its fields", "a fix", err.Error())
		a.own(name)
		return true
	}
	if f.RunDigest != a.runDigest && (a.opened == a.runDigest || !a.whole) {
		a.Fault(file, "run_digest", a.runDigest+", the digest of run.json", f.RunDigest)
	}
	if f.Provenance == nil {
		a.Note(file, "made by a version that recorded no digests but those of patch and base: only these were checked")
		a.old(name, &f)
	} else {
		a.provenance(name, &f)
	}
	a.base(name, &f)
	a.decisions(name, sum, f.Provenance != nil)
	return true
}

// old checks what fixes said before there was a provenance.
func (a *audit) old(name string, f *fix.Fix) {
	if f.Patch != nil {
		a.Digest(f.Patch.Path, "patch.digest of fixes/"+name+".json", f.Patch.Bytes, f.Patch.Digest)
	}
	a.own(name)
}

// provenance checks every file that a fix names, and that it names every file that it speaks of.
func (a *audit) provenance(name string, f *fix.Fix) {
	file, p := "fixes/"+name+".json", f.Provenance
	if _, known := a.sealed[name]; !known && a.whole {
		a.Note(file, "no line of fixes/events.jsonl has its digest (whoever sealed it was killed right then): what it says of itself is not checked")
	}
	digests := map[string]string{}
	for i, e := range p.Files {
		who := fmt.Sprintf("provenance.files[%d] of %s", i, file)
		if !ownPath(name, e.Path) {
			a.Fault(file, fmt.Sprintf("provenance.files[%d]", i), "a file of this fix", e.Path)
			continue
		}
		digests[e.Path] = e.Digest
		if !a.Digest(e.Path, who, e.Bytes, e.Digest) && strings.HasSuffix(e.Path, ".transcript.jsonl") {
			a.line(e.Path)
		}
	}
	names := func(field string, rel *string, want string) {
		got, ok := "", true
		if rel != nil {
			got, ok = digests[*rel]
		}
		switch {
		case !ok:
			a.Fault(file, field, "a file that provenance.files has", *rel)
		case want != "" && got != want:
			a.Fault(file, field, got+", as provenance.files has it", want)
		}
	}
	if f.Patch != nil {
		names("patch.digest", &f.Patch.Path, f.Patch.Digest)
	}
	if p.Transcript != nil {
		names("provenance.transcript", &p.Transcript.Path, p.Transcript.Digest)
	}
	if v := f.Verification; v != nil {
		for _, c := range slices.Concat(v.Proposed, v.OriginalChecks) {
			names("verification", c.Log, "")
		}
	}
	for i, at := range f.Attempts {
		names(fmt.Sprintf("attempts[%d].rescue", i), at.Rescue, "")
	}
	if p.Pack != nil {
		if path.Dir(p.Pack.Path) == "context" && filepath.IsLocal(p.Pack.Path) {
			a.Digest(p.Pack.Path, "provenance.pack of "+file, p.Pack.Bytes, p.Pack.Digest)
		} else {
			a.Fault(file, "provenance.pack", "a file below context", p.Pack.Path)
		}
	}
	a.prompts(name, p)
	if p.Policy != nil {
		if sum, err := p.Policy.Sum(); err != nil || sum != p.Policy.Digest {
			a.Fault(file, "provenance.policy.digest", sum, p.Policy.Digest)
		}
	}
	if j := p.Journal; j != nil && j.Lines > 0 && a.whole {
		if j.Head == nil || int64(len(a.chain.Ends)) < j.Lines || a.chain.Ends[j.Lines-1] != *j.Head {
			a.Fault("fixes/events.jsonl", "provenance.journal of "+file, fmt.Sprintf("line %d with the hash %s", j.Lines, value(j.Head)), "another, or none")
		}
	}
}

func value(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

// ownPath says whether a path is one of a fix's own files.
func ownPath(name, rel string) bool {
	return filepath.IsLocal(filepath.FromSlash(rel)) && rel == path.Clean(rel) &&
		(rel == "fixes/"+name+".patch" || rel == "fixes/"+name+".transcript.jsonl" || strings.HasPrefix(rel, "fixes/"+name+"/"))
}

// line looks for the line of a transcript that shows that it was changed.
func (a *audit) line(file string) {
	text, err := recordfile.Read(filepath.Join(a.dir, filepath.FromSlash(file)), recordfile.MaxPatch)
	if err != nil {
		return
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		var l struct {
			Seq int `json:"seq"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Seq != n || !strings.HasSuffix(line, "\n") {
			a.Fault(file, fmt.Sprintf("line %d", n), fmt.Sprintf("a whole line with seq %d", n), fmt.Sprintf("seq %d, or what cannot be read", l.Seq))
			return
		}
	}
}

// prompts holds the digests of what was asked against the transcript.
func (a *audit) prompts(name string, p *fix.Provenance) {
	if len(p.Prompts) == 0 {
		return
	}
	file := "fixes/" + name + ".json"
	if p.Transcript == nil {
		a.Fault(file, "provenance.prompts", "a transcript that has them", "none")
		return
	}
	text, err := recordfile.Read(filepath.Join(a.dir, "fixes", name+".transcript.jsonl"), recordfile.MaxPatch)
	if err != nil || recordfile.Digest(text) != p.Transcript.Digest {
		return // which was said
	}
	var asked []fix.PromptRef
	for line := range strings.Lines(string(text)) {
		var l struct {
			Type    string `json:"type"`
			Attempt int    `json:"attempt"`
		}
		if sum := fix.PromptDigest([]byte(line)); json.Unmarshal([]byte(line), &l) == nil && l.Type == "prompt" && sum != "" {
			asked = append(asked, fix.PromptRef{Attempt: l.Attempt, Digest: sum})
		}
	}
	if !slices.Equal(asked, p.Prompts) {
		a.Fault(file, "provenance.prompts", fmt.Sprint(asked), fmt.Sprint(p.Prompts))
	}
}

// base checks the manifest and the contents that are stored with it.
func (a *audit) base(name string, f *fix.Fix) {
	if f.Base == nil {
		return
	}
	file := "fixes/" + name + "/base.json"
	text, err := recordfile.Read(filepath.Join(a.dir, filepath.FromSlash(file)), recordfile.MaxJSON)
	if errors.Is(err, fs.ErrNotExist) && f.Provenance == nil {
		a.Note(file, "there is none: what the copy held before the agent is not known")
		return
	}
	var b fix.BaseFile
	if err != nil || json.Unmarshal(text, &b) != nil {
		if f.Provenance == nil {
			a.Fault(file, "its fields", "a base", "what cannot be read")
		}
		return // else it was said
	}
	hidden := slices.ContainsFunc(b.LeftOut, func(l fix.LeftOut) bool { return l.Why == "secret" })
	if sum := (&tree.Manifest{Entries: b.Entries}).Digest(); b.Tree != f.Base.Tree || sum != b.Tree && !hidden && len(b.Entries) > 0 {
		a.Fault(file, "tree", f.Base.Tree, sum)
	}
	for _, l := range b.LeftOut {
		a.Note(file, "%q was left out of what is stored (%s): not checked", l.Path, l.Why)
	}
	for _, kind := range []string{"base", "applied"} {
		a.contents("fixes/" + name + "/" + kind)
	}
}

// contents checks files that are named by their digest.
func (a *audit) contents(dir string) {
	entries, err := os.ReadDir(filepath.Join(a.dir, filepath.FromSlash(dir)))
	if err != nil {
		return // there are none
	}
	for _, e := range entries {
		file := dir + "/" + e.Name()
		if raw, err := hex.DecodeString(e.Name()); err == nil && len(raw) == 32 {
			a.Digest(file, "its name", -1, "sha256:"+e.Name())
		}
	}
}

// decisions checks what people did with a fix, and that nothing is missing of what the journal of the hooks tells of it.
func (a *audit) decisions(name, anchor string, must bool) {
	file := "fixes/" + name + fix.StateSuffix
	traces := a.traces[name]
	there := recordfile.Exists(filepath.Join(a.dir, filepath.FromSlash(file))) || recordfile.Exists(filepath.Join(a.dir, filepath.FromSlash(file+journal.EndSuffix)))
	var c journal.Chain
	if there {
		var whole bool
		if c, whole = a.Chain(file, "what people decided", &anchor, nil, must); !whole {
			return
		}
	}
	traced := map[int64]bool{}
	for _, t := range traces {
		traced[t.Lines] = true
		who := fmt.Sprintf("line %d of fixes/events.jsonl", t.Line)
		switch {
		case !there:
			a.Fault(file, who, fmt.Sprintf("decision %d (%s)", t.Lines, t.To), "none: the file is gone")
		case t.Lines > int64(len(c.Ends)):
			a.Fault(file, who, fmt.Sprintf("decision %d (%s)", t.Lines, t.To), fmt.Sprintf("%d lines: it is gone", len(c.Ends)))
		case c.Ends[t.Lines-1] != t.Head:
			a.Fault(file, who, fmt.Sprintf("line %d with the hash %s", t.Lines, t.Head), c.Ends[t.Lines-1])
		}
	}
	for i := range c.Ends {
		if !traced[int64(i+1)] {
			a.Note(file, "fixes/events.jsonl does not tell of line %d (whoever decided was killed right then, or had an earlier version): that it was decided then is not known", i+1)
		}
	}
}

// begun checks the mark, when the journal was read. marked: a fix of a version that always wrote one; empty: there is none.
func (a *audit) begun(marked string) {
	if _, err := os.Lstat(filepath.Join(a.dir, fix.MarkFile)); os.IsNotExist(err) {
		if marked != "" {
			a.Fault(fix.MarkFile, "fixes/"+marked, "the mark that the hooks have a journal", "none: it is gone")
		}
		return
	}
	text, ok := a.Read(fix.MarkFile, "the mark that the hooks have a journal", 1<<16)
	want := a.opened
	if want == "" {
		want = a.runDigest
	}
	if again, err := fix.Mark(want); ok && (err != nil || string(text) != again) {
		a.Fault(fix.MarkFile, "whole file", again[:max(len(again)-1, 0)], "another text")
	}
}

// A pack is what a line of events.jsonl says of a context pack.
type pack struct {
	digest string
	line   int
}

// packs checks the context packs that the journal tells of; those that a fix spoke of were looked at.
func (a *audit) packs() {
	for file, p := range a.told {
		who := fmt.Sprintf("line %d of fixes/%s", p.line, fix.EventsFile)
		switch {
		case path.Dir(file) != "context" || !filepath.IsLocal(filepath.FromSlash(file)):
			a.Fault("fixes/"+fix.EventsFile, fmt.Sprintf("line %d", p.line), "a file below context", file)
		case !a.Files[file]:
			a.Digest(file, who, -1, p.digest)
		}
	}
}
