// Package cache stores what tasks that passed made and printed, and finds it again by what they were made of. A task
// with inputs is one Action of the Remote Execution API v2: its command, its built environment, its directory, its
// inputs and the outputs of what it depends on as one Directory, the programs it runs, the platform. The digest of
// that is its key. Timeout, retry, description, absolute paths, other tasks and its own outputs are not in it.
//
// The store may be deleted at any moment, also while a run is at work; the worst is that a task runs again. What is
// read is compared with its digest: a damaged entry is a miss.
//
//	cas/<2 hex>/<sha256>    blobs by content: outputs, logs, Directory messages
//	actions/<2 hex>/<key>   a result: its sha256 in hexadecimal, a line end, an ActionResult; written last
//	baselines/<task>.json   of what the last pass of a task was made, to say why a later run misses
//	walk, ignored.json      the last walk of the tree: files that did not change are not read again
//	programs.json           digests of programs
//	collected               its time is when old results were removed last
//	key                     the key of the hashes of environment values, which are stored in no other form
//
// Values of secrets are in no file of it, and a key has them only as such a hash.
package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A Cache is the cache of one run. Its methods may be called by several goroutines at once.
type Cache struct {
	Config *pipeline.Config
	Dir    string // where it is stored
	// Describe returns how a task in the tree would be run. Its error is a fault of the task: it is not cached then.
	Describe func(*pipeline.Task) (Task, error)
	Force    bool   // nothing is taken from the store
	Peek     bool   // nothing is written: what a run would do is only looked at
	Run      string // id of the run

	once     sync.Once
	store    store
	key      []byte // of hashed
	err      error  // of the store
	programs programs

	mu     sync.Mutex // guards what follows
	memory memory
	seen   *view             // nil: the tree may have changed since the last walk
	claims map[string]string // path of an output: the task that made it in this run
}

// A Task is how a task is run.
type Task struct {
	Argv     []string // with the secrets in it
	Env      []Variable
	Programs []Program // what it is known to run: of a shell text, several
	Sandbox  string
	Secret   func(word string) bool // reports whether a word of Argv has a secret in it
}

// A Variable is one of a task's environment.
type Variable struct {
	Name, Value string
	Plain       bool // PIPELINE.hcl has the value in plain text: it may be shown
}

// A Program is a program by its name and the path of its file.
type Program struct{ Name, Path string }

// What an entry can be; the words of a record.
const (
	Hit    = "hit"
	Miss   = "miss"
	Off    = "off"
	Forced = "forced"
)

// An Entry is what the cache knows of a task that is about to run. It belongs to one goroutine.
type Entry struct {
	Result string   // Hit | Miss | Off | Forced
	Key    string   // sha256 in hexadecimal; empty with Off
	Why    []string // with Miss: what differs from the last pass, the most telling first

	// NotStored is why a task that passed was not stored; empty: it was, or did not pass.
	NotStored string

	task   *pipeline.Task
	found  Result
	root   Digest
	inputs []File
	before []File // its outputs, before it ran
	at     int64  // when it was looked at, ns since 1970
	made   baseline
}

// Reason returns Why in one line: the first three, and how many more.
func (e *Entry) Reason() string {
	const most = 3
	if len(e.Why) <= most {
		return strings.Join(e.Why, "; ")
	}
	return fmt.Sprintf("%s; %d more", strings.Join(e.Why[:most], "; "), len(e.Why)-most)
}

// open makes what all tasks need.
func (c *Cache) open() error {
	c.once.Do(func() {
		c.store.dir = c.Dir
		c.key, c.err = c.store.open(!c.Peek)
		c.memory = memory{dir: c.Dir, root: c.Config.Root}
		for _, t := range c.Config.Tasks {
			var in []pattern
			if len(t.Inputs) > 0 {
				in = append(parseAll(t.Inputs), parseAll(escapeAll(t.Reads))...)
			}
			c.memory.wanted = append(append(c.memory.wanted, in...), parseAll(t.Outputs)...)
			// A pattern of inputs names what git ignores by the folder before its first wildcard.
			in = slices.DeleteFunc(in, func(p pattern) bool { return p.not || p.folder == "" })
			c.memory.named = append(append(c.memory.named, in...), parseAll(t.Outputs)...)
		}
		c.memory.named, c.memory.wanted = onlyOnce(c.memory.named), onlyOnce(c.memory.wanted)
		c.claims = map[string]string{}
		c.programs.load(c.Dir)
	})
	return c.err
}

// onlyOnce removes patterns that take away, and doubles.
func onlyOnce(all []pattern) []pattern {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(p pattern) bool {
		if p.not || seen[p.text] {
			return true
		}
		seen[p.text] = true
		return false
	})
}

// Look returns what is known of a task that is about to run: after what it depends on has ended. nil: the task has no
// inputs, so nothing is known of it.
func (c *Cache) Look(ctx context.Context, t *pipeline.Task) *Entry {
	if len(t.Inputs) == 0 {
		return nil
	}
	e := &Entry{Result: Off, task: t}
	off := func(why string) *Entry {
		e.Why = []string{why}
		return e
	}
	if t.Cache.Disabled {
		return off("cache { enabled = false }")
	}
	if err := c.open(); err != nil {
		return off(err.Error())
	}
	d, err := c.Describe(t)
	if err != nil {
		return off(err.Error())
	}
	e.at = time.Now().UnixNano()
	if e.inputs, e.before, err = c.inputs(ctx, t); err != nil {
		return off(err.Error())
	}
	e.root = directories(e.inputs, func(Digest, []byte) {})
	e.made, err = c.describe(ctx, t, d, e.root)
	if err != nil {
		return off(err.Error())
	}
	e.Key = e.made.Key
	if c.Force {
		e.Result = Forced
		return e
	}
	e.found, err = c.find(t, e.Key)
	if err == nil {
		e.Result = Hit
		return e
	}
	e.Result = Miss
	e.Why = c.differences(ctx, t, &e.made, e.inputs, err)
	return e
}

// describe makes the action of a task: the baseline that it will be once it has passed, with its key.
func (c *Cache) describe(ctx context.Context, t *pipeline.Task, d Task, root Digest) (baseline, error) {
	l := baseline{
		Version: baselineVersion, KeyID: hashed(c.key, "key"), Run: c.Run, Root: root.Hash, RootSize: root.Size,
		Env: map[string]string{}, Shown: map[string]string{}, Platform: map[string]string{},
	}
	cmd := command{dir: t.Dir, outputs: t.Outputs}
	if cmd.dir == "." {
		cmd.dir = ""
	}
	for _, a := range d.Argv {
		if d.Secret(a) { // a digest of a short secret would give it away, a keyed one does not
			a = hashed(c.key, a)
		}
		cmd.argv = append(cmd.argv, a)
	}
	l.Command = digestOf(cmd.encode()).Hash
	for _, v := range d.Env {
		h := hashed(c.key, v.Value)
		l.Env[v.Name] = h
		if v.Plain {
			l.Shown[v.Name] = v.Value
			h = v.Value
		}
		cmd.env = append(cmd.env, pair{v.Name, h})
	}
	slices.SortFunc(cmd.env, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	l.Platform["os"], l.Platform["arch"], l.Platform["sandbox"] = runtime.GOOS, runtime.GOARCH, d.Sandbox
	for _, p := range d.Programs {
		digest, err := c.programs.digest(ctx, p.Path)
		if err != nil {
			return l, fmt.Errorf("program %s: %w", p.Name, err)
		}
		l.Platform["program "+p.Name] = digest
	}
	var platform []pair
	for _, name := range slices.Sorted(maps.Keys(l.Platform)) {
		platform = append(platform, pair{name, l.Platform[name]})
	}
	l.Key = digestOf(encodeAction(digestOf(cmd.encode()), root, platform)).Hash
	return l, nil
}

// inputs returns the input root of a task: its inputs, what its file functions read, and the outputs of all that it
// depends on. before are its own outputs as they are now.
func (c *Cache) inputs(ctx context.Context, t *pipeline.Task) (files, before []File, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, err := c.look(ctx)
	if err != nil {
		return nil, nil, err
	}
	before, _ = v.outputs(t.Outputs)
	patterns := t.Inputs
	if len(t.Reads) > 0 {
		patterns = append(slices.Clone(patterns), escapeAll(t.Reads)...)
	}
	files, err = v.inputs(c.Config.Root, patterns, t.Outputs)
	if err != nil {
		return nil, nil, err
	}
	var more []File
	for _, d := range c.dependencies(t) {
		if len(d.Outputs) > 0 {
			made, _ := v.outputs(d.Outputs)
			more = append(more, made...)
		}
	}
	if len(more) == 0 {
		return files, before, nil
	}
	own := parseAll(t.Outputs)
	more = slices.DeleteFunc(more, func(f File) bool { return matches(own, f.Path) })
	files = append(slices.Clone(files), more...)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(files, func(a, b File) bool { return a.Path == b.Path }), before, nil
}

// escapeAll returns patterns that match only the files of these names.
func escapeAll(names []string) []string {
	special := strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`, `\`, `\\`)
	all := make([]string, 0, len(names))
	for _, name := range names {
		all = append(all, special.Replace(name))
	}
	return all
}

// dependencies returns what a task depends on, also indirectly.
func (c *Cache) dependencies(t *pipeline.Task) (all []*pipeline.Task) {
	seen := map[string]bool{t.Name: true}
	var add func(names []string)
	add = func(names []string) {
		for _, name := range names {
			if seen[name] {
				continue
			}
			seen[name] = true
			if d := c.Config.Task(name); d != nil {
				all = append(all, d)
				add(d.DependsOn)
			}
		}
	}
	add(t.DependsOn)
	return all
}

// look returns a view of the tree that has what every task that has ended made. c.mu is locked.
func (c *Cache) look(ctx context.Context) (*view, error) {
	if c.seen != nil {
		return c.seen, nil
	}
	v, err := c.memory.look(ctx)
	if err != nil {
		return nil, err
	}
	c.seen = v
	return v, nil
}

// Changed must be called when a task has ended that Restore did not replace: it may have changed the tree.
func (c *Cache) Changed() {
	c.mu.Lock()
	c.seen = nil
	c.mu.Unlock()
}

// errExpired means that a result is older than the task's ttl.
var errExpired = errors.New("it expired")

// find returns the result of a key, with all that is needed to use it.
func (c *Cache) find(t *pipeline.Task, key string) (Result, error) {
	r, err := c.store.action(key)
	if err != nil {
		return r, err
	}
	if t.Cache.TTL > 0 && time.Since(time.Unix(r.Made, 0)) > t.Cache.TTL {
		return r, errExpired
	}
	if r.Log.Size > 0 && !c.store.has(r.Log) {
		return r, errDamaged
	}
	c.mu.Lock()
	v := c.seen
	c.mu.Unlock()
	for _, f := range r.Files {
		if f.Folder || f.Link != "" {
			continue
		}
		if v != nil {
			if now, ok := v.find(f.Path); ok && now.same(f) {
				continue
			}
		}
		if t.Cache.NoOutputs {
			return r, fmt.Errorf("output %s is not as the task made it, and is not stored", f.Path)
		}
		if !c.store.has(f.Digest) {
			return r, errDamaged
		}
	}
	return r, nil
}

// Restore makes the outputs of a hit what they were, and returns what the task printed then, the run in which it did,
// and how long it took. After an error the entry is a miss: the task must run.
func (c *Cache) Restore(ctx context.Context, e *Entry) (log []byte, run string, took time.Duration, err error) {
	if e.found.Log.Size > 0 {
		log, err = c.store.get(e.found.Log)
	}
	if err == nil {
		err = c.restore(ctx, e)
	}
	if err != nil {
		e.Result = Miss
		e.Why = c.differences(ctx, e.task, &e.made, e.inputs, err)
		return nil, "", 0, err
	}
	return log, e.found.Run, time.Duration(e.found.Took) * time.Millisecond, nil
}

func (c *Cache) restore(ctx context.Context, e *Entry) error {
	c.mu.Lock()
	v, err := c.look(ctx)
	if err == nil {
		err = c.claim(e.task, e.found.Files)
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(c.Config.Root)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	c.store.used(e.Key)
	last := c.store.baseline(e.task.Name)
	wrote, changed, err := c.replace(root, v, e, last)
	if changed {
		c.Changed()
	}
	if err != nil {
		return err
	}
	if last == nil || last.Key != e.Key || changed {
		e.made.Made = madeOf(e.found.Files, func(f File) bool {
			return wrote[f.Path] || last != nil && last.Made[f.Path] != ""
		})
		_ = c.store.putBaseline(e.task.Name, &e.made) // without it a miss cannot be explained
	}
	return nil
}

// replace removes what an earlier run of the task made and this result lacks, and writes what differs. What nobody
// knows to be made by the task is kept.
func (c *Cache) replace(root *os.Root, v *view, e *Entry, last *baseline) (wrote map[string]bool, changed bool, err error) {
	wrote = map[string]bool{}
	if last != nil {
		want := map[string]bool{}
		for _, f := range e.found.Files {
			want[f.Path] = true
		}
		for _, p := range slices.Backward(slices.Sorted(maps.Keys(last.Made))) {
			now, ok := v.find(p)
			if want[p] || !ok || !local(p) || madeDigest(now) != last.Made[p] {
				continue
			}
			changed = true
			if err := root.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) && !now.Folder {
				return wrote, true, err
			}
		}
	}
	for _, f := range e.found.Files {
		now, ok := v.find(f.Path)
		if ok && now.same(f) || f.Folder && v.hasBelow(f.Path) {
			continue
		}
		changed, wrote[f.Path] = true, true
		if dir := path.Dir(f.Path); dir != "." {
			if err := root.MkdirAll(dir, 0o777); err != nil {
				return wrote, true, err
			}
		}
		switch {
		case f.Folder:
			err = root.MkdirAll(f.Path, 0o777)
		case f.Link != "":
			if err = root.Remove(f.Path); err == nil || errors.Is(err, fs.ErrNotExist) {
				err = root.Symlink(f.Link, f.Path)
			}
		default:
			err = c.store.extract(f, root)
		}
		if err != nil {
			return wrote, true, err
		}
	}
	return wrote, changed, nil
}

// madeDigest identifies an output in a baseline.
func madeDigest(f File) string {
	switch {
	case f.Folder:
		return "folder"
	case f.Link != "":
		return digestOf([]byte("link " + f.Link)).Hash
	}
	return f.Digest.Hash
}

// madeOf returns the files that a task made, for a baseline: what it made may be removed later, what was there may not.
func madeOf(files []File, made func(File) bool) map[string]string {
	all := map[string]string{}
	for _, f := range files {
		if made(f) {
			all[f.Path] = madeDigest(f)
		}
	}
	return all
}

// claim notes that a task made files in this run, unless another did. c.mu is locked.
func (c *Cache) claim(t *pipeline.Task, files []File) error {
	for _, f := range files {
		if by := c.claims[f.Path]; by != "" && by != t.Name && !f.Folder {
			return fmt.Errorf("%s is an output of task %q too", f.Path, by)
		}
	}
	for _, f := range files {
		c.claims[f.Path] = t.Name
	}
	return nil
}

// A MissingOutput error means that a task passed and did not make what it declares.
type MissingOutput struct{ Pattern string }

func (m *MissingOutput) Error() string { return "output " + m.Pattern + " missing" }

// Store stores the result of a task that has just passed; log is the file with what it printed. The error is a
// *MissingOutput: the task has failed. Everything else that goes wrong is in e.NotStored.
func (c *Cache) Store(ctx context.Context, e *Entry, log string, took time.Duration) error {
	if e == nil || e.Result == Off {
		return nil
	}
	c.Changed()
	inputs, files, err := c.inputs(ctx, e.task)
	if err != nil {
		e.NotStored = err.Error()
		return nil //nolint:nilerr // it is said
	}
	c.mu.Lock()
	v, err := c.look(ctx)
	c.mu.Unlock()
	if err != nil {
		e.NotStored = err.Error()
		return nil //nolint:nilerr // it is said
	}
	_, missing := v.outputs(e.task.Outputs)
	if missing != "" {
		there, err := doublestar.Glob(os.DirFS(c.Config.Root), missing)
		if err == nil && len(there) == 0 {
			return &MissingOutput{missing}
		}
		e.NotStored = fmt.Sprintf("output %s is in folders that git ignores: name them in the pattern", missing)
		return nil
	}
	blobs := map[Digest][]byte{}
	if root := directories(inputs, func(d Digest, b []byte) { blobs[d] = slices.Clone(b) }); root != e.root {
		e.NotStored = "its inputs changed while it ran: " + firstDifference(e.inputs, inputs)
		return nil
	}
	for _, f := range inputs {
		if v.changed[f.Path] > e.at { // and back again
			e.NotStored = "its inputs changed while it ran: " + f.Path
			return nil
		}
	}
	if d, err := c.Describe(e.task); err != nil {
		e.NotStored = err.Error()
		return nil //nolint:nilerr // it is said
	} else if now, err := c.describe(ctx, e.task, d, e.root); err != nil || now.Key != e.Key {
		e.NotStored = "its programs or its environment changed while it ran"
		return nil //nolint:nilerr // it is said
	}
	if name := linked(files, e.task.Outputs); name != "" {
		e.NotStored = name + " is a link: what is behind it is not seen"
		return nil
	}
	c.mu.Lock()
	err = c.claim(e.task, files)
	c.mu.Unlock()
	if err == nil {
		err = c.keep(e, blobs, files, log, took)
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

// linked returns the first of files that is a link where a pattern names a folder.
func linked(files []File, outputs []string) string {
	all := parseAll(outputs)
	for _, f := range files {
		if f.Link != "" && slices.ContainsFunc(all, func(p pattern) bool { return !p.plain && within(p.folder, f.Path) }) {
			return f.Path
		}
	}
	return ""
}

// keep writes a result to the store, the action last.
func (c *Cache) keep(e *Entry, blobs map[Digest][]byte, files []File, log string, took time.Duration) error {
	for _, b := range blobs {
		if _, err := c.store.put(b); err != nil {
			return err
		}
	}
	r := Result{Files: files, Run: c.Run, Took: took.Milliseconds(), Made: time.Now().Unix()}
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	if r.Log, err = c.store.put(text); err != nil {
		return err
	}
	for _, f := range files {
		if f.Folder || f.Link != "" || e.task.Cache.NoOutputs || c.store.has(f.Digest) {
			continue
		}
		if err := c.keepFile(f); err != nil {
			return fmt.Errorf("output %s: %w", f.Path, err)
		}
	}
	if err := c.store.putAction(e.Key, r); err != nil {
		return err
	}
	last := c.store.baseline(e.task.Name)
	e.made.Made = madeOf(files, func(f File) bool {
		return !slices.Contains(e.before, f) || last != nil && last.Made[f.Path] != ""
	})
	return c.store.putBaseline(e.task.Name, &e.made)
}

func (c *Cache) keepFile(f File) error {
	file, err := os.Open(filepath.Join(c.Config.Root, filepath.FromSlash(f.Path)))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return c.store.write(f.Digest, file)
}

// Close stores what was learned of the tree. An error costs the next run time.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.store.dir == "" || c.Peek || c.err != nil || c.memory.known == nil {
		return nil
	}
	return errors.Join(c.memory.save(), c.programs.save())
}

// Clean removes what the last result of a task has of its outputs, if it is as the task made it.
func (c *Cache) Clean(ctx context.Context, e *Entry) error {
	if e.Result == Off {
		return nil
	}
	last := c.store.baseline(e.task.Name)
	if last == nil {
		return nil
	}
	c.mu.Lock()
	v, err := c.look(ctx)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(c.Config.Root)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	none := &Entry{task: e.task}
	_, _, err = c.replace(root, v, none, last)
	c.Changed()
	return err
}
