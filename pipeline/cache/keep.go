package cache

// What is stored of a task that has passed.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/reads"
)

// A MissingOutput error means that a task passed and did not make what it declares.
type MissingOutput struct{ Pattern string }

func (m *MissingOutput) Error() string { return "output " + m.Pattern + " missing" }

// Store stores the result of a task that has just passed, after Ran; log is the file with what it printed. The error is a
// *MissingOutput: the task has failed. Everything else that goes wrong is in e.NotStored.
func (c *Cache) Store(ctx context.Context, e *Entry, log string, took time.Duration) error {
	if e == nil || e.Result == Off {
		return nil
	}
	if e.NotWhole != "" {
		e.NotStored = e.NotWhole
		return nil
	}
	s, err := c.gathered(ctx, e)
	if err != nil {
		e.NotStored = err.Error()
		return nil //nolint:nilerr // it is said
	}
	v, inputs, outputs, err := c.inputs(ctx, e.task, inputsOf(e, s))
	if err != nil {
		e.NotStored = err.Error()
		return nil //nolint:nilerr // it is said
	}
	_, missing := v.Outputs(e.task.Outputs)
	if missing != "" {
		there, err := doublestar.Glob(os.DirFS(c.Config.Root), missing)
		if err == nil && len(there) == 0 {
			c.leaves(e, outputs)
			return &MissingOutput{missing}
		}
		if e.NotStored = "output " + missing + " cannot be looked for"; err == nil {
			e.NotStored = unmatched(c.Config.Root, missing, there)
		}
		return nil
	}
	blobs := map[reapi.Digest][]byte{}
	root := reapi.Directories(inputs, func(_ string, d reapi.Digest, b []byte) { blobs[d] = slices.Clone(b) })
	defer func() {
		if e.NotStored != "" {
			c.leaves(e, outputs)
		}
	}()
	if e.NotStored = c.hidden(inputs, outputs); e.NotStored != "" {
		return nil
	}
	e.NotStored = c.changed(ctx, e, s, v, inputs, root)
	e.Unchanged = new(e.NotStored == "")
	e.Undeclared = c.undeclared(e, s, inputs)
	if e.NotStored == "" && e.task.Strict {
		e.NotStored = e.Undeclared.String()
	}
	if e.NotStored != "" {
		return nil
	}
	if e.task.Auto {
		if e.NotStored = c.rekey(ctx, e, s, inputs, root); e.NotStored != "" {
			return nil
		}
	}
	if e.NotStored = v.Unstored(files.ParseAll(e.task.Outputs)); e.NotStored != "" {
		return nil
	}
	if name := linked(outputs, e.task.Outputs); name != "" {
		e.NotStored = name + " is a link: what is behind it is not seen"
		return nil
	}
	if name := c.taken(e, outputs); name != "" {
		e.NotStored = name + " is a link that it did not make: remove it"
		return nil
	}
	c.mu.Lock()
	err = c.claim(e.task, outputs)
	c.mu.Unlock()
	if err == nil {
		err = c.keep(e, blobs, c.withFound(e, v, outputs), v.Closed(e.task.Outputs, outputs), log, took)
	}
	var at *fs.PathError
	if errors.As(err, &at) && strings.HasPrefix(at.Path, c.Dir) {
		err = fmt.Errorf("%s cannot be written: %w", c.Dir, at.Err)
	}
	if err != nil {
		e.NotStored = err.Error()
	}
	return nil
}

// Compare finds out, after Ran, for a task that has ended and is not to be stored, whether it was made of the same as when
// it began. See Entry.Unchanged.
func (c *Cache) Compare(ctx context.Context, e *Entry) {
	if e == nil || e.Result == Off || e.Key == "" {
		return
	}
	v, inputs, outputs, err := c.inputs(ctx, e.task, e.set)
	if err != nil {
		return
	}
	c.leaves(e, outputs)
	if c.hidden(inputs) != "" {
		return
	}
	blobs := map[reapi.Digest][]byte{}
	root := reapi.Directories(inputs, func(_ string, d reapi.Digest, b []byte) { blobs[d] = slices.Clone(b) })
	e.Unchanged = new(c.changed(ctx, e, nil, v, inputs, root) == "")
	if !*e.Unchanged {
		return
	}
	for _, b := range blobs {
		_, _ = c.store.Put(b) // without them explain --against cannot name files
	}
	if c.inTheirPlace(e) {
		e.Unchanged = nil
	}
}

// inTheirPlace reports whether something stands where outputs of a task are made: no folder, or a link to one, in the
// place of a folder, a folder that may not be written, or a folder in the place of a file. No key tells that.
func (c *Cache) inTheirPlace(e *Entry) bool {
	made := map[string]bool{}         // what it is known to make; false for folders
	known, _ := c.store.Action(e.Key) // without it the others tell most
	for _, f := range known.Files {
		made[f.Path] = !f.Folder
	}
	if last := c.baselines.last(e.task); last != nil {
		for p, what := range last.Made {
			made[p] = what != madeFolder
		}
	}
	dirs := map[string]bool{}
	for _, p := range files.ParseAll(e.task.Outputs) {
		if p.Plain {
			p.Folder = files.Parent(p.Folder)
		}
		dirs[p.Folder] = true
	}
	at := func(p string) string { return filepath.Join(c.Config.Root, filepath.FromSlash(p)) }
	if unix.Access(c.Config.Root, unix.W_OK|unix.X_OK) != nil && len(dirs) > 0 {
		return true
	}
	for p, file := range made {
		if file && recordfile.IsFolder(at(p)) {
			return true
		}
		if file {
			p = files.Parent(p)
		}
		dirs[p] = true
	}
	for dir := range dirs {
		for ; dir != ""; dir = files.Parent(dir) {
			switch info, err := os.Lstat(at(dir)); {
			case err != nil:
			case !info.IsDir(), unix.Access(at(dir), unix.W_OK|unix.X_OK) != nil:
				return true
			}
		}
	}
	return false
}

// changed returns what of a task is not as it was when the task began, or "". v, inputs and their root are of now. s is
// what it read, where that decides what its inputs are.
func (c *Cache) changed(ctx context.Context, e *Entry, s *reads.Seen, v *files.View, inputs []reapi.File, root reapi.Digest) string {
	auto := e.task.Auto && s != nil
	own := files.ParseAll(e.task.Outputs)
	if root != e.root && !auto {
		p := firstDifference(e.inputs, inputs)
		if files.Matches(own, p) {
			return "it changed " + p + ", which is an input of it, too"
		}
		return "its inputs changed while it ran: " + p
	}
	for _, f := range inputs {
		// It may have been changed back again. Of its own outputs that cannot be told: it may write what was there.
		switch {
		case !v.MayHaveChangedAfter(f.Path, e.at) && !v.Differs(e.view, f.Path), f.Digest == files.NameOnly, files.Matches(own, f.Path):
		case v.ChangedAfter(f.Path, e.at), v.Differs(e.view, f.Path):
			return "its inputs changed while it ran: " + f.Path
		default:
			return f.Path + justChanged
		}
		if _, walked := v.Find(f.Path); walked && !files.LeadsOutside(f) || f.Digest == files.NameOnly || f.Folder || files.Matches(own, f.Path) {
			continue
		}
		switch changed := changedAt(filepath.Join(c.Config.Root, filepath.FromSlash(f.Path))); { // a link leads to it
		case changed > e.at:
			return "its inputs changed while it ran: what is at " + f.Path
		case tree.Latest(changed) > e.at:
			return f.Path + justChanged
		}
	}
	was, of, set := e.Key, e.root, e.set
	if auto {
		if s.WhyNot != "" {
			return s.WhyNot
		}
		if p := s.Changed(v, files.ParseAll(e.task.Outputs)); p != "" {
			return "its inputs changed while it ran: " + p
		}
		was, of, set = e.bare.Key, reapi.Digest{}, nil
	}
	d, err := c.Describe(e.task)
	if err != nil {
		return err.Error()
	}
	if now, err := c.describe(ctx, e.task, d, of, set, nil); err != nil || now.Key != was {
		return "its programs or its environment changed while it ran"
	}
	for _, p := range d.Programs {
		if c.ownProgram(own, p) || slices.ContainsFunc(e.task.Tools, func(t pipeline.Tool) bool { return t.Name == p.Name }) {
			continue
		}
		switch changed := c.programs.changed(p.Path); { // and back again
		case changed > e.at:
			return "the program " + p.Name + " changed while it ran"
		case tree.Latest(changed) > e.at:
			return "the program " + p.Name + justChanged
		}
	}
	return ""
}

// justChanged is why a result is not stored whose task was made of a file that may have been changed while it ran. The
// next run can tell.
const justChanged = " was changed less than 2 seconds before it started, and its file system only keeps whole seconds: " +
	"a change while it ran would not be seen"

// changedAt returns when the file that a path leads to was last changed in any way, in ns since 1970. Where there is
// none that is later than any time.
func changedAt(path string) int64 {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return math.MaxInt64 - int64(time.Hour) // tree.Latest adds to it
	}
	return st.Ctim.Nano()
}

// PassedIn returns the run whose result is stored for the key of an entry, or "".
func (c *Cache) PassedIn(e *Entry) string {
	if e == nil || e.Key == "" {
		return ""
	}
	r, err := c.store.Action(e.Key)
	if err != nil {
		return ""
	}
	return r.Run
}

// linked returns the first of files that is a link where a pattern names a folder.
func linked(made []reapi.File, outputs []string) string {
	all := files.ParseAll(outputs)
	for _, f := range made {
		if f.Link != "" && slices.ContainsFunc(all, func(p files.Pattern) bool { return !p.Plain && files.Within(p.Folder, f.Path) }) {
			return f.Path
		}
	}
	return ""
}

// taken returns a link among outputs that is in the place of something else that the task made when it passed last, and
// that was there before the task ran; or "".
func (c *Cache) taken(e *Entry, outputs []reapi.File) string {
	was := map[string]string{} // links by path
	for _, f := range e.before {
		if f.Link != "" {
			was[f.Path] = f.Link
		}
	}
	var last *baseline
	for _, f := range outputs {
		if f.Link == "" || was[f.Path] != f.Link {
			continue
		}
		if last == nil {
			if last = c.baselines.last(e.task); last == nil {
				return ""
			}
		}
		if made := last.Made[f.Path]; made != "" && made != madeDigest(f) {
			return f.Path
		}
		for p := range last.Made {
			if strings.HasPrefix(p, f.Path+"/") {
				return f.Path
			}
		}
	}
	return ""
}

// withFound returns the outputs of a task that has just run, and marks those that it found and did not make: a hit must not
// bring back what somebody put among them. Files that an earlier run of the task made, and those that this one wrote with
// the contents that they had, are not marked. With store_outputs = false all files are marked as unstored.
func (c *Cache) withFound(e *Entry, v *files.View, outputs []reapi.File) []reapi.File {
	marked := slices.Clone(outputs)
	made := united(c.baselines.left(e.task.Name), madeSince(e, outputs, c.baselines.last(e.task)))
	for i, f := range marked {
		marked[i].Found = !f.Folder && made[f.Path] == "" && !v.Differs(e.view, f.Path)
		marked[i].Unstored = e.task.Cache.NoOutputs && !f.Folder && f.Link == ""
	}
	return marked
}

// keep writes a result to the store, the action last.
func (c *Cache) keep(e *Entry, blobs map[reapi.Digest][]byte, outputs, closed []reapi.File, log string, took time.Duration) error {
	for _, b := range blobs {
		if _, err := c.store.Put(b); err != nil {
			return err
		}
	}
	r := reapi.Result{Files: outputs, Closed: closed, Run: c.Run, Took: took.Milliseconds(), Made: time.Now().Unix()}
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	if r.Log, err = c.store.Put(text); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(e.Beside)) {
		text, err := os.ReadFile(e.Beside[name])
		if err != nil {
			return err
		}
		d, err := c.store.Put(text)
		if err != nil {
			return err
		}
		r.Beside = append(r.Beside, reapi.File{Path: name, Digest: d})
	}
	contents := slices.DeleteFunc(slices.Clone(outputs), func(f reapi.File) bool { return f.Folder || f.Found || f.Link != "" || f.Unstored })
	var check func(io.Reader) io.Reader
	if !c.Secrets.IsEmpty() {
		check = c.Secrets.Checked
	}
	if err := c.store.PutFiles(contents, c.Config.Root, check); err != nil {
		return err
	}
	if err := c.store.PutAction(e.Key, r); err != nil {
		return err
	}
	e.made.Made = madeSince(e, outputs, c.baselines.last(e.task))
	return c.baselines.putLast(e.task, &e.made)
}

// madeSince returns what of the outputs that are there a task made that has just run: since it began, or before, as
// last says.
func madeSince(e *Entry, outputs []reapi.File, last *baseline) map[string]string {
	before := make(map[string]reapi.File, len(e.before))
	for _, f := range e.before {
		before[f.Path] = f
	}
	made := madeOf(outputs, func(f reapi.File) bool {
		was, there := before[f.Path]
		return !there || !was.Same(f) || last != nil && last.Made[f.Path] != ""
	})
	addFolders(made, e.task, func(dir string) bool {
		return !before[dir].Folder && !files.HasBelow(e.before, dir) || last != nil && last.Made[dir] == madeFolder
	})
	return made
}

// claim notes that a task made outputs in this run, unless another did. c.mu is locked.
func (c *Cache) claim(t *pipeline.Task, outputs []reapi.File) error {
	for _, f := range outputs {
		if by := c.claims[f.Path]; by != "" && by != t.Name && !f.Folder {
			return fmt.Errorf("%s is an output of task %q too", f.Path, pipeline.ShownName(by))
		}
	}
	for _, f := range outputs {
		c.claims[f.Path] = t.Name
	}
	return nil
}
