package draft

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// ErrSecret means that a patch would hold a secret.
var ErrSecret = errors.New("a patch may not contain a secret")

// A Rescued is what Rescue stored of one attempt. Paths of patches are relative to the run's folder.
type Rescued struct {
	Path string // attempt-<n>.patch; empty: nothing could be written as it was
	// attempt-<n>.redacted.patch, the files whose change holds a secret, without it; empty: none
	Redacted string
	Left     []tree.Omitted // what is not in Path, and why: secret (in Redacted), special (no patch can hold it)
}

// Rescue writes what an attempt changed. No work is lost and no secret is written: files whose change holds one get
// a patch of their own, with a mark for each value, before and after the change alike, which can only be applied by
// hand. Left names what no patch can contain. The journal of the hooks gets an event for each patch.
func (d *Draft) Rescue(attempt int, changes []patch.Change) (Rescued, error) {
	var r Rescued
	var kept, hidden []patch.Change
	kept, hidden, r.Left = d.withoutSecrets(changes)
	left := []string{}
	for _, o := range r.Left {
		left = append(left, o.Path)
	}
	var err error
	if r.Path, err = d.rescue(attempt, ".patch", kept); err == nil {
		r.Redacted, err = d.rescue(attempt, ".redacted.patch", hidden)
	}
	if err != nil {
		return r, fmt.Errorf("rescue of attempt %d: %w", attempt, err)
	}
	for _, rel := range []string{r.Path, r.Redacted} {
		if err == nil && rel != "" {
			data := map[string]any{"attempt": attempt, "path": rel, "redacted": rel == r.Redacted, "left_out": left}
			err = d.Event("rescue_saved", data)
		}
	}
	return r, err
}

// KeepPatch stores changes in a patch that is only read, under a name among the files that an attempt left. Of a change
// that holds a secret it has what Rescue would write apart.
func (d *Draft) KeepPatch(attempt int, name string, changes []patch.Change) (rel string, err error) {
	kept, hidden, _ := d.withoutSecrets(changes)
	text, err := patch.Encode(append(kept, hidden...))
	if err != nil {
		return "", err
	}
	return d.KeepFile(attempt, name, bytes.NewReader(text))
}

// withoutSecrets divides changes: kept hold no secret; hidden held one, and have a mark in its place. left names all that
// are not in kept, and why.
func (d *Draft) withoutSecrets(changes []patch.Change) (kept, hidden []patch.Change, left []tree.Omitted) {
	taken := map[string]bool{} // paths of hidden
	for _, c := range changes {
		text, err := patch.Encode([]patch.Change{c})
		if err != nil {
			left = append(left, tree.Omitted{Path: d.Secrets.String(c.Path), Why: "special"})
			continue
		}
		if _, secret := d.secretIn(c, text); !secret {
			kept = append(kept, c)
			continue
		}
		h := d.hide(c)
		for n := 2; taken[h.Path]; n++ { // two names that differed in the secret alone
			h.Path = fmt.Sprintf("%s-%d", d.Secrets.String(c.Path), n)
		}
		left = append(left, tree.Omitted{Path: h.Path, Why: "secret"})
		if text, err = patch.Encode([]patch.Change{h}); err != nil {
			continue
		}
		if _, secret := d.secretIn(h, text); !secret {
			taken[h.Path] = true
			hidden = append(hidden, h)
		}
	}
	return kept, hidden, left
}

// rescue writes one patch and returns its path, or "" when there is nothing to write.
func (d *Draft) rescue(attempt int, suffix string, changes []patch.Change) (string, error) {
	text, err := patch.Encode(changes)
	if err != nil || len(text) == 0 {
		return "", err
	}
	suffix = d.of(attempt, suffix)
	return d.rel(suffix), recordfile.Write(d.path(suffix), text, true)
}

// hide returns a change without secrets in its path and its contents.
func (d *Draft) hide(c patch.Change) patch.Change {
	side := func(f *patch.File) *patch.File {
		if f == nil {
			return nil
		}
		return &patch.File{Mode: f.Mode, Data: d.Secrets.Bytes(f.Data)}
	}
	return patch.Change{Path: d.Secrets.String(c.Path), Before: side(c.Before), After: side(c.After)}
}

// Propose writes <name>.patch and sets f.Patch and f.State. If a change holds a secret, nothing is written, f stays
// as it was, and the error is ErrSecret and names the file and the secret.
func (d *Draft) Propose(f *fix.Fix, changes []patch.Change) error {
	ref := &fix.PatchRef{Path: d.rel(".patch"), Files: []fix.PatchFile{}}
	for _, c := range changes {
		text, err := patch.Encode([]patch.Change{c})
		if err != nil {
			return fmt.Errorf("%s: %w", c.Path, err)
		}
		if name, secret := d.secretIn(c, text); secret {
			return fmt.Errorf("%w: %s contains the value of %s", ErrSecret, c.Path, name)
		}
		file := fix.PatchFile{
			Path: c.Path, PathBytes: fix.RawPath(c.Path), Change: "modified",
			Before: fix.ContentOf(c.Before), After: fix.ContentOf(c.After),
		}
		switch {
		case c.Before == nil:
			file.Change = "added"
		case c.After == nil:
			file.Change = "deleted"
		}
		parsed, err := patch.Parse(text)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Path, err)
		}
		for _, p := range parsed.Files {
			file.Added += p.Added
			file.Removed += p.Removed
		}
		ref.Files = append(ref.Files, file)
	}
	text, err := patch.Encode(changes)
	if err != nil {
		return err
	}
	if len(text) == 0 {
		return fmt.Errorf("fix %s: nothing changed, there is nothing to propose", d.Name)
	}
	ref.Digest, ref.Bytes = recordfile.Digest(text), int64(len(text))
	if err := recordfile.Write(d.path(".patch"), text, true); err != nil {
		return err
	}
	f.Patch, f.State = ref, fix.Proposed
	return nil
}

// secretIn returns the name of a secret that the patch of one change holds: in its text, over several lines (a key),
// in the path, or in a binary content, which the patch holds packed.
func (d *Draft) secretIn(c patch.Change, text []byte) (name string, ok bool) {
	if d.Secrets == nil {
		return "", false
	}
	before, after, binary := sides(text)
	looked := [][]byte{text, before, after, []byte(c.Path), []byte(path.Base(c.Path))}
	for _, f := range []*patch.File{c.Before, c.After} {
		if f != nil && binary {
			looked = append(looked, f.Data)
		}
	}
	for _, b := range looked {
		if name, ok = d.Secrets.Find(b); ok {
			return name, true
		}
	}
	return "", false
}

// sides returns the old and the new lines of a patch without the marks before them.
func sides(text []byte) (before, after []byte, binary bool) {
	inHunk := false
	for line := range bytes.Lines(text) {
		switch {
		case bytes.HasPrefix(line, []byte("@@ ")):
			inHunk = true
		case bytes.HasPrefix(line, []byte("diff --git ")):
			inHunk = false
		case !inHunk:
			binary = binary || bytes.HasPrefix(line, []byte("GIT binary patch"))
		case line[0] == '+':
			after = append(after, line[1:]...)
		case line[0] == '-':
			before = append(before, line[1:]...)
		case line[0] == ' ':
			before = append(before, line[1:]...)
			after = append(after, line[1:]...)
		}
	}
	return before, after, binary
}

// Limits of the files that are kept beside a rescue patch.
const (
	keepLimit    = 1 << 30  // bytes of a file that is too large for a patch
	ignoredLimit = 1 << 20  // bytes of a file that git ignores or scratch { exclude } leaves out
	besideLimit  = 64 << 10 // bytes of one that git ignores, where the patch has other changes
	maxIgnored   = 100      // files that git ignores or scratch { exclude } leaves out
)

// KeepOmitted keeps the files of a copy that are only too large for a patch, and small ones that git ignores or that
// scratch { exclude } leaves out, and journals what the patch lacks. It returns the names of these, for a person, each
// with why. If changed, the patch has something: then most of what git ignores was built by a check. Of that only small
// text is kept, and no name is returned.
func (d *Draft) KeepOmitted(attempt int, copyDir string, omitted []tree.Omitted, changed bool) (named []string, err error) {
	root, err := os.OpenRoot(copyDir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	small := 0
	var all []string
	for _, o := range omitted {
		limit, built := int64(0), changed && o.Why == "ignored"
		switch {
		case o.Why == "oversize":
			limit = keepLimit
		case (o.Why == "ignored" || o.Why == "excluded") && small < maxIgnored:
			limit = ignoredLimit
			small++
		}
		if built {
			limit = min(limit, besideLimit)
		}
		rel, err := d.keepOne(attempt, root, o.Path, limit, built)
		if err != nil {
			return named, err
		}
		name := o.Path + " (" + o.Why + ")"
		if rel != "" {
			name = o.Path + " (" + o.Why + ", kept as " + rel + ")"
		}
		if !built {
			named = append(named, name)
		}
		if !built || rel != "" {
			all = append(all, name)
		}
	}
	if len(all) > 0 {
		err = d.Event("left_out", map[string]any{"attempt": attempt, "paths": all})
	}
	return named, err
}

// keepOne keeps one file. It returns "" where the file is gone, is no regular file, is larger than limit or, with
// textOnly, is not text.
func (d *Draft) keepOne(attempt int, root *os.Root, path string, limit int64, textOnly bool) (string, error) {
	info, err := root.Lstat(path)
	if errors.Is(err, os.ErrNotExist) { // an agent deleted it
		return "", nil
	}
	if err != nil || !info.Mode().IsRegular() || limit == 0 || info.Size() > limit {
		return "", err
	}
	f, err := root.Open(path) // the agent's processes have ended
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // opened for reading
	if !textOnly {
		return d.KeepFile(attempt, path, io.LimitReader(f, limit))
	}
	text, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return "", err
	}
	return d.KeepFile(attempt, path, bytes.NewReader(text))
}
