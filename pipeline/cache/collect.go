package cache

// What is removed of a cache that is out of use.

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/store"
)

// Limits of what Collect keeps.
const (
	MaxAge   = 30 * 24 * time.Hour // since a result was stored or used last
	MaxBytes = 5 << 30
)

// CollectDaily is Collect with the usual limits, once a day. A store that is new is looked at a day later.
func CollectDaily(dir string) error {
	stamp := filepath.Join(dir, "collected")
	info, err := os.Lstat(stamp)
	if err == nil && time.Since(info.ModTime()) < 24*time.Hour {
		return nil
	}
	fresh := err != nil
	if err := recordfile.NoLinks(filepath.Dir(dir), dir); err != nil || !recordfile.IsFolder(dir) {
		return err
	}
	if err := recordfile.Write(stamp, nil, false); err != nil || fresh {
		return err
	}
	_, err = Collect(dir, time.Now(), MaxAge, MaxBytes, false)
	return err
}

// Collect removes results that are older than age, then the oldest until all blobs together have at most limit bytes,
// the blobs that no result and no baseline needs, and other files that nobody has used for long. With dry it only counts.
// Runs may be at work meanwhile: the worst is that they miss.
func Collect(dir string, now time.Time, age time.Duration, limit int64, dry bool) (store.Collected, error) {
	if err := recordfile.NoLinks(filepath.Dir(dir), dir, filepath.Join(dir, treesFolder)); err != nil {
		return store.Collected{}, err
	}
	of := knowledge(dir, now, age)
	s := &store.Store{Dir: dir, ReadOnly: dry}
	done := s.Collect(of.inputs, now, age, limit)
	if !dry {
		for _, at := range of.old {
			_ = os.Remove(at)
		}
		for _, tree := range of.goneTrees {
			_ = os.RemoveAll(tree)
		}
	}
	return done, nil
}

// known is what a cache knows of tasks, arguments and trees.
type known struct {
	inputs    []reapi.Digest // of each baseline that stays
	old       []string       // files that go
	goneTrees []string       // folders of trees whose roots are gone: what is known of them is of no use
}

// knowledge reads what a cache knows. What is not named as ours, or has other contents, is not ours: somebody may have
// chosen a folder that has other things too.
func knowledge(dir string, now time.Time, age time.Duration) (of known) {
	each := func(folder string, do func(at string, since time.Duration)) {
		if !recordfile.IsFolder(folder) { // a link may lead anywhere
			return
		}
		entries, _ := os.ReadDir(folder) // of a folder that cannot be read nothing can be removed
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() { // removed meanwhile, or not ours
				continue
			}
			at, since := filepath.Join(folder, e.Name()), now.Sub(info.ModTime())
			switch {
			case !recordfile.IsTemp(e.Name()):
				do(at, since)
			case since > store.Young:
				of.old = append(of.old, at)
			}
		}
	}
	each(dir, func(at string, since time.Duration) {
		_, isKey := process.MakerOf(filepath.Base(at), keyPrefix)
		outcomes, _ := filepath.Match("outcomes-*.json", filepath.Base(at))
		// Outcomes may be of a root that is gone. What is needed of them is made of the records again.
		if isKey && since > store.Young || outcomes && since > age {
			of.old = append(of.old, at)
		}
	})
	each(filepath.Join(dir, "reads"), func(at string, since time.Duration) { // each run that has the task notes that it is used
		if since > age && filepath.Ext(at) == ".json" && readSetsIn(at) != nil {
			of.old = append(of.old, at)
		}
	})
	ofTask := func(at string, since time.Duration) {
		switch filepath.Ext(at) {
		case ".json":
			l := &baseline{}
			switch b, err := recordfile.Read(at, limitMemory); {
			case err != nil || json.Unmarshal(b, l) != nil:
			case l.Args && since > age: // there is no end of arguments
				of.old = append(of.old, at)
			default:
				of.inputs = append(of.inputs, reapi.Digest{Hash: l.Inputs, Size: l.InputBytes})
			}
		case ".left":
			// The task is gone or failed long ago. Without the file what it left counts as somebody's, and is kept.
			if since > age && isLeft(at) {
				of.old = append(of.old, at)
			}
		}
	}
	each(filepath.Join(dir, "baselines"), ofTask)
	trees, _ := os.ReadDir(filepath.Join(dir, treesFolder))
	for _, t := range trees {
		tree := filepath.Join(dir, treesFolder, t.Name())
		if hasNoRoot(tree) {
			of.goneTrees = append(of.goneTrees, tree)
			continue
		}
		each(tree, func(string, time.Duration) {})
		each(filepath.Join(tree, "baselines"), ofTask)
	}
	return of
}

// isLeft reports whether a file has what baselines.putLeft writes.
func isLeft(path string) bool {
	var made map[string]string
	b, err := recordfile.Read(path, limitMemory)
	return err == nil && json.Unmarshal(b, &made) == nil
}

// hasNoRoot reports whether the root is gone that the folder of a tree names.
func hasNoRoot(tree string) bool {
	b, err := recordfile.Read(filepath.Join(tree, "root"), 1<<16)
	root, whole := strings.CutSuffix(string(b), "\n")
	if err != nil || !whole || !filepath.IsAbs(root) {
		return false
	}
	_, err = os.Lstat(root)
	return errors.Is(err, fs.ErrNotExist)
}
