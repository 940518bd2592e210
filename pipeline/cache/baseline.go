package cache

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
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

// baselines are those of the tasks of one tree, and what else is known of what its tasks made.
type baselines struct {
	store *store.Store
	root  string // of the tree
	tree  string // its folder; empty: that of the store
}

// noLinks returns an error if a link leads out of the folders of baselines.
func (s *baselines) noLinks() error {
	paths := []string{filepath.Join(s.store.Dir, "baselines"), filepath.Join(s.store.Dir, treesFolder)}
	if s.tree != "" {
		paths = append(paths, s.tree, filepath.Join(s.tree, "baselines"))
	}
	return recordfile.NoLinks(paths...)
}

// makeTree makes the folder of the tree, with the root in it.
func (s *baselines) makeTree() error {
	if err := s.store.Make(); err != nil || s.tree == "" {
		return err
	}
	at := filepath.Join(s.tree, "root")
	if recordfile.Exists(at) {
		return nil
	}
	if err := os.MkdirAll(s.tree, 0o750); err != nil {
		return err
	}
	return recordfile.Write(at, []byte(s.root+"\n"), false)
}

func (s *baselines) path(task string) string {
	return filepath.Join(cmp.Or(s.tree, s.store.Dir), "baselines", filename.Of(task)+".json")
}

// of returns the baseline of a task, or nil.
func (s *baselines) of(task string) *baseline {
	b, err := recordfile.Read(s.path(task), limitMemory)
	if err != nil {
		return nil
	}
	var l baseline
	if json.Unmarshal(b, &l) != nil || l.Version != baselineVersion || !reapi.IsHash(l.Key) || !reapi.IsHash(l.Inputs) {
		return nil
	}
	l.Made = renamed(l.Made, files.Untext)
	return &l
}

func (s *baselines) put(task string, l *baseline) error {
	if err := s.makeTree(); err != nil {
		return err
	}
	at := s.path(task)
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
func (s *baselines) leftPath(task string) string {
	return strings.TrimSuffix(s.path(task), ".json") + ".left"
}

// left returns what runs of a task made whose result was not stored, since it was stored or restored last: as
// baseline.Made.
func (s *baselines) left(task string) map[string]string {
	b, err := recordfile.Read(s.leftPath(task), limitMemory)
	var made map[string]string
	if err != nil || json.Unmarshal(b, &made) != nil {
		return nil
	}
	return renamed(made, files.Untext)
}

func (s *baselines) putLeft(task string, made map[string]string) error {
	if err := s.makeTree(); err != nil {
		return err
	}
	at := s.leftPath(task)
	if err := os.MkdirAll(filepath.Dir(at), 0o750); err != nil {
		return err
	}
	return recordfile.WriteJSON(at, renamed(made, files.Text), false)
}
