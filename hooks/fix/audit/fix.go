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

// own marks the files of a fix as known, where nothing that names them can be believed.
func (a *audit) own(name string) {
	files, _ := filesOf(a.dir, name) // what cannot be read is a fault already
	for _, file := range files {
		a.Files[file] = true
	}
}

// fix checks one sealed fix. It returns false for one of another task.
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
	if said, known := a.sealed[name]; known && said.digest != sum {
		a.Fault(file, said.where(), said.digest, sum)
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
		if f.Patch != nil {
			a.Digest(f.Patch.Path, "patch.digest of "+file, f.Patch.Bytes, f.Patch.Digest)
		}
		a.own(name)
	} else {
		a.provenance(name, &f)
	}
	a.base(name, &f)
	a.state(name, sum, f.Provenance != nil)
	return true
}

// provenance checks every file that a fix names, and that provenance.files has every file that it mentions elsewhere.
func (a *audit) provenance(name string, f *fix.Fix) {
	file, p := "fixes/"+name+".json", f.Provenance
	if _, known := a.sealed[name]; !known && a.whole {
		a.Note(file, "no line of fixes/events.jsonl has its digest (its maker was killed right then): "+
			"what it says of itself is not checked")
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
			a.Fault(eventsFile, "provenance.journal of "+file,
				fmt.Sprintf("line %d with the hash %s", j.Lines, value(j.Head)),
				"another, or none")
		}
	}
}

func value(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

// ownPath reports whether a path is one of a fix's own files.
func ownPath(name, rel string) bool {
	return filepath.IsLocal(filepath.FromSlash(rel)) && rel == path.Clean(rel) &&
		(rel == "fixes/"+name+".patch" || rel == "fixes/"+name+".transcript.jsonl" ||
			strings.HasPrefix(rel, "fixes/"+name+"/"))
}

// line looks for the line of a changed transcript that shows the change.
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
			a.Fault(file, fmt.Sprintf("line %d", n), fmt.Sprintf("a whole line with seq %d", n),
				fmt.Sprintf("seq %d, or what cannot be read", l.Seq))
			return
		}
	}
}

// prompts compares the digests of prompts with the transcript.
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
		return // a fault already
	}
	var asked []fix.PromptRef
	for line := range strings.Lines(string(text)) {
		var l struct {
			Type    string `json:"type"`
			Attempt int    `json:"attempt"`
		}
		if sum := fix.PromptDigest([]byte(line)); json.Unmarshal([]byte(line), &l) == nil && l.Type == "prompt" &&
			sum != "" {
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
		return // else it is a fault already
	}
	hidden := slices.ContainsFunc(b.LeftOut, func(l fix.LeftOut) bool { return l.Why == "secret" })
	if sum := (&tree.Manifest{Entries: b.Entries}).Digest(); b.Tree != f.Base.Tree || sum != b.Tree && !hidden &&
		len(b.Entries) > 0 {
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

// state checks what people did with a fix, and that nothing is missing of what the journal of the hooks tells of it.
func (a *audit) state(name, anchor string, must bool) {
	file := "fixes/" + name + fix.StateSuffix
	traces := a.decisions[name]
	there := recordfile.Exists(filepath.Join(a.dir, filepath.FromSlash(file))) ||
		recordfile.Exists(filepath.Join(a.dir, filepath.FromSlash(file+journal.EndSuffix)))
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
		who := told{line: t.Line}.where()
		switch {
		case !there:
			a.Fault(file, who, fmt.Sprintf("decision %d (%s)", t.Lines, t.To), "none: the file is gone")
		case t.Lines > int64(len(c.Ends)):
			a.Fault(file, who, fmt.Sprintf("decision %d (%s)", t.Lines, t.To),
				fmt.Sprintf("%d lines: it is gone", len(c.Ends)))
		case c.Ends[t.Lines-1] != t.Head:
			a.Fault(file, who, fmt.Sprintf("line %d with the hash %s", t.Lines, t.Head), c.Ends[t.Lines-1])
		}
	}
	for i := range c.Ends {
		if !traced[int64(i+1)] {
			a.Note(file, "fixes/events.jsonl does not tell of line %d (the command was killed right then, or of an earlier version): "+
				"that it was decided then is not known", i+1)
		}
	}
}
