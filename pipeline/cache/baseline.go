package cache

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/store"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A baseline is what the last pass of a task was made of: what a miss is compared with.
type baseline struct {
	Version int    `json:"schema_version"`
	Key     string `json:"key"`
	Run     string `json:"run"`
	record.MadeOf
	Made map[string]string `json:"made"`           // outputs that it made, with their digests
	Args bool              `json:"args,omitempty"` // the task ran with the arguments of a command line
}

const baselineVersion = 1

// madeOf returns what the pass was made of; of no pass nothing.
func (l *baseline) madeOf() *record.MadeOf {
	if l == nil {
		return &record.MadeOf{}
	}
	return &l.MadeOf
}

// baselines are those of the tasks of one tree, and what else is known of what these made. Its methods may be called by
// several goroutines at once.
type baselines struct {
	store *store.Store
	root  string // of the tree
	tree  string // its folder; empty: that of the store
	key   []byte // of hashed

	passes remembered[passFact] // by the names of baselines
}

// noLinks returns an error if a link leads out of the folders of baselines.
func (b *baselines) noLinks() error {
	paths := []string{filepath.Join(b.store.Dir, "baselines"), filepath.Join(b.store.Dir, treesFolder)}
	if b.tree != "" {
		paths = append(paths, b.tree, filepath.Join(b.tree, "baselines"))
	}
	return recordfile.NoLinks(paths...)
}

// makeTree makes the folder of the tree, with the root in it.
func (b *baselines) makeTree() error {
	if err := b.store.Make(); err != nil || b.tree == "" {
		return err
	}
	at := filepath.Join(b.tree, "root")
	if recordfile.Exists(at) {
		return nil
	}
	if err := os.MkdirAll(b.tree, 0o750); err != nil {
		return err
	}
	return recordfile.Write(at, []byte(b.root+"\n"), false)
}

func (b *baselines) path(task string) string {
	return filepath.Join(cmp.Or(b.tree, b.store.Dir), "baselines", filename.Of(task)+".json")
}

// of returns the baseline of a task, or nil.
func (b *baselines) of(task string) *baseline {
	text, err := recordfile.Read(b.path(task), limitMemory)
	if err != nil {
		return nil
	}
	var l baseline
	if json.Unmarshal(text, &l) != nil || l.Version != baselineVersion || !reapi.IsHash(l.Key) || !reapi.IsHash(l.Inputs) {
		return nil
	}
	l.Made = renamed(l.Made, files.Untext)
	return &l
}

func (b *baselines) put(task string, l *baseline) error {
	if err := b.makeTree(); err != nil {
		return err
	}
	at := b.path(task)
	if err := os.MkdirAll(filepath.Dir(at), 0o750); err != nil {
		return err
	}
	stored := *l
	stored.Made = renamed(l.Made, files.Text)
	return recordfile.WriteJSON(at, stored, false)
}

// renamed returns what was made under changed names. It is made itself where they stay the same.
func renamed(made map[string]string, change func(string) string) map[string]string {
	var all map[string]string
	for p := range made {
		if change(p) != p && all == nil {
			all = make(map[string]string, len(made))
		}
	}
	if all == nil {
		return made
	}
	for p, what := range made {
		all[change(p)] = what
	}
	return all
}

// leftPath returns the path of the file with what runs of a task made whose result was not stored.
func (b *baselines) leftPath(task string) string {
	return strings.TrimSuffix(b.path(task), ".json") + ".left"
}

// left returns what runs of a task made whose result was not stored, since it was stored or restored last: as
// baseline.Made.
func (b *baselines) left(task string) map[string]string {
	text, err := recordfile.Read(b.leftPath(task), limitMemory)
	var made map[string]string
	if err != nil || json.Unmarshal(text, &made) != nil {
		return nil
	}
	return renamed(made, files.Untext)
}

func (b *baselines) putLeft(task string, made map[string]string) error {
	if err := b.makeTree(); err != nil {
		return err
	}
	at := b.leftPath(task)
	if err := os.MkdirAll(filepath.Dir(at), 0o750); err != nil {
		return err
	}
	return recordfile.WriteJSON(at, renamed(made, files.Text), false)
}

// name returns the name of a task's baseline. With arguments of a command line it is another task: a pass with
// some is nothing that one without them could be compared with.
func (b *baselines) name(t *pipeline.Task) string {
	if len(t.Run.Args) == 0 {
		return t.Name
	}
	var all []string
	for _, a := range t.Run.Args {
		all = append(all, a.Value)
	}
	return t.Name + " -- " + hashed(b.key, strings.Join(all, "\x00"))
}

// last returns the baseline of a task, with what it made, with any arguments, and when its result was not stored; nil if
// there is none.
func (b *baselines) last(t *pipeline.Task) *baseline {
	l := b.lastStored(t)
	if left := b.left(t.Name); len(left) > 0 {
		if l == nil {
			l = &baseline{}
		}
		l.Made = united(l.Made, left)
	}
	return l
}

func (b *baselines) lastStored(t *pipeline.Task) *baseline {
	plain := b.of(t.Name)
	if len(t.Run.Args) == 0 {
		return plain
	}
	l := b.of(b.name(t))
	switch {
	case plain == nil:
	case l == nil:
		l = &baseline{Made: plain.Made}
	default:
		l.Made = united(l.Made, plain.Made)
	}
	return l
}

// putLast stores the baseline of a task. That of the task without arguments knows what was made with them, too.
func (b *baselines) putLast(t *pipeline.Task, l *baseline) error {
	l.Args = len(t.Run.Args) > 0
	if plain := b.of(t.Name); l.Args && plain != nil {
		plain.Made = united(plain.Made, l.Made)
		if err := b.put(t.Name, plain); err != nil {
			return err
		}
	}
	err := b.put(b.name(t), l)
	if err == nil {
		_ = os.Remove(b.leftPath(t.Name)) // l has it
		b.notePass(t, l.Key)
	}
	return err
}

// madeFolder is the digest of a folder in a baseline.
const madeFolder = "folder"

// madeDigest identifies an output in a baseline.
func madeDigest(f reapi.File) string {
	switch {
	case f.Folder:
		return madeFolder
	case f.Link != "":
		return reapi.DigestOf([]byte("link " + f.Link)).Hash
	}
	return f.Digest.Hash
}

// madeOf returns the files that a task made, for a baseline: what it made may be removed later, what was there may not.
func madeOf(outputs []reapi.File, made func(reapi.File) bool) map[string]string {
	all := map[string]string{}
	for _, f := range outputs {
		if made(f) {
			all[f.Path] = madeDigest(f)
		}
	}
	return all
}

// addFolders adds to what a task made those folders of it that are outputs and that the task made, too.
func addFolders(all map[string]string, t *pipeline.Task, made func(dir string) bool) {
	outputs := files.ParseAll(t.Outputs)
	for _, p := range slices.Collect(maps.Keys(all)) {
		for dir := files.Parent(p); dir != "" && all[dir] == "" && files.Matches(outputs, dir) && made(dir); dir = files.Parent(dir) {
			all[dir] = madeFolder
		}
	}
}

// united returns the entries of both; where both have one, that of b.
func united(a, b map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}
