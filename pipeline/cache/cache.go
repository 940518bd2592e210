// Package cache finds out what tasks are made of, and takes from a store what those that passed made and printed. A task
// with inputs is one Action of the Remote Execution API v2: its command, its built environment, its directory, its
// inputs and the outputs of what it depends on as one Directory, the programs it runs, the platform, its name. The digest of
// that is its key. Timeout, retry, description, absolute paths, other tasks and its own outputs are not in it.
//
// Its folder may be deleted at any moment, also while a run is at work; the worst is that a task runs again. The results are
// in cas/ and actions/, which package store describes. Besides there is:
//
//	baselines/<task>.json   of what the last pass of a task was made, to say why a later run misses; each list of
//	                        arguments of run TASK -- ARGS has its own
//	baselines/<task>.left   what runs of the task made since then whose result was not stored, with digests
//	passes.json             the keys of the baselines
//	walk, ignored.json      the last walk of the tree: files that did not change are not read again
//	trees/<16 hex>/         these three of another tree that shares the folder, as a linked work tree of git does; its root
//	                        is in the file root
//	reads/<task>.json       of tasks with inputs = auto: which files they read when they passed, by name only; its time is
//	                        when a run had the task last
//	programs.json           digests of programs
//	tools.json              digests of what commands of tools printed
//	outcomes-*.json         of pipeline/flake: which keys failed and passed
//	collected               its time is when old results were removed last
//	key                     the key of the hashes of environment values, which are stored in no other form
//
// Collect removes what is out of use: results, blobs, and what is known of tasks, arguments and trees that are gone.
//
// No file of it has the value of a secret: a result with one in an output, or in a name, is not stored, and a key has only
// such a hash.
package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/access"
	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/reads"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/store"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A Cache is the cache of one run. Its methods may be called by several goroutines at once.
type Cache struct {
	Config *pipeline.Config
	Dir    string // where it is stored
	// Describe returns how a task in the tree would be run. Its error is a fault of the task: it is not cached then.
	Describe func(*pipeline.Task) (Task, error)
	// Ask runs a command of tools as the task would be run, and returns what it prints; nil: nothing may be run.
	Ask   func(ctx context.Context, t *pipeline.Task, argv []string) ([]byte, error)
	Force bool   // nothing is taken from the store
	Peek  bool   // nothing is written: what a run would do is only looked at
	Run   string // id of the run
	// Secrets are values that nothing in the cache may have; nil: there are none.
	Secrets *redact.Set

	// CheckInputs fills in Entry.Undeclared of all tasks with patterns, not only of those with strict = true.
	CheckInputs bool

	once      sync.Once
	store     store.Store
	baselines baselines
	key       []byte // of hashed
	err       error  // of the store
	programs  programs
	tools     tools
	serves    bool                   // there are services
	sets      map[string][]reads.Set // of tasks with inputs = auto, by name, the newest first

	views views // of the tree

	mu     sync.Mutex        // guards what follows
	claims map[string]string // path of an output: the task that made it in this run

	foreseen map[string][]reapi.File // with Peek: what the outputs of a task will be that has a hit, where they are not that yet
}

// A Task is how a task is run.
type Task struct {
	Argv     []string // with the secrets in it
	Env      []Variable
	Programs []Program  // what it is known to run: of a shell text, several
	Path     []string   // absolute folders in which bare names are looked up; not in the key, which has the programs
	Agent    []Variable // of a task that an agent does: what decides its result; names begin with "agent "
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
	// OfOutputs is whether Why is only about outputs of tasks that the task depends on, or no input is there: where
	// one of those runs, it may make them as they were.
	OfOutputs bool

	// NotStored is why a task that passed was not stored; empty: it was, or did not pass.
	NotStored string
	// Undeclared is what a task that passed read besides its inputs; nil: nobody looked.
	Undeclared *record.Undeclared
	// Unchanged is whether inputs, programs and environment were the same when the task had ended; nil: nobody looked, or the
	// task failed where something stands in the place of its outputs, so that the key does not tell why.
	Unchanged *bool

	// Beside are files that are stored with the result, by a name that the caller chose: paths. NotWhole is why a result
	// is not to be stored; empty: it is. Both are set before Store.
	Beside   map[string]string
	NotWhole string
	Given    map[string][]byte // of a hit, once it is restored: the contents of Beside

	task   *pipeline.Task
	is     Task            // how it is run
	sets   []*reads.Set    // of which one is its inputs; nil is those that it declares
	early  bool            // the tree may have changed since view: see lookFor
	reads  *reads.Accesses // what it reads; nil: nobody looks
	set    *reads.Set      // its inputs, with inputs = auto; nil: they are not known
	bare   *baseline       // what it was made of when it began, but for inputs; with inputs = auto
	found  reapi.Result
	root   reapi.Digest
	inputs []reapi.File
	before []reapi.File // its outputs, before it ran
	view   *files.View  // of then
	at     int64        // ns since 1970: a file with a later time was changed after Look
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

// off says that nothing is known of the task, and why.
func (e *Entry) off(why string) { e.Result, e.Key, e.Why = Off, "", []string{why} }

// MadeOf returns what the key is made of; nil where there is no key.
func (e *Entry) MadeOf() *record.MadeOf {
	if e.Key == "" {
		return nil
	}
	return &e.made.MadeOf
}

// open makes what all tasks need.
func (c *Cache) open() error {
	c.once.Do(func() {
		if c.err = Unfit(c.Config.Root, c.Dir); c.err != nil {
			return
		}
		c.store.Dir, c.store.ReadOnly = c.Dir, c.Peek
		c.baselines = baselines{store: &c.store, root: c.Config.Root, tree: treeFolder(c.Config.Root, c.Dir)}
		if c.err = cmp.Or(c.store.NoLinks(), c.baselines.noLinks()); c.err == nil {
			c.key, c.err = secretKey(&c.store, !c.Peek)
			c.baselines.key = c.key
		}
		c.views.memory = files.Memory{Cache: c.Dir, Dir: cmp.Or(c.baselines.tree, c.Dir), Root: c.Config.Root, Hides: c.hides}
		c.views.config, c.views.needs, c.views.peek = c.Config, needsOf(c.Config), c.Peek
		c.sets = map[string][]reads.Set{}
		var named, wanted []files.Pattern
		for _, t := range c.Config.Tasks {
			of := scopeOf(t)
			if t.Auto {
				c.sets[t.Name] = readSetsOf(c.Dir, t.Name)
				if !c.Peek {
					store.Touch(readsPath(c.Dir, t.Name))
				}
				for _, s := range c.sets[t.Name] {
					of.In = append(of.In, files.ParseAll(s.Patterns())...)
				}
			}
			wanted = append(append(wanted, of.In...), of.Makes...)
			// A pattern of inputs names what git ignores by the folder before its first wildcard.
			named = append(named, slices.DeleteFunc(of.In, func(p files.Pattern) bool { return p.Folder == "" })...)
			named = append(named, of.Makes...)
		}
		c.views.memory.Want(named, wanted)
		c.claims = map[string]string{}
		c.serves = slices.ContainsFunc(c.Config.Tasks, func(t *pipeline.Task) bool { return t.Service != nil })
		c.programs.load(filepath.Join(c.Dir, "programs.json"))
		c.tools.load(filepath.Join(c.Dir, "tools.json"))
		c.tools.now = map[string]*answer{}
		c.baselines.passes.load(filepath.Join(c.views.memory.Dir, "passes.json"))
	})
	return c.err
}

// Look returns what is known of a task that is about to run: after what it depends on has ended. nil: the task has no
// inputs, is a service, or is done by an agent and not cached, so nothing is known of it.
func (c *Cache) Look(ctx context.Context, t *pipeline.Task) *Entry {
	if !t.HasInputs() || t.Service != nil || t.Agent != nil && t.Cache.Disabled {
		return nil
	}
	e := &Entry{Result: Off, task: t}
	off := func(why string) *Entry {
		e.off(why)
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
	e.is, e.sets = d, []*reads.Set{nil}
	if t.Auto || t.Strict || c.CheckInputs && t.Agent == nil {
		e.reads = reads.New(c.Config.Root)
	}
	if t.Auto {
		bare, err := c.describe(ctx, t, d, reapi.Digest{}, nil, nil)
		if err != nil {
			return off(err.Error())
		}
		pass := &record.MadeOf{}
		if len(c.sets[t.Name]) > 1 {
			pass = c.baselines.of(c.baselines.name(t)).madeOf()
		}
		e.bare, e.sets = &bare, c.setsOf(t, pass)
	}
	if err := c.lookFor(ctx, e); err != nil {
		e.OfOutputs = errors.Is(err, errNoInput)
		return off(err.Error())
	}
	if c.Peek && e.Result == Hit {
		c.foresee(e)
	}
	if c.Force {
		e.Result = Forced
	}
	return e
}

// foresee notes what the outputs of a task will be once its result is restored, for the tasks after it, or why that will
// not be restored.
func (c *Cache) foresee(e *Entry) {
	if len(e.task.Outputs) == 0 || c.asMade(e.view, e) {
		return
	}
	last := c.baselines.last(e.task)
	if why := lost(e.view, e, last); why != "" {
		e.Result, e.Why = Miss, []string{why}
		return
	}
	there, _ := e.view.Outputs(e.task.Outputs)
	there = slices.DeleteFunc(slices.Clone(there), func(f reapi.File) bool {
		return last != nil && last.Made[f.Path] != "" && (f.Folder || madeDigest(f) == last.Made[f.Path])
	})
	stored := map[string]bool{}
	for _, f := range e.found.Files {
		stored[f.Path] = true
	}
	there = slices.DeleteFunc(there, func(f reapi.File) bool { return stored[f.Path] })
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.foreseen == nil {
		c.foreseen = map[string][]reapi.File{}
	}
	c.foreseen[e.task.Name] = files.Tidy(slices.Concat(there, e.found.Files))
}

// errNoInput is why a task of whose inputs no file is there is not cached: its patterns may be mistyped.
var errNoInput = errors.New("no file matches its inputs")

// lookFor looks for the result of a task.
//
// A task that depends on nothing which ended since the last walk of all of the tree may be taken from the cache as it was
// then: it could as well have had its turn before those that ended. Where it must run, or its outputs are no longer there as
// they were, the tree is looked at again.
func (c *Cache) lookFor(ctx context.Context, e *Entry) error {
	if v := c.views.earlier(e.task); v != nil && !c.Force && !c.serves { // a service may write at any time
		if _, err := c.lookIn(ctx, v, e); err == nil && e.Result == Hit {
			e.early = true
			return nil
		}
	}
	return c.lookNow(ctx, e)
}

// lookNow is lookFor in the tree as it is.
func (c *Cache) lookNow(ctx context.Context, e *Entry) error {
	e.early, e.at = false, time.Now().UnixNano()
	v, err := c.views.of(ctx, e.task)
	if err != nil {
		return err
	}
	e.Why = []string{"first run"}
	lacks, err := c.lookIn(ctx, v, e)
	if lacks != nil && !c.Force {
		e.Why, e.OfOutputs = c.differences(e.task, &e.made, e.inputs, lacks)
	}
	if e.task.Auto && e.Result != Hit && !c.Peek {
		e.at = afterTick() - 1 // what it reads is not known: only their times tell which files change from now on
	}
	return err
}

// Refuse makes a miss of a hit that cannot be used: the task is about to run in the tree as it is. why is what is wrong with
// the result.
func (c *Cache) Refuse(ctx context.Context, e *Entry, why error) {
	if e.early {
		if err := c.lookNow(ctx, e); err != nil {
			e.off(err.Error())
			return
		}
	}
	if e.Result == Hit {
		e.Result = Miss
		e.Why, e.OfOutputs = c.differences(e.task, &e.made, e.inputs, why)
	}
}

// lookIn is lookFor in a view. If none of the sets has a result the first is taken, and lacks is why it has none.
func (c *Cache) lookIn(ctx context.Context, v *files.View, e *Entry) (lacks, err error) {
	e.Result, e.Key, e.view = Miss, "", v
	e.before, _ = v.Outputs(e.task.Outputs)
	for i, set := range e.sets {
		inputs, err := c.inputsIn(v, e.task, set)
		if err != nil {
			return nil, err
		}
		if len(inputs) == 0 && !e.task.Auto {
			return nil, errNoInput
		}
		root := reapi.Directories(inputs, nil)
		made, err := c.describe(ctx, e.task, e.is, root, set, nil)
		if err != nil {
			return nil, err
		}
		found, err := reapi.Result{}, store.ErrAbsent
		if !c.Force {
			found, err = c.find(v, e.task, made.Key)
		}
		if err != nil && i > 0 {
			continue
		}
		e.Key, e.made, e.set, e.inputs, e.root = made.Key, made, set, inputs, root
		if err == nil {
			e.Result, e.Why, e.found = Hit, nil, found
			return nil, nil
		}
		lacks = err
	}
	return lacks, nil
}

// See returns what is to be told of each path that the task names to the kernel; nil: nothing is.
func (e *Entry) See() func(access.Path) {
	if e == nil || e.reads == nil {
		return nil
	}
	return e.reads.See
}

// RemoveAbandoned removes from the outputs of all tasks what a killed run had not restored in full. Look does so too, where
// it walks.
func (c *Cache) RemoveAbandoned(ctx context.Context) error {
	if !recordfile.Exists(c.Dir) {
		return nil
	}
	if err := c.open(); err != nil {
		return err
	}
	return c.views.renew(ctx)
}

// Left records, after Ran, which outputs a task made whose result is not stored, because it failed or was interrupted. A
// later hit removes those that its result lacks.
func (c *Cache) Left(ctx context.Context, e *Entry) {
	if e == nil || e.Key == "" || len(e.task.Outputs) == 0 {
		return
	}
	v, err := c.views.of(context.WithoutCancel(ctx), e.task)
	if err == nil {
		there, _ := v.Outputs(e.task.Outputs)
		c.leaves(e, there)
	}
}

// leaves notes what a task made whose result is not stored. there are its outputs now.
func (c *Cache) leaves(e *Entry, there []reapi.File) {
	made := madeSince(e, there, nil)
	maps.DeleteFunc(made, func(p, _ string) bool { return c.hides(p) })
	if len(made) > 0 {
		_ = c.baselines.putLeft(e.task.Name, united(c.baselines.left(e.task.Name), made)) // without it these files are kept
	}
}

// hides reports whether a path has the value of a secret in it.
func (c *Cache) hides(p string) bool {
	_, found := c.Secrets.Find([]byte(p))
	return found
}

// hidden returns why nothing of these files is stored, "" if it may be.
func (c *Cache) hidden(lists ...[]reapi.File) string {
	for _, list := range lists {
		for _, f := range list {
			if name, found := c.Secrets.Find([]byte(f.Path + "\n" + f.Link)); found {
				return fmt.Sprintf("the name of a file, or a link, has the value of the secret %s in it", name)
			}
		}
	}
	return ""
}

// Ran must be called when a task has ended that was carried out, before its dependants begin: it may have changed the tree.
func (c *Cache) Ran(t *pipeline.Task) { c.views.ran(t) }

// errExpired means that a result is older than the task's ttl.
var errExpired = errors.New("it expired")

// find returns the result of a key, with all that is needed to use it.
func (c *Cache) find(v *files.View, t *pipeline.Task, key string) (reapi.Result, error) {
	r, err := c.store.Action(key)
	if err != nil {
		return r, err
	}
	if t.Cache.TTL > 0 && time.Since(time.Unix(r.Made, 0)) > t.Cache.TTL {
		return r, errExpired
	}
	if r.Log.Size > 0 && !c.store.Has(r.Log) {
		return r, store.ErrDamaged
	}
	for _, f := range r.Beside {
		if !c.store.Has(f.Digest) {
			return r, store.ErrDamaged
		}
	}
	for _, f := range r.Files {
		now, ok := v.Find(f.Path)
		switch same := ok && now.Same(f); {
		case f.Found && !same:
			return r, fmt.Errorf("%s, which is among its outputs and which it did not make, changed", f.Path)
		case f.Folder || f.Link != "" || same:
			continue
		}
		if t.Cache.NoOutputs {
			return r, fmt.Errorf("output %s is not as the task made it, and is not stored", f.Path)
		}
		if !c.store.Has(f.Digest) {
			return r, store.ErrDamaged
		}
	}
	return r, nil
}

// Close stores what was learned of the tree. An error costs the next run time.
func (c *Cache) Close() error {
	if opened := c.store.Dir != "" && c.err == nil; !opened || c.Peek || !c.views.known() {
		return nil
	}
	if err := c.baselines.makeTree(); err != nil {
		return err
	}
	return errors.Join(c.views.save(), c.programs.save(), c.tools.save(), c.baselines.passes.save())
}
